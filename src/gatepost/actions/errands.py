"""
Effects outside the database, at least once.

A verb that wants something done elsewhere (a message sent, a command run) writes an errand in its own transaction: the
wish is kept if and only if the verb was. A runner takes what is due for a while, does it, and says how it went; if it
dies, the next one takes it again. Pauses grow, and after `core.errand.TRIES` tries an errand ends as failed and the
administrator is told.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.actions import directory, intake
from gatepost.core.errand import TRIES, Errand, pause
from gatepost.core.event import Json
from gatepost.core.instants import MINUTE, Duration, Instant
from gatepost.core.ring import Ring
from gatepost.errors import Conflict, GatepostError
from gatepost.ports import Reader, Transaction
from gatepost.tables import errands

_HOLD: Final = 2 * MINUTE
_LONGEST_ERROR: Final = 500


def add(tx: Transaction, kind: str, payload: Json) -> str:
    """Write down that something is to be done."""
    id = tx.new_id("err")
    errands.insert(tx, id, kind, payload, tx.now)
    tx.after_commit(Ring(f"errand:{kind}", "errand"))
    return id


def take(
    tx: Transaction, kinds: Sequence[str], holder: str, *, hold: Duration = _HOLD, limit: int = 10
) -> list[Errand]:
    """Take what is due; unless it is finished within `hold`, somebody else may take it too."""
    return errands.take(tx, kinds, holder, tx.now + hold, limit)


def done(tx: Transaction, id: str, holder: str) -> None:
    """Say that an errand was done."""
    if not errands.finish(tx, id, holder, due_at=tx.now, ended_at=tx.now, outcome="done", error=None):
        raise Conflict(f"the errand {id!r} went to another runner meanwhile")


def failed(tx: Transaction, errand: Errand, holder: str, error: str, *, again_in: Duration | None = None) -> None:
    """Say that a try failed: it is tried again later, or, after too many, not any more."""
    over = errand.attempts + 1 >= TRIES
    kept = errands.finish(
        tx,
        errand.id,
        holder,
        due_at=tx.now + (pause(errand.attempts) if again_in is None else again_in),
        ended_at=tx.now if over else None,
        outcome="failed" if over else None,
        error=error[:_LONGEST_ERROR],
    )
    if kept and over:
        _tell(tx, errand, error)


def next_due(tx: Reader, kinds: Sequence[str]) -> Instant | None:
    """When there is something to do next."""
    return errands.next_due(tx, kinds)


def _tell(tx: Transaction, errand: Errand, error: str) -> None:
    words = f"gave up on {errand.kind} after {errand.attempts + 1} tries: {error[:_LONGEST_ERROR]}"
    [outcome] = intake.push_all(tx, [intake.warning(directory.ADMINISTRATOR, words, f"errand:{errand.id}")])
    assert not isinstance(outcome, GatepostError) or outcome.status == 404
