"""
The collector: takes in what other programs left in letterboxes.

    take -> read -> commit (`intake.push_all`) -> settle

An entry is removed only after the commit, so whoever dies on the way leaves it to the next, who may commit it a second
time: its own name is the dedup key (`core/foreign.py`), behind the name of the road so that it is nobody else's, and a
repeat changes nothing. Entries of one agent are stored in the order they were taken in. What cannot be read, or is for
nobody, is put aside with the reason and never holds up what follows; when the store is not available nothing is
removed, and the round is done again later.

A ring by another program (`core.ring.WAKEUP`) says where to look. Rings get lost, so there is `sweep`.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

import structlog

from gatepost.actions import intake
from gatepost.core import address, foreign
from gatepost.core.address import Named
from gatepost.core.event import Push
from gatepost.core.frame import TransportMessage
from gatepost.core.ring import WAKEUP, Ring
from gatepost.errors import GatepostError, Invalid, Unavailable
from gatepost.ports import IntakeQueue, QueuedEntry, Store
from gatepost.runtime.loops import Duty

log = structlog.get_logger("gatepost.collector")

#: agents whose boxes are emptied together
_AGENTS: Final = 16


class Collector:
    def __init__(self, letterbox: IntakeQueue, store: Store, *, interval: float = 15.0) -> None:
        """`duty` looks where it was rung for, and everywhere when `interval` seconds have passed without a ring."""
        self._letterbox = letterbox
        self._store = store
        self._rung: set[str] = set()
        self._one_at_a_time = asyncio.Lock()
        self.duty = Duty("collector", self._round, interval=interval)
        #: entries that were committed, repeats included, and those that were rejected
        self.accepted = 0
        self.rejected = 0

    def heard(self, signal: TransportMessage) -> None:
        """For `Exchange.subscribed`."""
        if isinstance(signal, Ring) and signal.cause == WAKEUP:
            self._rung.add(signal.recipient)
            self.duty.wake()

    async def sweep(self) -> None:
        """Collect whatever lies anywhere."""
        await self._collect(await self._letterbox.agents())

    async def _round(self) -> None:
        if not self._rung:
            await self.sweep()
        while self._rung:
            agents, self._rung = self._rung, set()
            try:
                await self._collect(sorted(agents))
            except BaseException:
                self._rung |= agents
                raise

    async def _collect(self, agents: Sequence[str]) -> None:
        async with self._one_at_a_time:
            for start in range(0, len(agents), _AGENTS):
                some = agents[start : start + _AGENTS]
                while entries := await self._letterbox.take(some):
                    await self._take_in(entries)

    async def _take_in(self, entries: Sequence[QueuedEntry]) -> None:
        read = [_read(entry, self._letterbox.source) for entry in entries]
        outcomes = iter(await self._push([wish for wish in read if isinstance(wish, Push)]))
        settled: list[tuple[QueuedEntry, str | None]] = []
        for entry, wish in zip(entries, read, strict=True):
            outcome = next(outcomes) if isinstance(wish, Push) else wish
            if isinstance(outcome, Unavailable):
                raise outcome
            settled.append((entry, outcome.message if isinstance(outcome, GatepostError) else None))
        await self._letterbox.settle(settled)
        for entry, reason in settled:
            if reason is not None:
                log.warning("rejected", agent=entry.agent, reason=reason)
        self.rejected += sum(reason is not None for _, reason in settled)
        self.accepted += sum(reason is None for _, reason in settled)

    async def _push(self, wishes: Sequence[Push]) -> Iterable[intake.Outcome]:
        """What became of each. If they fail together, each is tried alone, so that a bad one does not block a box."""
        if not wishes:
            return []
        try:
            return await self._store.run(intake.push_all, wishes, lane="collector")
        except Unavailable:
            raise
        except Exception as error:
            if len(wishes) == 1:
                log.exception("an entry cannot be stored")
                return [Invalid(f"it cannot be stored: {error!r:.200}")]
        return [outcome for wish in wishes for outcome in await self._push([wish])]


def _read(entry: QueuedEntry, road: str) -> Push | GatepostError:
    try:
        return _wish(entry, road)
    except GatepostError as error:
        return error


def _wish(entry: QueuedEntry, road: str) -> Push:
    for_all = road == foreign.NATS and entry.agent == "*"
    if not for_all and not isinstance(address.parse(entry.agent), Named):
        raise Invalid(f"{entry.agent!r} is not one agent")
    return foreign.read_push(entry.raw, entry.agent, road=road, place=entry.position)
