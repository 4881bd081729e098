"""
When something recurs: five fields (minute, hour, day of month, month, day of week) read in a time zone.

A slot is an instant at which it is due. `cronsim` reads the fields and says which times of a wall clock they mean; what
instants those are is said here, as cronsim and Debian's cron have it. On most days a time is one instant. When clocks
change it may be none or two:

    due every so often (the minute or the hour begins with `*`)   fires whenever the clock shows a time that is meant:
                                                                  not where it is left out, and twice where it is twice
    due at fixed times (neither does)                             fires once: where the time is left out, as soon as the
                                                                  clock has jumped over it; where it is twice, at first

So which instants are slots does not depend on when one asks, and `next` is always the first of them that is later.
(cronsim's own reckoning with zones does depend on it in zones that change by half an hour, or at midnight.)

What it takes to reckon is imported where it is used: most who handle plans never do.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from itertools import takewhile
from typing import Final

from gatepost.core.instants import HOUR, Instant
from gatepost.errors import Invalid

_ALIASES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LONGEST: Final = 200
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Cron:
    #: five fields or an alias, as it was written
    expression: str
    #: a name of the IANA database
    zone: str = "UTC"

    def slots(self, after: Instant) -> Iterator[Instant]:
        """The slots later than an instant, in order; it ends when there is none for fifty years."""
        for slot in _in_order(_fields(self.expression), _zone(self.zone), after):
            if slot > after:
                yield slot
                after = slot

    def next(self, after: Instant) -> Instant | None:
        """The first slot later than an instant."""
        return next(self.slots(after), None)

    def between(self, after: Instant, until: Instant) -> list[Instant]:
        """The slots later than one instant and not later than another."""
        return list(takewhile(lambda slot: slot <= until, self.slots(after)))

    def latest(self, after: Instant, until: Instant, most: int) -> list[Instant]:
        """The last so many of the slots between two instants. Looks back no further than it has to, or twice that."""
        reach = HOUR
        while True:
            start = max(after, until - reach)
            found = self.between(start, until)
            if start == after or len(found) >= most:
                return found[-most:]
            reach *= 2


def parse(text: str, zone: str = "UTC") -> Cron:
    """Read an expression; one that no day ever matches is refused."""
    cron = Cron(" ".join(text.split()), _known(zone))
    if len(_fields(cron.expression)) != 5 or len(cron.expression) > _LONGEST:
        raise Invalid(
            f"{text!r:.60} is not a schedule",
            hint=f"use five fields: minute, hour, day of month, month, day of week; or one of {', '.join(_ALIASES)}",
        )
    if cron.next(0) is None:
        raise Invalid(f"{text!r:.60} is not a schedule: there is no such day")
    return cron


def _fields(expression: str) -> list[str]:
    return _ALIASES.get(expression.lower(), expression).split()


def _in_order(fields: list[str], zone: tzinfo, after: Instant) -> Iterator[Instant]:
    """Every slot later than an instant, and perhaps a few before it or twice."""
    from cronsim import CronSim, CronSimError

    at_fixed_times = not any(field.startswith("*") for field in fields[:2])
    try:
        walls = CronSim(" ".join(fields), _wall(after, zone))
    except CronSimError as error:
        raise Invalid(f"{' '.join(fields)!r:.60} is not a schedule: {str(error).lower()}") from None
    landed = walls.dt  # where the clock has jumped to: whatever it jumped over is due then
    again: deque[Instant] = deque()  # the second of two, until it is their turn
    for wall in walls:
        instants = _instants(max(wall, landed), zone)
        while at_fixed_times and not instants:
            landed = max(wall, landed) + _MINUTE
            instants = _instants(landed, zone)
        for instant in instants[:1]:
            while again and again[0] < instant:
                yield again.popleft()
            yield instant
        if not at_fixed_times:
            again.extend(instants[1:])


def _wall(instant: Instant, zone: tzinfo) -> datetime:
    """
    A time of a clock in that zone that is not after anything later than the instant: what it shows then or, if it is
    going to show the same again, what it showed that much earlier.
    """
    local = (_EPOCH + instant * _TICK).astimezone(zone)
    repeats = _offset(local, 0) - _offset(local, 1)
    return local.replace(tzinfo=None) - max(repeats, timedelta())


def _instants(wall: datetime, zone: tzinfo) -> tuple[Instant, ...]:
    """When the clock in that zone shows a time: once, twice, or never."""
    local = wall.replace(tzinfo=zone)
    first, second = _offset(local, 0), _offset(local, 1)
    if first < second:
        return ()
    since = wall - _EPOCH.replace(tzinfo=None)
    return tuple((since - offset) // _TICK for offset in dict.fromkeys((first, second)))


def _offset(local: datetime, fold: int) -> timedelta:
    offset = local.replace(fold=fold).utcoffset()
    assert offset is not None
    return offset


def _known(zone: str) -> str:
    names = _zones()
    if names.get(zone.lower()) == zone:
        return zone
    from difflib import get_close_matches

    near = {names[key]: None for key in get_close_matches(zone.lower()[:60], names, n=3, cutoff=0.6)}
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else "use a name such as Europe/Riga, or UTC"
    raise Invalid(f"{zone!r:.60} is not a time zone", hint=hint)


@cache
def _zones() -> dict[str, str]:
    """Every zone under its name in lower case, and under its city alone where that is nobody's name."""
    from zoneinfo import available_timezones

    zones = sorted(available_timezones(), reverse=True)
    cities = {zone.rpartition("/")[2].lower().replace("_", " "): zone for zone in zones}
    return cities | {zone.lower(): zone for zone in zones}


@cache
def _zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    return UTC if name == "UTC" else ZoneInfo(_known(name))
