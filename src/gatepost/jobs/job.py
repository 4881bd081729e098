"""
A job: an effect outside the database. A verb writes it down, and it is done at least once.

A try that failed is repeated after a delay, which grows with the number of tries.
"""

from typing import Final

from msgspec import Struct

from gatepost.core.backoff import Backoff
from gatepost.core.json_limits import Json
from gatepost.core.times import MINUTE, SECOND, Duration, Instant

#: tries after which a job ends as failed: with the delays below, most of a day
MAX_JOB_ATTEMPTS: Final = 100
_JOB_BACKOFF: Final = Backoff(SECOND, cap=15 * MINUTE)


class Job(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    payload: Json
    #: tries before this one
    attempts: int
    due_at: Instant


def compute_job_delay(attempts: int) -> Duration:
    """Return the delay after a number of tries: one second, doubled each time, at most a quarter of an hour."""
    return int(_JOB_BACKOFF.delay(attempts))
