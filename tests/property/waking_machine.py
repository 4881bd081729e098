"""
A state machine that does to sessions in other programs what happens to them, with the real hooks, the real rules of
waking and simulated programs: whoever is said to be reachable is reached, and whoever is said to be lost is not.

A program shows its model what its hooks print, begins a turn when its waiter fires, and starts a waiter after each
start, prompt and stop, a moment later than the hook. It may be killed, interrupted (Esc), or cleared, its requests may
fail, its waiters may be killed, the gateway may be killed, and the clock of the machine may be set back. A waiter with
a gateway decides by `SessionWaiters`, one without by `gatepost hook wait --check`.
"""

import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gatepost.core.times import HOUR, MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.guests import reachability, session_actions as sessions, wake_actions as wakes
from gatepost.guests.hooks import host_process
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.session_state import Session
from gatepost.guests.reachability import ARMED, LOST, PROVED
from gatepost.guests.waiters_background import SessionWaiters, _Waiter, end_gone
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.testing import Kit
from tests.guests.hook_guest import HookGuest
from tests.guests.hooks.hook_host import count_words

#: how long what was promised may take: the patience with a session that seems to work, and one lost wake
_ROUNDS: Final = 50
_ROUND: Final = 5 * SECOND
_PROGRAMS: Final = 2
#: mostly the first: what happens to one session after the other is what is hard
indexes: Final = st.sampled_from([0, 0, 0, 1])


@dataclass
class Program(HookGuest):
    """A program with one session at a time, and the process that waits for it."""

    process: str = ""
    is_running: bool = False
    #: the id of its turn
    turn: str | None = None
    #: the last hook refused its event
    is_blocked: bool = False
    #: a turn runs: the model has been asked
    is_working: bool = False
    #: what the request under way shows to the model
    texts: list[str] = field(default_factory=list)
    #: what its start has shown: it stays in the conversation if a request fails
    start_texts: list[str] = field(default_factory=list)
    #: a hook has just run, whose waiter is still to start
    starts_waiter: bool = False
    waiter: _Waiter | None = None

    def create_context(self) -> HookContext:
        context = super().create_context()
        context.program = self.process
        return context


class WakingMachine(RuleBasedStateMachine):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.exit = ExitStack()
        self.kit = self.exit.enter_context(Kit(url))
        self.home = Path(self.exit.enter_context(tempfile.TemporaryDirectory()))
        patch = self.exit.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(host_process, "is_running", lambda name: name in self.processes)
        self.processes: set[str] = set()
        self.numbers = count(1)

    def teardown(self) -> None:
        with self.exit:
            if hasattr(self, "programs"):
                self.check_that_all_arrives()

    @initialize()
    def furnish(self) -> None:
        self.store, self.clock = self.kit.store, self.kit.clock
        self.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        self.programs = [Program(self.home, self.store, self.clock) for _ in range(_PROGRAMS)]
        #: the gateway, None while it is away
        self.gateway: SessionWaiters | None = None
        self.words: list[str] = []
        #: by how much the clock was set back
        self.set_back = 0
        self.reads: Counter[str] = Counter()
        #: what was in a request that failed or was interrupted, or held by a session that was killed
        self.excused: set[str] = set()
        self.run_program(0)

    # what programs do

    def run_hook(self, program: Program, event: str, **payload: Any) -> None:
        verdict = program.run_hook(event, turn=program.turn, **payload)
        if verdict.context:
            (program.start_texts if event == "SessionStart" else program.texts).append(verdict.context)
        program.is_blocked = verdict.block is not None
        program.starts_waiter |= event in ("SessionStart", "UserPromptSubmit", "Stop")

    def run_program(self, index: int, *, resumed: bool = False) -> None:
        program = self.programs[index]
        program.process = self.start_process()
        program.is_running = True
        if not resumed:
            program.session_id = f"s-{next(self.numbers)}"
        self.begin_session(program, "resume" if resumed else "startup")

    def begin_session(self, program: Program, source: str) -> None:
        program.is_working = False
        self.run_hook(program, "SessionStart", source=source)

    def start_process(self) -> str:
        name = f"here {next(self.numbers)} 1"
        self.processes.add(name)
        return name

    def drop_texts(self, program: Program) -> None:
        self.excused |= count_words(program.texts + program.start_texts).keys()
        program.texts.clear()

    def answer(self, program: Program) -> None:
        """The model answers a request: it has read what the request had."""
        self.reads += count_words(program.texts + program.start_texts)
        program.texts.clear()
        program.start_texts.clear()

    def end_waiter(self, program: Program, *, hangs_up: bool = True) -> None:
        waiter, program.waiter = program.waiter, None
        if waiter is not None:
            self.processes.discard(str(waiter.waker))
            if hangs_up and self.gateway is not None:
                self.gateway._disarm(waiter)

    def prompt_model(self, program: Program, text: str) -> None:
        old_turn, program.turn = program.turn, f"t-{next(self.numbers)}"
        self.run_hook(program, "UserPromptSubmit", prompt=text)
        if program.is_blocked:  # what runs goes on
            program.turn = old_turn
        else:
            program.is_working = True

    def stop_turn(self, program: Program) -> None:
        self.answer(program)
        self.run_hook(program, "Stop")
        program.is_working = bool(program.texts)

    # what happens

    @precondition(lambda self: any(not program.is_running for program in self.programs))
    @rule(index=indexes, resumed=st.booleans())
    def start(self, index: int, resumed: bool) -> None:
        program = self.programs[index]
        if not program.is_running:
            self.run_program(index, resumed=resumed and program.process != "")

    @rule(index=indexes)
    def start_waiter(self, index: int) -> None:
        self._start_waiter(self.programs[index])

    def _start_waiter(self, program: Program) -> None:
        if not (program.is_running and program.starts_waiter):
            return
        program.starts_waiter = False
        if program.waiter is None:
            program.waiter = _Waiter(program.session_id, self.start_process(), program.process)
            # With a gateway it does so for its waiters, and without one `gatepost hook wait` by itself.
            (self.gateway or SessionWaiters(self.home, self.store, is_shared=False))._arm(program.waiter)

    @rule(index=indexes)
    def look(self, index: int) -> None:
        self._start_waiter(self.programs[index])
        self._look(self.programs[index])

    def _look(self, program: Program) -> None:
        """The waiter of a program looks; if it fires, the program begins a turn, unless its session was just read."""
        waiter = program.waiter
        if waiter is None:
            return
        if self.gateway is not None:
            since = self.gateway._look(waiter)
        else:
            waiter.agent = None  # the next gateway does not know it
            end_gone(self.store)
            since = self.store.run_sync(wakes.take_wake, waiter.session, is_running=host_process.is_running)
        if since is None:
            return
        self.end_waiter(program, hangs_up=False)
        token = Session(self.home, program.session_id).leave_token(since)
        if program.is_working:  # a prompt of a program waits for the end of the turn
            self.stop_turn(program)
        self.prompt_model(program, f"items are pending (wake {token})")

    @rule(index=indexes)
    def prompt(self, index: int) -> None:
        program = self.programs[index]
        if program.is_running and not program.is_working:
            self.prompt_model(program, f"do {next(self.numbers)}")

    @rule(index=indexes)
    def use_tool(self, index: int) -> None:
        program = self.programs[index]
        if program.is_running and program.is_working:
            self.answer(program)
            self.run_hook(program, "PostToolUse")

    @rule(index=indexes)
    def stop(self, index: int) -> None:
        program = self.programs[index]
        if program.is_running and program.is_working:
            self.stop_turn(program)

    @rule(index=indexes)
    def interrupt(self, index: int) -> None:
        """Esc, or a request that fails: no hook tells."""
        program = self.programs[index]
        if program.is_running and program.is_working:
            self.drop_texts(program)
            program.is_working = False

    @rule(index=indexes)
    def interrupt_wake(self, index: int) -> None:
        """The wake stays outstanding: nothing proves it."""
        self.push_word()
        self.look(index)
        self.interrupt(index)

    @rule(index=indexes)
    def clear(self, index: int) -> None:
        program = self.programs[index]
        if program.is_running and not program.is_working:
            self.drop_texts(program)
            program.start_texts.clear()
            self.run_hook(program, "SessionEnd")
            self.end_waiter(program)
            program.session_id = f"s-{next(self.numbers)}"
            self.begin_session(program, "clear")

    @rule(index=indexes)
    def kill_program(self, index: int) -> None:
        """Its waiter sees that, a moment later."""
        program = self.programs[index]
        if program.is_running:
            program.is_running = program.is_working = program.starts_waiter = False
            self.processes.discard(program.process)
            self.drop_texts(program)
            program.start_texts.clear()
            self.excused |= set(self.words)
            self.end_waiter(program)

    @rule(index=indexes)
    def kill_waiter(self, index: int) -> None:
        self.end_waiter(self.programs[index])

    @rule()
    def kill_gateway(self) -> None:
        self.gateway = None

    @rule()
    def start_gateway(self) -> None:
        if self.gateway is None:
            self.gateway = SessionWaiters(self.home, self.store, is_shared=False)
            for program in self.programs:
                if program.waiter is not None:
                    program.waiter.agent = None

    @rule(seconds=st.sampled_from([1, 10, 40, 90, 600]))
    def pass_time(self, seconds: int) -> None:
        if seconds > 30:  # a program starts a hook at once, and that its waiter
            for program in self.programs:
                self._start_waiter(program)
                self.excused |= count_words(program.texts + program.start_texts).keys()  # they may be held for too long
        self.clock.advance(seconds * SECOND)

    @rule(back=st.sampled_from([MINUTE, HOUR]))
    def set_clock_back(self, back: int) -> None:
        self.clock.set_back(back)
        self.set_back += back
        self.excused |= set(self.words)  # a claim may lapse late

    @rule()
    def push(self) -> None:
        self.push_word()

    def push_word(self) -> str:
        word = f"w{len(self.words)}"
        self.words.append(word)
        request = Push(to="ann", source="test", content=f"<{word}>")
        [delivery] = self.store.run_sync(push_actions.push_event, request).deliveries
        self.is_sender_told = not delivery.reachable
        return word

    # what holds

    def judge(self) -> dict[str, str]:
        """Return the state of each session that has not ended."""
        guests = self.store.read_sync(sessions.list_of_agent, "ann")
        now = self.clock.now()
        return {
            each.session: reachability.judge(each, now=now, is_running=host_process.is_running).state for each in guests
        }

    @invariant()
    def what_is_gone_reaches_nobody(self) -> None:
        """A session whose program has ended is lost, and no other state is ever said of it."""
        if hasattr(self, "programs"):
            live = {program.session_id for program in self.programs if program.is_running}
            assert {state for id, state in self.judge().items() if id not in live} <= {LOST}

    @rule()
    def push_to_what_was_judged(self) -> None:
        """Push to an agent, and see whether what was said of it comes true while nothing else goes wrong."""
        states = self.judge()
        word = self.push_word()
        is_lost = self.is_sender_told or (bool(states) and set(states.values()) == {LOST})
        self.settle(word)
        if {ARMED, PROVED} & set(states.values()):
            assert self.reads[word], f"{word} did not reach anybody, though the sessions were {states}"
        if is_lost:
            assert not self.reads[word], f"{word} was read, though the sessions were {states}"

    def settle(self, word: str) -> None:
        """Let programs go on, and nobody type anything, until a word was read, or could have been."""
        for _ in range(_ROUNDS):
            for program in self.programs:
                self._start_waiter(program)
                self._look(program)
                if program.is_running and program.is_working:
                    self.stop_turn(program)
            if self.reads[word]:
                return
            self.clock.advance(_ROUND)

    def check_that_all_arrives(self) -> None:
        for program in self.programs:
            self.excused |= count_words(program.texts + program.start_texts).keys()
        self.clock.advance(2 * HOUR + self.set_back)  # what was claimed before the clock was set back lapses, too
        if not any(program.is_running for program in self.programs):
            self.run_program(0)
        program = next(program for program in self.programs if program.is_running)
        for _ in range(len(self.words) // 20 + 3):
            if not program.is_working:
                self.prompt_model(program, f"do {next(self.numbers)}")
            while program.is_working:
                self.stop_turn(program)
        assert self.reads.keys() == set(self.words), [
            (item.event.content, item.state)
            for item in self.store.read_sync(inbox.list_page, "ann", limit=1_000)
            if item.event.content.strip("<>") not in self.reads
        ]
        repeated = {word for word, times in self.reads.items() if times > 1} - self.excused
        assert not repeated, f"read twice: {repeated}"
        for item in self.store.read_sync(inbox.list_page, "ann", limit=1_000):
            assert item.state is ItemState.DELIVERED, item.event.content
