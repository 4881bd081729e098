"""The little world in which the suites test: two agents, somebody who tells them things, and what they were told."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Final, Protocol

import pytest

from gatepost.actions import directory, inbox, intake, upkeep
from gatepost.actions.directory import Newcomer
from gatepost.core.entity import Kind
from gatepost.core.event import Push
from gatepost.ports import Reader, Store, Transaction
from gatepost.testing.kit import FakeClock, RecordingBell

#: Seconds after which a signal that was waited for is missing.
PATIENCE: Final = 20.0
#: The lane of calls that shall go through one writer.
LANE: Final = "ann"


class Open(Protocol):
    def __call__(self, **options: Any) -> Store: ...


class Office:
    """What the tests are given; an adapter's own test class replaces `open`."""

    @pytest.fixture
    def open(self) -> Open:
        raise NotImplementedError("give the suite a fixture `open` that opens your store")

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    def bell(self) -> RecordingBell:
        return RecordingBell()

    @pytest.fixture
    def store(self, open: Open, clock: FakeClock, bell: RecordingBell) -> Store:
        """A store with its schema, and with two agents in it."""
        store = open(clock=clock, bell=bell)
        store.migrate()
        for name in ("ann", "bob"):
            store.call(directory.register, Newcomer(name=name, kind=Kind.AGENT))
        return store

    @pytest.fixture
    def other(self, store: Store, open: Open, clock: FakeClock) -> Store:
        """A second store on the same database: what it sees is what was committed."""
        return open(clock=clock)


class Refusal(Exception):
    """What a verb raises on purpose."""


def tell(tx: Transaction, text: str, to: str = "ann") -> str:
    """The plainest verb there is: it writes rows, counts, rings, and returns what it was given."""
    intake.push(tx, wish(text, to))
    return text


def tell_and_refuse(tx: Transaction, text: str) -> str:
    """A verb that has done everything when it fails."""
    tell(tx, text)
    raise Refusal(text)


def tell_and_break(tx: Transaction, text: str) -> str:
    """A verb whose last statement the database refuses."""
    tell(tx, text)
    tx.execute("claims/insert", id=text, recipient=1, kind="nonsense", owner="", fence=0, now=0, deadline=None)
    return text


def tell_and_run_dry(tx: Transaction, text: str) -> str:
    """A verb that raises what an event loop takes for a sign of its own."""
    tell(tx, text)
    return str(next(iter(())))


def wish(text: str, to: str = "ann") -> Push:
    return Push(to=to, source="office", content=text)


def told(tx: Reader, name: str = "ann") -> list[str]:
    """What somebody was told, in order."""
    return [item.event.content for item in inbox.peek(tx, name, limit=10_000)]


def accepted(tx: Reader, name: str = "ann") -> int:
    """What the accounts say, which must agree with what is there."""
    [account] = upkeep.accounts(tx, name)
    assert account.balanced, account
    return account.accepted


class Hold:
    """A verb that keeps a writer busy until it is let go, so that the calls made meanwhile wait together."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.go = threading.Event()

    def __call__(self, tx: Transaction) -> None:
        self.began.set()
        assert self.go.wait(PATIENCE), "never let go"


async def together(store: Store, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """Let calls wait for the same writer, in this order, then let it run; return what became of each."""
    hold = Hold()
    holding = asyncio.create_task(store.run(hold, lane=LANE))
    assert await asyncio.to_thread(hold.began.wait, PATIENCE)
    waiting = [asyncio.create_task(call) for call in calls]
    await handed_over()
    hold.go.set()
    await holding
    return await asyncio.gather(*waiting, return_exceptions=True)


async def handed_over() -> None:
    """Give the loop the turns that calls need to reach the store."""
    for _ in range(3):
        await asyncio.sleep(0)
