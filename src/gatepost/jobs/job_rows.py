"""Jobs, the leases of the processes that do them, and the replies to requests that a client may repeat."""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import CLOCK_TOLERANCE, Duration, Instant
from gatepost.jobs.retry_policy import Job
from gatepost.stores.row_mapping import Mapper, fetch_number

_JOB: Final = Mapper(Job, payload=json.loads)


def insert(tx: Transaction, id: str, kind: str, payload: Json, due_at: Instant) -> None:
    tx.execute("jobs/jobs/insert", id=id, kind=kind, payload=json.dumps(payload), due_at=due_at)


def take(tx: Transaction, kinds: Sequence[str], holder: str, deadline: Instant, limit: int) -> list[Job]:
    """Give due jobs to a holder until a deadline; return them, oldest first."""
    jobs = _JOB.fetch_all(
        tx, "jobs/jobs/take", kinds=list(kinds), holder=holder, deadline=deadline, now=tx.now, limit=limit
    )
    return sorted(jobs, key=lambda job: (job.due_at, job.id))


def renew(tx: Transaction, ids: Sequence[str], holder: str, deadline: Instant) -> None:
    """Give a holder its jobs until another deadline; a job that went to another holder stays there."""
    tx.execute("jobs/jobs/renew", ids=list(ids), holder=holder, deadline=deadline)


def finish(
    tx: Transaction,
    id: str,
    holder: str,
    *,
    due_at: Instant,
    ended_at: Instant | None,
    outcome: str | None,
    error: str | None,
) -> bool:
    """End a job, or put it back until it is due; return False if the holder has lost it."""
    row_count = tx.execute(
        "jobs/jobs/finish", id=id, holder=holder, due_at=due_at, ended_at=ended_at, outcome=outcome, error=error
    )
    return row_count == 1


def find_next_due(tx: Reader, kinds: Sequence[str]) -> Instant | None:
    row = tx.fetch_one("jobs/jobs/find_next_due", kinds=list(kinds))
    return row.due_at if row else None


def count_open(tx: Reader, kind: str) -> int:
    return fetch_number(tx, "jobs/jobs/count_open", kind=kind)


def find_error(tx: Reader, kind: str) -> str | None:
    """Return the last error of the job of a kind that is tried again next; None if no job has had one."""
    row = tx.fetch_one("jobs/jobs/find_error", kind=kind)
    return row.error if row else None


def make_due(tx: Transaction, max_lease: Duration) -> None:
    """Make every job due now; a holder whose deadline is more than `max_lease` from now has lost the job."""
    tx.execute("jobs/jobs/make_due", now=tx.now, future=tx.now + max_lease)


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("jobs/jobs/reap", before=before, limit=limit)


def acquire_lease(tx: Transaction, name: str, holder: str, deadline: Instant) -> int | None:
    """Acquire or renew a lease; return the fence, or None while another holder has it."""
    row = tx.fetch_one(
        "jobs/leases/acquire",
        name=name,
        holder=holder,
        deadline=deadline,
        now=tx.now,
        future=deadline + CLOCK_TOLERANCE,
    )
    return row.fence if row else None


def release_lease(tx: Transaction, name: str, holder: str, fence: int) -> bool:
    return tx.execute("jobs/leases/release", name=name, holder=holder, fence=fence) == 1


def renew_lease(tx: Transaction, name: str, holder: str, fence: int, deadline: Instant) -> bool:
    """Renew a lease and lock its row until the commit; return False if the holder has lost it."""
    row_count = tx.execute(
        "jobs/leases/renew", name=name, holder=holder, fence=fence, deadline=deadline, future=deadline + CLOCK_TOLERANCE
    )
    return row_count == 1


def read_lease_deadline(tx: Reader, name: str) -> Instant | None:
    row = tx.fetch_one("jobs/leases/read_deadline", name=name)
    return row.deadline if row else None


def set_lease_deadline(tx: Transaction, name: str, deadline: Instant) -> None:
    """Save a deadline under a name that has no holder."""
    tx.execute("jobs/leases/set_deadline", name=name, deadline=deadline)


def revoke_lease(tx: Transaction, name: str) -> None:
    """Take a lease from its holder."""
    tx.execute("jobs/leases/revoke", name=name)


def insert_idempotency_key(tx: Transaction, scope: str, key: str, digest: str) -> bool:
    """Return False if the key was seen before; wait for a transaction that is storing it now."""
    return tx.execute("jobs/idempotency_keys/insert", scope=scope, key=key, digest=digest, now=tx.now) == 1


def save_reply(tx: Transaction, scope: str, key: str, body: str) -> None:
    tx.execute("jobs/idempotency_keys/save_reply", scope=scope, key=key, body=body)


def read_reply(tx: Reader, scope: str, key: str) -> tuple[str, str] | None:
    """Return the digest of the request, and the reply as JSON."""
    row = tx.fetch_one("jobs/idempotency_keys/read", scope=scope, key=key)
    return (row.digest, row.body) if row else None


def reap_replies(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("jobs/idempotency_keys/reap", before=before, limit=limit)
