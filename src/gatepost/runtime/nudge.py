"""
Nudges that are owed: an idle agent is told that something waits for it, and nobody else is.

A line in the spool is enough for an agent at work, because its next hook drains it. One that was about to stop may have
drained just before the line was written and be idle just after; so a nudge stays owed until the agent is idle. Then it
names only what still waits at that moment, and if nothing does there is none. After a nudge there is no other until its
hooks have noted something, or time has passed.
"""

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import structlog

from gatepost.core import render
from gatepost.core.event import Event
from gatepost.core.guest import Guest
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import CommandRunner, Nudge
from gatepost.retry import Backoff
from gatepost.telemetry import hide_secrets

log = structlog.get_logger("gatepost.courier")

#: characters of an event in a nudge
_MAX_TEXT: Final = 200
#: seconds between two nudges of an agent that does not react
_NUDGE_INTERVAL: Final = 60.0
#: seconds between two tries of a nudge that fails
_BACKOFF: Final = Backoff(2.0, cap=_NUDGE_INTERVAL)
#: events for which no nudge is owed again, for each session
_MAX_REMEMBERED: Final = 10_000


#: the keys, or else the ids, of what a session has still to read
ReadWaitingKeys = Callable[[str], Awaitable[Collection[str]]]


@dataclass(slots=True)
class _PendingNudge:
    #: what the session has to read, by its id
    events: dict[str, Event] = field(default_factory=dict)
    attempts: int = 0
    not_before: float = 0.0

    def remove(self, events: Iterable[Event]) -> None:
        """Nothing is owed for these any more; others may have come meanwhile, from another thread."""
        for event in events:
            self.events.pop(event.id, None)


class Nudger:
    def __init__(
        self, nudge: Nudge, read_waiting_keys: ReadWaitingKeys, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._nudge = nudge
        self._read_waiting_keys = read_waiting_keys
        self._clock = clock
        self._pending_nudges: dict[str, _PendingNudge] = {}
        self._last_nudges: dict[str, tuple[int, float]] = {}
        #: the events for which a nudge was owed, by session, the newest last
        self._remembered_ids: dict[str, dict[str, None]] = {}

    def schedule(self, session: str, events: Sequence[Event]) -> None:
        """A session has events to read. Those that wake nobody are no reason to nudge it, nor those it was owed for."""
        remembered_ids = self._remembered_ids.setdefault(session, {})
        new_events = [event for event in events if event.wakes and event.id not in remembered_ids]
        self._remembered_ids[session] = dict(
            list((remembered_ids | {event.id: None for event in new_events}).items())[-_MAX_REMEMBERED:]
        )
        if new_events:
            self._pending_nudges.setdefault(session, _PendingNudge()).events |= {
                event.id: event for event in new_events
            }

    async def send_due(self, guests: Mapping[str, Guest]) -> None:
        """Nudge whoever is idle and has something to read; the others stay owed or, if they read it, are not."""
        for session, pending_nudge in list(self._pending_nudges.items()):
            guest = guests.get(session)
            if guest is None:
                self._pending_nudges.pop(session, None)
            elif (
                pending_nudge.events
                and guest.is_idle
                and self._is_due(guest, pending_nudge)
                and (pending_events := await self._choose_pending(session, pending_nudge))
            ):
                await self._send(guest, pending_nudge, pending_events)
        self._last_nudges = {
            session: last_nudge for session, last_nudge in self._last_nudges.items() if session in guests
        }
        self._remembered_ids = {
            session: remembered_ids for session, remembered_ids in self._remembered_ids.items() if session in guests
        }

    async def _choose_pending(self, session: str, pending_nudge: _PendingNudge) -> list[Event]:
        """Return what is still to be read; for what was read meanwhile nothing is owed."""
        events = list(pending_nudge.events.values())
        waiting_keys = await self._read_waiting_keys(session)
        pending_events = [event for event in events if (event.key or event.id) in waiting_keys]
        pending_nudge.remove(event for event in events if event not in pending_events)
        return pending_events

    def _is_due(self, guest: Guest, pending_nudge: _PendingNudge) -> bool:
        now = self._clock()
        last_noted, nudged_at = self._last_nudges.get(guest.session, (-1, -_NUDGE_INTERVAL))
        return now >= pending_nudge.not_before and (last_noted != guest.revision or now >= nudged_at + _NUDGE_INTERVAL)

    async def _send(self, guest: Guest, pending_nudge: _PendingNudge, pending_events: Sequence[Event]) -> None:
        now, most_urgent = self._clock(), min(pending_events, key=lambda event: event.priority)
        try:
            await self._nudge(guest, render_nudge(most_urgent, len(pending_events)))
        except GatepostError as error:
            pending_nudge.attempts += 1
            pending_nudge.not_before = now + _BACKOFF.delay(pending_nudge.attempts)
            log.warning("the nudge failed", session=guest.session, reason=error.message, times=pending_nudge.attempts)
        else:
            pending_nudge.remove(pending_events)
            pending_nudge.attempts, pending_nudge.not_before = 0, 0.0
            self._last_nudges[guest.session] = (guest.revision, now)
            log.info("nudged", session=guest.session, events=len(pending_events))


class CommandNudge:
    """
    Nudges by a command of the user's own, which the shell runs anew each time. What the nudge says is no part of the
    line: it is `$1` and stdin, and `$2` is the session.
    """

    def __init__(self, commands: CommandRunner, command: str, *, timeout: float) -> None:
        self._commands = commands
        self._command = command
        self._timeout = timeout

    async def __call__(self, guest: Guest, text: str) -> None:
        argv = ["/bin/sh", "-c", self._command, "gatepost", text, guest.session]
        try:
            result = await self._commands.run(argv, stdin=f"{text}\n", time_limit=self._timeout)
        except ValueError as error:  # a session's id may hold what no argument can
            raise Unavailable(f"the command cannot be run: {error}") from None
        if result.code is None:
            raise Unavailable(f"the command took longer than {self._timeout:g} s and was killed")
        if result.code != 0:
            detail = f": {hide_secrets(result.first_line)[:200]}" if result.first_line else ""
            raise Unavailable(f"the command ended with {result.code}{detail}")


def render_nudge(event: Event, count: int) -> str:
    """What a nudge says, on one line."""
    count_text = "1 event waits" if count == 1 else f"{count} events wait, the first"
    return f"Inbox: {count_text}: {render.render_event(event, _MAX_TEXT)}"
