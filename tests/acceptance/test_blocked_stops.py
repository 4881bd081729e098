"""What an agent is told that may not stop: the command that opens the gate, to be run as it stands from where it is."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.hooks.session import Session
from tests.acceptance.office import PROGRAM as MODULE
from tests.acceptance.office import Office

PROGRAM = str(Path(sys.executable).parent / "gatepost")


@pytest.fixture
def project(office: Office, tmp_path: Path) -> Path:
    """A project with a home in it that nothing names, in which a gate is registered."""
    project = tmp_path / "my project"
    project.mkdir()
    office.home.rename(project / ".gatepost")
    office.home = project / ".gatepost"
    office.done("gate", "register", "tested", "--hint", "run the tests", GATEPOST_HOME=str(office.home))
    del office.environ["GATEPOST_HOME"]
    office.environ["HOME"] = str(tmp_path)
    return project


def stop(office: Office, cwd: Path, session: str = "s-1", host: str = "claude", **environ: str) -> str:
    """Have an agent try to stop in a folder; return why it may not, or nothing."""
    event = "AfterAgent" if host == "gemini" else "stop" if host == "cursor" else "Stop"
    ended = subprocess.run(
        [*MODULE, "hook", event, "--host", host],
        input=json.dumps({"session_id": session, "cwd": str(cwd)}).encode(),
        capture_output=True,
        env=os.environ | office.environ | {"GATEPOST_AGENT": "analyst"} | environ,
        cwd=cwd,
        check=True,
    )
    document = json.loads(ended.stdout or "{}")
    return str(document.get("reason") or document.get("followup_message") or "")


@pytest.mark.parametrize(
    ("host", "variable"),
    [("claude", "CLAUDE_PROJECT_DIR"), ("gemini", "GEMINI_PROJECT_DIR"), ("cursor", "CURSOR_PROJECT_DIR")],
)
def test_the_home_is_found_from_an_added_folder(
    office: Office, project: Path, tmp_path: Path, host: str, variable: str
) -> None:
    added = tmp_path / "added"
    added.mkdir()
    assert "tested: it is not marked" in stop(office, added, host=host, **{variable: str(project)})
    assert stop(office, added, host=host) == "", "where the host names no project, nobody can know"
    assert "tested: it is not marked" in stop(office, project, host=host, **{variable: str(added)})


def get_command(reason: str) -> str:
    """Return the command in a reason."""
    found = re.search(r"[Rr]un: (.*)$", reason)
    assert found is not None, reason
    return found[1]


def run_bare(command: str, cwd: Path) -> None:
    """Run a command in a shell that has its own PATH, and nothing of ours in its environment."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(cwd)}
    subprocess.run(["sh", "-c", command], cwd=cwd, env=environ, check=True, capture_output=True)


@pytest.mark.parametrize("session", ["s-1", "it's; a $session"])
@pytest.mark.parametrize("place", ["project", "added"])
def test_the_command_in_the_reason_opens_the_gate(
    office: Office, project: Path, tmp_path: Path, session: str, place: str
) -> None:
    cwd = project if place == "project" else tmp_path / "added"
    cwd.mkdir(exist_ok=True)
    reason = stop(office, cwd, session, CLAUDE_PROJECT_DIR=str(project))
    command = f"{shlex.quote(PROGRAM)} gate mark tested --session {shlex.quote(session)}"
    if place == "added":
        command = f"GATEPOST_HOME={shlex.quote(str(office.home))} {command}"
    assert reason == f"tested: it is not marked (run the tests). When it is done, run: {command}"
    run_bare(get_command(reason), cwd)
    assert Session(office.home, session).is_marked("tested")
    assert stop(office, cwd, session, CLAUDE_PROJECT_DIR=str(project)) == ""


def test_a_decision_is_asked_for_by_the_command_in_the_reason(office: Office, project: Path) -> None:
    office.done("gate", "unregister", "tested", GATEPOST_HOME=str(office.home))
    (office.home / "gatepost.toml").write_text("[stop_decision]\nenabled = true\n")
    reason = stop(office, project, "a session")
    command = get_command(reason)
    assert command.startswith(f"{shlex.quote(PROGRAM)} decision ask ")
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
def test_the_session_of_a_command_is_known(office: Office, environ: dict[str, str], expected: str) -> None:
    office.done("gate", "register", "tested")
    office.environ |= environ
    office.done("gate", "mark", "tested")
    assert Session(office.home, expected).is_marked("tested")


def begin(office: Office, session: str, host: str, agent: str) -> None:
    told = json.dumps({"session_id": session, "source": "startup"}).encode()
    assert office("hook", "SessionStart", "--host", host, stdin=told, GATEPOST_AGENT=agent).code == 0


def test_a_session_that_has_hooks_comes_before_one_that_has_none(office: Office) -> None:
    """A helper of Codex has a thread of its own, and its hooks are those of the session."""
    begin(office, "s-1", "codex", "quinn")
    office.environ |= {"CODEX_THREAD_ID": "t-9", "CODEX_SESSION_ID": "s-1"}
    decision = office.done("decision", "ask", "Why?", "--text", "--json").json
    assert (decision["session"], decision["asker"]) == ("s-1", "quinn")


@pytest.mark.parametrize(("outer", "inner"), [("claude", "codex"), ("codex", "claude")])
def test_of_two_sessions_the_one_that_began_last_counts(office: Office, outer: str, inner: str) -> None:
    begin(office, "outer", outer, "analyst")
    begin(office, "inner", inner, "quinn")
    ids = {outer: "outer", inner: "inner"}
    office.environ |= {"CLAUDE_CODE_SESSION_ID": ids["claude"], "CODEX_THREAD_ID": ids["codex"]}
    decision = office.done("decision", "ask", "Why?", "--text", "--json").json
    assert decision["session"] == "inner"
