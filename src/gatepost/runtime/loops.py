"""
A duty: something that is done again and again in the background. The loop is written once, here.

A round does what there is to do and may say how many seconds later it wants to look again. Between rounds a duty waits
that long, or its interval, a little unevenly so that processes that were started together do not march in step; `wake`
cuts the wait short. A round that fails is logged and tried again after a pause that grows; nothing else stops.

A duty with a leader's lease is done by one process at a time: before each round it takes the lease of its name, and
whoever does not get it waits. The lease is only to save work. Every round must be right without it, because a leader
that was asleep past its deadline still finishes its round.

Stopping is graceful: the round under way is finished, and the lease is given back.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from gatepost.actions import leases
from gatepost.core.frame import TransportMessage
from gatepost.core.instants import SECOND
from gatepost.core.lease import Lease
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import Store

log = structlog.get_logger("gatepost.duty")

_LONGEST_PAUSE: Final = 30.0

#: does what there is to do; returns in how many seconds to look again, None for the usual interval
Round = Callable[[], Awaitable[float | None]]


class Duty:
    def __init__(
        self,
        name: str,
        round: Round,
        *,
        interval: float,
        wakes: Callable[[TransportMessage], bool] = lambda _: False,
        store: Store | None = None,
        holder: str = "",
    ) -> None:
        """
        `wakes` says whether a signal begins the next round now. With a `store` and a `holder` (this process), the duty
        needs the leader's lease.
        """
        self.name = name
        self._round = round
        self._interval = interval
        self._wakes = wakes
        self._store = store
        self._holder = holder
        self._lease: Lease | None = None
        self._wake = asyncio.Event()
        self._stopping = False
        self._failures = 0
        #: rounds that were done
        self.rounds = 0

    def wake(self) -> None:
        """Begin the next round now."""
        self._wake.set()

    def heard(self, signal: TransportMessage) -> None:
        if self._wakes(signal):
            self._wake.set()

    def stop(self) -> None:
        """Finish the round under way and end."""
        self._stopping = True
        self._wake.set()

    async def run(self) -> None:
        while not self._stopping:
            self._wake.clear()
            pause = await self._turn()
            if not self._stopping:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), pause)
        await self._give_back()

    async def _turn(self) -> float:
        """Do a round if it is ours to do; return how long to wait after it."""
        try:
            if not await self._leading():
                return _uneven(self._interval)
            wish = await self._round()
        except GatepostError as error:
            return self._failed(error.message, expected=isinstance(error, Unavailable))
        except Exception as error:  # noqa: BLE001 (a duty outlives whatever goes wrong in it)
            return self._failed(repr(error), expected=False)
        self._failures = 0
        self.rounds += 1
        return _uneven(self._interval) if wish is None else min(wish, self._interval)

    async def _leading(self) -> bool:
        if self._store is None:
            return True
        length = int(max(10.0, 3 * self._interval) * SECOND)
        self._lease = await self._store.run(leases.take, f"duty:{self.name}", self._holder, length)
        return self._lease is not None

    async def _give_back(self) -> None:
        if self._store is not None and self._lease is not None:
            with suppress(GatepostError):
                await self._store.run(leases.release, self._lease)

    def _failed(self, reason: str, *, expected: bool) -> float:
        self._failures += 1
        (log.warning if expected else log.error)("round failed", duty=self.name, reason=reason, times=self._failures)
        return _uneven(min(_LONGEST_PAUSE, self._interval * 2 ** min(self._failures, 8)))


@asynccontextmanager
async def running(duties: Sequence[Duty]) -> AsyncIterator[None]:
    """While entered, the duties are done; leaving waits until each has finished its round."""
    async with tasks() as group:
        for duty in duties:
            group.create_task(duty.run(), name=f"duty-{duty.name}")
        try:
            yield
        finally:
            for duty in duties:
                duty.stop()


@asynccontextmanager
async def tasks() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group out of which an error of whoever entered comes as it is; by itself it would wrap it."""
    failed: Exception | None = None
    async with asyncio.TaskGroup() as group:
        try:
            yield group
        except Exception as error:  # noqa: BLE001 (whatever it was, it is not the tasks')
            failed = error
    if failed is not None:
        raise failed


def _uneven(seconds: float) -> float:
    return seconds * random.uniform(0.9, 1.1)  # noqa: S311 (not for secrecy)
