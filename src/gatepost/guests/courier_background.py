"""
The courier: carries the events of an agent from a subscription to the spools of its sessions on this machine.

    subscription --event--> spool of each live session --> ack --> nudge, if the agent is idle
    store        --pending items--> the same spools, for events that they do not have (every ten minutes, and when
                                    an event may have been missed)

Why each item reaches the agent, and is shown once:

- An event is acked when its line is in the spool. If the courier is killed before the ack, it receives the event again
  and writes it again; of lines with the same key the drain shows one. If a line cannot be written, nothing is acked.
- A committed event is in the store whatever happens to its delivery here. Its item is pending until a drain has shown
  it, so reading the pending items, and writing those that the spool does not have, makes up for every loss. A session
  that begins does this by itself; so if there is no session, an event is acked and dropped.
- The courier changes no state in the store. The drain finds out which of two lines, two sessions or two couriers was
  first, from the store or, while the store cannot be reached, from the keys that it has recorded as shown.

The courier reads the spool before it reads the store. In the other order, an item could be drained in between: pending
when the store was read, gone when the spool was read, and written once more.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence, Set as AbstractSet
from functools import partial
from typing import ClassVar, Final

import structlog

from gatepost.core.backoff import Backoff
from gatepost.core.ports import EventHandler, ResyncHandler, Store, Subscription
from gatepost.core.transport_records import SubscribedEvent, build_unkept_event
from gatepost.errors import GatepostError, Unavailable
from gatepost.guests import spool_line
from gatepost.guests.nudge_background import MayWake, Nudger, wake_always
from gatepost.guests.ports import ListGuests, Nudge, Spool
from gatepost.guests.session import Guest
from gatepost.inbox import feed_actions as inbox_feed
from gatepost.inbox.event import Event, Item, ItemState
from gatepost.jobs.periodic_duty_background import Duty, run_duties

#: the numbers of a program that seeds the global generator stay its own
_RANDOM: Final = random.SystemRandom()
log = structlog.get_logger("gatepost.courier")

#: pending items that are read at once; a later reconciliation reads more
PENDING_LIMIT: Final = 1_000
#: seconds between two checks of the sessions
SESSION_CHECK_INTERVAL: Final = 2.0
#: seconds before the next try
_BACKOFF: Final = Backoff(0.1, cap=30.0, jitter=(0.5, 1.0))
#: seconds that a written key is remembered: as long as JetStream itself recognises a repeat
_DEDUP_SECONDS: Final = 120.0
#: seconds between two polls of the store, and the events that one of them reads
_POLL_INTERVAL: Final = 1.0
_FEED_PAGE_SIZE: Final = 200

#: returns the pending items of the agent's inbox, and changes nothing
ReadPending = Callable[[], Awaitable[Sequence[Item]]]


class Courier:
    def __init__(
        self,
        agent: str,
        *,
        open_subscription: Callable[[], Subscription],
        read_pending: ReadPending,
        spool: Spool,
        list_guests: ListGuests,
        nudge: Nudge | None = None,
        may_wake: MayWake = wake_always,
        reconcile_interval: float = 600.0,
        check_interval: float = SESSION_CHECK_INTERVAL,
    ) -> None:
        """`open_subscription` is called for every connection; intervals are in seconds."""
        self._agent = agent
        self._open_subscription = open_subscription
        self._read_pending = read_pending
        self._spool = spool
        self._list_guests = list_guests
        self._nudger = Nudger(nudge, self._read_waiting_keys, may_wake) if nudge is not None else None
        self.reconcile_duty = Duty("reconcile", self._reconcile, interval=reconcile_interval)
        self.session_duty = Duty("sessions", self._check_sessions, interval=check_interval)
        self._seen_sessions: frozenset[str] = frozenset()
        #: by session and key, the time when it was written
        self._written_keys: dict[str, dict[str, float]] = {}
        self._connection_problem: str | None = "not connected yet"
        #: how many times in a row an event was refused, and a reconciliation failed
        self._refusal_count = 0
        self._reconcile_failures = 0
        #: held while an event is delivered, so that stopping does not interrupt it
        self._lock = asyncio.Lock()

    async def run(self, stop: asyncio.Event) -> None:
        """Carry events until `stop` is set; finish the event that is being delivered."""
        async with run_duties([self.reconcile_duty, self.session_duty]):
            task = asyncio.create_task(self._keep_subscribed(), name="courier")
            try:
                await stop.wait()
            finally:
                async with self._lock:
                    task.cancel()
                await asyncio.wait([task])

    async def _keep_subscribed(self) -> None:
        """Follow the subscription, and connect again whenever the connection is lost."""
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            started_at = loop.time()
            try:
                subscription = self._open_subscription()
                await subscription.follow(self._receive, partial(self._request_reconcile, subscription.name))
                reason = "the connection was closed"
            except GatepostError as error:
                reason = error.message
            except Exception as error:  # noqa: BLE001 (whatever it was, the next try may succeed)
                fallback_text = "it does not answer" if isinstance(error, TimeoutError) else type(error).__name__
                reason = (str(error).strip() or fallback_text).splitlines()[0][:200]
            if reason != self._connection_problem:
                log.warning("degraded", reason=reason)
            self._connection_problem = reason
            failures = 0 if loop.time() - started_at > _BACKOFF.cap else failures + 1
            await asyncio.sleep(_compute_backoff(failures))

    def _request_reconcile(self, source_name: str) -> None:
        if self._connection_problem is not None:
            log.info("up", source=source_name)
        self._connection_problem = None
        self.reconcile_duty.wake()

    async def _receive(self, subscribed_event: SubscribedEvent) -> None:
        async with self._lock:
            event = subscribed_event.event
            if event is None:
                log.warning("an event cannot be read and is skipped", reason=subscribed_event.error)
            elif not (subscribed_event.broadcast and event.sender is not None and event.sender.name == self._agent):
                try:  # the sender of a broadcast does not receive it
                    await asyncio.to_thread(self._deliver, event)
                except Unavailable as error:
                    self._refusal_count += 1
                    log.warning("not in the spool", id=event.id, reason=error.message, times=self._refusal_count)
                    await subscribed_event.refuse(_compute_backoff(self._refusal_count))
                    return
            self._refusal_count = 0
            await subscribed_event.ack()
        self.session_duty.wake()

    def _deliver(self, event: Event) -> None:
        no_keys = {guest.session: frozenset[str]() for guest in self._list_guests()}
        self._write_to_spools([event], no_keys, since=time.monotonic() - _DEDUP_SECONDS)

    async def _reconcile(self) -> float | None:
        """Read the pending items, and write those that the spools do not have."""
        started_at = time.monotonic()
        try:
            spooled_keys, shown_keys = await asyncio.to_thread(self._read_spools)
            if not spooled_keys:
                return None
            events = [item.event for item in await self._read_pending() if _get_key(item.event) not in shown_keys]
            async with self._lock:
                await asyncio.to_thread(self._write_to_spools, events, spooled_keys, since=started_at)
        except Unavailable as error:
            self._reconcile_failures += 1
            log.warning("not reconciled", reason=error.message, times=self._reconcile_failures)
            return _compute_backoff(self._reconcile_failures)
        self._reconcile_failures = 0
        self.session_duty.wake()
        return None

    def _read_spools(self) -> tuple[dict[str, set[str]], set[str]]:
        """
        Return the keys that wait in the spool of each session, and the keys that any session has shown and of which the
        store does not know.
        """
        sessions = [guest.session for guest in self._list_guests()]
        spooled_keys = {
            session: {line.dedup_key or line.id for line in self._spool.peek(session)} for session in sessions
        }
        return spooled_keys, {
            key
            for session in sessions
            for key, is_stored in self._spool.read_shown_keys(session).items()
            if not is_stored
        }

    async def _read_waiting_keys(self, session: str) -> set[str]:
        """
        Return the keys that wait in the spool of a session and were not read in another way since. The store decides
        that, if it can be reached and returns all pending items.
        """
        lines = await asyncio.to_thread(self._spool.peek, session)
        keys = {line.dedup_key or line.id for line in lines}
        try:
            items = await self._read_pending() if keys else ()
        except Unavailable:
            return keys
        return keys & {_get_key(item.event) for item in items} if len(items) < PENDING_LIMIT else keys

    def _write_to_spools(
        self, events: Sequence[Event], spooled_keys: Mapping[str, AbstractSet[str]], *, since: float
    ) -> None:
        """Write events to the spool of each session, except those in `spooled_keys` and those written `since` then."""
        last_error: Unavailable | None = None
        for session, keys in spooled_keys.items():
            known_keys = keys | {
                key for key, written_at in self._written_keys.get(session, {}).items() if written_at >= since
            }
            new_events = [event for event in events if _get_key(event) not in known_keys]
            try:
                if new_events:
                    self._spool.append(session, [spool_line.from_event(event) for event in new_events])
                    log.info("in the spool", session=session, events=len(new_events), first=new_events[0].id)
            except Unavailable as error:  # the other sessions get the events all the same
                last_error = error
            else:
                self._remember_keys(session, events)
                if self._nudger is not None:
                    self._nudger.schedule(session, events)  # also for events that another program wrote
        if last_error is not None:
            raise last_error

    def _remember_keys(self, session: str, events: Sequence[Event]) -> None:
        """Remember that events were written; one that comes again and again, because another session fails, stays."""
        now = time.monotonic()
        recent_keys = {
            key: written_at
            for key, written_at in self._written_keys.get(session, {}).items()
            if written_at > now - _DEDUP_SECONDS
        }
        self._written_keys[session] = recent_keys | {_get_key(event): now for event in events}

    async def _check_sessions(self) -> None:
        """Reconcile if there is a new session, which may have missed an event; send the nudges that are due."""
        guests: dict[str, Guest] = {guest.session: guest for guest in await asyncio.to_thread(self._list_guests)}
        if guests.keys() - self._seen_sessions:
            self.reconcile_duty.wake()
        self._seen_sessions = frozenset(guests)
        self._written_keys = {session: keys for session, keys in self._written_keys.items() if session in guests}
        if self._nudger is not None:
            await self._nudger.send_due(guests)


def _get_key(event: Event) -> str:
    return event.dedup_key or event.id


def _compute_backoff(attempts: int) -> float:
    return _BACKOFF.delay(attempts, _RANDOM.random())


class StoreSubscription:
    """The subscription of a courier where no gateway runs: it polls the store for new events."""

    name: ClassVar[str] = "store"

    def __init__(self, store: Store, agent: str, *, poll_interval: float = _POLL_INTERVAL) -> None:
        self._store = store
        self._agent = agent
        self._poll_interval = poll_interval

    async def follow(self, handle: EventHandler, resync: ResyncHandler) -> None:
        position = await self._store.read(inbox_feed.read_end)
        resync()
        while True:
            page = await self._store.read(inbox_feed.read_page, self._agent, after=position, limit=_FEED_PAGE_SIZE)
            for item, _ in page.entries:
                if item.state is ItemState.PENDING:
                    await handle(build_unkept_event(item.event, resync))
            position = page.position
            if len(page.entries) < _FEED_PAGE_SIZE:
                await asyncio.sleep(self._poll_interval)
