"""
How long a resident rests when its model fails, and what is to blame.

Waits grow with every failure in a row, by what kind of trouble it was, and are a little uneven so that agents that
failed together do not come back together. Only trouble with the content may be an event's fault: then the next batch is
half as large, until the poisoned item is alone.
"""

from typing import Final

from gatepost.core.times import SECOND, Duration

#: by trouble: the first wait, whether it doubles (else it grows evenly), the longest; in seconds
_BACKOFF: Final = {
    "rate_limit": (15, True, 60),
    "overload": (10, False, 120),
    "auth": (300, False, 300),
    "content": (1, True, 30),
    "other": (5, True, 30),
}
#: failures in a row after which the fallback model is tried, and after which every wait is long
FALLBACK_AFTER: Final = 3
_MANY_FAILURES: Final = 5
_LONG_DELAY: Final = 300


def compute_model_delay(trouble: str, failures: int, *, jitter: float, retry_after: float | None = None) -> Duration:
    """How long to rest after so many failures in a row; `chance` (0 to 1) makes it uneven by a quarter either way."""
    base, is_exponential, max_seconds = _BACKOFF[trouble]
    seconds = min(max_seconds, base * 2 ** min(failures - 1, 10) if is_exponential else base * failures)
    if failures > _MANY_FAILURES and trouble not in ("content", "auth"):
        seconds = _LONG_DELAY
    return int(max(seconds * (0.75 + jitter / 2), retry_after or 0) * SECOND)


def halve_batch(size: int) -> int:
    """How large the next batch may be when one of this size has poison in it."""
    return max(1, size // 2)
