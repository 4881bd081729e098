"""
How long to wait before a job or a model is tried again.

A job is an effect outside the database: a verb writes it down, and it is done at least once.

A resident whose model fails rests. The rest grows with every failure in a row, depends on the kind of the trouble, and
has some jitter, so that agents that failed together do not come back together. Only trouble with the content may be the
fault of an event: then the next batch is half as large, until the poisoned item is alone.
"""

from typing import Final

from msgspec import Struct

from gatepost.core.backoff import Backoff
from gatepost.core.json_limits import Json
from gatepost.core.times import MINUTE, SECOND, Duration, Instant

#: tries after which a job ends as failed: with the delays below, most of a day
MAX_JOB_ATTEMPTS: Final = 100
_JOB_BACKOFF: Final = Backoff(SECOND, cap=15 * MINUTE)

_JITTER: Final = (0.75, 1.25)
#: by trouble; in seconds
_MODEL_BACKOFFS: Final = {
    "rate_limit": Backoff(15, cap=60, jitter=_JITTER),
    "overload": Backoff(10, cap=120, is_linear=True, jitter=_JITTER),
    "auth": Backoff(300, cap=300, jitter=_JITTER),
    "content": Backoff(1, cap=30, jitter=_JITTER),
    "other": Backoff(5, cap=30, jitter=_JITTER),
}
#: failures in a row after which the fallback model is tried, and after which every rest is long
FALLBACK_AFTER: Final = 3
_MANY_FAILURES: Final = 5
_LONG_BACKOFF: Final = Backoff(300, cap=300, jitter=_JITTER)


class Job(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    payload: Json
    #: tries before this one
    attempts: int
    due_at: Instant


def compute_job_delay(attempts: int) -> Duration:
    """Return the delay after so many tries: one second, doubled each time, at most a quarter of an hour."""
    return int(_JOB_BACKOFF.delay(attempts))


def compute_model_delay(trouble: str, failures: int, *, jitter: float, retry_after: float | None = None) -> Duration:
    """
    Return how long to rest after so many failures in a row. `jitter` (0 to 1) is random and changes the delay by up to
    a quarter either way; `retry_after` is what the provider asks for, in seconds, and is the least.
    """
    is_long = failures > _MANY_FAILURES and trouble not in ("content", "auth")
    backoff = _LONG_BACKOFF if is_long else _MODEL_BACKOFFS[trouble]
    return int(max(backoff.delay(failures - 1, jitter), retry_after or 0) * SECOND)


def halve_batch(size: int) -> int:
    """Return how large the next batch may be if a batch of this size holds a poisoned item."""
    return max(1, size // 2)
