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

from gatepost.core import entry
from gatepost.core.event import Event, Item
from gatepost.core.guest import Guest
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import ListGuests, Nudge, Spool, SubscribedEvent, Subscription
from gatepost.runtime.loops import Duty, running
from gatepost.runtime.nudging import Nudger

log = structlog.get_logger("gatepost.courier")

#: items that are asked for at once; more are there when these have been read
MOST: Final = 1_000
#: seconds between two looks at the sessions
LOOK: Final = 2.0
#: seconds before the next try: at first, and at most
_SHORTEST: Final = 0.1
_LONGEST: Final = 30.0
#: seconds that a key is known that was written: as long as JetStream itself recognises a repeat
_REMEMBER: Final = 120.0

#: what is pending in the agent's inbox; marks nothing
Pending = Callable[[], Awaitable[Sequence[Item]]]


class Courier:
    def __init__(
        self,
        agent: str,
        *,
        source: Callable[[], Subscription],
        pending: Pending,
        spool: Spool,
        guests: ListGuests,
        nudge: Nudge | None = None,
        interval: float = 600.0,
        look: float = LOOK,
    ) -> None:
        """`source` is asked anew for every connection; `interval` is how many seconds are between reconciliations."""
        self._agent = agent
        self._source = source
        self._pending = pending
        self._spool = spool
        self._guests = guests
        self._nudger = Nudger(nudge, self._read_waiting) if nudge is not None else None
        self.reconciling = Duty("reconcile", self._reconcile, interval=interval)
        self.watching = Duty("sessions", self._watch, interval=look)
        self._seen: frozenset[str] = frozenset()
        #: by session and key, when it was written
        self._written: dict[str, dict[str, float]] = {}
        self._condition: str | None = "not connected yet"
        #: how often in a row a parcel was refused, and reconciling failed
        self._refused = 0
        self._unreconciled = 0
        #: held while a parcel is in hand, so that it is not let go of half-way
        self._hands = asyncio.Lock()

    async def run(self, stop: asyncio.Event) -> None:
        """Carry until told to stop; a parcel in hand is finished first."""
        async with running([self.reconciling, self.watching]):
            following = asyncio.create_task(self._follow(), name="courier")
            try:
                await stop.wait()
            finally:
                async with self._hands:
                    following.cancel()
                await asyncio.wait([following])

    async def _follow(self) -> None:
        """Keep a connection to where parcels come from, or try for one."""
        loop = asyncio.get_running_loop()
        losses = 0
        while True:
            began = loop.time()
            try:
                source = self._source()
                await source.follow(self._take, partial(self._look, source.name))
                reason = "the connection was closed"
            except GatepostError as error:
                reason = error.message
            except Exception as error:  # noqa: BLE001 (whatever it was, the next try may go better)
                unsaid = "it does not answer" if isinstance(error, TimeoutError) else type(error).__name__
                reason = (str(error).strip() or unsaid).splitlines()[0][:200]
            if reason != self._condition:
                log.warning("degraded", reason=reason)
            self._condition = reason
            losses = 0 if loop.time() - began > _LONGEST else losses + 1
            await asyncio.sleep(_pause(losses))

    def _look(self, source: str) -> None:
        if self._condition is not None:
            log.info("up", source=source)
        self._condition = None
        self.reconciling.wake()

    async def _take(self, parcel: SubscribedEvent) -> None:
        async with self._hands:
            event = parcel.event
            if event is None:
                log.warning("a parcel cannot be read and is put away", reason=parcel.error)
            elif not self._own(parcel, event):
                try:
                    await asyncio.to_thread(self._deliver, event)
                except Unavailable as error:
                    self._refused += 1
                    log.warning("not in the spool", id=event.id, reason=error.message, times=self._refused)
                    await parcel.refuse(_pause(self._refused))
                    return
            self._refused = 0
            await parcel.ack()
        self.watching.wake()

    def _deliver(self, event: Event) -> None:
        nothing = {guest.session: frozenset[str]() for guest in self._guests()}
        self._put([event], nothing, since=time.monotonic() - _REMEMBER)

    def _own(self, parcel: SubscribedEvent, event: Event) -> bool:
        """Whether it is the agent's own word to all, which does not come back to it."""
        return parcel.broadcast and event.sender is not None and event.sender.name == self._agent

    async def _reconcile(self) -> float | None:
        """Ask for what is pending, and write what the spools have not."""
        began = time.monotonic()
        try:
            had, shown = await asyncio.to_thread(self._read)
            if not had:
                return None
            events = [item.event for item in await self._pending() if _key(item.event) not in shown]
            async with self._hands:
                await asyncio.to_thread(self._put, events, had, since=began)
        except Unavailable as error:
            self._unreconciled += 1
            log.warning("not reconciled", reason=error.message, times=self._unreconciled)
            return _pause(self._unreconciled)
        self._unreconciled = 0
        self.watching.wake()
        return None

    def _read(self) -> tuple[dict[str, set[str]], set[str]]:
        """The keys that wait in the spool of each session, and those shown from any that the store does not know of."""
        sessions = [guest.session for guest in self._guests()]
        had = {each: {line.dedup_key or line.id for line in self._spool.peek(each)} for each in sessions}
        return had, {key for each in sessions for key, known in self._spool.read_shown_keys(each).items() if not known}

    async def _read_waiting(self, session: str) -> set[str]:
        """
        Return the keys of what waits in the spool of a session and was not read by another way since. What the store
        says counts if it can be asked, and says all.
        """
        lines = await asyncio.to_thread(self._spool.peek, session)
        keys = {line.dedup_key or line.id for line in lines}
        try:
            items = await self._pending() if keys else ()
        except Unavailable:
            return keys
        return keys & {_key(item.event) for item in items} if len(items) < MOST else keys

    def _put(self, events: Sequence[Event], had: Mapping[str, AbstractSet[str]], *, since: float) -> None:
        """Write events to each of these sessions, but for those that it had, and those written `since`."""
        failed: Unavailable | None = None
        for session, keys in had.items():
            known = keys | {key for key, at in self._written.get(session, {}).items() if at >= since}
            new = [each for each in events if _key(each) not in known]
            try:
                self._write(session, new)
            except Unavailable as error:  # the others get it all the same
                failed = error
            else:
                self._note(session, events)
                if self._nudger is not None:
                    self._nudger.owe(session, events)  # also for what others wrote
        if failed is not None:
            raise failed

    def _write(self, session: str, events: Sequence[Event]) -> None:
        if events:
            self._spool.append(session, [entry.of(each) for each in events])
            log.info("in the spool", session=session, events=len(events), first=events[0].id)

    def _note(self, session: str, events: Sequence[Event]) -> None:
        """What comes again and again, because another session cannot have it, stays known."""
        now = time.monotonic()
        fresh = {key: at for key, at in self._written.get(session, {}).items() if at > now - _REMEMBER}
        self._written[session] = fresh | {_key(each): now for each in events}

    async def _watch(self) -> None:
        """See who is there: a new session may have missed something, an idle one may be owed a nudge."""
        guests: dict[str, Guest] = {each.session: each for each in await asyncio.to_thread(self._guests)}
        if guests.keys() - self._seen:
            self.reconciling.wake()
        self._seen = frozenset(guests)
        self._written = {session: keys for session, keys in self._written.items() if session in guests}
        if self._nudger is not None:
            await self._nudger.pay(guests)


def _key(event: Event) -> str:
    return event.key or event.id


def _pause(tries: int) -> float:
    longest: float = min(_LONGEST, _SHORTEST * 2 ** min(tries, 10))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 (not for secrecy)
