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

from gatepost.core.times import MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.guests import spool_line as spool_lines
from gatepost.guests.spool_line import SpoolLine
from gatepost.inbox import (
    account_actions,
    claim_actions as inbox,
    expiry_actions as expiry,
    item_actions as inbox_items,
)
from gatepost.inbox.event import ItemState, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.testing import Kit
from tests.guests.hooks.hook_host import HostSession, count_words
from tests.property.run_machine import run_on_postgres, run_on_sqlite

#: where something new comes to before a hook
NEW_ITEMS: Final = st.lists(st.sampled_from(["store", "both", "spool", "key"]), max_size=2)
#: the step at which a hook is killed; mostly it is not
kill_steps: Final = st.integers(0, 60).map(lambda step: step if 1 <= step <= 14 else None)
#: whether a rare thing happens
rare_booleans: Final = st.integers(0, 5).map(lambda number: number == 1)
TOOL_EVENTS: Final = st.sampled_from(["PostToolUse", "PostToolUseFailure"])


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
        self.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        names = ("s-1", "s-2") if two else ("s-1",)
        self.sessions = [HostSession(self.home, self.store, self.clock, name, turns) for name in names]
        self.has_two_sessions = two
        self.calm = calm
        #: what is to be read; by word, how often it was read in a request that was answered
        self.expected_words: set[str] = set()
        self.read_counts: Counter[str] = Counter()
        #: what was printed and may come again, because something went wrong on its way
        self.excused_words: set[str] = set()
        #: minutes that passed since things may have lapsed
        self.waited_minutes = 0
        #: what was printed by a session since its last Stop that went well
        self.recent_words: dict[str, set[str]] = {name: set() for name in names}

    def push(self, session: HostSession, new_items: list[str]) -> None:
        """Others push to the store, which a courier may carry to the spools, or write to the spool alone."""
        for target in new_items:
            word = f"w{len(self.expected_words)}"
            self.expected_words.add(word)
            if target in ("spool", "key"):
                key = f"k-{word}" if target == "key" else None
                session.spool.append(session.session_id, [SpoolLine(id=word, content=f"<{word}>", dedup_key=key)])
                continue
            pushed = self.store.run_sync(push_actions.push_event, Push(to="ann", source="test", content=f"<{word}>"))
            if target == "both":
                event = self.store.read_sync(inbox_items.show, pushed.event)[0].event
                for other_session in self.sessions:
                    other_session.spool.append(other_session.session_id, [spool_lines.from_event(event)])

    def run_hook(
        self, session: HostSession, event_name: str, kill_at: int | None = None, reached: bool = True, **payload: object
    ) -> str:
        text, self.is_killed = session.run_hook(
            event_name, kill_at=None if self.calm else kill_at, reached=reached or self.has_two_sessions, **payload
        )
        self.recent_words[session.session_id] |= count_words([text]).keys()
        if self.is_killed:
            self.excuse_recent(session)
        return text

    def excuse_recent(self, session: HostSession) -> None:
        self.excused_words |= self.recent_words[session.session_id]

    def drop_request(self, session: HostSession) -> None:
        """The request fails, or is not made: its texts are gone."""
        self.excuse_recent(session)
        session.pending_texts.clear()
        session.is_requesting = False

    def answer_request(self, session: HostSession) -> None:
        self.read_counts += count_words(session.pending_texts)
        session.pending_texts.clear()
        repeated_words = {word for word, times in self.read_counts.items() if times > 1} - self.excused_words
        assert not repeated_words, f"read twice: {repeated_words}"

    def pick_session(self, index: int) -> HostSession:
        return self.sessions[index % len(self.sessions)]

    @rule(minutes=st.sampled_from([1, 16, 31]))
    def wait(self, minutes: int) -> None:
        self.clock.advance(minutes * MINUTE)
        self.waited_minutes += minutes
        if self.waited_minutes > 30:  # in one go or in several: what nobody has proved by now may have lapsed
            self.waited_minutes = 0
            for session in self.sessions:
                self.excuse_recent(session)
        if minutes > 30:
            self.store.run_sync(expiry.lapse_claims)

    @rule(index=st.integers(0, 1), kill=kill_steps, reached=st.booleans(), died=rare_booleans, news=NEW_ITEMS)
    def end(self, index: int, kill: int | None, reached: bool, died: bool, news: list[str]) -> None:
        session = self.pick_session(index)
        self.push(session, news)
        if session.is_open and not (self.calm and session.is_requesting):
            self.drop_request(session)
            if not died:
                self.run_hook(session, "SessionEnd", kill, reached, reason="other")
            session.is_open = False

    @rule(index=st.integers(0, 1), kill=kill_steps, reached=st.booleans(), veto=rare_booleans, news=NEW_ITEMS)
    def prompt(self, index: int, kill: int | None, reached: bool, veto: bool, news: list[str]) -> None:
        session = self.pick_session(index)
        self.push(session, news[:1])
        if session.is_requesting and self.calm:
            return
        if not session.is_open:
            session.is_open = True
            session.pending_texts = [self.run_hook(session, "SessionStart", kill, reached, source="resume")]
        if session.is_requesting:  # a person interrupts
            self.drop_request(session)
        self.push(session, news[1:])
        session.turn_number += 1
        session.pending_texts.append(
            self.run_hook(session, "UserPromptSubmit", kill, reached, prompt=f"do {session.turn_number}")
        )
        session.is_requesting = True
        if veto and not self.calm:
            self.drop_request(session)

    @rule(index=st.integers(0, 1), event=st.sampled_from(["UserPromptSubmit", "PostToolUse", "SubagentStop"]))
    def run_helper(self, index: int, event: str) -> None:
        """A helper works beside the agent, whatever that does."""
        session = self.pick_session(index)
        if session.is_open:
            assert self.run_hook(session, event, subagent="h-1", prompt="help") == ""

    @precondition(lambda self: any(session.is_requesting for session in self.sessions) and not self.calm)
    @rule(index=st.integers(0, 1))
    def fail(self, index: int) -> None:
        session = self.pick_session(index)
        if session.is_requesting:
            self.drop_request(session)

    @precondition(lambda self: any(session.is_requesting for session in self.sessions))
    @rule(
        index=st.integers(0, 1),
        tools=st.lists(st.tuples(TOOL_EVENTS, kill_steps, st.booleans(), NEW_ITEMS), min_size=1, max_size=3),
    )
    def use_tools(self, index: int, tools: list[tuple[str, int | None, bool, list[str]]]) -> None:
        session = self.pick_session(index)
        if session.is_requesting:
            self.answer_request(session)
            for event, kill_at, reached, new_items in tools:
                self.push(session, new_items)
                session.pending_texts.append(self.run_hook(session, event, kill_at, reached))

    @precondition(lambda self: any(session.is_requesting for session in self.sessions))
    @rule(index=st.integers(0, 1), kill=kill_steps, reached=st.booleans(), veto=rare_booleans, news=NEW_ITEMS)
    def stop(self, index: int, kill: int | None, reached: bool, veto: bool, news: list[str]) -> None:
        session = self.pick_session(index)
        if not session.is_requesting:
            return
        self.answer_request(session)
        self.push(session, news)
        earlier_words, self.recent_words[session.session_id] = self.recent_words[session.session_id], set()
        text = self.run_hook(session, "Stop", kill, reached)
        if self.is_killed or not reached:  # what it proves, the store has still to hear
            self.recent_words[session.session_id] |= earlier_words
        if self.is_killed:
            self.excuse_recent(session)
        session.pending_texts.append(text)
        session.is_requesting = bool(text)
        if text and veto and not self.calm:
            self.drop_request(session)

    # what holds

    @invariant()
    def nothing_is_delivered_unread(self) -> None:
        if not hasattr(self, "sessions"):
            return
        for item in self.store.read_sync(inbox.list_page, "ann", limit=1_000):
            if item.state is ItemState.DELIVERED:
                assert count_words([item.event.content]).keys() <= self.read_counts.keys(), (
                    f"{item.event.content} was read by nobody"
                )

    def teardown(self) -> None:
        with self.exit:
            if not hasattr(self, "sessions"):
                return
            for session in self.sessions:
                self.drop_request(session)
                session.is_open = False
            self.clock.advance(31 * MINUTE)
            for index in range(len(self.sessions)):
                for _ in range(len(self.expected_words) // 20 + 3):
                    self.prompt(index, None, True, False, [])
                    while self.sessions[index].is_requesting:
                        self.stop(index, None, True, False, [])
            assert self.read_counts.keys() == self.expected_words
            states = {item.state for item in self.store.read_sync(inbox.list_page, "ann", limit=1_000)}
            assert states <= {ItemState.DELIVERED}
            assert not [batch for session in self.sessions for batch in session.spool.read_unproved(session.session_id)]
            assert not [line for session in self.sessions for line in session.spool.peek(session.session_id)]
            [account] = self.store.read_sync(account_actions.list_accounts, "ann")
            assert account.is_balanced


def test_deliveries_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(Deliveries, tmp_path, examples=40, steps=40)


def test_deliveries_on_postgres(empty_postgres_url: str) -> None:
    run_on_postgres(Deliveries, empty_postgres_url, examples=4, steps=30)
