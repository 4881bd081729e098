"""
Jobs: effects outside the database, which run at least once.

A verb that needs something done elsewhere (send a message, run a command) writes a job in its own transaction: the job
exists if and only if the verb is committed. A runner takes due jobs for a limited time, runs them and writes the
outcome; if it dies, the next runner takes them again. The delay grows with each attempt, and after `MAX_JOB_ATTEMPTS` a
job ends as failed and the administrator gets an alert.
"""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import MINUTE, Duration, Instant
from gatepost.directory import entity_actions as directory
from gatepost.errors import Conflict, GatepostError
from gatepost.inbox.push import actions as push
from gatepost.jobs.job import MAX_JOB_ATTEMPTS, Job, compute_job_delay
from gatepost.stores.row_mapping import Mapper, fetch_number

_HOLD_LENGTH: Final = 2 * MINUTE
_MAX_ERROR_LENGTH: Final = 500
_JOB: Final = Mapper(Job, payload=json.loads)


def add(tx: Transaction, kind: str, payload: Json, *, due_at: Instant | None = None) -> str:
    """Write a job that is due then, or now, and return its id."""
    id = tx.new_id("err")
    tx.execute_later("jobs/jobs/insert", id=id, kind=kind, payload=json.dumps(payload), due_at=due_at or tx.now)
    tx.after_commit(Signal(Topic("job", kind), "job"))
    return id


def take(
    tx: Transaction, kinds: Sequence[str], holder: str, *, hold: Duration = _HOLD_LENGTH, limit: int = 10
) -> list[Job]:
    """Take due jobs of these kinds, oldest first; after `hold` another runner may take a job that has not ended."""
    jobs = _JOB.fetch_all(
        tx, "jobs/jobs/take", kinds=list(kinds), holder=holder, deadline=tx.now + hold, now=tx.now, limit=limit
    )
    return sorted(jobs, key=lambda job: (job.due_at, job.id))


def renew(tx: Transaction, ids: Sequence[str], holder: str, hold: Duration) -> None:
    """Hold jobs for `hold` from now, unless another runner has taken them."""
    tx.execute_later("jobs/jobs/renew", ids=list(ids), holder=holder, deadline=tx.now + hold)


def complete(tx: Transaction, id: str, holder: str) -> None:
    """End a job as done; raise `Conflict` if another runner has taken it meanwhile."""
    end = {"due_at": tx.now, "ended_at": tx.now, "outcome": "done", "error": None}
    if not tx.execute("jobs/jobs/finish", id=id, holder=holder, **end):
        raise Conflict(f"the job {id!r} went to another runner meanwhile")


def fail(
    tx: Transaction,
    job: Job,
    holder: str,
    error: str,
    *,
    retry_in: Duration | None = None,
    is_outage: bool = False,
) -> None:
    """
    Record a failed attempt: the job is due again later (`retry_in`, or a growing delay), or ends after the last. An
    outage does not end it.
    """
    is_last_attempt = job.attempts + 1 >= MAX_JOB_ATTEMPTS and not is_outage
    is_still_owner = tx.execute(
        "jobs/jobs/finish",
        id=job.id,
        holder=holder,
        due_at=tx.now + (compute_job_delay(job.attempts) if retry_in is None else retry_in),
        ended_at=tx.now if is_last_attempt else None,
        outcome="failed" if is_last_attempt else None,
        error=error[:_MAX_ERROR_LENGTH],
    )
    if is_still_owner and is_last_attempt:
        text = f"gave up on {job.kind} after {job.attempts + 1} tries: {error[:_MAX_ERROR_LENGTH]}"
        [outcome] = push.push_all(tx, [push.build_alert(directory.ADMINISTRATOR, text, f"job:{job.id}")])
        assert not isinstance(outcome, GatepostError) or outcome.status == 404


def find_next_due(tx: Reader, kinds: Sequence[str]) -> Instant | None:
    """Return when the next job of these kinds is due."""
    row = tx.fetch_one("jobs/jobs/find_next_due", kinds=list(kinds))
    return row.due_at if row else None


def count_open(tx: Reader, kind: str) -> int:
    """Return how many jobs of a kind have not ended."""
    return fetch_number(tx, "jobs/jobs/count_open", kind=kind)


def find_error(tx: Reader, kind: str) -> str | None:
    """Return why the last try of a job of a kind that has not ended has failed; None if there is no such job."""
    row = tx.fetch_one("jobs/jobs/find_error", kind=kind)
    return row.error if row else None


def make_due(tx: Transaction, max_lease: Duration) -> None:
    """Make every job due now; a holder whose deadline is more than `max_lease` from now has lost the job."""
    tx.execute_later("jobs/jobs/make_due", now=tx.now, future=tx.now + max_lease)


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("jobs/jobs/reap", before=before, limit=limit)
