"""Fixtures and verbs of the store suites: two agents, verbs that push events to them, and queries that read them."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, Protocol

import pytest

from gatepost.core.ports import Reader, Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.testing import FakeClock, RecordingSignalSink

#: seconds after which a test stops to wait: only a hang takes as long, on a busy machine too
WAIT_TIMEOUT: Final = 300.0
#: the lane of calls that must go through one writer
LANE: Final = "ann"


class StoreFactory(Protocol):
    def __call__(self, **options: Any) -> Store: ...


class StoreFixtures:
    """The fixtures of all suites; the test class of an adapter overrides `open`."""

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
        """A store with its schema and two agents."""
        store = open(clock=clock, signal_sink=signal_sink)
        store.migrate()
        for name in ("ann", "bob"):
            store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        return store

    @pytest.fixture
    def other_store(self, store: Store, open: StoreFactory, clock: FakeClock) -> Store:
        """A second store on the same database: it sees only what was committed."""
        return open(clock=clock)


class ExpectedError(Exception):
    """Raised by verbs of the suites on purpose."""


def push_text(tx: Transaction, text: str, to: str = "ann") -> str:
    """Push one event. The simplest verb: it writes rows, counts, sends a signal, and returns its argument."""
    push.push_event(tx, make_push(text, to))
    return text


def push_and_fail(tx: Transaction, text: str) -> str:
    """Push one event, then fail, with all work done."""
    push_text(tx, text)
    raise ExpectedError(text)


def push_and_violate_constraint(tx: Transaction, text: str) -> str:
    """Push one event, then run a statement that the database refuses."""
    push_text(tx, text)
    tx.execute("inbox/claims/insert", id=text, recipient=1, kind="nonsense", owner="", fence=0, now=0, deadline=None)
    return text


def push_and_stop_iteration(tx: Transaction, text: str) -> str:
    """Push one event, then raise `StopIteration`, which has a meaning of its own in an event loop."""
    push_text(tx, text)
    return str(next(iter(())))


def make_push(text: str, to: str = "ann") -> Push:
    return Push(to=to, source="office", content=text)


def read_texts(tx: Reader, name: str = "ann") -> list[str]:
    """Return the texts in an inbox, in order."""
    return [item.event.content for item in inbox.peek(tx, name, limit=10_000)]


def count_accepted(tx: Reader, name: str = "ann") -> int:
    """Return how many events an agent has accepted, after a check that its account is balanced."""
    [account] = account_actions.list_accounts(tx, name)
    assert account.is_balanced, account
    return account.accepted


class BlockingVerb:
    """A verb that keeps a writer busy until `release_event` is set, so that the calls made meanwhile wait together."""

    def __init__(self) -> None:
        self.started_event = threading.Event()
        self.release_event = threading.Event()

    def __call__(self, tx: Transaction) -> None:
        self.started_event.set()
        assert self.release_event.wait(WAIT_TIMEOUT), "never let go"


async def run_together(store: Store, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """Make calls wait for the same writer, in this order, then let it run; return the outcome of each."""
    blocker = BlockingVerb()
    blocker_task = asyncio.create_task(store.run(blocker, lane=LANE))
    assert await asyncio.to_thread(blocker.started_event.wait, WAIT_TIMEOUT)
    tasks = [asyncio.create_task(call) for call in calls]
    await yield_to_loop()
    blocker.release_event.set()
    await blocker_task
    return await asyncio.gather(*tasks, return_exceptions=True)


async def yield_to_loop() -> None:
    """Let the event loop run until new calls have reached the store."""
    for _ in range(3):
        await asyncio.sleep(0)
