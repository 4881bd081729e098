"""Gates, their waiters and their resolutions."""

from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.times import Instant
from gatepost.gates.gate import Gate, Resolution
from gatepost.inbox.event import CHAIN_PAUSE
from gatepost.stores.row_mapping import Mapper, group_rows

_GATE: Final = Mapper(Gate, without="waiters resolution")
_RESOLUTION: Final = Mapper(Resolution, without="by at")

#: after every number
END: Final = 2**62


def lock(tx: Transaction, id: str) -> Gate | None:
    """Read a gate and lock it until the commit."""
    return read(tx, id) if tx.fetch_one("gates/gates/lock", id=id) else None


def read(tx: Reader, id: str) -> Gate | None:
    row = tx.fetch_one("gates/gates/read", id=id)
    return build_gates(tx, [row])[0] if row else None


def list_pending(tx: Reader, owner: int) -> list[Gate]:
    return build_gates(tx, tx.fetch_all("gates/gates/list_pending", owner=owner))


def set_instructed_at(tx: Transaction, id: str, at: Instant | None) -> None:
    """Save when the owner of a gate was given its instruction; None if the instruction did not reach the owner."""
    tx.execute_later("gates/gates/set_instructed_at", id=id, at=at)


def read_hops(tx: Reader, gate: int) -> int:
    """Return the hops of the chain of events that a gate belongs to; 0 if that chain is long past."""
    row = tx.fetch_one("gates/gates/read_hops", number=gate, since=tx.now - CHAIN_PAUSE)
    return int(row.hops) if row else 0


def insert_waiter(tx: Transaction, gate: int, entity: int) -> None:
    """Add an entity that is told when a gate ends, unless it is there already."""
    tx.execute_later("gates/waiters/insert", gate=gate, entity=entity)


def take_due(tx: Transaction, limit: int) -> list[str]:
    """Lock gates whose deadline has passed, oldest deadline first; skip those that another transaction has locked."""
    return [row.id for row in tx.fetch_all("gates/gates/take_due", now=tx.now, limit=limit)]


def list_event_gates(tx: Reader) -> list[tuple[int, str, str]]:
    """Return the gates that wait for an event: number, owner and type of the event."""
    return [(row.number, row.owner, row.event_type) for row in tx.fetch_all("gates/gates/list_event_gates")]


def record_check(tx: Transaction, gate: int, *, trouble: str | None, check_at: Instant) -> None:
    tx.execute_later("gates/gates/record_check", number=gate, trouble=trouble, check_at=check_at)


def make_checks_due(tx: Transaction) -> None:
    """Make the check of every gate due now."""
    tx.execute_later("gates/gates/make_checks_due", now=tx.now)


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    """Delete gates that ended before then, except those of decisions and those that a plan refers to."""
    return tx.execute("gates/gates/reap", before=before, limit=limit)


def build_gates(tx: Reader, rows: Sequence[Row]) -> list[Gate]:
    numbers = [row.number for row in rows]
    waiters = group_rows(tx.fetch_all("gates/waiters/list_by_gates", gates=numbers)) if numbers else {}
    return [
        _GATE.read(
            row,
            waiters=waiters.get(row.number, ()),
            resolution=_RESOLUTION.read(row, by=row.ended_by, at=row.ended_at) if row.ending else None,
        )
        for row in rows
    ]
