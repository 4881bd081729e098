"""
Instants and durations. An instant is whole microseconds since 1970 in UTC; a duration is whole microseconds.

The grammar of durations is strict, because a wrong guess loses data: a number and a unit (`90s`, `10m`, `5 hours`,
`1 day`, `2w`), nothing else. No sign, no fraction, no bare number, no list of parts.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Annotated, Final

from gatepost.errors import Invalid, quote_value

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
#: compiled at the first duration: most hooks parse none
_DURATION: Final = r"([0-9]+) ?([a-z]+)"
#: milliseconds in a hundred years have fewer
_MAX_DIGITS: Final = 15
#: the longest duration
MAX_DURATION: Final = 100 * 365 * DAY
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EXAMPLE: Final = "2026-02-18T15:07:00Z"


def parse_duration(text: str, *, time_field: str | None = None) -> Duration:
    """
    Return a duration such as `10m` or `5 hours`; raise Invalid for zero and for more than a hundred years. The error
    for a time names the field that takes one, `time_field`.
    """
    match = re.fullmatch(_DURATION, text.strip())
    unit = _UNITS.get(match[2]) if match else None
    if match is None or unit is None:
        hint = "write a number and a unit, such as 90s, 10m, 5 hours, 1 day"
        if time_field is not None and _parse_date(text) is not None:
            hint = f"give a time as `{time_field}`, and here a duration such as 10m"
        raise Invalid(f"{quote_value(text)} is not a duration", hint=hint)
    digits = match[1].lstrip("0")
    if not digits:
        raise Invalid(f"{quote_value(text)} is not over zero", hint="use a duration over zero, such as 10m")
    if len(digits) > _MAX_DIGITS or int(digits) * unit > MAX_DURATION:
        raise Invalid(f"{quote_value(text)} is too long", hint="use at most a hundred years, which is 36500d")
    return int(digits) * unit


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


def parse_instant(text: str, *, duration_field: str | None = None) -> Instant:
    """
    Return the instant of an RFC 3339 time; raise Invalid if it has no offset. The error for a duration names the field
    that takes one, `duration_field`.
    """
    moment = _parse_date(text)
    if moment is None:
        hint = f"write it as {_EXAMPLE}"
        if duration_field is not None and (match := re.fullmatch(_DURATION, text.strip())) and match[2] in _UNITS:
            hint = f"give a duration as `{duration_field}`, and here a time such as {_EXAMPLE}"
        raise Invalid(f"{quote_value(text)} is not a time", hint=hint)
    if moment.tzinfo is None:
        time = moment.isoformat()
        raise Invalid(
            f"{quote_value(text)} has no time zone", hint=f"write {time}Z for UTC, or an offset: {time}+01:00"
        )
    microseconds = (moment - _EPOCH) // timedelta(microseconds=1)
    if not 0 <= microseconds <= MAX_INSTANT:
        raise Invalid(f"{quote_value(text)} is out of range", hint="use a time in the years 1970 to 9999")
    return microseconds


def _parse_date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
