"""
A duty: a background task that runs again and again. The loop is written once, here.

A round does the work that is due and may return the seconds until the next round. Between rounds a duty waits that
long, or its interval with some jitter, so that processes that started together do not run in step; `wake` ends the wait
early. A round that fails is logged and tried again after a growing delay; other duties go on.

A duty with a leader lease runs in one process at a time: before each round it reads whether work is due, takes the
lease of its name if so, and waits if it does not get it. An idle process writes nothing. The lease only saves work.
Every round must be correct without it, because a leader that was suspended past its deadline still finishes its round.

Stopping is graceful: the current round is finished, and the lease is given back.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog

from gatepost.core.backoff import Backoff, apply_jitter
from gatepost.core.ports import Reader, Store
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import SECOND, Duration
from gatepost.errors import GatepostError, Unavailable
from gatepost.jobs import lease_actions as leases
from gatepost.jobs.lease_actions import Lease

#: the numbers of a program that seeds the global generator stay its own
_RANDOM: Final = random.SystemRandom()
log = structlog.get_logger("gatepost.duty")

#: seconds
_MAX_BACKOFF: Final = 30.0
_JITTER: Final = (0.9, 1.1)

#: does the work that is due; returns the seconds until the next round, None for the usual interval
Round = Callable[[], Awaitable[float | None]]


class Duty:
    def __init__(
        self,
        name: str,
        round: Round,
        *,
        interval: float,
        should_wake: Callable[[Signal], bool] = lambda _: True,
        store: Store | None = None,
        holder: str = "",
        find_wait: Callable[[Reader], float | None] = lambda _: 0.0,
    ) -> None:
        """
        `should_wake` says whether a signal that the duty listens to starts the next round now. With a `store` and a
        `holder` (this process), the duty needs the leader lease, but only when work is due: `find_wait` reads in how
        many seconds that is, None if no work is known.
        """
        self.name = name
        self._round = round
        self._interval = interval
        self._backoff = Backoff(interval, cap=min(_MAX_BACKOFF, 256 * interval), jitter=_JITTER)
        self._should_wake = should_wake
        self._store = store
        self._holder = holder
        self._find_wait = find_wait
        self._lease: Lease | None = None
        self._wake_event = asyncio.Event()
        self._is_stopping = False
        self._failures = 0
        #: rounds that succeeded, those included that found nothing due
        self.rounds = 0

    def wake(self) -> None:
        """Start the next round now."""
        self._wake_event.set()

    def on_signal(self, signal: TransportMessage) -> None:
        if isinstance(signal, Signal) and self._should_wake(signal):
            self._wake_event.set()

    def stop(self) -> None:
        """Finish the current round and end."""
        self._is_stopping = True
        self._wake_event.set()

    async def run(self) -> None:
        while not self._is_stopping:
            self._wake_event.clear()
            pause = await self._run_round()
            if not self._is_stopping:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake_event.wait(), pause)
        if self._store is not None and self._lease is not None:
            with suppress(GatepostError):
                await self._store.run(leases.release, self._lease)

    async def _run_round(self) -> float:
        """Run a round if work is due, unless another process has the lease; return the seconds to wait after it."""
        try:
            delay = await self._store.read(self._find_wait) if self._store is not None else 0.0
            if delay == 0.0:
                if not await self._acquire_lease():
                    return _add_jitter(self._interval)
                delay = await self._round()
        except GatepostError as error:
            return self._record_failure(error.message, is_expected=isinstance(error, Unavailable))
        except Exception as error:  # noqa: BLE001 (a duty survives every failure of a round)
            return self._record_failure(repr(error), is_expected=False)
        self._failures = 0
        self.rounds += 1
        return _add_jitter(self._interval) if delay is None else min(delay, self._interval)

    async def _acquire_lease(self) -> bool:
        if self._store is None:
            return True
        length = int(max(10.0, 3 * self._interval) * SECOND)
        self._lease = await take_lease(self._store, f"duty:{self.name}", self._holder, length)
        return self._lease is not None

    def _record_failure(self, reason: str, *, is_expected: bool) -> float:
        self._failures += 1
        (log.warning if is_expected else log.error)("round failed", duty=self.name, reason=reason, times=self._failures)
        return self._backoff.delay(self._failures, _RANDOM.random())


async def take_lease(store: Store, name: str, holder: str, length: Duration) -> Lease | None:
    """Take or renew a lease; write nothing while another holder has it."""
    if await store.read(leases.is_held_by_another, name, holder, length):
        return None
    return await store.run(leases.take, name, holder, length)


@asynccontextmanager
async def run_duties(duties: Sequence[Duty]) -> AsyncIterator[None]:
    """While entered, run the duties; leaving waits until each has finished its round."""
    async with open_task_group() as group:
        for duty in duties:
            group.create_task(duty.run(), name=f"duty-{duty.name}")
        try:
            yield
        finally:
            for duty in duties:
                duty.stop()


@asynccontextmanager
async def open_task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """Open a task group that raises an error of its body as it is; a plain task group would wrap it."""
    body_error: Exception | None = None
    async with asyncio.TaskGroup() as group:
        try:
            yield group
        except Exception as error:  # noqa: BLE001 (any error of the body, not of the tasks)
            body_error = error
    if body_error is not None:
        raise body_error


def _add_jitter(seconds: float) -> float:
    return apply_jitter(seconds, _JITTER, _RANDOM.random())
