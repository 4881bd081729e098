"""`gatepost hook wait`: one small process waits for a session, wakes it for an item, and ends with its program."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.guests.hooks.hook_calls import build_payload, run_hook
from tests.support.command_line import CommandLine, CommandResult
from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.waits import LAST_RESORT

#: what its docstring promises, in kB
MAX_MEMORY = 15_000


def wait_until(check: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + LAST_RESORT
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


@contextmanager
def run_program() -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that stands for the program of a session."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as program:
        try:
            yield program
        finally:
            program.kill()


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    with run_program() as process:
        yield process


def start_waiter(cli: CommandLine, program: subprocess.Popen[bytes], **environ: str) -> subprocess.Popen[str]:
    process = start_hook(cli, "wait", CLAUDE_PID=str(program.pid), **environ)
    assert process.stdin is not None
    process.stdin.write('{"session_id": "s-1"}')
    process.stdin.close()
    return process


def start_hook(cli: CommandLine, *words: str, **environ: str) -> subprocess.Popen[str]:
    """Start a hook of the analyst's as a child of this process."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("GATEPOST_", "CLAUDE"))}
    return subprocess.Popen(
        [sys.executable, "-m", "gatepost.cli.main", "hook", *words],
        env=variables | {"GATEPOST_HOME": str(cli.home), "GATEPOST_AGENT": "analyst"} | environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_session(cli: CommandLine) -> dict[str, Any]:
    document: Any = cli.run_ok("agent", "show", "analyst", "--json").json
    [session] = document["sessions"]
    return dict(session)


def wait_for_state(cli: CommandLine, state: str) -> None:
    wait_until(
        lambda: cli.run_ok("agent", "show", "analyst", "--json").json["reachability"]["state"] == state,
        f"it is not {state}",
    )


def start_session(cli: CommandLine, program: subprocess.Popen[bytes]) -> None:
    run_hook(cli, "SessionStart", CLAUDE_PID=str(program.pid))


def call_hook(cli: CommandLine, event: str, **fields: str) -> CommandResult:
    """Run a hook of the session with this input."""
    return cli.run_process("hook", event, stdin=build_payload(**fields), GATEPOST_AGENT="analyst")


def finish(waiter: subprocess.Popen[str]) -> tuple[int, str]:
    with waiter:
        assert waiter.stderr is not None
        err = waiter.stderr.read()
        return waiter.wait(LAST_RESORT), err


def check_wake(cli: CommandLine, program: subprocess.Popen[bytes]) -> None:
    """An item wakes the session once; the prompt that comes of it shows the item, and a reply proves the wake."""
    start_session(cli, program)
    waiter = start_waiter(cli, program)
    wait_for_state(cli, "armed")
    command = Path(f"/proc/{waiter.pid}/cmdline")  # it arms the session, and then becomes a smaller program
    wait_until(lambda: "waiter.py" in command.read_text(), "it has not become the program that waits")
    status = Path(f"/proc/{waiter.pid}/status").read_text()
    memory = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    assert memory < MAX_MEMORY
    cli.run_ok("inbox", "push", "--to", "analyst", "tea")
    code, text = finish(waiter)
    assert code == 2
    assert "tea" not in text, "what is pending is shown by the hook, and by nobody else"
    call_hook(cli, "UserPromptSubmit", prompt="Go ahead.", prompt_id="p-0")  # a person was faster
    call_hook(cli, "Stop", prompt_id="p-0")
    late = json.loads(call_hook(cli, "UserPromptSubmit", prompt=f"<system>{text}</system>", prompt_id="p-1").out)
    assert late["decision"] == "block", "nothing is pending any more, so the model is not asked"
    assert read_session(cli)["state"] == "idle"
    waiter = start_waiter(cli, program)
    wait_for_state(cli, "armed")
    cli.run_ok("inbox", "push", "--to", "analyst", "coffee")
    code, text = finish(waiter)
    assert "coffee" in call_hook(cli, "UserPromptSubmit", prompt=f"<system>{text}</system>", prompt_id="p-2").out
    call_hook(cli, "Stop", prompt_id="p-2")
    reachability = read_session(cli)["reachability"]
    assert reachability["provedAt"] is not None
    assert 0 <= reachability["latency"] < LAST_RESORT
    waiter = start_waiter(cli, program)
    wait_for_state(cli, "proved")
    program.kill()
    program.wait()
    assert finish(waiter) == (0, "")
    wait_for_state(cli, "lost")
    wait_until(lambda: not cli.run_ok("agent", "show", "analyst", "--json").json["sessions"], "it has not ended")
    pushed = cli.run_ok("inbox", "push", "--to", "analyst", "later", "--json")
    [recipient] = pushed.json["recipients"]
    assert recipient["reachable"] is False, "its sender is told"
    [recipient] = cli.run_ok("send", "analyst", "later", "--json").json["recipients"]
    assert recipient["reachable"] is False
    with run_program() as next_program:
        start_session(cli, next_program)
        [recipient] = cli.run_ok("inbox", "push", "--to", "analyst", "now", "--json").json["recipients"]
        assert "reachable" not in recipient, "what woke it in the last program says nothing about this one"
        assert finish(start_waiter(cli, next_program))[0] == 2


def test_it_wakes_its_session_from_a_store(cli: CommandLine, program: subprocess.Popen[bytes]) -> None:
    check_wake(cli, program)


def test_it_wakes_its_session_from_a_gateway(cli: CommandLine, program: subprocess.Popen[bytes]) -> None:
    with run_gateway_process(cli.home):
        check_wake(cli, program)


def test_one_waits_for_a_session_and_it_ends_with_the_session(
    cli: CommandLine, program: subprocess.Popen[bytes]
) -> None:
    start_session(cli, program)
    waiter = start_waiter(cli, program)
    wait_for_state(cli, "armed")
    assert finish(start_waiter(cli, program)) == (0, "")
    call_hook(cli, "SessionEnd", reason="clear")
    assert finish(waiter) == (0, "")


def test_one_waits_for_a_session_that_is_continued(cli: CommandLine, program: subprocess.Popen[bytes]) -> None:
    """Its process and the hook of the start begin at the same time, and what is recorded is the end of the last one."""
    start_session(cli, program)
    call_hook(cli, "SessionEnd", reason="other")
    with run_program() as next_program:
        waiter = start_waiter(cli, next_program)
        wait_until((cli.home / "sessions/s-1/waiter.lock").exists, "it does not start")
        start_session(cli, next_program)
        wait_for_state(cli, "armed")
        call_hook(cli, "SessionEnd", reason="other")
        assert finish(waiter) == (0, "")


@pytest.mark.parametrize("entry_point", ["sdk-cli", "sdk-py"])
def test_a_program_without_a_terminal_is_not_kept_from_ending(
    cli: CommandLine, program: subprocess.Popen[bytes], entry_point: str
) -> None:
    start_session(cli, program)
    assert finish(start_waiter(cli, program, CLAUDE_CODE_ENTRYPOINT=entry_point)) == (0, "")


def test_a_wake_resets_nothing_that_a_person_would(cli: CommandLine, program: subprocess.Popen[bytes]) -> None:
    start_session(cli, program)
    folder = cli.home / "sessions/s-1"
    (folder / "marks").mkdir()
    (folder / "marks/decision").touch()
    (folder / "wake.json").write_text('{"token": "4711", "since": 1}')
    before = json.loads((folder / "state.json").read_text())
    cli.run_ok("inbox", "push", "--to", "analyst", "tea")
    assert "tea" in call_hook(cli, "UserPromptSubmit", prompt="(wake 4711)", prompt_id="p-1").out
    state = json.loads((folder / "state.json").read_text())
    assert (folder / "marks/decision").exists()
    assert (state["prompts"], state["turn"]) == (before["prompts"], before["turn"])
    call_hook(cli, "UserPromptSubmit", prompt="(wake 4711)", prompt_id="p-2")
    assert not (folder / "marks/decision").exists(), "a token is good for one prompt"


def test_a_program_that_is_not_there_any_more_has_no_waiter(cli: CommandLine) -> None:
    with run_program() as program:
        start_session(cli, program)
        program.kill()
        program.wait()
        assert finish(start_waiter(cli, program))[0] == 0


def test_the_model_of_gemini_runs_it_in_a_shell_and_the_wake_shows_the_item(cli: CommandLine) -> None:
    """A command there is given no session: it is the one of the program that runs it. This process stands for that."""
    gemini = ("--host", "gemini")
    code, text = finish(start_hook(cli, "wait", *gemini))
    assert (code, text) == (0, "gatepost: no session of Gemini CLI runs this command, so nothing waits\n")
    with start_hook(cli, "SessionStart", *gemini) as hook:
        hook.communicate(build_payload(source="startup").decode())
    waiter = start_hook(cli, "wait", *gemini)
    wait_for_state(cli, "armed")
    cli.run_ok("inbox", "push", "--to", "analyst", "tea")
    code, text = finish(waiter)
    assert code == 2
    payload = build_payload(prompt=f"<user_input>{text}</user_input>")
    shown = cli.run_process("hook", "BeforeAgent", *gemini, stdin=payload, GATEPOST_AGENT="analyst")
    assert "tea" in shown.out
