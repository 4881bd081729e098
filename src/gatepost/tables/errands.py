"""Errands at rest."""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.event import Json
from gatepost.core.retry_policy import Job
from gatepost.core.times import Duration, Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper

_ERRAND: Final = Mapper(Job, apart="payload")


def insert(tx: Transaction, id: str, kind: str, payload: Json, due_at: Instant) -> None:
    tx.execute("errands/insert", id=id, kind=kind, payload=json.dumps(payload), due_at=due_at)


def take(tx: Transaction, kinds: Sequence[str], holder: str, deadline: Instant, limit: int) -> list[Job]:
    """Put what is due under a holder until a deadline, oldest first."""
    rows = tx.fetch_all("errands/take", kinds=list(kinds), holder=holder, deadline=deadline, now=tx.now, limit=limit)
    errands = [_ERRAND.read(row, payload=json.loads(row.payload)) for row in rows]
    return sorted(errands, key=lambda errand: (errand.due_at, errand.id))


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
    """End an errand, or put it back until it is due; say whether the holder still had it."""
    changed = tx.execute(
        "errands/finish", id=id, holder=holder, due_at=due_at, ended_at=ended_at, outcome=outcome, error=error
    )
    return changed == 1


def next_due(tx: Reader, kinds: Sequence[str]) -> Instant | None:
    row = tx.fetch_one("errands/next_due", kinds=list(kinds))
    return row.due_at if row else None


def hurry(tx: Transaction, longest: Duration) -> None:
    """Make everything due now; a holder whose time ends later than `longest` from now has lost it."""
    tx.execute("errands/hurry", now=tx.now, future=tx.now + longest)


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("errands/reap", before=before, limit=limit)
