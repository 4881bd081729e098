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

from gatepost.core.ports import Transaction
from gatepost.core.signals import Signal
from gatepost.core.times import MINUTE, Duration
from gatepost.errors import GatepostError, Unavailable
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.claimed_batch import Batch
from gatepost.inbox.event import Push, PushResult
from gatepost.inbox.push import actions as push_actions
from gatepost.stores.threaded_store import ThreadedStore
from tests.faults.crew_store import resolve_recipients
from tests.faults.stores.journal import Journal


class DeliberateError(Exception):
    """A verb that fails on purpose."""


def push_then_fail(tx: Transaction, push: Push) -> PushResult:
    push_actions.push_event(tx, push)
    raise DeliberateError(push.content)


def fail_then_push(tx: Transaction, push: Push) -> PushResult:
    raise DeliberateError(push.content)


def build_push(name: str, address: str, *, keyed: bool = True) -> Push:
    return Push(to=address, source="clerk", content=name, dedup_key=name if keyed else None)


class JournaledClient:
    def __init__(self, store: ThreadedStore, folder: Path, life: str) -> None:
        self._store = store
        store._signal_sink = self.record_signals
        self._life = life
        self._journal = Journal(folder / f"{life}.journal")
        self._log = Journal(folder / f"{life}.log", is_synced=True)
        self._signals = Journal(folder / f"{life}.signals")
        self.answer_count = 0

    def record_signals(self, signals: Sequence[Signal]) -> None:
        """The signal sink of the store, if this is its last clerk."""
        self._signals.write_all(
            [
                {
                    "word": "signalled",
                    "event": signal.event.id if signal.event else None,
                    "recipient": signal.topic.recipient,
                }
                for signal in signals
            ]
        )

    def push(self, push: Push) -> None:
        with self._record_attempt(push):
            self._record_answer(push, self._store.run_sync(push_actions.push_event, push))

    async def push_async(self, push: Push, *, lane: str = "") -> None:
        with self._record_attempt(push):
            self._record_answer(push, await self._store.run(push_actions.push_event, push, lane=lane))

    async def push_all(self, pushes: Sequence[Push], *, lane: str = "") -> None:
        """In bulk; those that nobody can receive are refused, each alone."""
        with self._record_attempt(*pushes):
            outcomes = await self._store.run(push_actions.push_all, pushes, lane=lane)
        for push, outcome in zip(pushes, outcomes, strict=True):
            if isinstance(outcome, GatepostError):
                self._journal.write("refused", content=push.content, why=type(outcome).__name__)
            else:
                self._record_answer(push, outcome)

    async def fail(self, verb: Any, push: Push, *, lane: str = "") -> None:
        """Ask for what fails on purpose."""
        with self._record_attempt(push):
            try:
                await self._store.run(verb, push, lane=lane)
            except DeliberateError:
                self._journal.write("refused", content=push.content, why="Deliberate")
            else:
                raise AssertionError(f"{push.content} did not fail")

    def drain(self, name: str, *, hold: Duration = MINUTE, limit: int = 20) -> int:
        batch = self._store.run_sync(inbox.claim, name, owner=self._life, hold=hold, limit=limit)
        if batch.claim is not None:
            self._log_batch(batch)
            self._store.run_sync(inbox.ack, batch.claim.id, owner=self._life, fence=batch.claim.fence)
            self._record_ack(batch)
        return len(batch.items)

    async def drain_async(self, name: str, *, hold: Duration = MINUTE, limit: int = 20, lane: str = "") -> int:
        batch = await self._store.run(inbox.claim, name, owner=self._life, hold=hold, limit=limit, lane=lane or name)
        if batch.claim is not None:
            self._log_batch(batch)
            claim, fence = batch.claim.id, batch.claim.fence
            await self._store.run(inbox.ack, claim, owner=self._life, fence=fence, lane=lane or name)
            self._record_ack(batch)
        return len(batch.items)

    def note(self, word: str, **facts: Any) -> None:
        self._journal.write(word, **facts)

    @contextmanager
    def _record_attempt(self, *pushes: Push) -> Iterator[None]:
        self._journal.write_all(
            [
                {"word": "trying", "content": push.content, "to": push.to, "keyed": push.dedup_key is not None}
                for push in pushes
            ]
        )
        try:
            yield
        except Unavailable as error:
            is_certain = "same dedup key" not in (error.hint or "")
            for push in pushes:
                self._journal.write("unavailable", content=push.content, nothing=is_certain, why=error.message)
            raise

    def _record_answer(self, push: Push, result: PushResult) -> None:
        events = {delivery.name: delivery.event for delivery in result.deliveries} or dict.fromkeys(
            resolve_recipients(push.to), result.event
        )
        is_repeat = result.duplicate or any(delivery.duplicate for delivery in result.deliveries)
        self._journal.write("answered", content=push.content, events=events, repeated=is_repeat)
        self.answer_count += 1

    def _log_batch(self, batch: Batch) -> None:
        assert batch.claim is not None
        self._log.write_all(
            [
                {"word": "read", "claim": batch.claim.id, "event": item.event.id, "recipient": item.recipient}
                for item in batch.items
            ]
        )

    def _record_ack(self, batch: Batch) -> None:
        assert batch.claim is not None
        self._journal.write("acked", claim=batch.claim.id)
        self.answer_count += 1


async def run_together(store: ThreadedStore, *calls: Coroutine[Any, Any, Any], lane: str) -> list[Any]:
    """
    Make the calls one group: the writer of their lane is held in a verb, which then fails, until all of them wait for
    it. Each must ask the store as the first thing it waits for. Errors come back as values.
    """
    loop = asyncio.get_running_loop()
    holding_event, release_event = asyncio.Event(), threading.Event()

    def hold_writer(tx: Transaction) -> None:
        loop.call_soon_threadsafe(holding_event.set)
        release_event.wait()
        raise DeliberateError("hold")

    hold_task = asyncio.ensure_future(store.run(hold_writer, lane=lane))
    await holding_event.wait()
    tasks = [asyncio.ensure_future(call) for call in calls]
    await asyncio.sleep(0)  # they ask,
    await asyncio.sleep(0)  # and are handed over
    release_event.set()
    with suppress(DeliberateError):
        await hold_task
    return await asyncio.gather(*tasks, return_exceptions=True)
