"""
When a gateway is ready, degraded or unavailable (`/health`), and what it counts for Prometheus (`/metrics`).

Health needs no credential and shows no names: what a database says goes to the log, the first time it says so. Every
request checks that the store answers. A store that can be read may still be unable to write (a full disk, a lock, a
file that was deleted): after a commit that failed it is not ready until a write of that size succeeds, which is tried
every few seconds at most; nor is it while the disk has less free space than `store.reserve`. The accounts and the lag
cost a look at every pending item, so they are read every few seconds at most, however many requests there are.
"""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from gatepost.channels import conversation_actions as conversations
from gatepost.channels.routing import unrouted_message_actions as unrouted_messages
from gatepost.core.ports import Reader, Store
from gatepost.core.times import SECOND, Duration, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.health_api import AccountingView, HealthView, ReadMetrics, ShowHealth, TransportView
from gatepost.gateway.http_exchange import HttpAnswer, encode
from gatepost.inbox import account_actions
from gatepost.operations.access import Caller

log = structlog.get_logger("gatepost.health")

#: seconds for which the status of the inboxes is kept
_STATUS_LIFETIME: Final = 10.0
#: seconds between two attempts to write after a commit failed
_WRITE_INTERVAL: Final = 5.0
#: the difference between the database's clock and this machine's that is reported
_MAX_CLOCK_SKEW: Final = 5 * SECOND
#: seconds within which the store has to answer
_STORE_TIMEOUT: Final = 2.0


@dataclass(frozen=True, slots=True)
class InboxStatus:
    is_balanced: bool
    #: the age of the oldest pending item, in seconds
    lag: float
    #: unrouted messages
    unrouted: int
    #: active bots that do not work
    failing_channels: int


class Meters:
    """What is counted; one registry for each gateway, so that several can run in one process."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        labels = ["route", "method", "status"]
        self.requests = Counter("gatepost_http_requests", "Requests answered", labels, registry=registry)
        self.seconds = Histogram("gatepost_http_request_seconds", "Time to the answer", ["route"], registry=registry)
        self.readers = Gauge("gatepost_stream_readers", "Live streams being read", registry=registry)
        self.degraded = Gauge("gatepost_transport_degraded", "1 while the transport is degraded", registry=registry)
        self.lag = Gauge("gatepost_inbox_lag_seconds", "Age of the oldest waiting item", registry=registry)
        self.unrouted = Gauge("gatepost_unrouted_messages", "Unrouted messages, which nobody got", registry=registry)
        text = "Active channels that do not work"
        self.failing_channels = Gauge("gatepost_failing_channels", text, registry=registry)
        self.balanced = Gauge("gatepost_accounts_balanced", "1 while every account balances", registry=registry)
        text = "Signals after a commit that failed in this process"
        self.ring_failures = Gauge("gatepost_ring_failures", text, registry=registry)
        text = "Free bytes of the disk that the store is on"
        self.free_space = Gauge("gatepost_store_free_bytes", text, registry=registry)
        #: the counter and the histogram of each kind of answer: to look them up takes as long as to count
        self._answer_meters: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        #: with the time until which it is kept
        self._inbox_status: tuple[float, InboxStatus] | None = None
        self._status_lock = asyncio.Lock()
        #: the last attempt to write, and when the next may begin
        self._write_attempt: asyncio.Task[None] | None = None
        self._next_attempt_at = 0.0
        self._logged_reasons: set[str] = set()

    def count_answer(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answer and its duration in seconds; `route` is one of few, and `method` too."""
        meters = self._answer_meters.get((route, method, status))
        if meters is None:
            meters = self.requests.labels(route, method, status), self.seconds.labels(route)
            self._answer_meters[route, method, status] = meters
        requests, durations = meters
        requests.inc()
        durations.observe(seconds)

    async def read_inbox_status(self, state: GatewayState) -> InboxStatus:
        """Return the status of all inboxes. Requests that come while it is read wait for it, and get the same."""
        async with self._status_lock:
            if self._inbox_status is None or self._inbox_status[0] < time.monotonic():
                status = await state.store.read(_read_inbox_status)
                self._inbox_status = (time.monotonic() + _STATUS_LIFETIME, status)
            return self._inbox_status[1]

    async def check_writes(self, state: GatewayState) -> None:
        """Return if no commit has failed, or a write of that size succeeds now; else raise Unavailable."""
        if state.store.failure is None:
            try:
                state.store.require_disk_space()
            except Unavailable as error:
                self.log_once(error.message)
                raise Unavailable("the disk of the store is nearly full") from None
            if self._logged_reasons:
                log.info("store is ready again")
            self._logged_reasons.clear()
            return
        self.log_once(state.store.failure)
        is_idle = self._write_attempt is None or self._write_attempt.done()
        if is_idle and time.monotonic() >= self._next_attempt_at:
            self._next_attempt_at = time.monotonic() + _WRITE_INTERVAL
            self._write_attempt = asyncio.create_task(_try_to_write(state.store))
        if self._write_attempt is not None:
            await asyncio.wait([self._write_attempt], timeout=_STORE_TIMEOUT)
        if state.store.failure is not None:
            raise Unavailable("the store cannot write")

    def log_once(self, reason: str) -> None:
        """Log a failure of the store, the first time until the store is ready again."""
        if reason not in self._logged_reasons:
            self._logged_reasons.add(reason)
            log.warning("store is not ready", reason=reason)


@ShowHealth.gateway_handler
async def show_health(state: GatewayState, request: ShowHealth, caller: Caller) -> HealthView | HttpAnswer:
    is_degraded = state.signal_bus.status.is_degraded
    transport = TransportView(
        name=state.signal_bus.name, degraded=is_degraded, reason="not connected" if is_degraded else None
    )
    try:
        skew = await _read_clock_skew(state)
        await state.meters.check_writes(state)
        inboxes = await state.meters.read_inbox_status(state)
    except GatepostError as error:
        health = HealthView(status="unavailable", live=True, ready=False, reason=error.message, transport=transport)
        return HttpAnswer(encode(health), 503)
    is_skewed = abs(skew) > _MAX_CLOCK_SKEW
    is_well = inboxes.is_balanced and not is_degraded and not is_skewed
    return HealthView(
        status="ok" if is_well else "degraded",
        live=True,
        ready=True,
        version=state.version,
        accounting=AccountingView(balanced=inboxes.is_balanced),
        lag_seconds=round(inboxes.lag, 3),
        unrouted=inboxes.unrouted,
        failing_channels=inboxes.failing_channels,
        clock_skew_seconds=round(skew / SECOND, 3) if is_skewed else 0,
        transport=transport,
    )


@ReadMetrics.gateway_handler
async def read_metrics(state: GatewayState, request: ReadMetrics, caller: Caller) -> HttpAnswer:
    meters = state.meters
    inboxes = await meters.read_inbox_status(state)
    meters.readers.set(state.live_streams.readers)
    meters.degraded.set(state.signal_bus.status.is_degraded)
    meters.lag.set(inboxes.lag)
    meters.ring_failures.set(state.store.signal_failures + state.signal_bus.failures)
    if (free_space := state.store.measure_free_space()) is not None:
        meters.free_space.set(free_space)
    meters.balanced.set(inboxes.is_balanced)
    meters.unrouted.set(inboxes.unrouted)
    meters.failing_channels.set(inboxes.failing_channels)
    return HttpAnswer(generate_latest(meters.registry), media_type=CONTENT_TYPE_LATEST)


async def _read_clock_skew(state: GatewayState) -> Duration:
    """Return how far the store's clock is ahead of this machine's; raise Unavailable if the store does not answer."""
    try:
        async with asyncio.timeout(_STORE_TIMEOUT):
            now: Instant = await state.store.read(lambda tx: tx.now)
    except TimeoutError:
        raise Unavailable("the store does not answer") from None
    except GatepostError as error:
        state.meters.log_once(error.message)
        raise Unavailable("the store cannot be read") from None
    return now - time.time_ns() // 1000


async def _try_to_write(store: Store) -> None:
    with suppress(GatepostError):  # the store keeps the reason
        await asyncio.to_thread(store.try_to_write)


def _read_inbox_status(tx: Reader) -> InboxStatus:
    unbalanced, _ = account_actions.find_unbalanced(tx)
    oldest = tx.fetch_one("inbox/items/find_oldest_pending", now=tx.now)
    return InboxStatus(
        not unbalanced,
        max(0, tx.now - oldest.created_at) / SECOND if oldest else 0.0,
        unrouted=unrouted_messages.count(tx),
        failing_channels=conversations.count_failing(tx),
    )
