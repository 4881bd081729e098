"""
Instants and durations. An instant is whole microseconds since 1970 in UTC; a duration is whole microseconds.

The grammar of durations is strict, because a wrong guess loses data: a number and a unit (`90s`, `10m`, `5 hours`,
`1 day`, `2w`), nothing else. No sign, no fraction, no bare number, no list of parts.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Final

from gatepost.errors import Invalid

#: annotated, so that code that writes records by the types of their fields recognises times
Instant = Annotated[int, "microseconds since 1970"]
Duration = Annotated[int, "microseconds"]

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
#: a recorded time so far in the future means that the clock was set back since (X7)
CLOCK_TOLERANCE: Final = 5 * MINUTE
#: the last second that can be written as a date
MAX_INSTANT: Final = 253_402_300_799 * SECOND

_UNITS: Final = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1_000),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), SECOND),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), MINUTE),
    **dict.fromkeys(("h", "hour", "hours"), HOUR),
    **dict.fromkeys(("d", "day", "days"), DAY),
    **dict.fromkeys(("w", "week", "weeks"), WEEK),
}
_DURATION: Final = re.compile(r"([0-9]{1,9}) ?([a-z]+)")
#: the longest duration
MAX_DURATION: Final = 100 * 365 * DAY
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_duration(text: str) -> Duration:
    """Return a duration such as `10m` or `5 hours`; raise Invalid for zero and for more than a hundred years."""
    match = _DURATION.fullmatch(text.strip())
    unit = _UNITS.get(match[2]) if match else None
    if match is None or unit is None:
        raise Invalid(f"{text!r} is not a duration", hint="write a number and a unit, such as 90s, 10m, 5 hours, 1 day")
    length = int(match[1]) * unit
    if not 0 < length <= MAX_DURATION:
        raise Invalid(f"{text!r} is not a usable duration", hint="it must be over zero and at most a hundred years")
    return length


def format_duration(length: Duration) -> str:
    """Return a duration in its largest whole unit: `1d` for 86400 seconds."""
    for unit, size in (("w", WEEK), ("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND)):
        if length >= size and length % size == 0:
            return f"{length // size}{unit}"
    return f"{length // 1000}ms"


@lru_cache(maxsize=4_096)  # history shows the same few times again and again
def format_rfc3339(instant: Instant) -> str:
    """Return an instant as `2026-02-18T15:07:00Z`, with a fraction only if it has one."""
    moment = _EPOCH + timedelta(microseconds=instant)
    return moment.isoformat(timespec="auto").replace("+00:00", "Z")


def parse_instant(text: str) -> Instant:
    """Return the instant of an RFC 3339 time; raise Invalid if it has no offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None:
        raise Invalid(f"{text!r} is not a time", hint="write it as 2026-02-18T15:07:00Z")
    if moment.tzinfo is None:
        time = moment.isoformat()
        raise Invalid(f"{text!r} has no time zone", hint=f"write {time}Z for UTC, or an offset: {time}+01:00")
    microseconds = (moment - _EPOCH) // timedelta(microseconds=1)
    if not 0 <= microseconds <= MAX_INSTANT:
        raise Invalid(f"{text!r} is not a usable time", hint="it must be in the years 1970 to 9999")
    return microseconds
