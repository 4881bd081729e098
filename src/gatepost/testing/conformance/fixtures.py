"""The little world in which the suites test: two agents, somebody who tells them things, and what they were told."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, Protocol

import pytest

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.actions.directory import EntitySpec
from gatepost.core.entity import EntityKind
from gatepost.core.event import Push
from gatepost.ports import Reader, Store, Transaction
from gatepost.testing.kit import FakeClock, RecordingSignalSink

#: Seconds after which a signal that was waited for is missing.
WAIT_TIMEOUT: Final = 20.0
#: The lane of calls that shall go through one writer.
LANE: Final = "ann"


class StoreFactory(Protocol):
    def __call__(self, **options: Any) -> Store: ...


class StoreFixtures:
    """What the tests are given; an adapter's own test class replaces `open`."""

    @pytest.fixture
    def open(self) -> StoreFactory:
        raise NotImplementedError("give the suite a fixture `open` that opens your store")

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def signal_sink(self) -> RecordingSignalSink:
        return RecordingSignalSink()

    @pytest.fixture
    def store(self, open: StoreFactory, clock: FakeClock, signal_sink: RecordingSignalSink) -> Store:
        """A store with its schema, and with two agents in it."""
        store = open(clock=clock, signal_sink=signal_sink)
        store.migrate()
        for name in ("ann", "bob"):
            store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        return store

    @pytest.fixture
    def other_store(self, store: Store, open: StoreFactory, clock: FakeClock) -> Store:
        """A second store on the same database: what it sees is what was committed."""
        return open(clock=clock)


class ExpectedError(Exception):
    """What a verb raises on purpose."""


def push_text(tx: Transaction, text: str, to: str = "ann") -> str:
    """The plainest verb there is: it writes rows, counts, rings, and returns what it was given."""
    push.push_event(tx, make_push(text, to))
    return text


def push_and_fail(tx: Transaction, text: str) -> str:
    """A verb that has done everything when it fails."""
    push_text(tx, text)
    raise ExpectedError(text)


def push_and_violate_constraint(tx: Transaction, text: str) -> str:
    """A verb whose last statement the database refuses."""
    push_text(tx, text)
    tx.execute("claims/insert", id=text, recipient=1, kind="nonsense", owner="", fence=0, now=0, deadline=None)
    return text


def push_and_stop_iteration(tx: Transaction, text: str) -> str:
    """A verb that raises what an event loop takes for a sign of its own."""
    push_text(tx, text)
    return str(next(iter(())))


def make_push(text: str, to: str = "ann") -> Push:
    return Push(to=to, source="office", content=text)


def read_texts(tx: Reader, name: str = "ann") -> list[str]:
    """What somebody was told, in order."""
    return [item.event.content for item in inbox.peek(tx, name, limit=10_000)]


def count_accepted(tx: Reader, name: str = "ann") -> int:
    """What the accounts say, which must agree with what is there."""
    [account] = maintenance.list_accounts(tx, name)
    assert account.is_balanced, account
    return account.accepted


class BlockingVerb:
    """A verb that keeps a writer busy until it is let go, so that the calls made meanwhile wait together."""

    def __init__(self) -> None:
        self.started_event = threading.Event()
        self.release_event = threading.Event()

    def __call__(self, tx: Transaction) -> None:
        self.started_event.set()
        assert self.release_event.wait(WAIT_TIMEOUT), "never let go"


async def run_together(store: Store, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """Let calls wait for the same writer, in this order, then let it run; return what became of each."""
    blocker = BlockingVerb()
    blocker_task = asyncio.create_task(store.run(blocker, lane=LANE))
    assert await asyncio.to_thread(blocker.started_event.wait, WAIT_TIMEOUT)
    tasks = [asyncio.create_task(call) for call in calls]
    await yield_to_loop()
    blocker.release_event.set()
    await blocker_task
    return await asyncio.gather(*tasks, return_exceptions=True)


async def yield_to_loop() -> None:
    """Give the loop the turns that calls need to reach the store."""
    for _ in range(3):
        await asyncio.sleep(0)
