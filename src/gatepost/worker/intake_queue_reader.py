"""
The queue reader: stores the events that other programs leave in an intake queue (Redis, NATS).

    take -> parse -> commit (`push.push_all`) -> settle

An entry is removed only after the commit. A process that dies in between leaves it to the next one, which may commit it
a second time. Such a repeat changes nothing: the id of the entry is the dedup key, with the name of the transport
before it, so that it is no one else's key (`inbox/push/intake_queue_entry.py`). Entries of one agent are stored in the
order in which they were taken. An entry that cannot be parsed, or that has no recipient, is put aside with the reason
and never blocks the entries after it. While the store is unavailable nothing is removed, and the round is repeated
later.

A signal of another program (`core.signals.WAKEUP`) names the agent whose queue to read. Signals get lost, so
`read_all_queues` reads all of them at intervals.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import structlog

from gatepost.core import address
from gatepost.core.address import EntityAddress
from gatepost.core.ports import IntakeQueue, Store
from gatepost.core.signals import WAKEUP, Signal, TransportMessage
from gatepost.core.transport_records import QueuedEntry
from gatepost.errors import GatepostError, Invalid, Unavailable, quote_value
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push, intake_queue_entry as foreign
from gatepost.jobs.periodic_duty_background import Duty

log = structlog.get_logger("gatepost.queue_reader")

#: agents whose queues are read together
_AGENTS_PER_BATCH: Final = 16


class QueueReader:
    def __init__(self, queue: IntakeQueue, store: Store, *, interval: float = 15.0) -> None:
        """`duty` reads the queues of signalled agents, and all queues after `interval` seconds without a signal."""
        self._queue = queue
        self._store = store
        self._signalled_agents: set[str] = set()
        self._lock = asyncio.Lock()
        self.duty = Duty("queue reader", self._run_round, interval=interval)
        #: entries that were committed, repeats included, and entries that were rejected
        self.accepted_count = 0
        self.rejected_count = 0

    def on_signal(self, signal: TransportMessage) -> None:
        """Read the queue of an agent if another program signals it; a subscriber of `SignalBus`."""
        if isinstance(signal, Signal) and signal.cause == WAKEUP:
            self._signalled_agents.add(signal.topic.name)
            self.duty.wake()

    async def read_all_queues(self) -> None:
        """Read the queues of all agents."""
        await self._read_queues(await self._queue.agents())

    async def _run_round(self) -> None:
        if not self._signalled_agents:
            await self.read_all_queues()
        while self._signalled_agents:
            agents, self._signalled_agents = self._signalled_agents, set()
            try:
                await self._read_queues(sorted(agents))
            except BaseException:
                self._signalled_agents |= agents
                raise

    async def _read_queues(self, agents: Sequence[str]) -> None:
        async with self._lock:
            for start in range(0, len(agents), _AGENTS_PER_BATCH):
                batch = agents[start : start + _AGENTS_PER_BATCH]
                while entries := await self._queue.take(batch):
                    await self._store_entries(entries)

    async def _store_entries(self, entries: Sequence[QueuedEntry]) -> None:
        parse_results = []
        for entry in entries:
            parse_results.append(_parse_entry(entry, self._queue.source))
            await asyncio.sleep(0)  # others come in between: an entry may be large
        outcomes = iter(await self._push_all([result for result in parse_results if isinstance(result, Push)]))
        entry_results: list[tuple[QueuedEntry, str | None]] = []
        for entry, parse_result in zip(entries, parse_results, strict=True):
            outcome = next(outcomes) if isinstance(parse_result, Push) else parse_result
            if isinstance(outcome, Unavailable):
                raise outcome
            entry_results.append((entry, outcome.message if isinstance(outcome, GatepostError) else None))
        await self._queue.settle(entry_results)
        for entry, reason in entry_results:
            if reason is not None:
                log.warning("rejected", agent=entry.agent, reason=reason)
        self.rejected_count += sum(reason is not None for _, reason in entry_results)
        self.accepted_count += sum(reason is None for _, reason in entry_results)

    async def _push_all(self, push_requests: Sequence[Push]) -> Iterable[push.PushOutcome]:
        """Return an outcome for each. If they fail together, try each alone, so that a bad one blocks no queue."""
        if not push_requests:
            return []
        try:
            return await self._store.run(push.push_all, push_requests, lane="queue reader")
        except Unavailable:
            raise
        except Exception as error:
            if len(push_requests) == 1:
                log.exception("an entry cannot be stored")
                return [Invalid(f"it cannot be stored: {quote_value(error, 200)}")]
        return [outcome for push_request in push_requests for outcome in await self._push_all([push_request])]


def _parse_entry(entry: QueuedEntry, channel: str) -> Push | GatepostError:
    """Return the push of an entry, or an error that says why it is rejected."""
    try:
        is_broadcast = channel == foreign.NATS and entry.agent == "*"
        if not is_broadcast and not isinstance(address.parse(entry.agent), EntityAddress):
            return Invalid(f"{entry.agent!r} is not one agent")
        return foreign.read_push(entry.raw, entry.agent, transport=channel, fallback_key=entry.position)
    except GatepostError as error:
        return error
