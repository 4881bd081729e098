"""
How it goes: `/health` for whoever watches over the process, `/metrics` for Prometheus.

Health needs no credential and tells no names: what a database says goes to the log, the first time it says so. Whether
the store answers is asked every time. A store that can be read may still be unable to write (a full disk, a lock, a
file that was deleted): after a commit that failed it is not ready until a small write succeeds, which is tried every
few seconds at most. The accounts and the lag cost a look at every waiting item, so they are looked at every few seconds
at most, however often somebody asks.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog
from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.responses import JSONResponse, Response

from gatepost.actions import maintenance
from gatepost.core.times import SECOND, Duration, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.gateway import shapes
from gatepost.gateway.auth import administrator
from gatepost.gateway.office import Office
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import House, Who
from gatepost.gateway.shapes import shaped
from gatepost.ports import Reader, Store

router = APIRouter(tags=["health"])

log = structlog.get_logger("gatepost.health")

_FRESH: Final = 10.0
#: seconds between two tries to write after a commit failed
_TRY_EVERY: Final = 5.0
#: the difference between the database's clock and this machine's that is reported
_CLOCK_SKEW: Final = 5 * SECOND
#: seconds within which the store has to answer
_PATIENCE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Vitals:
    balanced: bool
    #: seconds that the oldest waiting item has waited
    lag: float


class Metrics(Response):
    media_type = CONTENT_TYPE_LATEST


class Meters:
    """What is counted; one registry for each gateway, so that several can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "gatepost_http_requests", "Requests answered", ["route", "method", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "gatepost_http_request_seconds", "Time to the answer", ["route"], registry=self.registry
        )
        self.readers = Gauge("gatepost_stream_readers", "Live streams being read", registry=self.registry)
        self.degraded = Gauge(
            "gatepost_transport_degraded", "1 while the transport is degraded", registry=self.registry
        )
        self.lag = Gauge("gatepost_inbox_lag_seconds", "Age of the oldest waiting item", registry=self.registry)
        self.balanced = Gauge("gatepost_accounts_balanced", "1 while every account balances", registry=self.registry)
        self.ring_failures = Gauge(
            "gatepost_ring_failures", "Signals after a commit that failed in this process", registry=self.registry
        )
        self._vitals: tuple[float, Vitals] | None = None
        self._looking = asyncio.Lock()
        #: the last try to write, and when the next may begin
        self._trial: asyncio.Task[None] | None = None
        self._next_trial = 0.0
        self._logged: set[str] = set()

    async def vitals(self, house: Office) -> Vitals:
        """One looks at a time; who comes meanwhile is told what it sees."""
        async with self._looking:
            if self._vitals is None or self._vitals[0] < time.monotonic():
                self._vitals = (time.monotonic() + _FRESH, await house.store.read(_vitals))
            return self._vitals[1]

    async def check_writes(self, house: Office) -> None:
        """Return if the last commit succeeded, or a small write does now; else raise Unavailable."""
        if house.store.failure is None:
            self._logged.clear()
            return
        self.log_once(house.store.failure)
        if (self._trial is None or self._trial.done()) and time.monotonic() >= self._next_trial:
            self._next_trial = time.monotonic() + _TRY_EVERY
            self._trial = asyncio.create_task(_try_to_write(house.store))
        if self._trial is not None:
            await asyncio.wait([self._trial], timeout=_PATIENCE)
        if house.store.failure is not None:
            raise Unavailable("the store cannot write")

    def log_once(self, reason: str) -> None:
        """Log a failure of the store, the first time until it is well again."""
        if reason not in self._logged:
            self._logged.add(reason)
            log.warning("store is not ready", reason=reason)


async def _try_to_write(store: Store) -> None:
    with suppress(GatepostError):  # the store remembers why
        await store.run(maintenance.note_time, lane="health")


def _vitals(tx: Reader) -> Vitals:
    balanced = all(account.is_balanced for account in maintenance.list_accounts(tx))
    return Vitals(balanced, maintenance.measure_lag(tx) / SECOND)


@router.get("/health", responses=shaped(shapes.Health) | shaped(shapes.Health, 503, "The store cannot be reached"))
async def health(house: House) -> Response:
    """Live and ready, the accounting identity, and how long the oldest waiting item has waited."""
    condition = house.exchange.status
    transport = {
        "name": house.exchange.name,
        "degraded": condition.is_degraded,
        "reason": "not connected" if condition.is_degraded else None,
    }
    try:
        skew = await _read_clock_skew(house)
        await house.meters.check_writes(house)
        vitals = await house.meters.vitals(house)
    except GatepostError as error:
        body = {"status": "unavailable", "live": True, "ready": False, "reason": error.message, "transport": transport}
        return JSONResponse(body, 503)
    is_skewed = abs(skew) > _CLOCK_SKEW
    good = vitals.balanced and not condition.is_degraded and not is_skewed
    return JSONResponse(
        {
            "status": "ok" if good else "degraded",
            "live": True,
            "ready": True,
            "version": house.version,
            "accounting": {"balanced": vitals.balanced},
            "lagSeconds": round(vitals.lag, 3),
            "clockSkewSeconds": round(skew / SECOND, 3) if is_skewed else 0,
            "transport": transport,
        }
    )


async def _read_clock_skew(house: Office) -> Duration:
    """Return how far the store's clock is ahead of this machine's; raise Unavailable if the store does not answer."""
    try:
        async with asyncio.timeout(_PATIENCE):
            now: Instant = await house.store.read(lambda tx: tx.now)
    except TimeoutError:
        raise Unavailable("the store does not answer") from None
    except GatepostError as error:
        house.meters.log_once(error.message)
        raise Unavailable("the store cannot be read") from None
    return now - time.time_ns() // 1000


@router.get("/metrics", response_class=Metrics, responses=documented(401, 403, 503))
async def metrics(who: Who, house: House) -> Response:
    """Counts and times, as Prometheus reads them."""
    administrator(who)
    meters = house.meters
    vitals = await meters.vitals(house)
    meters.readers.set(house.hub.readers)
    meters.degraded.set(house.exchange.status.is_degraded)
    meters.lag.set(vitals.lag)
    meters.ring_failures.set(house.store.signal_failures + house.exchange.failures)
    meters.balanced.set(vitals.balanced)
    return Metrics(generate_latest(meters.registry))
