"""One hook event is answered once, and sessions whose program is gone hold nothing back (D4)."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.guests.hook_entry import HookCall, HookEntry
from gatepost.guests.hooks import host_process
from gatepost.guests.hooks.repeated_event import HookProcess
from gatepost.guests.hooks.session_gates import SessionGate, register
from gatepost.guests.hooks.session_state import Session
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.testing import Kit
from tests.guests.hook_guest import HookGuest
from tests.support.store_context import StoreContext

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="NOT CHECKED: there is no /proc")


class Program:
    """A program that calls several hooks of ours for one event; each is a process of its own, as far as we can tell."""

    def __init__(self, home: Path, kit: Kit) -> None:
        self._home = home
        self._hook_entry = HookEntry(home, store=kit.store, handlers=())
        self._next_process = 2_000_000_000  # beyond the ids of real processes: none of these runs

    def call(
        self, event: str, *, agent: str = "ann", id: int | None = None, started_at: float | None = None, **fields: Any
    ) -> str:
        """Call a hook and return what it prints."""
        self._next_process += 1
        process = HookProcess(id or self._next_process, host_process.read_clock() if started_at is None else started_at)
        hook = HookCall(
            event=event,
            host="claude",
            stdin=json.dumps({"session_id": "s-1", **fields}),
            environ={"GATEPOST_AGENT": agent},
            cwd=str(self._home),
            process=process,
        )
        with pytest.raises(StopIteration) as end:
            next(self._hook_entry.receive(hook))
        end.value.value.on_printed()
        text: str = end.value.value.output.stdout
        return text


@pytest.fixture
def program(tmp_path: Path, kit: Kit) -> Program:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    for name in ("ann", "bob"):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    Session(tmp_path, "s-1").record_warning("work-update")
    return Program(tmp_path, kit)


def push_tea(kit: Kit, to: str = "ann") -> None:
    kit.store.run_sync(push.push_event, Push(to=to, source="cli", content="tea"))


@pytest.mark.parametrize(
    ("event", "fields"),
    [
        ("UserPromptSubmit", {"prompt_id": "p-1", "prompt": "Go ahead."}),
        ("UserPromptSubmit", {"turn_id": "t-1", "prompt": "Go ahead."}),
        ("PostToolUse", {"tool_use_id": "call-1"}),
    ],
)
def test_an_event_with_an_id_is_answered_once(
    program: Program, kit: Kit, event: str, fields: Mapping[str, Any]
) -> None:
    program.call("SessionStart", source="startup")
    push_tea(kit)
    assert "tea" in program.call(event, **fields)
    assert program.call(event, **fields) == "", "the second installation"
    push_tea(kit)
    other_fields: dict[str, Any] = {name: f"{value}-b" for name, value in fields.items()}
    assert "tea" in program.call(event, **other_fields), "another event"


def test_an_event_without_an_id_is_answered_once_to_hooks_that_run_side_by_side(program: Program, kit: Kit) -> None:
    began_at = host_process.read_clock()
    push_tea(kit)
    assert "tea" in program.call("SessionStart", source="startup", started_at=began_at)
    assert program.call("SessionStart", source="startup", started_at=began_at) == ""
    assert "tea" in program.call("SessionStart", source="startup"), "the program was killed and started again"


def test_a_stop_counts_once_and_the_next_one_again(program: Program, tmp_path: Path) -> None:
    """Three stops that were blocked end a loop, however many hooks were called for each."""
    register(tmp_path, SessionGate(name="tests", hint="run the tests"))
    program.call("UserPromptSubmit", prompt_id="p-1")
    for _ in range(3):
        began_at = host_process.read_clock()
        answers = [program.call("Stop", prompt_id="p-1", stop_hook_active=True, started_at=began_at) for _ in range(2)]
        assert ['"block"' in answer for answer in answers] == [True, False]
    assert '"block"' not in program.call("Stop", prompt_id="p-1", stop_hook_active=True)


def test_a_hook_answers_what_a_gateway_has_begun_for_it(program: Program, kit: Kit) -> None:
    push_tea(kit)
    for _ in range(2):
        assert "tea" in program.call("SessionStart", source="startup", id=77)


def test_a_hook_that_was_killed_has_given_no_answer(program: Program, kit: Kit, tmp_path: Path) -> None:
    began_at = host_process.read_clock()
    program.call("SessionStart", source="startup", started_at=began_at)
    Session(tmp_path, "s-1").update(
        lambda state: state._replace(answered=tuple(hook._replace(ended_at=0.0) for hook in state.answered))
    )
    push_tea(kit)
    assert "tea" in program.call("SessionStart", source="startup", started_at=began_at)


def test_hooks_of_different_agents_do_not_repeat_each_other(program: Program, kit: Kit) -> None:
    push_tea(kit, to="bob")
    assert "tea" not in program.call("PostToolUse", tool_use_id="call-1")
    assert "tea" in program.call("PostToolUse", tool_use_id="call-1", agent="bob")


def find_program_of(command: str) -> list[str]:
    """Return the program that a hook in this shell command finds, and whether it is gone while the shell runs."""
    script = (
        "from gatepost.guests.hooks import host_process as p;"
        " program = p.find_program({}, 'gemini'); print(program, p.is_gone(program), sep='\\n')"
    )
    hook = shlex.join([sys.executable, "-c", script])
    shell_command = command.format(hook=hook, quoted_hook=shlex.quote(hook))
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        ["sh", "-c", shell_command], env=environ, capture_output=True, text=True, check=True
    ).stdout.split("\n")


@needs_proc
@pytest.mark.parametrize("command", ["{hook}", "{hook}; true", "sh -c {quoted_hook}; true"])
def test_the_program_is_found_behind_its_shells(command: str) -> None:
    program, is_gone, _ = find_program_of(command)
    assert program.split()[1] == str(os.getpid())
    assert is_gone == "False"


@needs_proc
def test_a_process_that_has_ended_is_gone() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        program = host_process.find_program({"CLAUDE_PID": str(process.pid)}, "claude")
        assert program is not None
        assert not host_process.is_gone(program)
        process.kill()
        process.wait()
    assert host_process.is_gone(program)
    assert not host_process.is_gone(f"another-machine {program.split(' ', 1)[1]}"), "nothing is known of it here"
    assert host_process.is_gone(f"{program}0"), "another process has its id"


@needs_proc
@pytest.mark.parametrize(
    ("agent", "host", "is_shown"), [("ann", "claude", True), ("ann", "gemini", False), ("bob", "claude", False)]
)
def test_what_a_program_was_shown_before_it_was_killed_is_shown_by_its_next_session(
    ctx: StoreContext, tmp_path: Path, agent: str, host: str, is_shown: bool
) -> None:
    guest = HookGuest(tmp_path, ctx.store, ctx.clock)
    next_guest = replace(guest, session_id="s-2")
    live_program = host_process.find_program({"CLAUDE_PID": str(os.getpid())}, "claude")
    assert live_program is not None
    guest.run_hook("SessionStart", source="startup")
    guest.session.update(lambda state: state._replace(program=live_program, host=host))
    ctx.push_event("tea")
    guest.run_hook("UserPromptSubmit")
    assert next_guest.run_hook("SessionStart", source="startup").context is None, "the other session still runs"
    guest.session.update(lambda state: state._replace(program=f"{live_program}0", host=host, agent=agent))
    assert bool(next_guest.run_hook("SessionStart", source="startup").context) == is_shown
