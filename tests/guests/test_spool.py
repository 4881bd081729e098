"""
A guest is told everything once, by whichever roads it came: pushed, carried to its spool, written there by others, read
through another door, with the store or without it.
"""

import re
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, precondition, rule

from gatepost.core.ports import Store
from gatepost.core.times import HOUR, MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Unavailable
from gatepost.guests import spool_line as spool_lines
from gatepost.guests.hooks.drain import DrainedBatch, drain
from gatepost.guests.spool_files import FileSpool
from gatepost.guests.spool_line import SpoolLine
from gatepost.inbox import account_actions, claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.batch_selection import MIN_BUDGET
from gatepost.inbox.claimed_batch import Batch
from gatepost.inbox.event import Event, Priority, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.testing import Kit
from tests.property.run_machine import run_on_postgres, run_on_sqlite

SESSION: Final = "s-1"
KEYS: Final = st.sampled_from(["k1", "k2", "k3"]) | st.none()
PRIORITIES: Final = st.sampled_from(list(Priority))
WORD_PATTERN: Final = re.compile(r"<(\w+)>|\\u003c(\w+)>")


class FailingStore:
    """A store that is out of reach, from the beginning or before the ack."""

    def __init__(self, store: Store, remaining_calls: int) -> None:
        self._store = store
        self._remaining_calls = remaining_calls

    def run_sync(self, verb: Callable[..., object], /, *args: object, **kwargs: object) -> object:
        self._remaining_calls -= 1
        if self._remaining_calls < 0:
            raise Unavailable("the store is out of reach")
        return self._store.run_sync(verb, *args, **kwargs)


class GuestMachine(RuleBasedStateMachine):
    events: Bundle[Event] = Bundle("events")

    def __init__(self, url: str) -> None:
        super().__init__()
        self.exit = ExitStack()
        self.kit = self.exit.enter_context(Kit(url))
        self.folder = self.exit.enter_context(tempfile.TemporaryDirectory())

    @initialize(doors=st.booleans())
    def furnish(self, doors: bool) -> None:
        """
        With other doors in use, what is read there is known to the store alone: then the store is always reached, and
        keys that only the spool knows are not pushed later.
        """
        self.doors = doors
        self.store = self.kit.store
        self.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        self.spool = FileSpool(f"{self.folder}/spool/<session>.jsonl")
        self.file = Path(self.folder, "spool", f"{SESSION}.jsonl")
        #: what is to be seen: the key of what has one, a word of its own for what has none
        self.expected_words: set[str] = set()
        self.seen_counts: Counter[str] = Counter()
        self.elsewhere: Batch | None = None
        self.word_count = 0

    def add_word(self, key: str | None) -> str:
        self.word_count += 1
        self.expected_words.add(word := key or f"w{self.word_count}")
        return word

    @rule(target=events, key=KEYS, priority=PRIORITIES)
    def push(self, key: str | None, priority: Priority) -> Event:
        push = Push(to="ann", source="test", content=f"<{self.add_word(key)}>", priority=priority, dedup_key=key)
        result = self.store.run_sync(push_actions.push_event, push)
        return self.store.read_sync(inbox_items.show, result.deliveries[0].event)[0].event

    @rule(event=events)
    def carry(self, event: Event) -> None:
        """A courier, or the push itself, writes what is in the store; perhaps twice, perhaps late."""
        self.spool.append(SESSION, [spool_lines.from_event(event)])

    @rule(key=KEYS, priority=PRIORITIES, ends=st.sampled_from(["\n", ""]))
    def write(self, key: str | None, priority: Priority, ends: str) -> None:
        """Another program writes a line of its own; it may know a key that is pushed too, before or later."""
        self.word_count += 1
        key = f"own_{key}" if key and self.doors else key
        spool_line = SpoolLine(
            id=f"x{self.word_count}",
            content=f"<{self.add_word(key)}>",
            priority=priority,
            dedup_key=key,
            timestamp_ms=self.kit.clock.now() // 1_000,
        )
        self.file.parent.mkdir(exist_ok=True)
        with self.file.open("ab") as file:
            file.write(spool_line.to_bytes().rstrip() + ends.encode())

    @rule(reconcile=st.booleans(), reached=st.sampled_from([0, 1, 9]), limit=st.sampled_from([1, 3, 20]))
    def read(self, reconcile: bool, reached: int, limit: int) -> None:
        batch = self.drain(reconcile, 9 if self.doors else reached, limit)
        batch.ack()
        self.check_batch(batch)

    @rule(reconcile=st.booleans())
    def fail_to_read(self, reconcile: bool) -> None:
        """The output could not be written."""
        self.drain(reconcile, 9, 20).release()

    @precondition(lambda self: self.doors and not self.elsewhere)
    @rule()
    def claim_elsewhere(self) -> None:
        batch = self.store.run_sync(inbox.claim, "ann", owner="door", limit=2)
        self.elsewhere = batch if batch.claim else None

    @precondition(lambda self: self.elsewhere)
    @rule(read=st.booleans())
    def end_elsewhere(self, read: bool) -> None:
        assert self.elsewhere is not None
        assert self.elsewhere.claim is not None
        claim = self.elsewhere.claim
        self.store.run_sync(inbox.ack if read else inbox.release, claim.id, owner=claim.owner, fence=claim.fence)
        text, self.elsewhere = str(self.elsewhere), None
        self.count_words(text if read else "")

    @precondition(lambda self: not self.elsewhere)
    @rule()
    def wait(self) -> None:
        """Long enough for a claim that was left open to lapse, and not so long that a key is forgotten."""
        self.kit.clock.advance(MINUTE + SECOND)

    def drain(self, reconcile: bool, call_count: int, limit: int) -> DrainedBatch:
        store = FailingStore(self.store, call_count)
        return drain(
            store,  # type: ignore[arg-type]
            self.spool,
            session=SESSION,
            agent="ann",
            now=self.kit.clock.now(),
            include_pending=reconcile,
            limit=limit,
            budget=MIN_BUDGET if limit == 3 else 9_000,
        )

    def check_batch(self, batch: DrainedBatch) -> None:
        if batch.text:
            assert len(batch.text.splitlines()) == len(batch.events) + 1
        self.count_words(batch.text)

    def count_words(self, text: str) -> None:
        self.seen_counts.update(plain_word or escaped_word for plain_word, escaped_word in WORD_PATTERN.findall(text))
        assert not [word for word, times in self.seen_counts.items() if times > 1], "seen twice"

    def teardown(self) -> None:
        with self.exit:
            if not hasattr(self, "store"):
                return
            if self.elsewhere:
                self.end_elsewhere(read=True)
            self.kit.clock.advance(HOUR)
            while (batch := self.drain(True, 9, 20)).text:
                batch.ack()
                self.check_batch(batch)
            assert set(self.seen_counts) == self.expected_words
            assert not self.spool.peek(SESSION)
            [account] = self.store.read_sync(account_actions.list_accounts, "ann")
            assert account.is_balanced
            assert not self.store.read_sync(inbox.peek, "ann")


def test_a_guest_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(GuestMachine, tmp_path, examples=15, steps=30)


def test_a_guest_on_postgres(empty_postgres_url: str) -> None:
    run_on_postgres(GuestMachine, empty_postgres_url, examples=4, steps=30)
