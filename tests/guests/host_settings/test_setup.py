"""`gatepost setup`, in a home of its own with commands on the PATH that say their version."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost import app, settings
from gatepost.guests import session_actions as sessions
from gatepost.guests.hooks import host_process
from gatepost.guests.host_settings import agent_programs
from gatepost.guests.reachability import WAITER
from tests.support.command_line import GATEPOST_COMMAND, CommandLine

#: what each program has in its settings before; None: no file
SETTINGS_FILES: dict[str, str | None] = {
    ".claude/settings.json": '{\n\t"model": "opus"\n}\n',
    ".claude.json": '{"numStartups":3,"mcpServers":{"docs":{"command":"docs"}}}',
    ".codex/config.toml": 'model = "gpt"\n\n[mcp_servers.docs]\ncommand = "docs"',
    ".codex/hooks.json": None,
    ".gemini/settings.json": '// mine\n{"theme": "Dracula", /* dark */ "hooks": {}}\r\n',
}


@pytest.fixture
def user(empty_cli: CommandLine, tmp_path: Path) -> Path:
    """The user's home, with three programs on the PATH; the Gatepost home is new."""
    home, folder = tmp_path / "user", tmp_path / "bin"
    for path in (home, folder):
        path.mkdir()
    for name, answer in (("claude", "2.1.325 (Claude Code)"), ("codex", "codex-cli 0.166.0"), ("gemini", "0.61.0")):
        command = folder / name
        command.write_text(f"#!/bin/sh\necho '{answer}'\n")
        command.chmod(0o755)
    for name, text in SETTINGS_FILES.items():
        (home / name).parent.mkdir(exist_ok=True)
        if text is not None:
            (home / name).write_bytes(text.encode())
    variables = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GATEPOST_AGENT")
    for name in variables:
        empty_cli.monkeypatch.delenv(name, raising=False)
    empty_cli.environ |= {"HOME": str(home), "PATH": f"{folder}:/usr/bin:/bin"}
    return home


def read_files(user: Path) -> dict[str, bytes]:
    """Every file below the user's home."""
    return {str(path.relative_to(user)): path.read_bytes() for path in user.rglob("*") if path.is_file()}


def test_a_dry_run_shows_everything_and_changes_nothing(empty_cli: CommandLine, user: Path) -> None:
    before = read_files(user)
    result = empty_cli.run_ok("setup", "--dry-run", "--json")
    programs = {program["host"]: program for program in result.json["programs"]}
    assert {host: program["version"] for host, program in programs.items()} == {
        "claude": "2.1.325",
        "codex": "0.166.0",
        "gemini": "0.61.0",
    }
    assert {host: (program["agent"], program["newAgent"]) for host, program in programs.items()} == {
        host: (host, True) for host in programs
    }
    assert [(change["entries"], change["change"]) for change in programs["gemini"]["changes"]] == [
        ("hooks", "add"),
        ("mcp", "add"),
    ]
    assert read_files(user) == before
    assert not empty_cli.database.exists()
    table = empty_cli.run_ok("setup", "--dry-run")
    assert "Claude Code  2.1.325  claude (new)  hooks" in table.out
    assert table.err.startswith("nothing was changed\n")


def test_a_setup_installs_registers_and_is_undone_byte_for_byte(empty_cli: CommandLine, user: Path) -> None:
    before = read_files(user)
    first = empty_cli.run_ok("setup", "--json").json
    assert {change["change"] for program in first["programs"] for change in program["changes"]} == {"add"}
    assert [agent["name"] for agent in empty_cli.run_ok("agent", "list", "--json").json] == [
        "claude",
        "codex",
        "gemini",
    ]
    assert {state["state"] for host in ("claude", "codex", "gemini") for state in read_states(empty_cli, host)} == {
        "installed"
    }
    assert '"--as", "codex"' in (user / ".codex/config.toml").read_text()
    installed = read_files(user)
    again = empty_cli.run_ok("setup", "--json").json
    assert {change["change"] for program in again["programs"] for change in program["changes"]} == {"nothing"}
    assert read_files(user) == installed
    plan = empty_cli.run_ok("setup", "--uninstall", "--dry-run", "--json").json
    assert {change["change"] for program in plan["programs"] for change in program["changes"]} == {"remove"}
    assert read_files(user) == installed
    removed = empty_cli.run_ok("setup", "--uninstall", "--json").json
    assert {change["change"] for program in removed["programs"] for change in program["changes"]} == {"restore"}
    assert read_files(user) == before
    assert empty_cli.run_ok("setup", "--uninstall", "--json").json["programs"] == []


def test_another_agent_replaces_the_first_and_the_files_are_still_restored(empty_cli: CommandLine, user: Path) -> None:
    """In Gemini's file the hooks are below the server: both are written anew, in their order."""
    before = read_files(user)
    empty_cli.run_ok("setup")
    second = empty_cli.run_ok("setup", "--agent", "ann", "--json").json
    assert {change["change"] for program in second["programs"] for change in program["changes"]} == {"update"}
    for host in ("claude", "codex", "gemini"):
        assert [state["agents"] for state in read_states(empty_cli, host)] == [["ann"]] * 2
    empty_cli.run_ok("setup", "--uninstall")
    assert read_files(user) == before


def test_what_is_added_by_hand_meanwhile_stays(empty_cli: CommandLine, user: Path) -> None:
    empty_cli.run_ok("setup", "--host", "codex")
    config = user / ".codex/config.toml"
    config.write_text(f'{config.read_text()}\n[mcp_servers.mine]\ncommand = "mine"\n')
    removed = empty_cli.run_ok("setup", "--uninstall", "--json").json
    assert [change["change"] for change in removed["programs"][0]["changes"]] == ["restore", "remove"]
    text = config.read_text()
    assert "gatepost" not in text
    assert text.startswith(SETTINGS_FILES[".codex/config.toml"] or "")
    assert '[mcp_servers.mine]\ncommand = "mine"' in text
    assert not (user / ".codex/hooks.json").exists()


def test_a_file_that_is_refused_keeps_nothing_else_from_being_set_up(empty_cli: CommandLine, user: Path) -> None:
    settings = user / ".claude/settings.json"
    settings.write_text("{,}")
    for words in (("--dry-run",), ()):
        result = empty_cli("setup", *words)
        assert result.code == 1
        assert f"error: '{settings}' was not changed: " in result.err
        assert settings.read_text() == "{,}"
    assert [state["state"] for state in read_states(empty_cli, "codex")] == ["installed"] * 2


def test_the_agent_that_is_set_for_this_home_is_not_written(empty_cli: CommandLine, user: Path) -> None:
    empty_cli.run_ok("agent", "add", "bob")
    document = empty_cli.run_ok("setup", "--host", "claude", "--json", GATEPOST_AGENT="bob").json
    assert (document["programs"][0]["agent"], document["programs"][0]["newAgent"]) == ("bob", False)
    assert "--agent" not in (user / ".claude/settings.json").read_text()


def test_a_person_is_no_agent(empty_cli: CommandLine, user: Path) -> None:
    empty_cli.run_ok("person", "add", "husam")
    before = read_files(user)
    result = empty_cli("setup", "--agent", "husam")
    assert (result.code, result.error) == (1, "'husam' is a person, not an agent")
    assert read_files(user) == before


def test_no_program_is_found(empty_cli: CommandLine, tmp_path: Path) -> None:
    result = empty_cli("setup", "--host", "codex", HOME=str(tmp_path), PATH=str(tmp_path))
    assert (result.code, result.err) == (1, "no agent program is found here: Codex\n")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[int]:
    """A script that is called codex runs in a terminal, and has started another."""
    script = tmp_path / "codex"
    script.write_text(
        f"#!{sys.executable}\nimport subprocess, sys\n"
        "if sys.argv[1:]:\n    subprocess.Popen([sys.executable, sys.argv[0]])\n"
        "print('ready', flush=True)\nsys.stdin.read()\n"
    )
    script.chmod(0o755)
    leader, follower = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", _START_IN_TERMINAL, str(script)], stdin=follower, stdout=follower, start_new_session=True
    ) as process:
        os.close(follower)
        text = b""
        while text.count(b"ready") < 2:
            text += os.read(leader, 1000)
        yield process.pid
        os.close(leader)  # hangs up


_START_IN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], [sys.argv[1], "first"])
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed in /proc")
def test_terminals_are_counted_without_what_the_program_starts(
    empty_cli: CommandLine, user: Path, terminal: int
) -> None:
    programs = agent_programs.find_programs(["codex", "claude"], os.environ | empty_cli.environ)
    found = {program.host: program.terminals for program in programs}
    assert terminal in (found["codex"] or ())
    assert found["claude"] is not None


def read_states(cli: CommandLine, host: str) -> list[dict[str, object]]:
    """The states of our hooks and of our server in the user's settings."""
    states: list[dict[str, object]] = []
    for noun in ("hooks", "mcp"):
        result = cli(noun, "status", "--host", host, "--json")
        states += [state for state in json.loads(result.out) if state["scope"] == "user"]
    return states


def test_a_test_item_is_followed_until_a_reply_proves_it(empty_cli: CommandLine, user: Path) -> None:
    empty_cli.run_ok("setup", "--host", "claude", "--no-test")
    words = ("--host", "claude", "--agent", "claude")

    def run_hook(event: str, **payload: str) -> str:
        stdin = json.dumps({"session_id": "4f1c", "prompt_id": "p-1", **payload}).encode()
        return empty_cli.run_process("hook", event, *words, stdin=stdin).out

    run_hook("SessionStart", source="startup")
    configuration = settings.load({"GATEPOST_HOME": str(empty_cli.home)})
    with app.prepare_store(configuration) as store:  # this process stands for what waits to wake the session
        store.run_sync(sessions.arm, "4f1c", method=WAITER, waker=host_process.name_process(os.getpid()))
    with subprocess.Popen(
        [*GATEPOST_COMMAND, "setup", "--host", "claude", "--test", "--for", "2m", "--json"],
        env=os.environ | empty_cli.environ,
        cwd=empty_cli.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        assert process.stderr.readline().startswith("Claude Code: waiting for a session of 'claude'")
        assert process.stderr.readline() == "Claude Code: pushed, and not proved\n"
        assert "This is a test of `gatepost setup`." in run_hook("UserPromptSubmit", prompt="hello")
        run_hook("Stop")
        [proof] = json.loads(process.stdout.read())["proofs"]
        process.stderr.read()
    assert process.returncode == 0
    assert (proof["agent"], proof["session"], proof["proved"]) == ("claude", "4f1c", True)
    assert list(proof["steps"]) == ["woken", "shown", "proved"]
    assert sorted(proof["steps"].values()) == list(proof["steps"].values())


def test_a_test_without_a_session_ends_in_time(empty_cli: CommandLine, user: Path) -> None:
    result = empty_cli("setup", "--host", "claude", "--test", "--for", "1s")
    assert result.code == 1
    assert result.out.splitlines()[-1] == ("Claude Code: not tested, because no session of 'claude' could be woken")
    assert empty_cli("setup", "--test", "--no-test").error == "--test and --no-test cannot be given together"


def test_a_home_is_written_and_found_again_from_anywhere(empty_cli: CommandLine, user: Path, tmp_path: Path) -> None:
    before, home = read_files(user), tmp_path / "an office"
    words = ("--agent", "ann", "--home", str(home))
    empty_cli.run_ok("setup", *words)
    assert not empty_cli.database.exists(), "no second store"
    stop = json.loads((user / ".claude/settings.json").read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert stop.endswith(f" hook Stop --agent ann --home '{home}'")
    assert json.loads((user / ".claude.json").read_text())["mcpServers"]["gatepost"]["env"] == {
        "GATEPOST_HOME": str(home)
    }
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
    payload = json.dumps({"session_id": "s-1", "cwd": str(user), "hook_event_name": "SessionStart"})
    start = stop.replace("hook Stop", "hook SessionStart")
    subprocess.run(["sh", "-c", start], input=payload, text=True, cwd=user, env=environ, check=True)
    empty_cli.environ["GATEPOST_HOME"] = str(home)
    [session] = empty_cli.run_ok("agent", "show", "ann", "--json").json["sessions"]
    assert (session["id"], session["agent"]) == ("s-1", "ann")
    again = empty_cli.run_ok("setup", "--json").json
    assert {change["change"] for program in again["programs"] for change in program["changes"]} == {"nothing"}
    empty_cli.run_ok("setup", "--uninstall")
    assert {name: text for name, text in read_files(user).items() if name in before} == before
