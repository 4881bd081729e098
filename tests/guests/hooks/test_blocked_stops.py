"""What an agent is told that may not stop: the command that opens the gate, to be run as it stands from where it is."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.guests.hooks.session_state import Session
from tests.support.command_line import GATEPOST_COMMAND as MODULE, CommandLine
from tests.support.processes import fork_server

GATEPOST_PATH = str(Path(sys.executable).parent / "gatepost")


@pytest.fixture
def project(cli: CommandLine, tmp_path: Path) -> Path:
    """A project with a home in it that nothing names, in which a gate is registered."""
    project = tmp_path / "my project"
    project.mkdir()
    cli.home.rename(project / ".gatepost")
    cli.home = project / ".gatepost"
    cli.run_ok("gate", "register", "tested", "--hint", "run the tests", GATEPOST_HOME=str(cli.home))
    del cli.environ["GATEPOST_HOME"]
    cli.environ["HOME"] = str(tmp_path)
    return project


def try_to_stop(cli: CommandLine, cwd: Path, session: str = "s-1", host: str = "claude", **environ: str) -> str:
    """Have an agent try to stop in a folder; return why it may not, or nothing."""
    event = "AfterAgent" if host == "gemini" else "stop" if host == "cursor" else "Stop"
    result = fork_server.run(
        [*MODULE, "hook", event, "--host", host],
        input=json.dumps({"session_id": session, "cwd": str(cwd)}).encode(),
        capture_output=True,
        env=os.environ | cli.environ | {"GATEPOST_AGENT": "analyst"} | environ,
        cwd=cwd,
        check=True,
    )
    document = json.loads(result.stdout or "{}")
    return str(document.get("reason") or document.get("followup_message") or "")


@pytest.mark.parametrize(
    ("host", "variable"),
    [("claude", "CLAUDE_PROJECT_DIR"), ("gemini", "GEMINI_PROJECT_DIR"), ("cursor", "CURSOR_PROJECT_DIR")],
)
def test_the_home_is_found_from_an_added_folder(
    cli: CommandLine, project: Path, tmp_path: Path, host: str, variable: str
) -> None:
    added_folder = tmp_path / "added"
    added_folder.mkdir()
    assert "tested: it is not marked" in try_to_stop(cli, added_folder, host=host, **{variable: str(project)})
    assert try_to_stop(cli, added_folder, host=host) == "", "where the host names no project, nobody can know"
    assert "tested: it is not marked" in try_to_stop(cli, project, host=host, **{variable: str(added_folder)})


def get_command(reason: str) -> str:
    """Return the command in a reason."""
    match = re.search(r"[Rr]un: (.*)$", reason)
    assert match is not None, reason
    return match[1]


def run_bare(command: str, cwd: Path) -> None:
    """Run a command in a shell that has its own PATH, and nothing of ours in its environment."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    subprocess.run(["sh", "-c", command], cwd=cwd, env=environ, check=True, capture_output=True)


@pytest.mark.parametrize("session", ["s-1", "it's; a $session"])
@pytest.mark.parametrize("folder_kind", ["project", "added"])
def test_the_command_in_the_reason_opens_the_gate(
    cli: CommandLine, project: Path, tmp_path: Path, session: str, folder_kind: str
) -> None:
    cwd = project if folder_kind == "project" else tmp_path / "added"
    cwd.mkdir(exist_ok=True)
    reason = try_to_stop(cli, cwd, session, CLAUDE_PROJECT_DIR=str(project))
    command = f"{shlex.quote(GATEPOST_PATH)} gate mark tested --session {shlex.quote(session)}"
    if folder_kind == "added":
        command = f"GATEPOST_HOME={shlex.quote(str(cli.home))} {command}"
    assert reason == f"tested: it is not marked (run the tests). When it is done, run: {command}"
    run_bare(get_command(reason), cwd)
    assert Session(cli.home, session).is_marked("tested")
    assert try_to_stop(cli, cwd, session, CLAUDE_PROJECT_DIR=str(project)) == ""


def test_a_decision_is_asked_for_by_the_command_in_the_reason(cli: CommandLine, project: Path) -> None:
    cli.run_ok("gate", "unregister", "tested", GATEPOST_HOME=str(cli.home))
    (cli.home / "gatepost.toml").write_text("[stop_decision]\nenabled = true\n")
    reason = try_to_stop(cli, project, "a session")
    command = get_command(reason)
    assert command.startswith(f"{shlex.quote(GATEPOST_PATH)} decision ask ")
    assert command.endswith(" --as analyst --session 'a session'")
    run_bare(command, project)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"CODEX_THREAD_ID": "t-1", "CODEX_SESSION_ID": "s-1"}, "t-1"),
        ({"CODEX_SESSION_ID": "s-1"}, "s-1"),
        ({"CODEX_THREAD_ID": "", "CODEX_SESSION_ID": "s-1"}, "s-1"),
        ({"CLAUDE_CODE_SESSION_ID": "c-1", "CODEX_THREAD_ID": "t-1"}, "c-1"),
    ],
)
def test_the_session_of_a_command_is_known(cli: CommandLine, environ: dict[str, str], expected: str) -> None:
    cli.run_ok("gate", "register", "tested")
    cli.environ |= environ
    cli.run_ok("gate", "mark", "tested")
    assert Session(cli.home, expected).is_marked("tested")


def start_session(cli: CommandLine, session: str, host: str, agent: str) -> None:
    payload = json.dumps({"session_id": session, "source": "startup"}).encode()
    assert cli("hook", "SessionStart", "--host", host, stdin=payload, GATEPOST_AGENT=agent).code == 0


def test_a_session_that_has_hooks_comes_before_one_that_has_none(cli: CommandLine) -> None:
    """A helper of Codex has a thread of its own, and its hooks are those of the session."""
    start_session(cli, "s-1", "codex", "quinn")
    cli.environ |= {"CODEX_THREAD_ID": "t-9", "CODEX_SESSION_ID": "s-1"}
    decision = cli.run_ok("decision", "ask", "Why?", "--text", "--json").json
    assert (decision["session"], decision["asker"]) == ("s-1", "quinn")


@pytest.mark.parametrize(("outer", "inner"), [("claude", "codex"), ("codex", "claude")])
def test_of_two_sessions_the_one_that_began_last_counts(cli: CommandLine, outer: str, inner: str) -> None:
    start_session(cli, "outer", outer, "analyst")
    start_session(cli, "inner", inner, "quinn")
    ids = {outer: "outer", inner: "inner"}
    cli.environ |= {"CLAUDE_CODE_SESSION_ID": ids["claude"], "CODEX_THREAD_ID": ids["codex"]}
    decision = cli.run_ok("decision", "ask", "Why?", "--text", "--json").json
    assert decision["session"] == "inner"
