"""
How long a resident rests when its model fails, and what is to blame.

Waits grow with every failure in a row, by what kind of trouble it was, and are a little uneven so that agents that
failed together do not come back together. Only trouble with the content may be an event's fault: then the next batch is
half as large, until the poisoned item is alone.
"""

from typing import Final

from gatepost.core.instants import SECOND, Duration

#: by trouble: the first wait, whether it doubles (else it grows evenly), the longest; in seconds
_WAITS: Final = {
    "rate_limit": (15, True, 60),
    "overload": (10, False, 120),
    "auth": (300, False, 300),
    "content": (1, True, 30),
    "other": (5, True, 30),
}
#: failures in a row after which the fallback model is tried, and after which every wait is long
FALLBACK_AFTER: Final = 3
_WEARY: Final = 5
_LONG: Final = 300


def wait(trouble: str, failures: int, *, chance: float, retry_after: float | None = None) -> Duration:
    """How long to rest after so many failures in a row; `chance` (0 to 1) makes it uneven by a quarter either way."""
    first, doubles, longest = _WAITS[trouble]
    seconds = min(longest, first * 2 ** min(failures - 1, 10) if doubles else first * failures)
    if failures > _WEARY and trouble not in ("content", "auth"):
        seconds = _LONG
    return int(max(seconds * (0.75 + chance / 2), retry_after or 0) * SECOND)


def halved(size: int) -> int:
    """How large the next batch may be when one of this size has poison in it."""
    return max(1, size // 2)
