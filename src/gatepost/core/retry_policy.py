"""
How long a resident rests when its model fails, and what is to blame.

Waits grow with every failure in a row, by what kind of trouble it was, and are a little uneven so that agents that
failed together do not come back together. Only trouble with the content may be an event's fault: then the next batch is
half as large, until the poisoned item is alone.
"""

from typing import Final

from gatepost.core.times import SECOND, Duration
from gatepost.retry import Backoff

_JITTER: Final = (0.75, 1.25)
#: by trouble; in seconds
_BACKOFFS: Final = {
    "rate_limit": Backoff(15, cap=60, jitter=_JITTER),
    "overload": Backoff(10, cap=120, is_linear=True, jitter=_JITTER),
    "auth": Backoff(300, cap=300, jitter=_JITTER),
    "content": Backoff(1, cap=30, jitter=_JITTER),
    "other": Backoff(5, cap=30, jitter=_JITTER),
}
#: failures in a row after which the fallback model is tried, and after which every wait is long
FALLBACK_AFTER: Final = 3
_MANY_FAILURES: Final = 5
_LONG_BACKOFF: Final = Backoff(300, cap=300, jitter=_JITTER)


def compute_model_delay(trouble: str, failures: int, *, jitter: float, retry_after: float | None = None) -> Duration:
    """How long to rest after so many failures in a row; `chance` (0 to 1) makes it uneven by a quarter either way."""
    is_long = failures > _MANY_FAILURES and trouble not in ("content", "auth")
    backoff = _LONG_BACKOFF if is_long else _BACKOFFS[trouble]
    return int(max(backoff.delay(failures - 1, jitter), retry_after or 0) * SECOND)


def halve_batch(size: int) -> int:
    """How large the next batch may be when one of this size has poison in it."""
    return max(1, size // 2)
