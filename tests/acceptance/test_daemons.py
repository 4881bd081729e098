"""Hooks of sessions that a program runs in a background service, with the environment of another terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.acceptance.office import PROGRAM, Ended, Office

WARNING = (
    "Gatepost takes this session for one of 'analyst', because GATEPOST_AGENT says so in the environment of a"
    " background service that all terminals share. `gatepost hooks install --agent NAME` says it for sure."
)
#: runs a command through a shell, as a host does, and hands it what it was told
HOST = "import subprocess, sys; sys.exit(subprocess.run(['sh', '-c', sys.argv[1] + '; exit $?']).returncode)"


def tell(session: str = "s-1", **fields: str) -> bytes:
    return json.dumps({"session_id": session, "source": "startup", **fields}).encode()


def get_warning(ended: Ended) -> str | None:
    """Return what the person is told."""
    assert (ended.code, ended.err) == (0, ""), ended
    document: dict[str, Any] = json.loads(ended.out or "{}")
    return document.get("systemMessage")


@contextmanager
def run_service(office: Office, **environ: str) -> Iterator[str]:
    """Run a process that has this in its environment from the start; yield its id."""
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | office.environ | environ
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"up\n"
        yield str(process.pid)
        process.stdin.write(b"\n")


def test_a_background_session_of_claude_code_warns_once(office: Office) -> None:
    with run_service(office, GATEPOST_AGENT="analyst") as service:
        environ = {"CLAUDE_JOB_DIR": "/jobs/1", "CLAUDE_PID": service, "GATEPOST_AGENT": "analyst"}
        assert get_warning(office.process("hook", "SessionStart", stdin=tell(), **environ)) == WARNING
        assert get_warning(office.process("hook", "UserPromptSubmit", stdin=tell(prompt="?"), **environ)) is None
        assert get_warning(office.process("hook", "SessionStart", stdin=tell(source="resume"), **environ)) is None
        assert get_warning(office.process("hook", "SessionStart", stdin=tell("s-2"), **environ)) == WARNING


def test_a_name_that_is_not_the_services_needs_no_warning(office: Office) -> None:
    with run_service(office, GATEPOST_AGENT="quinn") as service:
        background = {"CLAUDE_JOB_DIR": "/jobs/1", "CLAUDE_PID": service}
        by_setting = office.process("hook", "SessionStart", stdin=tell(), GATEPOST_AGENT="analyst", **background)
        assert get_warning(by_setting) is None, "the `env` of the settings says it"
        by_entry = office.process("hook", "SessionStart", "--agent", "quinn", stdin=tell("s-2"), **background)
        assert get_warning(by_entry) is None
        in_front = office.process("hook", "SessionStart", stdin=tell("s-3"), GATEPOST_AGENT="quinn", CLAUDE_PID=service)
        assert get_warning(in_front) is None
        (office.home / "gatepost.toml").write_text('agent = "analyst"\n')
        assert get_warning(office.process("hook", "SessionStart", stdin=tell("s-4"), **background)) is None


@pytest.mark.skipif(sys.platform != "linux", reason="it cannot be told without /proc")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["app-server", "--listen", "unix://", "--managed-daemon"], WARNING),
        (["exec", "app-server"], None),
        ([], None),
    ],
)
def test_a_session_in_the_server_of_codex_warns(office: Office, words: list[str], expected: str | None) -> None:
    hook = subprocess.list2cmdline([*PROGRAM, "hook", "SessionStart", "--host", "codex"])
    environ = os.environ | office.environ | {"GATEPOST_AGENT": "analyst"}
    ended = subprocess.run(
        [sys.executable, "-c", HOST, hook, *words], input=tell(), capture_output=True, env=environ, check=False
    )
    assert get_warning(Ended(ended.returncode, ended.stdout.decode(), ended.stderr.decode())) == expected
