"""
Somebody who pushes and drains, by every way the store can be asked, and keeps a journal of it.

The content of a push is its name: unique in the test, and its dedup key too unless it has none (`loose`). What is
drained goes to the log, flushed, between claim and ack.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from gatepost.actions import inbox, push
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.core.claim import Batch
from gatepost.core.event import Push, PushResult
from gatepost.core.signals import Signal
from gatepost.core.times import MINUTE, Duration
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import Transaction
from tests.faults.journal import Journal
from tests.faults.office import behind


class Deliberate(Exception):
    """A verb that fails on purpose."""


def push_then_fail(tx: Transaction, wish: Push) -> PushResult:
    push.push_event(tx, wish)
    raise Deliberate(wish.content)


def fail_then_push(tx: Transaction, wish: Push) -> PushResult:
    raise Deliberate(wish.content)


def wish(name: str, to: str, *, keyed: bool = True) -> Push:
    return Push(to=to, source="clerk", content=name, key=name if keyed else None)


class Clerk:
    def __init__(self, store: ThreadedStore, folder: Path, life: str) -> None:
        self._store = store
        store._signal_sink = self.ring
        self._life = life
        self._journal = Journal(folder / f"{life}.journal")
        self._log = Journal(folder / f"{life}.log", sync=True)
        self._rings = Journal(folder / f"{life}.rings")
        self.answers = 0

    def ring(self, rings: Sequence[Signal]) -> None:
        """The bell of the store, if this is its last clerk."""
        self._rings.write_all(
            [
                {"word": "rang", "event": ring.event.id if ring.event else None, "recipient": ring.recipient}
                for ring in rings
            ]
        )

    def push(self, wanted: Push) -> None:
        with self._trying(wanted):
            self._answered(wanted, self._store.call(push.push_event, wanted))

    async def push_soon(self, wanted: Push, *, lane: str = "") -> None:
        with self._trying(wanted):
            self._answered(wanted, await self._store.run(push.push_event, wanted, lane=lane))

    async def push_all(self, wanted: Sequence[Push], *, lane: str = "") -> None:
        """In bulk; those that nobody can receive are refused, each alone."""
        with self._trying(*wanted):
            outcomes = await self._store.run(push.push_all, wanted, lane=lane)
        for one, outcome in zip(wanted, outcomes, strict=True):
            if isinstance(outcome, GatepostError):
                self._journal.write("refused", content=one.content, why=type(outcome).__name__)
            else:
                self._answered(one, outcome)

    async def fail(self, verb: Any, wanted: Push, *, lane: str = "") -> None:
        """Ask for what fails on purpose."""
        with self._trying(wanted):
            try:
                await self._store.run(verb, wanted, lane=lane)
            except Deliberate:
                self._journal.write("refused", content=wanted.content, why="Deliberate")
            else:
                raise AssertionError(f"{wanted.content} did not fail")

    def drain(self, name: str, *, hold: Duration = MINUTE, cap: int = 20) -> int:
        batch = self._store.call(inbox.claim, name, owner=self._life, hold=hold, limit=cap)
        if batch.claim is not None:
            self._write_out(batch)
            self._store.call(inbox.ack, batch.claim.id, owner=self._life, fence=batch.claim.fence)
            self._acked(batch)
        return len(batch.items)

    async def drain_soon(self, name: str, *, hold: Duration = MINUTE, cap: int = 20, lane: str = "") -> int:
        batch = await self._store.run(inbox.claim, name, owner=self._life, hold=hold, limit=cap, lane=lane or name)
        if batch.claim is not None:
            self._write_out(batch)
            claim, fence = batch.claim.id, batch.claim.fence
            await self._store.run(inbox.ack, claim, owner=self._life, fence=fence, lane=lane or name)
            self._acked(batch)
        return len(batch.items)

    def note(self, word: str, **facts: Any) -> None:
        self._journal.write(word, **facts)

    @contextmanager
    def _trying(self, *wanted: Push) -> Iterator[None]:
        self._journal.write_all(
            [{"word": "trying", "content": one.content, "to": one.to, "keyed": one.key is not None} for one in wanted]
        )
        try:
            yield
        except Unavailable as error:
            nothing = "same dedup key" not in (error.hint or "")
            for one in wanted:
                self._journal.write("unavailable", content=one.content, nothing=nothing, why=error.message)
            raise

    def _answered(self, wanted: Push, pushed: PushResult) -> None:
        events = {one.name: one.event for one in pushed.deliveries} or dict.fromkeys(behind(wanted.to), pushed.event)
        repeated = pushed.duplicate or any(one.duplicate for one in pushed.deliveries)
        self._journal.write("answered", content=wanted.content, events=events, repeated=repeated)
        self.answers += 1

    def _write_out(self, batch: Batch) -> None:
        assert batch.claim is not None
        self._log.write_all(
            [
                {"word": "read", "claim": batch.claim.id, "event": item.event.id, "recipient": item.recipient}
                for item in batch.items
            ]
        )

    def _acked(self, batch: Batch) -> None:
        assert batch.claim is not None
        self._journal.write("acked", claim=batch.claim.id)
        self.answers += 1


async def together(store: ThreadedStore, *calls: Coroutine[Any, Any, Any], lane: str) -> list[Any]:
    """
    Make the calls one group: the writer of their lane is held in a verb, which then fails, until all of them wait for
    it. Each must ask the store as the first thing it waits for. Errors come back as values.
    """
    loop = asyncio.get_running_loop()
    holding, go = asyncio.Event(), threading.Event()

    def hold(tx: Transaction) -> None:
        loop.call_soon_threadsafe(holding.set)
        go.wait()
        raise Deliberate("hold")

    held = asyncio.ensure_future(store.run(hold, lane=lane))
    await holding.wait()
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(0)  # they ask,
    await asyncio.sleep(0)  # and are handed over
    go.set()
    with suppress(Deliberate):
        await held
    return await asyncio.gather(*tasks, return_exceptions=True)
