"""
D4 under everything that can go wrong: every item is read in a turn that a model answered, none is marked as delivered
before, and none is read twice unless something went wrong on its way.
"""

import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.actions.directory import EntitySpec
from gatepost.core import spool_line as spool_lines
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Push
from gatepost.core.spool_line import SpoolLine
from gatepost.core.times import MINUTE
from gatepost.testing import Kit
from tests.property.deliveries import Session, words
from tests.property.machines import run_on_postgres, run_on_sqlite

#: where something new comes to before a hook
NEWS: Final = st.lists(st.sampled_from(["store", "both", "spool", "key"]), max_size=2)
#: the step at which a hook is killed; mostly it is not
KILLS: Final = st.integers(0, 60).map(lambda step: step if 1 <= step <= 14 else None)
#: whether a rare thing happens
RARELY: Final = st.integers(0, 5).map(lambda number: number == 1)
TOOLS: Final = st.sampled_from(["PostToolUse", "PostToolUseFailure"])


class Deliveries(RuleBasedStateMachine):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.exit = ExitStack()
        self.kit = self.exit.enter_context(Kit(url))
        self.home = Path(self.exit.enter_context(tempfile.TemporaryDirectory()))

    @initialize(two=st.booleans(), turns=st.booleans(), calm=st.booleans())
    def furnish(self, two: bool, turns: bool, calm: bool) -> None:
        """
        With two sessions the store is always reached: what is read without it, the other session cannot know of. Where
        it is calm nothing is killed or dropped, so nothing at all may come twice.
        """
        self.store, self.clock = self.kit.store, self.kit.clock
        self.store.call(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        names = ("s-1", "s-2") if two else ("s-1",)
        self.sessions = [Session(self.home, self.store, self.clock, name, turns) for name in names]
        self.two = two
        self.calm = calm
        #: what is to be read; by word, how often it was read in a request that was answered
        self.owed: set[str] = set()
        self.read: Counter[str] = Counter()
        #: what was printed and may come again, because something went wrong on its way
        self.excused: set[str] = set()
        #: minutes that passed since things may have lapsed
        self.waited = 0
        #: what was printed by a session since its last Stop that went well
        self.recent: dict[str, set[str]] = {name: set() for name in names}

    def push(self, session: Session, news: list[str]) -> None:
        """Others push to the store, which a courier may carry to the spools, or write to the spool alone."""
        for where in news:
            word = f"w{len(self.owed)}"
            self.owed.add(word)
            if where in ("spool", "key"):
                key = f"k-{word}" if where == "key" else None
                session.spool.append(session.id, [SpoolLine(id=word, content=f"<{word}>", dedup_key=key)])
                continue
            pushed = self.store.call(push.push_event, Push(to="ann", source="test", content=f"<{word}>"))
            if where == "both":
                event = self.store.query(inbox.show, pushed.event)[0].event
                for each in self.sessions:
                    each.spool.append(each.id, [spool_lines.from_event(event)])

    def hook(self, session: Session, event: str, kill: int | None = None, reached: bool = True, **told: object) -> str:
        text, self.is_killed = session.hook(
            event, kill=None if self.calm else kill, reached=reached or self.two, **told
        )
        self.recent[session.id] |= words([text]).keys()
        if self.is_killed:
            self.disturb(session)
        return text

    def disturb(self, session: Session) -> None:
        self.excused |= self.recent[session.id]

    def drop(self, session: Session) -> None:
        """The request fails, or is not made: its texts are gone."""
        self.disturb(session)
        session.context.clear()
        session.is_requesting = False

    def answer(self, session: Session) -> None:
        self.read += words(session.context)
        session.context.clear()
        twice = {word for word, times in self.read.items() if times > 1} - self.excused
        assert not twice, f"read twice: {twice}"

    def pick(self, index: int) -> Session:
        return self.sessions[index % len(self.sessions)]

    @rule(minutes=st.sampled_from([1, 16, 31]))
    def wait(self, minutes: int) -> None:
        self.clock.advance(minutes * MINUTE)
        self.waited += minutes
        if self.waited > 30:  # in one go or in several: what nobody has proved by now may have lapsed
            self.waited = 0
            for each in self.sessions:
                self.disturb(each)
        if minutes > 30:
            self.store.call(maintenance.lapse_claims)

    @rule(index=st.integers(0, 1), kill=KILLS, reached=st.booleans(), died=RARELY, news=NEWS)
    def end(self, index: int, kill: int | None, reached: bool, died: bool, news: list[str]) -> None:
        session = self.pick(index)
        self.push(session, news)
        if session.is_open and not (self.calm and session.is_requesting):
            self.drop(session)
            if not died:
                self.hook(session, "SessionEnd", kill, reached, reason="other")
            session.is_open = False

    @rule(index=st.integers(0, 1), kill=KILLS, reached=st.booleans(), veto=RARELY, news=NEWS)
    def prompt(self, index: int, kill: int | None, reached: bool, veto: bool, news: list[str]) -> None:
        session = self.pick(index)
        self.push(session, news[:1])
        if session.is_requesting and self.calm:
            return
        if not session.is_open:
            session.is_open = True
            session.context = [self.hook(session, "SessionStart", kill, reached, source="resume")]
        if session.is_requesting:  # a person interrupts
            self.drop(session)
        self.push(session, news[1:])
        session.turn += 1
        session.context.append(self.hook(session, "UserPromptSubmit", kill, reached, prompt=f"do {session.turn}"))
        session.is_requesting = True
        if veto and not self.calm:
            self.drop(session)

    @rule(index=st.integers(0, 1), event=st.sampled_from(["UserPromptSubmit", "PostToolUse", "SubagentStop"]))
    def run_helper(self, index: int, event: str) -> None:
        """A helper works beside the agent, whatever that does."""
        session = self.pick(index)
        if session.is_open:
            assert self.hook(session, event, subagent="h-1", prompt="help") == ""

    @precondition(lambda self: any(each.is_requesting for each in self.sessions) and not self.calm)
    @rule(index=st.integers(0, 1))
    def fail(self, index: int) -> None:
        session = self.pick(index)
        if session.is_requesting:
            self.drop(session)

    @precondition(lambda self: any(each.is_requesting for each in self.sessions))
    @rule(index=st.integers(0, 1), tools=st.lists(st.tuples(TOOLS, KILLS, st.booleans(), NEWS), min_size=1, max_size=3))
    def use_tools(self, index: int, tools: list[tuple[str, int | None, bool, list[str]]]) -> None:
        session = self.pick(index)
        if session.is_requesting:
            self.answer(session)
            for event, kill, reached, news in tools:
                self.push(session, news)
                session.context.append(self.hook(session, event, kill, reached))

    @precondition(lambda self: any(each.is_requesting for each in self.sessions))
    @rule(index=st.integers(0, 1), kill=KILLS, reached=st.booleans(), veto=RARELY, news=NEWS)
    def stop(self, index: int, kill: int | None, reached: bool, veto: bool, news: list[str]) -> None:
        session = self.pick(index)
        if not session.is_requesting:
            return
        self.answer(session)
        self.push(session, news)
        before, self.recent[session.id] = self.recent[session.id], set()
        text = self.hook(session, "Stop", kill, reached)
        if self.is_killed or not reached:  # what it proves, the store has still to hear
            self.recent[session.id] |= before
        if self.is_killed:
            self.disturb(session)
        session.context.append(text)
        session.is_requesting = bool(text)
        if text and veto and not self.calm:
            self.drop(session)

    # what holds

    @invariant()
    def nothing_is_delivered_unread(self) -> None:
        if not hasattr(self, "sessions"):
            return
        for item in self.store.query(inbox.page, "ann", limit=1_000):
            if item.state is ItemState.DELIVERED:
                assert words([item.event.content]).keys() <= self.read.keys(), (
                    f"{item.event.content} was read by nobody"
                )

    def teardown(self) -> None:
        with self.exit:
            if not hasattr(self, "sessions"):
                return
            for each in self.sessions:
                self.drop(each)
                each.is_open = False
            self.clock.advance(31 * MINUTE)
            for index in range(len(self.sessions)):
                for _ in range(len(self.owed) // 20 + 3):
                    self.prompt(index, None, True, False, [])
                    while self.sessions[index].is_requesting:
                        self.stop(index, None, True, False, [])
            assert self.read.keys() == self.owed
            states = {item.state for item in self.store.query(inbox.page, "ann", limit=1_000)}
            assert states <= {ItemState.DELIVERED}
            assert not [batch for each in self.sessions for batch in each.spool.read_unproved(each.id)]
            assert not [line for each in self.sessions for line in each.spool.peek(each.id)]
            [account] = self.store.query(maintenance.list_accounts, "ann")
            assert account.is_balanced


def test_deliveries_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(Deliveries, tmp_path, examples=100, steps=40)


def test_deliveries_on_postgres(swept_url: str) -> None:
    run_on_postgres(Deliveries, swept_url, examples=8, steps=30)
