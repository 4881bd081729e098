"""
Nudges that are owed: an idle agent is told that something waits for it, and nobody else is.

A line in the spool is enough for an agent at work, because its next hook drains it. One that was about to stop may have
drained just before the line was written and be idle just after; so a nudge stays owed until the spool is empty, or the
agent is idle and was nudged. After a nudge there is no other until its hooks have noted something, or time has passed.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from gatepost.core import line
from gatepost.core.event import Event
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports.command import Commands
from gatepost.ports.nudge import Guest, Nudge
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


@dataclass(slots=True)
class _Owed:
    first: Event
    count: int = 0
    tries: int = 0
    not_before: float = 0.0


class Nudger:
    def __init__(
        self, nudge: Nudge, waits: Callable[[str], bool], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`waits` says whether something waits in a session's spool."""
        self._nudge = nudge
        self._waits = waits
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
        for event in new:
            owed = self._owed.setdefault(session, _Owed(event))
            owed.count += 1
            if event.priority < owed.first.priority:
                owed.first = event

    async def pay(self, guests: Mapping[str, Guest]) -> None:
        """Nudge whoever is idle and has something to read; the others stay owed or, if they read it, are not."""
        for session, owed in list(self._owed.items()):
            guest, count = guests.get(session), owed.count
            if guest is None or not await asyncio.to_thread(self._waits, session):
                self._settle(session, count)
            elif guest.idle and self._due(guest, owed):
                await self._try(guest, owed)
        self._nudged = {session: last for session, last in self._nudged.items() if session in guests}
        self._known = {session: known for session, known in self._known.items() if session in guests}

    def _settle(self, session: str, count: int) -> None:
        """Nothing is owed any more, unless more has come meanwhile."""
        if self._owed[session].count == count:
            del self._owed[session]

    def _due(self, guest: Guest, owed: _Owed) -> bool:
        now = self._clock()
        noted, at = self._nudged.get(guest.session, (-1, -_RESPITE))
        return now >= owed.not_before and (noted != guest.noted or now >= at + _RESPITE)

    async def _try(self, guest: Guest, owed: _Owed) -> None:
        now, count = self._clock(), owed.count
        try:
            await self._nudge(guest, text(owed.first, count))
        except GatepostError as error:
            owed.tries += 1
            owed.not_before = now + min(_RESPITE, _PAUSE * 2 ** min(owed.tries, 10))
            log.warning("the nudge failed", session=guest.session, reason=error.message, times=owed.tries)
        else:
            self._settle(guest.session, count)
            self._nudged[guest.session] = (guest.noted, now)
            log.info("nudged", session=guest.session, events=count)


class CommandNudge:
    """
    Nudges by a command of the user's own, which the shell runs anew each time. What the nudge says is no part of the
    line: it is `$1` and stdin, and `$2` is the session.
    """

    def __init__(self, commands: Commands, command: str, *, limit: float) -> None:
        self._commands = commands
        self._command = command
        self._limit = limit

    async def __call__(self, guest: Guest, text: str) -> None:
        argv = ["/bin/sh", "-c", self._command, "gatepost", text, guest.session]
        try:
            ran = await self._commands.run(argv, stdin=f"{text}\n", limit=self._limit)
        except ValueError as error:  # a session's id may hold what no argument can
            raise Unavailable(f"the command cannot be run: {error}") from None
        if ran.code is None:
            raise Unavailable(f"the command took longer than {self._limit:g} s and was killed")
        if ran.code != 0:
            said = f": {hide_secrets(ran.said)[:200]}" if ran.said else ""
            raise Unavailable(f"the command ended with {ran.code}{said}")


def text(first: Event, count: int) -> str:
    """What a nudge says, on one line."""
    waiting = "1 event waits" if count == 1 else f"{count} events wait, the first"
    return f"Inbox: {waiting}: {line.line(first, _ROOM)}"
