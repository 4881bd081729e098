"""`gatepost hooks`: what a host does with our entries, which agent they name, and what has to be trusted first."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.command_line import CommandLine

GATEPOST_PATH = str(Path(sys.executable).parent / "gatepost")

IGNORED_FILES = {
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


@pytest.mark.parametrize(("host", "text"), IGNORED_FILES)
def test_a_file_that_the_host_would_ignore_is_refused(empty_cli: CommandLine, host: str, text: str) -> None:
    file = empty_cli.cwd / "settings.json"
    file.write_bytes(text.encode())
    refusal = empty_cli("hooks", "install", "--host", host, "--file", "settings.json")
    assert (refusal.code, refusal.error) == (2, f"'{file}' was not changed: {IGNORED_FILES[host, text]}")
    assert "hint: make it plain JSON, or name another file with --scope or --file" in refusal.err
    assert file.read_bytes() == text.encode()
    assert [path.name for path in empty_cli.cwd.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_entries_in_a_file_that_the_host_ignores_are_not_called_installed(empty_cli: CommandLine, host: str) -> None:
    words = ("--host", host, "--file", "settings.json")
    empty_cli.run_ok("hooks", "install", *words)
    file = empty_cli.cwd / "settings.json"
    file.write_text("// mine\n" + file.read_text())
    result = empty_cli("hooks", "status", *words)
    assert (result.code, "installed" in result.out, "ignored" in result.out) == (1, False, True)
    assert "ignores a file with comments in it (line 1, column 1)\n" in result.err
    [state] = empty_cli("hooks", "status", *words, "--json").json
    assert state["state"] == "ignored"
    assert empty_cli("hooks", "install", *words).code == 2, "although our entries are installed already"
    empty_cli.run_ok("hooks", "uninstall", *words)
    assert "gatepost" not in file.read_text()


@pytest.mark.parametrize("host", ["gemini", "cursor"])
def test_other_hosts_may_have_comments(empty_cli: CommandLine, host: str) -> None:
    file = empty_cli.cwd / "settings.json"
    file.write_text('{"a": 1, /* mine */}')
    empty_cli.run_ok("hooks", "install", "--host", host, "--file", "settings.json")
    [state] = empty_cli.run_ok("hooks", "status", "--host", host, "--file", "settings.json", "--json").json
    assert state["state"] == "installed"


def test_claude_code_reads_a_byte_order_mark(empty_cli: CommandLine) -> None:
    (empty_cli.cwd / "settings.json").write_text("\ufeff{}", encoding="utf-8")
    empty_cli.run_ok("hooks", "install", "--file", "settings.json")
    empty_cli.run_ok("hooks", "status", "--host", "claude", "--file", "settings.json")


def test_where_claude_code_runs_no_hooks_ours_are_not_called_installed(empty_cli: CommandLine, tmp_path: Path) -> None:
    empty_cli.environ["CLAUDE_CONFIG_DIR"] = str(tmp_path / "claude")
    empty_cli.run_ok("hooks", "install")
    empty_cli.run_ok("hooks", "install", "--scope", "project")
    user, project, local = (
        tmp_path / "claude" / "settings.json",
        empty_cli.cwd / ".claude" / "settings.json",
        empty_cli.cwd / ".claude" / "settings.local.json",
    )
    assert empty_cli("hooks", "status", "--host", "claude").code == 0
    user.write_text(json.dumps(json.loads(user.read_text()) | {"disableAllHooks": True}))
    result = empty_cli("hooks", "status", "--host", "claude")
    assert (result.code, result.out.count("disabled"), "installed" in result.out.replace("not installed", "")) == (
        1,
        2,
        False,
    )
    assert f"Claude Code runs no hooks, because '{user}' sets `disableAllHooks`\n" in result.err
    assert empty_cli("hooks", "status", "--file", str(user)).code == 1
    assert empty_cli("hooks", "status", "--file", str(project)).code == 0

    local.write_text('{"disableAllHooks": false}')
    assert empty_cli("hooks", "status", "--host", "claude").code == 0, "what is nearest to the project counts"


def test_of_a_file_alone_the_host_is_claude(empty_cli: CommandLine) -> None:
    """As for install and uninstall."""
    empty_cli.run_ok("hooks", "install", "--file", "settings.json")
    [state] = empty_cli.run_ok("hooks", "status", "--file", "settings.json", "--json").json
    assert (state["host"], state["state"]) == ("claude", "installed")


TRUST_NOTES = {
    "codex": "Codex runs a hook only after you trust it, and `codex exec` skips others without a word: start `codex`,"
    " type /hooks and trust those of Gatepost, again after each change",
    "gemini": "Gemini CLI runs the hooks of a project only in a folder that you trust: start `gemini` in it, and type"
    " /permissions trust",
}


@pytest.mark.parametrize("host", TRUST_NOTES)
def test_what_has_to_be_trusted_first_is_said(empty_cli: CommandLine, tmp_path: Path, host: str) -> None:
    empty_cli.environ |= {"HOME": str(tmp_path), "CODEX_HOME": ""}
    words = ("--host", host, "--scope", "project")
    assert empty_cli("hooks", "status", "--host", host).err == "", "there is nothing to trust yet"
    assert empty_cli.run_ok("hooks", "install", *words).err == f"created the file\n{TRUST_NOTES[host]}\n"
    assert (
        empty_cli.run_ok("hooks", "install", *words).err
        == f"the entries of Gatepost are installed already\n{TRUST_NOTES[host]}\n"
    )
    assert empty_cli.run_ok("hooks", "install", *words, "--json").json["note"] == TRUST_NOTES[host]
    assert empty_cli.run_ok("hooks", "status", "--host", host).err == f"{TRUST_NOTES[host]}\n"
    states = empty_cli.run_ok("hooks", "status", "--host", host, "--json").json
    assert {row["scope"]: row["note"] for row in states} == {"user": None, "project": TRUST_NOTES[host]}


def test_what_needs_no_trust_has_no_note(empty_cli: CommandLine, tmp_path: Path) -> None:
    empty_cli.environ |= {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": ""}
    assert empty_cli.run_ok("hooks", "install", "--host", "gemini").err == "created the file\n"
    assert empty_cli.run_ok("hooks", "install", "--host", "claude", "--scope", "project").err == "created the file\n"
    assert empty_cli.run_ok("hooks", "status").err == ""


def list_commands(file: Path) -> set[str]:
    """Return the commands in a settings file, each without its program and its event."""
    groups = [group for groups in json.loads(file.read_text())["hooks"].values() for group in groups]
    commands = [entry["command"] for group in groups for entry in group.get("hooks", [group])]
    return {command.split(" hook ")[1].partition(" ")[2] for command in commands}


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "cursor"])
def test_the_agent_is_written_into_the_command(cli: CommandLine, host: str) -> None:
    words = ("--host", host, "--file", "settings.json")
    file = cli.cwd / "settings.json"
    file.write_text("{}")
    cli.run_ok("hooks", "install", *words, "--agent", "bead-42")
    options = "--agent quinn" if host == "claude" else f"--host {host} --agent quinn"
    assert list_commands(file) == {options}, "an alias is written as the name it stands for"
    [state] = cli.run_ok("hooks", "status", *words, "--json").json
    assert (state["state"], state["agents"]) == ("installed", ["quinn"])
    assert "quinn" in cli.run_ok("hooks", "status", *words).out.splitlines()[1].split()

    assert cli.run_ok("hooks", "install", *words).err.startswith("the entries of Gatepost are installed already\n")
    assert cli.run_ok("hooks", "install", *words, "--json").json["agent"] == "quinn", "the name stays"
    cli.run_ok("hooks", "install", *words, "--agent", "analyst")
    assert list_commands(file) == {options.replace("quinn", "analyst")}
    cli.run_ok("hooks", "uninstall", *words)
    assert file.read_text() == "{}"


def test_entries_with_and_without_a_name_are_found(cli: CommandLine) -> None:
    file = cli.cwd / "settings.json"
    own_commands = [
        f"{GATEPOST_PATH} hook Stop{options}" for options in ("", " --agent ann", " --agent bob --host claude")
    ]
    other_commands = [
        f"{GATEPOST_PATH} hook Stop{options}" for options in (" --agent", " --agent a --agent b", " --as ann")
    ]
    groups = [{"hooks": [{"type": "command", "command": command}]} for command in own_commands + other_commands]
    file.write_text(json.dumps({"hooks": {"Stop": groups}}))
    result = cli("hooks", "status", "--host", "claude", "--file", "settings.json")
    assert (result.code, result.err) == (1, f"{file}: they name several agents: 'ann', 'bob'\n")
    refusal = cli("hooks", "install", "--file", "settings.json")
    assert (refusal.code, refusal.error) == (
        2,
        f"the entries of Gatepost in '{file}' name several agents: 'ann', 'bob'",
    )
    assert "hint: give --agent NAME" in refusal.err
    cli.run_ok("hooks", "uninstall", "--file", "settings.json")
    remaining_groups = json.loads(file.read_text())["hooks"]["Stop"]
    assert [entry["command"] for group in remaining_groups for entry in group["hooks"]] == other_commands


@pytest.mark.parametrize(
    ("name", "code", "error"),
    [
        ("", 2, "--agent is empty"),
        ("ann b; rm", 2, "'ann b; rm' is not a name"),
        ("analist", 2, "there is no entity 'analist'"),
        ("husam", 1, "'husam' is a person, and has no guest sessions"),
    ],
)
def test_an_agent_that_is_none_is_not_written(cli: CommandLine, name: str, code: int, error: str) -> None:
    result = cli("hooks", "install", "--file", "settings.json", "--agent", name)
    assert (result.code, result.error) == (code, error)
    assert list(cli.cwd.iterdir()) == []
