"""
The courier: brings what is for an agent from the transport to the spools of its sessions on this machine.

    transport --parcel--> spool of each live session --> ack --> nudge, if the agent is idle
    store     --pending--> the same, for what they have not yet (every ten minutes, and when something was missed)

Why each item reaches the agent, and is shown once:

- A parcel is acked when its line is in the spool. Killed before the ack, the courier is handed it again and writes it
  again; of lines with the same key the drain shows one. Where a line cannot be written, nothing is acked.
- What was committed is in the store whatever becomes of the parcel. It is pending there until a drain has shown it, so
  asking for what is pending, and writing what the spool has not, makes up for every loss. A session that begins asks by
  itself; so where there is none, a parcel is acked and forgotten.
- The courier marks nothing. Which of two lines, two sessions or two couriers was first is for the drain to find out,
  from the store or, while that is out of reach, from the keys that it has noted as shown.

What the spool has is read before the store is asked. The other way round, an item could be drained in between: pending
when the store was asked, gone when the spool was read, and written once more.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Final

import structlog

from gatepost.core import spool_line
from gatepost.core.event import Event, Item
from gatepost.core.guest import Guest
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import ListGuests, Nudge, Spool, SubscribedEvent, Subscription
from gatepost.retry import Backoff
from gatepost.runtime.nudge import Nudger
from gatepost.runtime.periodic import Duty, run_duties

log = structlog.get_logger("gatepost.courier")

#: items that are asked for at once; more are there when these have been read
PENDING_LIMIT: Final = 1_000
#: seconds between two looks at the sessions
SESSION_CHECK_INTERVAL: Final = 2.0
#: seconds before the next try
_BACKOFF: Final = Backoff(0.1, cap=30.0, jitter=(0.5, 1.0))
#: seconds that a key is known that was written: as long as JetStream itself recognises a repeat
_DEDUP_SECONDS: Final = 120.0

#: what is pending in the agent's inbox; marks nothing
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
        reconcile_interval: float = 600.0,
        check_interval: float = SESSION_CHECK_INTERVAL,
    ) -> None:
        """`source` is asked anew for every connection; `interval` is how many seconds are between reconciliations."""
        self._agent = agent
        self._open_subscription = open_subscription
        self._read_pending = read_pending
        self._spool = spool
        self._list_guests = list_guests
        self._nudger = Nudger(nudge, self._read_waiting_keys) if nudge is not None else None
        self.reconcile_duty = Duty("reconcile", self._reconcile, interval=reconcile_interval)
        self.session_duty = Duty("sessions", self._check_sessions, interval=check_interval)
        self._seen_sessions: frozenset[str] = frozenset()
        #: by session and key, when it was written
        self._written_keys: dict[str, dict[str, float]] = {}
        self._connection_problem: str | None = "not connected yet"
        #: how often in a row a parcel was refused, and reconciling failed
        self._refusal_count = 0
        self._reconcile_failures = 0
        #: held while a parcel is in hand, so that it is not let go of half-way
        self._lock = asyncio.Lock()

    async def run(self, stop: asyncio.Event) -> None:
        """Carry until told to stop; a parcel in hand is finished first."""
        async with run_duties([self.reconcile_duty, self.session_duty]):
            task = asyncio.create_task(self._keep_subscribed(), name="courier")
            try:
                await stop.wait()
            finally:
                async with self._lock:
                    task.cancel()
                await asyncio.wait([task])

    async def _keep_subscribed(self) -> None:
        """Keep a connection to where parcels come from, or try for one."""
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
            except Exception as error:  # noqa: BLE001 (whatever it was, the next try may go better)
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
                log.warning("a parcel cannot be read and is put away", reason=subscribed_event.error)
            elif not self._is_own_broadcast(subscribed_event, event):
                try:
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

    def _is_own_broadcast(self, subscribed_event: SubscribedEvent, event: Event) -> bool:
        """Whether it is the agent's own word to all, which does not come back to it."""
        return subscribed_event.broadcast and event.sender is not None and event.sender.name == self._agent

    async def _reconcile(self) -> float | None:
        """Ask for what is pending, and write what the spools have not."""
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
        """The keys that wait in the spool of each session, and those shown from any that the store does not know of."""
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
        Return the keys of what waits in the spool of a session and was not read by another way since. What the store
        says counts if it can be asked, and says all.
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
        """Write events to each of these sessions, but for those that it had, and those written `since`."""
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
            except Unavailable as error:  # the others get it all the same
                last_error = error
            else:
                self._remember_keys(session, events)
                if self._nudger is not None:
                    self._nudger.schedule(session, events)  # also for what others wrote
        if last_error is not None:
            raise last_error

    def _remember_keys(self, session: str, events: Sequence[Event]) -> None:
        """What comes again and again, because another session cannot have it, stays known."""
        now = time.monotonic()
        recent_keys = {
            key: written_at
            for key, written_at in self._written_keys.get(session, {}).items()
            if written_at > now - _DEDUP_SECONDS
        }
        self._written_keys[session] = recent_keys | {_get_key(event): now for event in events}

    async def _check_sessions(self) -> None:
        """See who is there: a new session may have missed something, an idle one may be owed a nudge."""
        guests: dict[str, Guest] = {guest.session: guest for guest in await asyncio.to_thread(self._list_guests)}
        if guests.keys() - self._seen_sessions:
            self.reconcile_duty.wake()
        self._seen_sessions = frozenset(guests)
        self._written_keys = {session: keys for session, keys in self._written_keys.items() if session in guests}
        if self._nudger is not None:
            await self._nudger.send_due(guests)


def _get_key(event: Event) -> str:
    return event.key or event.id


def _compute_backoff(attempts: int) -> float:
    return _BACKOFF.delay(attempts, random.random())  # noqa: S311 (not for secrecy)
