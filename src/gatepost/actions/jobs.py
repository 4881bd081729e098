"""
Effects outside the database, at least once.

A verb that wants something done elsewhere (a message sent, a command run) writes an errand in its own transaction: the
wish is kept if and only if the verb was. A runner takes what is due for a while, does it, and says how it went; if it
dies, the next one takes it again. Pauses grow, and after `core.errand.TRIES` tries an errand ends as failed and the
administrator is told.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.actions import directory, push
from gatepost.core.errand import MAX_JOB_ATTEMPTS, Job, compute_job_delay
from gatepost.core.event import Json
from gatepost.core.signals import Signal
from gatepost.core.times import MINUTE, Duration, Instant
from gatepost.errors import Conflict, GatepostError
from gatepost.ports import Reader, Transaction
from gatepost.tables import errands

_HOLD_LENGTH: Final = 2 * MINUTE
_MAX_ERROR_LENGTH: Final = 500


def add(tx: Transaction, kind: str, payload: Json) -> str:
    """Write down that something is to be done."""
    id = tx.new_id("err")
    errands.insert(tx, id, kind, payload, tx.now)
    tx.after_commit(Signal(f"errand:{kind}", "errand"))
    return id


def take(
    tx: Transaction, kinds: Sequence[str], holder: str, *, hold: Duration = _HOLD_LENGTH, limit: int = 10
) -> list[Job]:
    """Take what is due; unless it is finished within `hold`, somebody else may take it too."""
    return errands.take(tx, kinds, holder, tx.now + hold, limit)


def complete(tx: Transaction, id: str, holder: str) -> None:
    """Say that an errand was done."""
    if not errands.finish(tx, id, holder, due_at=tx.now, ended_at=tx.now, outcome="done", error=None):
        raise Conflict(f"the errand {id!r} went to another runner meanwhile")


def fail(tx: Transaction, job: Job, holder: str, error: str, *, retry_in: Duration | None = None) -> None:
    """Say that a try failed: it is tried again later, or, after too many, not any more."""
    is_last_try = job.attempts + 1 >= MAX_JOB_ATTEMPTS
    is_still_owner = errands.finish(
        tx,
        job.id,
        holder,
        due_at=tx.now + (compute_job_delay(job.attempts) if retry_in is None else retry_in),
        ended_at=tx.now if is_last_try else None,
        outcome="failed" if is_last_try else None,
        error=error[:_MAX_ERROR_LENGTH],
    )
    if is_still_owner and is_last_try:
        _alert_administrator(tx, job, error)


def find_next_due(tx: Reader, kinds: Sequence[str]) -> Instant | None:
    """When there is something to do next."""
    return errands.next_due(tx, kinds)


def _alert_administrator(tx: Transaction, job: Job, error: str) -> None:
    text = f"gave up on {job.kind} after {job.attempts + 1} tries: {error[:_MAX_ERROR_LENGTH]}"
    [outcome] = push.push_all(tx, [push.build_alert(directory.ADMINISTRATOR, text, f"errand:{job.id}")])
    assert not isinstance(outcome, GatepostError) or outcome.status == 404
