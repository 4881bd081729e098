"""`gatepost hooks`, on files as they are found in the world."""

import json
import os
import re
import shlex
import stat
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gatepost.guests.hooks import session_gates as gates
from gatepost.guests.hooks.dialects import HOSTS
from gatepost.guests.hooks.session_gates import SessionGate
from gatepost.guests.host_settings import hook_entries
from tests.support.command_line import CommandLine

GATEPOST_PATH = str(Path(sys.executable).parent / "gatepost")
BACKUP_MESSAGE = re.compile(r"the backup is (\S+\.gatepost-[0-9a-f]{16}\.bak)\n")

#: what people have, by host and file name
SETTINGS_FILES = {
    ("gemini", "commented.json"): """{
  // mine, do not touch
  "model": "opus",
  "permissions": { "allow": ["Bash(git:*)", "Read"], },   /* trailing comma */
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "afplay /done.aiff" } ] }
    ],
    "PreToolUse": [{"matcher":"Bash","hooks":[{"type":"command","command":"guard.sh","timeout":5}]}]
  }
}
""",
    ("claude", "tabs.json"): '\ufeff{\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t},\r\n\t"a": 1\r\n}',
    ("claude", "one-line.json"): '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    ("claude", "older.json"): """{
    "hooks": {
        "Stop": [
            {"hooks": [
                {"type": "command", "command": "lint.sh"},
                {"type": "command", "command": "/old/gatepost hook Stop", "timeout": 60}
            ]},
            {"hooks": [{"type": "command", "command": "gatepost hook Stop"}]}
        ]
    }
}
""",
    ("claude", "empty.json"): "",
    ("claude", "braces.json"): "{}\n",
    (
        "gemini",
        "settings.json",
    ): '{"theme": "Dracula" // dark\n, "hooks": {"AfterTool": [{"matcher": "*", "hooks": []}]}}',
    ("cursor", "hooks.json"): '{"version": 1, "hooks": {"stop": [{"command": "notify.sh", "loop_limit": null}]}}\n',
    ("codex", "hooks.json"): '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}\n',
    ("codex", "config.toml"): '''model = "gpt"
notes = """
[[hooks.Stop]]
"""

[[hooks.Stop]] # mine
[[hooks.Stop.hooks]]
type = "command"
command = "true"

# the servers
[mcp_servers.docs]
command = "docs"''',
}


def list_backups(file: Path) -> list[str]:
    return [path.name for path in file.parent.iterdir() if path != file]


def list_hook_commands(file: Path) -> dict[str, list[str]]:
    """The commands of each event, as any reader of the file has them."""
    if file.suffix == ".toml":
        document = tomllib.loads(file.read_text())
    else:
        text = re.sub(r"/\*.*?\*/|// [^\n\r]*", "", file.read_text(encoding="utf-8-sig"))
        document = json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
    return {
        event: [entry["command"] for group in groups for entry in group.get("hooks", [group])]
        for event, groups in document["hooks"].items()
    }


@pytest.mark.parametrize(("host", "name"), SETTINGS_FILES)
def test_in_and_out_again(empty_cli: CommandLine, host: str, name: str) -> None:
    file = empty_cli.cwd / name
    file.write_bytes(SETTINGS_FILES[host, name].encode())
    file.chmod(0o640)
    words = ("--host", host, "--file", name)
    commands = {
        event: f"{shlex.quote(GATEPOST_PATH)} hook {event}" for event in hook_entries.build_entries(host, GATEPOST_PATH)
    }
    host_option = "" if host == "claude" else f" --host {host}"

    install_result = empty_cli.run_ok("hooks", "install", *words)
    assert install_result.out == f"{file}\n"
    backup = BACKUP_MESSAGE.search(install_result.err)
    assert backup is not None, install_result.err
    assert list_backups(file) == [backup[1]]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    for event, command in commands.items():
        assert list_hook_commands(file)[event].count(command + host_option) == 1
        waits = host == "claude" and event in ("SessionStart", "UserPromptSubmit", "Stop")
        assert list_hook_commands(file)[event][-2 if waits else -1] == command + host_option
        assert list_hook_commands(file)[event][-1].endswith(f"hook wait{host_option}") == waits
    assert "/old/gatepost" not in file.read_text()
    installed_bytes = file.read_bytes()
    assert empty_cli.run_ok("hooks", "install", *words).err.startswith(
        "the entries of Gatepost are installed already\n"
    )
    assert file.read_bytes() == installed_bytes
    [state] = empty_cli.run_ok("hooks", "status", *words, "--json").json
    assert (state["state"], sorted(state["events"]), state["why"]) == ("installed", sorted(commands), None)

    uninstall_result = empty_cli.run_ok("hooks", "uninstall", *words)
    assert list_backups(file) == []
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    if name != "older.json":  # there were some of ours before, and those are gone too
        assert uninstall_result.err == "restored the backup\n"
        assert file.read_bytes() == SETTINGS_FILES[host, name].encode()
    assert "gatepost" not in file.read_text()
    assert empty_cli.run_ok("hooks", "uninstall", *words).err == "the file has no entries of Gatepost\n"
    assert empty_cli("hooks", "status", *words).code == 1


def test_it_is_written_in_the_manner_of_the_file(empty_cli: CommandLine) -> None:
    file = empty_cli.cwd / "settings.json"
    file.write_bytes(SETTINGS_FILES["claude", "tabs.json"].encode())
    empty_cli.run_ok("hooks", "install", "--file", "settings.json")
    lines = file.read_bytes().split(b"\n")
    assert all(line.endswith(b"\r") for line in lines[:-1])
    assert not any(line.startswith(b" ") for line in lines)
    assert b'\t\t\t\t"hooks": [\r' in lines
    file.write_text('{"model":"opus","hooks":{"Stop":[1]}}')
    empty_cli.run_ok("hooks", "install", "--file", "settings.json")
    assert len(file.read_text().splitlines()) == 1, "what was on one line stays on one line"


@pytest.mark.parametrize(("host", "name"), SETTINGS_FILES)
def test_out_of_a_file_that_somebody_changed(empty_cli: CommandLine, host: str, name: str) -> None:
    file = empty_cli.cwd / name
    file.write_bytes(SETTINGS_FILES[host, name].encode())
    words = ("--host", host, "--file", name)
    empty_cli.run_ok("hooks", "install", *words)
    file.write_bytes(
        file.read_bytes() + b"\n# mine\n" if file.suffix == ".toml" else file.read_bytes() + b"\n// mine\n"
    )
    assert empty_cli.run_ok("hooks", "uninstall", *words).err == "removed the entries of Gatepost\n"
    remaining_text = file.read_text()
    assert "gatepost" not in remaining_text
    assert "// mine" in remaining_text or "# mine" in remaining_text
    for marker in ("do not touch", "trailing comma", "guard.sh", "afplay", "lint.sh", "notify.sh", "# the servers"):
        assert (marker in SETTINGS_FILES[host, name]) == (marker in remaining_text)
    assert list_backups(file) == []


@pytest.mark.parametrize("host", [host for host in HOSTS if host != "opencode"])
def test_where_there_was_no_file_there_is_none_again(empty_cli: CommandLine, tmp_path: Path, host: str) -> None:
    empty_cli.environ |= {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""}
    install_result = empty_cli.run_ok("hooks", "install", "--host", host)
    file = Path(install_result.out.strip())
    assert file.is_relative_to(tmp_path / f".{host}")
    assert install_result.err.splitlines()[0] == "created the file"
    assert len(list_hook_commands(file)) == len(hook_entries.build_entries(host, GATEPOST_PATH))
    assert ("version" in json.loads(file.read_text())) == (host == "cursor")
    [user, *_] = empty_cli.run_ok("hooks", "status", "--host", host, "--json").json
    assert (user["scope"], user["state"], user["file"]) == ("user", "installed", str(file))
    uninstall_result = empty_cli.run_ok("hooks", "uninstall", "--host", host)
    assert uninstall_result.err == "removed the file, which had only entries of Gatepost\n"
    assert list(file.parent.iterdir()) == []


def test_what_was_there_last_counts(empty_cli: CommandLine) -> None:
    """A file that was there, then was not, then was: uninstalling gives back what the last install found."""
    file = empty_cli.cwd / "a.json"
    file.write_text("{}\n")
    for is_present in (True, False, True):
        if is_present:
            file.write_text("{}\n")
        else:
            file.unlink()
        empty_cli.run_ok("hooks", "install", "--file", "a.json")
        assert len(list_backups(file)) == 1
    file.unlink()
    empty_cli.run_ok("hooks", "install", "--file", "a.json")
    empty_cli.run_ok("hooks", "uninstall", "--file", "a.json")
    assert list(empty_cli.cwd.iterdir()) == []


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ('{"hooks": {"Stop": [], "PreToolUse": []}}', {"Stop": [], "PreToolUse": []}),
        ('{"hooks": {}}', {}),
        ('{"model": "opus"}', None),
        (None, None),
    ],
)
def test_what_was_empty_before_is_so_again_and_what_was_not_there_is_gone(
    empty_cli: CommandLine, before: str | None, expected: dict[str, Any] | None
) -> None:
    file = empty_cli.cwd / "a.json"
    if before is not None:
        file.write_text(before)
    for _ in range(2):  # also after it was put in again
        empty_cli.run_ok("hooks", "install", "--file", "a.json")
        file.write_text(json.dumps(json.loads(file.read_text()) | {"theirs": 1}).replace("hook Stop", "hook  Stop"))
    empty_cli.run_ok("hooks", "uninstall", "--file", "a.json")
    assert json.loads(file.read_text()).get("hooks") == expected
    assert list_backups(file) == []


def test_what_may_have_been_empty_before_is_left(empty_cli: CommandLine) -> None:
    file = empty_cli.cwd / "a.json"
    file.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "gatepost hook Stop"}]}]}}')
    empty_cli.run_ok("hooks", "uninstall", "--file", "a.json")
    assert json.loads(file.read_text()) == {"hooks": {"Stop": []}}


def test_scopes_and_the_folders_that_variables_name(empty_cli: CommandLine, tmp_path: Path) -> None:
    def file(*words: str, **environ: str) -> str:
        empty_cli.environ |= environ
        return empty_cli.run_ok("hooks", "install", *words).out.strip()

    own_folder = str(tmp_path / "own")
    empty_cli.environ["HOME"] = str(tmp_path)
    assert file(CLAUDE_CONFIG_DIR=own_folder) == f"{own_folder}/settings.json"
    assert file("--scope", "project") == f"{empty_cli.cwd}/.claude/settings.json"
    assert file("--scope", "local") == f"{empty_cli.cwd}/.claude/settings.local.json"
    assert file("--host", "codex", CODEX_HOME=own_folder) == f"{own_folder}/hooks.json"
    assert file("--host", "gemini", "--scope", "project") == f"{empty_cli.cwd}/.gemini/settings.json"
    states = empty_cli.run_ok("hooks", "status", "--json").json
    installed = {(row["host"], row["scope"]) for row in states if row["state"] == "installed"}
    assert installed == {
        *(("claude", row) for row in ("user", "project", "local")),
        ("codex", "user"),
        ("gemini", "project"),
    }
    assert {row["state"] for row in states} == {"installed", "missing"}


def test_a_path_cannot_act_on_a_terminal(empty_cli: CommandLine) -> None:
    for verb in ("install", "uninstall"):
        result = empty_cli.run_ok("hooks", verb, "--file", "\x1b[31m<a>\u202e.json")
        assert result.out == f"{empty_cli.cwd}/\\u001b[31m<a>\\u202e.json\n"


def test_at_home_a_file_is_listed_once(empty_cli: CommandLine) -> None:
    empty_cli.environ["HOME"] = str(empty_cli.cwd)
    empty_cli.run_ok("hooks", "install", "--host", "gemini")
    [state] = empty_cli.run_ok("hooks", "status", "--host", "gemini", "--json").json
    assert (state["scope"], state["state"]) == ("user", "installed")


def test_where_gates_were_registered_hooks_are_installed_too(empty_cli: CommandLine) -> None:
    empty_cli.home.mkdir(mode=0o700)
    gates.register(empty_cli.home, SessionGate(name="careful", hook="PreToolUse"))
    extra_events = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "cursor": "preToolUse"}
    for host, event in extra_events.items():
        file = empty_cli.cwd / f"{host}.json"
        empty_cli.run_ok("hooks", "install", "--host", host, "--file", str(file))
        assert list_hook_commands(file).keys() == hook_entries.build_entries(host, GATEPOST_PATH).keys() | {event}
        empty_cli.run_ok("hooks", "status", "--host", host, "--file", str(file))
    gates.unregister(empty_cli.home, "careful")
    assert empty_cli("hooks", "status", "--host", "claude", "--file", "claude.json").code == 1
    empty_cli.run_ok("hooks", "install", "--file", "claude.json")
    assert (
        list_hook_commands(empty_cli.cwd / "claude.json").keys()
        == hook_entries.build_entries("claude", GATEPOST_PATH).keys()
    )


def test_codex_has_hooks_in_one_of_two_files(empty_cli: CommandLine) -> None:
    folder = empty_cli.cwd / ".codex"
    folder.mkdir()
    words = ("--host", "codex", "--scope", "project")
    (folder / "config.toml").write_text('model = "gpt"\n\n[hooks.state]\n"a:b" = { enabled = true }\n')
    assert empty_cli.run_ok("hooks", "install", *words).out == f"{folder}/hooks.json\n", (
        "there are no hooks in the other"
    )
    empty_cli.run_ok("hooks", "uninstall", *words)
    (folder / "config.toml").write_text('[[hooks.Stop]]\nhooks = [{ type = "command", command = "true" }]\n')
    assert empty_cli.run_ok("hooks", "install", *words).out == f"{folder}/config.toml\n"
    (folder / "hooks.json").write_text("{}")
    assert empty_cli.run_ok("hooks", "install", *words).out == f"{folder}/config.toml\n", "they are there already"


def test_at_the_end_of_a_link(empty_cli: CommandLine, tmp_path: Path) -> None:
    """Whoever keeps their settings elsewhere still has a link, and a file there."""
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text('{"model": "opus"}')
    link = empty_cli.cwd / "settings.json"
    link.symlink_to(dotfiles / "claude.json")
    empty_cli.run_ok("hooks", "install", "--file", "settings.json")
    assert link.is_symlink()
    assert GATEPOST_PATH in (dotfiles / "claude.json").read_text()
    empty_cli.run_ok("hooks", "uninstall", "--file", "settings.json")
    assert link.is_symlink()
    assert (dotfiles / "claude.json").read_text() == '{"model": "opus"}'
    (dotfiles / "claude.json").unlink()
    empty_cli.run_ok("hooks", "install", "--file", "settings.json")
    assert link.is_symlink()
    assert list_hook_commands(dotfiles / "claude.json")


@pytest.mark.parametrize(
    ("host", "name", "raw", "message"),
    [
        ("claude", "a.json", b'{\n  "hooks": {,}\n}', "(line 2, column 13)"),
        ("claude", "a.json", b'{"a": "\xff"}', "it is not UTF-8 (line 1, column 8)"),
        ("claude", "a.json", b'{"hooks": null}', "`hooks` is not an object (line 1, column 11)"),
        ("codex", "a.toml", b"model = \n", "(line 1, column 9)"),
        ("codex", "a.toml", b"model = '", "(line 1, column 10)"),
        ("codex", "a.toml", b"hooks = {}\n", "its hooks are written in line"),
        ("codex", "a.toml", b"[hooks]\nStop = []\n", "its hooks are written in line"),
    ],
)
def test_what_cannot_be_read_is_left_alone(
    empty_cli: CommandLine, host: str, name: str, raw: bytes, message: str
) -> None:
    file = empty_cli.cwd / name
    file.write_bytes(raw)
    refusal = empty_cli("hooks", "install", "--host", host, "--file", name)
    assert refusal.code == 2
    assert refusal.error.startswith(f"'{file}' was not changed: ")
    assert message in refusal.error
    assert "hint: " in refusal.err
    assert file.read_bytes() == raw
    assert list_backups(file) == []
    if "written" not in message and "not an" not in message:
        [state] = empty_cli("hooks", "status", "--host", host, "--file", name, "--json").json
        assert (state["state"], message in state["why"]) == ("unreadable", True)


def test_an_entry_in_line_with_others_is_not_torn_out(empty_cli: CommandLine) -> None:
    file = empty_cli.cwd / "config.toml"
    raw = '[hooks]\nStop = [{ hooks = [{ command = "true" }, { command = "gatepost hook Stop" }] }]\n'
    file.write_text(raw)
    refusal = empty_cli("hooks", "uninstall", "--host", "codex", "--file", "config.toml")
    assert (refusal.code, file.read_text()) == (2, raw)
    assert "written in line with others" in refusal.error


def test_what_is_not_as_it_should_be_is_said(empty_cli: CommandLine) -> None:
    file = empty_cli.cwd / "settings.json"
    entry = {"type": "command", "command": "/gone/gatepost hook Stop", "timeout": 600}
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [entry]}]}}))
    status = empty_cli("hooks", "status", "--host", "claude", "--file", "settings.json")
    assert (status.code, status.err) == (1, f"{file}: there is no program '/gone/gatepost'\n")
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [entry | {"command": f"{GATEPOST_PATH} hook Stop"}]}]}}))
    assert (
        "not as `hooks install` would write"
        in empty_cli("hooks", "status", "--host", "claude", "--file", "settings.json").err
    )


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (
            ("install", "--host", "Cluade"),
            "--host: 'Cluade' is not one of claude, codex, gemini, cursor, opencode",
            "did you mean 'claude'?",
        ),
        (
            ("install", "--scope", "users"),
            "--scope: 'users' is not one of user, project, local",
            "did you mean 'user'?",
        ),
        (("install", "--host", "codex", "--scope", "local"), "codex has no local settings", "use --scope user"),
        (("install", "--file", "x.toml"), "'x.toml' is TOML, and claude reads JSON", "give --host codex"),
    ],
)
def test_wrong_words(empty_cli: CommandLine, words: tuple[str, ...], error: str, hint: str) -> None:
    result = empty_cli("hooks", *words)
    assert (result.code, result.error) == (2, error)
    assert f"hint: {hint}" in result.err
    assert list(empty_cli.cwd.iterdir()) == []


def test_what_cannot_be_written_is_said_and_left_alone(empty_cli: CommandLine) -> None:
    (empty_cli.cwd / "settings.json").mkdir()
    result = empty_cli("hooks", "install", "--file", "settings.json")
    assert (result.code, result.error) == (3, f"'{empty_cli.cwd}/settings.json' was not changed: Is a directory")
    (empty_cli.cwd / "file").touch()
    result = empty_cli("hooks", "install", "--file", "file/settings.json")
    assert (result.code, result.error) == (3, f"'{empty_cli.cwd}/file/settings.json' was not changed: Not a directory")


def test_the_disk_is_full_half_way(empty_cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    file = empty_cli.cwd / "settings.json"
    file.write_text("{}")

    def raise_disk_full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", raise_disk_full)
    result = empty_cli("hooks", "install", "--file", "settings.json")
    assert (result.code, "No space left" in result.error) == (3, True)
    assert (file.read_text(), list_backups(file)) == ("{}", [])
