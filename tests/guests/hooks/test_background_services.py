"""Hooks of sessions that a program runs in a background service, with the environment of another terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.command_line import GATEPOST_COMMAND, CommandLine, CommandResult

WARNING = (
    "Gatepost takes this session for one of 'analyst', because GATEPOST_AGENT says so in the environment of a"
    " background service that all terminals share. `gatepost hooks install --agent NAME` says it for sure."
)
#: runs a command through a shell, as a host does, and hands it what it was told
HOST_SCRIPT = "import subprocess, sys; sys.exit(subprocess.run(['sh', '-c', sys.argv[1] + '; exit $?']).returncode)"


def build_payload(session: str = "s-1", **fields: str) -> bytes:
    return json.dumps({"session_id": session, "source": "startup", **fields}).encode()


def get_warning(result: CommandResult) -> str | None:
    """Return what the person is told."""
    assert (result.code, result.err) == (0, ""), result
    document: dict[str, Any] = json.loads(result.out or "{}")
    return document.get("systemMessage")


@contextmanager
def run_service(cli: CommandLine, **environ: str) -> Iterator[str]:
    """Run a process that has this in its environment from the start; yield its id."""
    command = [sys.executable, "-c", "print('up', flush=True); input()"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | cli.environ | environ
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == b"up\n"
        yield str(process.pid)
        process.stdin.write(b"\n")


def test_a_background_session_of_claude_code_warns_once(cli: CommandLine) -> None:
    with run_service(cli, GATEPOST_AGENT="analyst") as service:
        environ = {"CLAUDE_JOB_DIR": "/jobs/1", "CLAUDE_PID": service, "GATEPOST_AGENT": "analyst"}
        assert get_warning(cli.run_process("hook", "SessionStart", stdin=build_payload(), **environ)) == WARNING
        assert (
            get_warning(cli.run_process("hook", "UserPromptSubmit", stdin=build_payload(prompt="?"), **environ)) is None
        )
        assert (
            get_warning(cli.run_process("hook", "SessionStart", stdin=build_payload(source="resume"), **environ))
            is None
        )
        assert get_warning(cli.run_process("hook", "SessionStart", stdin=build_payload("s-2"), **environ)) == WARNING


def test_a_name_that_is_not_the_services_needs_no_warning(cli: CommandLine) -> None:
    with run_service(cli, GATEPOST_AGENT="quinn") as service:
        service_environ = {"CLAUDE_JOB_DIR": "/jobs/1", "CLAUDE_PID": service}
        settings_result = cli.run_process(
            "hook", "SessionStart", stdin=build_payload(), GATEPOST_AGENT="analyst", **service_environ
        )
        assert get_warning(settings_result) is None, "the `env` of the settings says it"
        entry_result = cli.run_process(
            "hook", "SessionStart", "--agent", "quinn", stdin=build_payload("s-2"), **service_environ
        )
        assert get_warning(entry_result) is None
        foreground_result = cli.run_process(
            "hook", "SessionStart", stdin=build_payload("s-3"), GATEPOST_AGENT="quinn", CLAUDE_PID=service
        )
        assert get_warning(foreground_result) is None
        (cli.home / "gatepost.toml").write_text('agent = "analyst"\n')
        assert (
            get_warning(cli.run_process("hook", "SessionStart", stdin=build_payload("s-4"), **service_environ)) is None
        )


@pytest.mark.skipif(sys.platform != "linux", reason="it cannot be told without /proc")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["app-server", "--listen", "unix://", "--managed-daemon"], WARNING),
        (["exec", "app-server"], None),
        ([], None),
    ],
)
def test_a_session_in_the_server_of_codex_warns(cli: CommandLine, words: list[str], expected: str | None) -> None:
    hook = subprocess.list2cmdline([*GATEPOST_COMMAND, "hook", "SessionStart", "--host", "codex"])
    environ = os.environ | cli.environ | {"GATEPOST_AGENT": "analyst"}
    result = subprocess.run(
        [sys.executable, "-c", HOST_SCRIPT, hook, *words],
        input=build_payload(),
        capture_output=True,
        env=environ,
        check=False,
    )
    assert get_warning(CommandResult(result.returncode, result.stdout.decode(), result.stderr.decode())) == expected
