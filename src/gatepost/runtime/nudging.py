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

from gatepost.core import line
from gatepost.core.event import Event
from gatepost.core.guest import Guest
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import CommandRunner, Nudge
from gatepost.telemetry import hide_secrets

log = structlog.get_logger("gatepost.courier")

#: characters of an event in a nudge
_ROOM: Final = 200
#: seconds between two nudges of an agent that does not react
_RESPITE: Final = 60.0
#: seconds between two tries of a nudge that fails, at first; they double up to the respite
_PAUSE: Final = 2.0
#: events for which no nudge is owed again, for each session
_KNOWN: Final = 10_000


#: the keys, or else the ids, of what a session has still to read
Waiting = Callable[[str], Awaitable[Collection[str]]]


@dataclass(slots=True)
class _Owed:
    #: what the session has to read, by its id
    events: dict[str, Event] = field(default_factory=dict)
    tries: int = 0
    not_before: float = 0.0

    def settle(self, events: Iterable[Event]) -> None:
        """Nothing is owed for these any more; others may have come meanwhile, from another thread."""
        for event in events:
            self.events.pop(event.id, None)


class Nudger:
    def __init__(self, nudge: Nudge, waiting: Waiting, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._nudge = nudge
        self._waiting = waiting
        self._clock = clock
        self._owed: dict[str, _Owed] = {}
        self._nudged: dict[str, tuple[int, float]] = {}
        #: the events for which a nudge was owed, by session, the newest last
        self._known: dict[str, dict[str, None]] = {}

    def owe(self, session: str, events: Sequence[Event]) -> None:
        """A session has events to read. Those that wake nobody are no reason to nudge it, nor those it was owed for."""
        known = self._known.setdefault(session, {})
        new = [event for event in events if event.wakes and event.id not in known]
        self._known[session] = dict(list((known | {event.id: None for event in new}).items())[-_KNOWN:])
        if new:
            self._owed.setdefault(session, _Owed()).events |= {event.id: event for event in new}

    async def pay(self, guests: Mapping[str, Guest]) -> None:
        """Nudge whoever is idle and has something to read; the others stay owed or, if they read it, are not."""
        for session, owed in list(self._owed.items()):
            guest = guests.get(session)
            if guest is None:
                self._owed.pop(session, None)
            elif (
                owed.events
                and guest.is_idle
                and self._due(guest, owed)
                and (pending := await self._choose_pending(session, owed))
            ):
                await self._try(guest, owed, pending)
        self._nudged = {session: last for session, last in self._nudged.items() if session in guests}
        self._known = {session: known for session, known in self._known.items() if session in guests}

    async def _choose_pending(self, session: str, owed: _Owed) -> list[Event]:
        """Return what is still to be read; for what was read meanwhile nothing is owed."""
        events = list(owed.events.values())
        waiting = await self._waiting(session)
        pending = [event for event in events if (event.key or event.id) in waiting]
        owed.settle(event for event in events if event not in pending)
        return pending

    def _due(self, guest: Guest, owed: _Owed) -> bool:
        now = self._clock()
        noted, at = self._nudged.get(guest.session, (-1, -_RESPITE))
        return now >= owed.not_before and (noted != guest.revision or now >= at + _RESPITE)

    async def _try(self, guest: Guest, owed: _Owed, pending: Sequence[Event]) -> None:
        now, first = self._clock(), min(pending, key=lambda event: event.priority)
        try:
            await self._nudge(guest, text(first, len(pending)))
        except GatepostError as error:
            owed.tries += 1
            owed.not_before = now + min(_RESPITE, _PAUSE * 2 ** min(owed.tries, 10))
            log.warning("the nudge failed", session=guest.session, reason=error.message, times=owed.tries)
        else:
            owed.settle(pending)
            owed.tries, owed.not_before = 0, 0.0
            self._nudged[guest.session] = (guest.revision, now)
            log.info("nudged", session=guest.session, events=len(pending))


class CommandNudge:
    """
    Nudges by a command of the user's own, which the shell runs anew each time. What the nudge says is no part of the
    line: it is `$1` and stdin, and `$2` is the session.
    """

    def __init__(self, commands: CommandRunner, command: str, *, limit: float) -> None:
        self._commands = commands
        self._command = command
        self._limit = limit

    async def __call__(self, guest: Guest, text: str) -> None:
        argv = ["/bin/sh", "-c", self._command, "gatepost", text, guest.session]
        try:
            ran = await self._commands.run(argv, stdin=f"{text}\n", time_limit=self._limit)
        except ValueError as error:  # a session's id may hold what no argument can
            raise Unavailable(f"the command cannot be run: {error}") from None
        if ran.code is None:
            raise Unavailable(f"the command took longer than {self._limit:g} s and was killed")
        if ran.code != 0:
            said = f": {hide_secrets(ran.first_line)[:200]}" if ran.first_line else ""
            raise Unavailable(f"the command ended with {ran.code}{said}")


def text(first: Event, count: int) -> str:
    """What a nudge says, on one line."""
    waiting = "1 event waits" if count == 1 else f"{count} events wait, the first"
    return f"Inbox: {waiting}: {line.line(first, _ROOM)}"
