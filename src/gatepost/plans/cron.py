"""
Cron expressions: five fields (minute, hour, day of month, month, day of week) in a time zone.

A slot is an instant at which an expression is due. `cronsim` parses the fields and lists the matching times of a wall
clock; this module converts them to instants, by the rules of cronsim and of Debian's cron. On most days a time of the
clock is one instant. When clocks change it may be none or two:

    interval (the minute or the hour begins with `*`)   fires whenever the clock shows a matching time: not at all where
                                                        the clock skips it, and twice where the clock shows it twice
    fixed time (neither begins with `*`)                fires once: where the clock skips the time, as soon as the clock
                                                        has jumped over it; where it shows it twice, the first time

So the slots do not depend on the moment of asking, and `find_next` always returns the first later slot. (In cronsim's
own handling of zones they do depend on it, in zones that change by half an hour or at midnight.)

The libraries for this are imported where they are used: most programs that handle plans never need them.
"""

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from itertools import takewhile
from typing import Final

from msgspec import Struct

from gatepost.core.similar_names import build_hint, find_similar_names
from gatepost.core.times import HOUR, Instant
from gatepost.errors import Invalid, quote_value

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
#: what a field may be, by the name that cronsim has for it
_FIELD_RANGES: Final = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "1 to 31 (February has at most 29; April, June, September and November 30), or L for the last",
    "month": "1 to 12, or JAN to DEC",
    "day-of-week": "0 to 7 (0 and 7 are Sunday), or SUN to SAT",
}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MINUTE: Final = timedelta(minutes=1)


class Cron(Struct, frozen=True):
    #: five fields or an alias
    expression: str
    #: a name of the IANA database
    zone: str = "UTC"

    def iter_slots(self, after: Instant) -> Iterator[Instant]:
        """Yield the slots after an instant, in order; stop if there is none for fifty years."""
        for slot in _iter_candidates(_split_fields(self.expression), _load_zone(self.zone), after):
            if slot > after:
                yield slot
                after = slot

    def find_next(self, after: Instant) -> Instant | None:
        """Return the first slot after an instant; None if there is none for fifty years."""
        return next(self.iter_slots(after), None)

    def list_between(self, after: Instant, until: Instant) -> list[Instant]:
        """Return the slots after one instant, up to and including another."""
        return list(takewhile(lambda slot: slot <= until, self.iter_slots(after)))

    def list_latest(self, after: Instant, until: Instant, limit: int) -> list[Instant]:
        """Return the last `limit` slots between two instants. It looks back at most twice as far as it has to."""
        span = HOUR
        while True:
            start = max(after, until - span)
            slots = self.list_between(start, until)
            if start == after or len(slots) >= limit:
                return slots[-limit:]
            span *= 2


def parse(text: str, zone: str = "UTC") -> Cron:
    """Return the cron of an expression; raise Invalid if it is none, or if no day ever matches."""
    cron = Cron(" ".join(text.split()), check_zone(zone))
    if len(_split_fields(cron.expression)) != 5 or len(cron.expression) > _MAX_LENGTH:
        raise Invalid(
            f"{quote_value(text)} is not a schedule",
            hint=f"use five fields: minute, hour, day of month, month, day of week; or one of {', '.join(_ALIASES)}",
        )
    if cron.find_next(0) is None:
        raise Invalid(f"{quote_value(text)} is not a schedule: there is no such day")
    return cron


def read_hour(instant: Instant, zone: str) -> int:
    """Return the hour of the day that clocks in a zone show at an instant."""
    return (_EPOCH + instant * _MICROSECOND).astimezone(_load_zone(zone)).hour


def _split_fields(expression: str) -> list[str]:
    return _ALIASES.get(expression.lower(), expression).split()


def _iter_candidates(fields: list[str], zone: tzinfo, after: Instant) -> Iterator[Instant]:
    """Yield every slot after an instant, and perhaps a few before it, or some twice."""
    from cronsim import CronSim, CronSimError

    is_fixed_time = not any(field.startswith("*") for field in fields[:2])
    try:
        wall_times = CronSim(" ".join(fields), _to_wall_time(after, zone))
    except CronSimError as error:
        name = str(error).removeprefix("Bad ")
        field, allowed = name.replace("-", " "), _FIELD_RANGES.get(name, "a number")
        raise Invalid(
            f"{quote_value(' '.join(fields))} is not a schedule: its {field} is wrong",
            hint=f"the {field} is {allowed}; also *, a list (1,15), a range (1-5) or a step (*/10)",
        ) from None
    jump_target = wall_times.dt  # where the clock has jumped to: skipped times are due then
    second_instants: deque[Instant] = deque()  # of times that the clock shows twice; not yielded yet
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
    Return a time of the clock in a zone from which no later slot is missed: what the clock shows at the instant or, if
    it will show the same time again, what it showed so much earlier.
    """
    local = (_EPOCH + instant * _MICROSECOND).astimezone(zone)
    repeated_span = _get_offset(local, 0) - _get_offset(local, 1)
    return local.replace(tzinfo=None) - max(repeated_span, timedelta())


def _to_instants(wall_time: datetime, zone: tzinfo) -> tuple[Instant, ...]:
    """Return the instants at which the clock in a zone shows a time: one, two or none."""
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


def check_zone(zone: str) -> str:
    """Return the name of a time zone as it is; raise Invalid, with similar names, if there is no such zone."""
    names = _load_zone_names()
    if names.get(zone.lower()) == zone:
        return zone
    close_names = {names[key]: None for key in find_similar_names(zone.lower()[:60], names)}
    hint = build_hint(close_names) if close_names else "use a name such as Europe/Riga, or UTC"
    raise Invalid(f"{quote_value(zone)} is not a time zone", hint=hint)


@cache
def _load_zone_names() -> dict[str, str]:
    """Return the zones by name in lower case, and by city alone if no zone has that name."""
    from zoneinfo import available_timezones

    zones = sorted(available_timezones(), reverse=True)
    cities = {zone.rpartition("/")[2].lower().replace("_", " "): zone for zone in zones}
    return cities | {zone.lower(): zone for zone in zones}


@cache
def _load_zone(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo

    return UTC if name == "UTC" else ZoneInfo(check_zone(name))
