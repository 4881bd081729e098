"""An errand: an effect outside the database, written down by a verb and done at least once."""

from typing import Final

from msgspec import Struct

from gatepost.core.event import Json
from gatepost.core.times import MINUTE, SECOND, Duration, Instant
from gatepost.retry import Backoff

#: tries after which an errand ends as failed: with the pauses below, most of a day
MAX_JOB_ATTEMPTS: Final = 100
_BACKOFF: Final = Backoff(SECOND, cap=15 * MINUTE)


class Job(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    payload: Json
    #: how often it was tried before
    attempts: int
    due_at: Instant


def compute_job_delay(attempts: int) -> Duration:
    """How long to wait after so many tries: one second, doubling, at most a quarter of an hour."""
    return int(_BACKOFF.delay(attempts))
