"""
How it goes: `/health` for whoever watches over the process, `/metrics` for Prometheus.

Health needs no credential and tells no names. Whether the store answers is asked every time. The accounts and the lag
cost a look at every waiting item, so they are looked at every few seconds at most, however often somebody asks.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.responses import JSONResponse, Response

from gatepost.actions import upkeep
from gatepost.core.instants import SECOND
from gatepost.errors import GatepostError, Unavailable
from gatepost.gateway import shapes
from gatepost.gateway.auth import administrator
from gatepost.gateway.office import Office
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import House, Who
from gatepost.gateway.shapes import shaped
from gatepost.ports.store import Reader

router = APIRouter(tags=["health"])

_FRESH: Final = 10.0
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
        self._vitals: tuple[float, Vitals] | None = None
        self._looking = asyncio.Lock()

    async def vitals(self, house: Office) -> Vitals:
        """One looks at a time; who comes meanwhile is told what it sees."""
        async with self._looking:
            if self._vitals is None or self._vitals[0] < time.monotonic():
                self._vitals = (time.monotonic() + _FRESH, await house.store.read(_vitals))
            return self._vitals[1]


def _vitals(reader: Reader) -> Vitals:
    balanced = all(account.balanced for account in upkeep.accounts(reader))
    return Vitals(balanced, upkeep.lag(reader) / SECOND)


@router.get("/health", responses=shaped(shapes.Health) | shaped(shapes.Health, 503, "The store cannot be reached"))
async def health(house: House) -> Response:
    """Live and ready, the accounting identity, and how long the oldest waiting item has waited."""
    condition = house.exchange.condition
    transport = {"name": house.exchange.name, "degraded": condition.degraded, "reason": condition.reason}
    try:
        await _awake(house)
        vitals = await house.meters.vitals(house)
    except GatepostError as error:
        body = {"status": "unavailable", "live": True, "ready": False, "reason": error.message, "transport": transport}
        return JSONResponse(body, 503)
    good = vitals.balanced and not condition.degraded
    return JSONResponse(
        {
            "status": "ok" if good else "degraded",
            "live": True,
            "ready": True,
            "version": house.version,
            "accounting": {"balanced": vitals.balanced},
            "lagSeconds": round(vitals.lag, 3),
            "transport": transport,
        }
    )


async def _awake(house: Office) -> None:
    """Return if the store answers."""
    try:
        async with asyncio.timeout(_PATIENCE):
            await house.store.read(lambda reader: reader.now)
    except TimeoutError:
        raise Unavailable("the store does not answer") from None


@router.get("/metrics", response_class=Metrics, responses=documented(401, 403, 503))
async def metrics(who: Who, house: House) -> Response:
    """Counts and times, as Prometheus reads them."""
    administrator(who)
    meters = house.meters
    vitals = await meters.vitals(house)
    meters.readers.set(house.hub.readers)
    meters.degraded.set(house.exchange.condition.degraded)
    meters.lag.set(vitals.lag)
    meters.balanced.set(vitals.balanced)
    return Metrics(generate_latest(meters.registry))
