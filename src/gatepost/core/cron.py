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
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from itertools import takewhile
from typing import Final

from msgspec import Struct

from gatepost.core.times import HOUR, Instant
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
_MAX_LENGTH: Final = 200
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MINUTE: Final = timedelta(minutes=1)


class Cron(Struct, frozen=True):
    #: five fields or an alias, as it was written
    expression: str
    #: a name of the IANA database
    zone: str = "UTC"

    def iter_slots(self, after: Instant) -> Iterator[Instant]:
        """The slots later than an instant, in order; it ends when there is none for fifty years."""
        for slot in _iter_candidates(_split_fields(self.expression), _load_zone(self.zone), after):
            if slot > after:
                yield slot
                after = slot

    def find_next(self, after: Instant) -> Instant | None:
        """The first slot later than an instant."""
        return next(self.iter_slots(after), None)

    def list_between(self, after: Instant, until: Instant) -> list[Instant]:
        """The slots later than one instant and not later than another."""
        return list(takewhile(lambda slot: slot <= until, self.iter_slots(after)))

    def list_latest(self, after: Instant, until: Instant, limit: int) -> list[Instant]:
        """The last so many of the slots between two instants. Looks back no further than it has to, or twice that."""
        span = HOUR
        while True:
            start = max(after, until - span)
            slots = self.list_between(start, until)
            if start == after or len(slots) >= limit:
                return slots[-limit:]
            span *= 2


def parse(text: str, zone: str = "UTC") -> Cron:
    """Read an expression; one that no day ever matches is refused."""
    cron = Cron(" ".join(text.split()), _check_zone(zone))
    if len(_split_fields(cron.expression)) != 5 or len(cron.expression) > _MAX_LENGTH:
        raise Invalid(
            f"{text!r:.60} is not a schedule",
            hint=f"use five fields: minute, hour, day of month, month, day of week; or one of {', '.join(_ALIASES)}",
        )
    if cron.find_next(0) is None:
        raise Invalid(f"{text!r:.60} is not a schedule: there is no such day")
    return cron


def _split_fields(expression: str) -> list[str]:
    return _ALIASES.get(expression.lower(), expression).split()


def _iter_candidates(fields: list[str], zone: tzinfo, after: Instant) -> Iterator[Instant]:
    """Every slot later than an instant, and perhaps a few before it or twice."""
    from cronsim import CronSim, CronSimError

    is_fixed_time = not any(field.startswith("*") for field in fields[:2])
    try:
        wall_times = CronSim(" ".join(fields), _to_wall_time(after, zone))
    except CronSimError as error:
        raise Invalid(f"{' '.join(fields)!r:.60} is not a schedule: {str(error).lower()}") from None
    jump_target = wall_times.dt  # where the clock has jumped to: whatever it jumped over is due then
    second_instants: deque[Instant] = deque()  # the second of two, until it is their turn
    for wall_time in wall_times:
        instants = _to_instants(max(wall_time, jump_target), zone)
        while is_fixed_time and not instants:
            jump_target = max(wall_time, jump_target) + _MINUTE
            instants = _to_instants(jump_target, zone)
        for instant in instants[:1]:
            while second_instants and second_instants[0] < instant:
                yield second_instants.popleft()
            yield instant
        if not is_fixed_time:
            second_instants.extend(instants[1:])


def _to_wall_time(instant: Instant, zone: tzinfo) -> datetime:
    """
    A time of a clock in that zone that is not after anything later than the instant: what it shows then or, if it is
    going to show the same again, what it showed that much earlier.
    """
    local = (_EPOCH + instant * _MICROSECOND).astimezone(zone)
    repeated_span = _get_offset(local, 0) - _get_offset(local, 1)
    return local.replace(tzinfo=None) - max(repeated_span, timedelta())


def _to_instants(wall_time: datetime, zone: tzinfo) -> tuple[Instant, ...]:
    """When the clock in that zone shows a time: once, twice, or never."""
    local = wall_time.replace(tzinfo=zone)
    first, second = _get_offset(local, 0), _get_offset(local, 1)
    if first < second:
        return ()
    since_epoch = wall_time - _EPOCH.replace(tzinfo=None)
    return tuple((since_epoch - offset) // _MICROSECOND for offset in dict.fromkeys((first, second)))


def _get_offset(local: datetime, fold: int) -> timedelta:
    offset = local.replace(fold=fold).utcoffset()
    assert offset is not None
    return offset


def _check_zone(zone: str) -> str:
    names = _load_zone_names()
    if names.get(zone.lower()) == zone:
        return zone
    from difflib import get_close_matches

    close_names = {names[key]: None for key in get_close_matches(zone.lower()[:60], names, n=3, cutoff=0.6)}
    hint = (
        f"did you mean {' or '.join(map(repr, close_names))}?"
        if close_names
        else "use a name such as Europe/Riga, or UTC"
    )
    raise Invalid(f"{zone!r:.60} is not a time zone", hint=hint)


@cache
def _load_zone_names() -> dict[str, str]:
    """Every zone under its name in lower case, and under its city alone where that is nobody's name."""
    from zoneinfo import available_timezones

    zones = sorted(available_timezones(), reverse=True)
    cities = {zone.rpartition("/")[2].lower().replace("_", " "): zone for zone in zones}
    return cities | {zone.lower(): zone for zone in zones}


@cache
def _load_zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    return UTC if name == "UTC" else ZoneInfo(_check_zone(name))
