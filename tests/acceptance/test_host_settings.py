"""`gatepost hooks`: what a host does with our entries, which agent they name, and what has to be trusted first."""

import json
import sys
from pathlib import Path

import pytest

from tests.acceptance.office import Office

PROGRAM = str(Path(sys.executable).parent / "gatepost")

STRICT = {
    (
        "claude",
        '{\n  // mine\n  "model": "opus"\n}\n',
    ): "Claude Code ignores a file with comments in it (line 2, column 3)",
    ("claude", '{"a": [1, 2], /* b */ "c": 1}'): "Claude Code ignores a file with comments in it (line 1, column 15)",
    ("claude", "// only this\n"): "Claude Code ignores a file with comments in it (line 1, column 1)",
    ("claude", '{"a": {"b": [1, 2,]}}'): (
        "Claude Code ignores a file with a comma before a closing bracket (line 1, column 18)"
    ),
    ("codex", '{"hooks": {},}'): "Codex ignores a file with a comma before a closing bracket (line 1, column 13)",
    ("codex", '{"a": 1} // b'): "Codex ignores a file with comments in it (line 1, column 10)",
    ("codex", "\ufeff{}"): "Codex ignores a file with a byte order mark (line 1, column 1)",
}


@pytest.mark.parametrize(("host", "text"), STRICT)
def test_a_file_that_the_host_would_ignore_is_refused(gatepost: Office, host: str, text: str) -> None:
    file = gatepost.here / "settings.json"
    file.write_bytes(text.encode())
    refused = gatepost("hooks", "install", "--host", host, "--file", "settings.json")
    assert (refused.code, refused.error) == (2, f"'{file}' is left as it is: {STRICT[host, text]}")
    assert "hint: make it plain JSON, or name another file with --scope or --file" in refused.err
    assert file.read_bytes() == text.encode()
    assert [each.name for each in gatepost.here.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_entries_in_a_file_that_the_host_ignores_are_not_called_installed(gatepost: Office, host: str) -> None:
    words = ("--host", host, "--file", "settings.json")
    gatepost.done("hooks", "install", *words)
    file = gatepost.here / "settings.json"
    file.write_text("// mine\n" + file.read_text())
    shown = gatepost("hooks", "status", *words)
    assert (shown.code, "installed" in shown.out, "ignored" in shown.out) == (1, False, True)
    assert "ignores a file with comments in it (line 1, column 1)\n" in shown.err
    [state] = gatepost("hooks", "status", *words, "--json").json
    assert state["state"] == "ignored"
    assert gatepost("hooks", "install", *words).code == 2, "although our entries are there already"
    gatepost.done("hooks", "uninstall", *words)
    assert "gatepost" not in file.read_text()


@pytest.mark.parametrize("host", ["gemini", "cursor"])
def test_other_hosts_may_have_comments(gatepost: Office, host: str) -> None:
    file = gatepost.here / "settings.json"
    file.write_text('{"a": 1, /* mine */}')
    gatepost.done("hooks", "install", "--host", host, "--file", "settings.json")
    [state] = gatepost.done("hooks", "status", "--host", host, "--file", "settings.json", "--json").json
    assert state["state"] == "installed"


def test_claude_code_reads_a_byte_order_mark(gatepost: Office) -> None:
    (gatepost.here / "settings.json").write_text("\ufeff{}", encoding="utf-8")
    gatepost.done("hooks", "install", "--file", "settings.json")
    gatepost.done("hooks", "status", "--host", "claude", "--file", "settings.json")


def test_where_claude_code_runs_no_hooks_ours_are_not_called_installed(gatepost: Office, tmp_path: Path) -> None:
    gatepost.environ["CLAUDE_CONFIG_DIR"] = str(tmp_path / "claude")
    gatepost.done("hooks", "install")
    gatepost.done("hooks", "install", "--scope", "project")
    user, project, local = (
        tmp_path / "claude" / "settings.json",
        gatepost.here / ".claude" / "settings.json",
        gatepost.here / ".claude" / "settings.local.json",
    )
    assert gatepost("hooks", "status", "--host", "claude").code == 0
    user.write_text(json.dumps(json.loads(user.read_text()) | {"disableAllHooks": True}))
    shown = gatepost("hooks", "status", "--host", "claude")
    assert (shown.code, shown.out.count("disabled"), "installed" in shown.out.replace("not installed", "")) == (
        1,
        2,
        False,
    )
    assert f"Claude Code runs no hooks, because '{user}' says `disableAllHooks`\n" in shown.err
    assert gatepost("hooks", "status", "--file", str(user)).code == 1
    assert gatepost("hooks", "status", "--file", str(project)).code == 0

    local.write_text('{"disableAllHooks": false}')
    assert gatepost("hooks", "status", "--host", "claude").code == 0, "what is nearest to the project counts"


def test_of_a_file_alone_the_host_is_claude(gatepost: Office) -> None:
    """As for install and uninstall."""
    gatepost.done("hooks", "install", "--file", "settings.json")
    [state] = gatepost.done("hooks", "status", "--file", "settings.json", "--json").json
    assert (state["host"], state["state"]) == ("claude", "installed")


TRUST = {
    "codex": "Codex runs a hook only after you trust it, and `codex exec` skips others without a word: start `codex`,"
    " type /hooks and trust ours, again after each change",
    "gemini": "Gemini CLI runs the hooks of a project only in a folder that you trust: start `gemini` in it, and type"
    " /permissions trust",
}


@pytest.mark.parametrize("host", TRUST)
def test_what_has_to_be_trusted_first_is_said(gatepost: Office, tmp_path: Path, host: str) -> None:
    gatepost.environ |= {"HOME": str(tmp_path), "CODEX_HOME": ""}
    words = ("--host", host, "--scope", "project")
    assert gatepost("hooks", "status", "--host", host).err == "", "there is nothing to trust yet"
    assert gatepost.done("hooks", "install", *words).err == f"made a new file\n{TRUST[host]}\n"
    assert gatepost.done("hooks", "install", *words).err == f"our entries are there already\n{TRUST[host]}\n"
    assert gatepost.done("hooks", "install", *words, "--json").json["note"] == TRUST[host]
    assert gatepost.done("hooks", "status", "--host", host).err == f"{TRUST[host]}\n"
    states = gatepost.done("hooks", "status", "--host", host, "--json").json
    assert {each["scope"]: each["note"] for each in states} == {"user": None, "project": TRUST[host]}


def test_what_needs_no_trust_has_no_note(gatepost: Office, tmp_path: Path) -> None:
    gatepost.environ |= {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""}
    assert gatepost.done("hooks", "install", "--host", "gemini").err == "made a new file\n"
    assert gatepost.done("hooks", "install", "--host", "claude", "--scope", "project").err == "made a new file\n"
    assert gatepost.done("hooks", "status").err == ""


def list_commands(file: Path) -> set[str]:
    """Return the commands in a settings file, each without its program and its event."""
    groups = [group for groups in json.loads(file.read_text())["hooks"].values() for group in groups]
    commands = [entry["command"] for group in groups for entry in group.get("hooks", [group])]
    return {command.split(" hook ")[1].partition(" ")[2] for command in commands}


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "cursor"])
def test_the_agent_is_written_into_the_command(office: Office, host: str) -> None:
    words = ("--host", host, "--file", "settings.json")
    file = office.here / "settings.json"
    file.write_text("{}")
    office.done("hooks", "install", *words, "--agent", "bead-42")
    said = "--agent quinn" if host == "claude" else f"--host {host} --agent quinn"
    assert list_commands(file) == {said}, "an alias is written as the name it stands for"
    [state] = office.done("hooks", "status", *words, "--json").json
    assert (state["state"], state["agents"]) == ("installed", ["quinn"])
    assert "quinn" in office.done("hooks", "status", *words).out.splitlines()[1].split()

    assert office.done("hooks", "install", *words).err.startswith("our entries are there already\n")
    assert office.done("hooks", "install", *words, "--json").json["agent"] == "quinn", "the name stays"
    office.done("hooks", "install", *words, "--agent", "analyst")
    assert list_commands(file) == {said.replace("quinn", "analyst")}
    office.done("hooks", "uninstall", *words)
    assert file.read_text() == "{}"


def test_entries_with_and_without_a_name_are_found(office: Office) -> None:
    file = office.here / "settings.json"
    ours = [f"{PROGRAM} hook Stop{options}" for options in ("", " --agent ann", " --agent bob --host claude")]
    theirs = [f"{PROGRAM} hook Stop{options}" for options in (" --agent", " --agent a --agent b", " --as ann")]
    groups = [{"hooks": [{"type": "command", "command": each}]} for each in ours + theirs]
    file.write_text(json.dumps({"hooks": {"Stop": groups}}))
    shown = office("hooks", "status", "--host", "claude", "--file", "settings.json")
    assert (shown.code, shown.err) == (1, f"{file}: they name several agents: 'ann', 'bob'\n")
    refused = office("hooks", "install", "--file", "settings.json")
    assert (refused.code, refused.error) == (2, f"our entries in '{file}' name several agents: 'ann', 'bob'")
    assert "hint: give --agent NAME" in refused.err
    office.done("hooks", "uninstall", "--file", "settings.json")
    left = json.loads(file.read_text())["hooks"]["Stop"]
    assert [entry["command"] for group in left for entry in group["hooks"]] == theirs


@pytest.mark.parametrize(
    ("name", "code", "error"),
    [
        ("", 2, "--agent is empty"),
        ("ann b; rm", 2, "'ann b; rm' is not an address"),
        ("analist", 2, "nobody is called 'analist'"),
        ("husam", 1, "'husam' is a person, and has no sessions"),
    ],
)
def test_an_agent_that_is_none_is_not_written(office: Office, name: str, code: int, error: str) -> None:
    ended = office("hooks", "install", "--file", "settings.json", "--agent", name)
    assert (ended.code, ended.error) == (code, error)
    assert list(office.here.iterdir()) == []
