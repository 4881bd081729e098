"""Gates, their waiters and their resolutions."""

from collections.abc import Collection, Sequence
from typing import Final

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.signals import Position
from gatepost.core.times import Instant
from gatepost.gates.gate import Ending, Gate, GateKind, Resolution
from gatepost.inbox.event import CHAIN_PAUSE
from gatepost.stores.row_mapping import Mapper, fetch_number, get_columns, group_rows

_GATE: Final = Mapper(Gate, without="waiters resolution")
_RESOLUTION: Final = Mapper(Resolution, without="by at")

#: the id of a gate, the id of the event that it waited for, and the hops of that event
Match = tuple[str, str, int]

#: after every number
_END: Final = 2**62


def insert(
    tx: Transaction,
    gate: Gate,
    *,
    owner: int,
    made_by: int | None,
    awaited_entity: int | None,
    event_type: str | None,
    event_source: str | None,
    since: int | None,
    check_at: Instant | None,
) -> int:
    return fetch_number(
        tx,
        "gates/gates/insert",
        **get_columns(gate, "id name kind awaits instruction deadline at_deadline fail hops hops_at"),
        owner=owner,
        made_by=made_by,
        awaited_entity=awaited_entity,
        event_type=event_type,
        event_source=event_source,
        since=since,
        check_at=check_at,
        now=gate.created_at,
    )


def lock(tx: Transaction, id: str) -> Gate | None:
    """Read a gate and lock it until the commit."""
    return read(tx, id) if tx.fetch_one("gates/gates/lock", id=id) else None


def read(tx: Reader, id: str) -> Gate | None:
    row = tx.fetch_one("gates/gates/read", id=id)
    return _build_gates(tx, [row])[0] if row else None


def list_page(
    tx: Reader,
    *,
    owner: int | None,
    waiter: int | None,
    participant: int | None,
    kind: GateKind | None,
    is_pending: bool | None,
    newest_first: bool,
    after: int,
    limit: int,
) -> list[Gate]:
    """Return gates in the order of creation, or backwards; `after` is the last one seen, 0 at the beginning."""
    filters = {
        "owner": owner,
        "waiter": waiter,
        "participant": participant,
        "kind": kind,
        "is_pending": is_pending,
        "limit": limit,
    }
    if newest_first:
        return _build_gates(tx, tx.fetch_page("gates/gates/list_newest", before=after or _END, **filters))
    return _build_gates(tx, tx.fetch_page("gates/gates/list_page", after=after, **filters))


def list_pending(tx: Reader, owner: int) -> list[Gate]:
    return _build_gates(tx, tx.fetch_all("gates/gates/list_pending", owner=owner))


def count_pending(tx: Reader, owner: int, limit: int) -> int:
    """Count the pending gates of an owner, up to a limit."""
    return fetch_number(tx, "gates/gates/count_pending", owner=owner, limit=limit)


def find_uninstructed(tx: Reader, owner: int) -> set[int]:
    """Return the numbers of pending gates that the owner can end and has no instruction about yet."""
    return {row.number for row in tx.fetch_all("gates/gates/find_uninstructed", owner=owner)}


def set_instructed_at(tx: Transaction, id: str, at: Instant | None) -> None:
    """Save when the owner of a gate was given its instruction; None if the instruction did not reach the owner."""
    tx.execute("gates/gates/set_instructed_at", id=id, at=at)


def read_hops(tx: Reader, gate: int) -> int:
    """Return the hops of the chain of events that a gate belongs to; 0 if that chain is long past."""
    row = tx.fetch_one("gates/gates/read_hops", number=gate, since=tx.now - CHAIN_PAUSE)
    return int(row.hops) if row else 0


def extend_chain(tx: Transaction, gate: int, hops: int) -> None:
    """Save that a gate belongs to a chain of events with this number of hops from now on."""
    tx.execute("gates/gates/extend_chain", number=gate, hops=hops, now=tx.now, since=tx.now - CHAIN_PAUSE)


def insert_waiter(tx: Transaction, gate: int, entity: int) -> None:
    """Add an entity that is told when a gate ends, unless it is there already."""
    tx.execute("gates/waiters/insert", gate=gate, entity=entity)


def end(tx: Transaction, gate: int, ending: Ending, reason: str, by: int | None) -> bool:
    """Save how a gate ended; return False if it has ended already."""
    if tx.execute("gates/resolutions/insert", gate=gate, ending=ending, reason=reason, ended_by=by, now=tx.now) == 0:
        return False
    tx.execute("gates/gates/end", number=gate, now=tx.now)
    return True


def set_deadline(tx: Transaction, gate: int, deadline: Instant | None) -> None:
    tx.execute("gates/gates/set_deadline", number=gate, deadline=deadline)


def take_due(tx: Transaction, limit: int) -> list[str]:
    """Lock gates whose deadline has passed, oldest deadline first; skip those that another transaction has locked."""
    return [row.id for row in tx.fetch_all("gates/gates/take_due", now=tx.now, limit=limit)]


def find_next_deadline(tx: Reader) -> Instant | None:
    row = tx.fetch_one("gates/gates/find_next_deadline")
    return row.deadline if row else None


def find_matches(tx: Reader, gates: Collection[int]) -> dict[int, Match]:
    """Return the matches of these gates: the first event that each of them waits for, whenever it came."""
    rows = tx.fetch_all("gates/gates/find_matches", gates=sorted(gates)) if gates else []
    return {row.number: (row.id, row.event, row.hops) for row in rows}


def find_matches_after(tx: Reader, after: Position) -> dict[int, Match]:
    """Return the matches of all gates among the events after a position."""
    rows = tx.fetch_all("gates/gates/find_matches_after", transaction=after.transaction, arrival=after.arrival)
    return {row.number: (row.id, row.event, row.hops) for row in rows}


def list_event_gates(tx: Reader) -> list[tuple[int, str, str]]:
    """Return the gates that wait for an event: number, owner and type of the event."""
    return [(row.number, row.owner, row.event_type) for row in tx.fetch_all("gates/gates/list_event_gates")]


def list_orphaned(tx: Reader, entity: int) -> list[str]:
    return [row.id for row in tx.fetch_all("gates/gates/list_orphaned", entity=entity)]


def escalate(tx: Transaction, gate: int) -> None:
    tx.execute("gates/gates/escalate", number=gate, now=tx.now)


def take_checks(tx: Transaction, until: Instant, after: str, limit: int) -> list[str]:
    """
    Take gates whose check is due, in turns of their owners, who are ordered by name after the last one. If no result is
    recorded until then, another process may check them.
    """
    return [
        row.id for row in tx.fetch_all("gates/gates/take_checks", until=until, now=tx.now, after=after, limit=limit)
    ]


def make_checks_due(tx: Transaction) -> None:
    """Make the check of every gate due now."""
    tx.execute("gates/gates/make_checks_due", now=tx.now)


def find_next_check(tx: Reader) -> Instant | None:
    row = tx.fetch_one("gates/gates/find_next_check")
    return row.check_at if row else None


def record_check(tx: Transaction, gate: int, *, trouble: str | None, check_at: Instant) -> None:
    tx.execute("gates/gates/record_check", number=gate, trouble=trouble, check_at=check_at)


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    """Delete gates that ended before then, except those of decisions and those that a plan refers to."""
    return tx.execute("gates/gates/reap", before=before, limit=limit)


def _build_gates(tx: Reader, rows: Sequence[Row]) -> list[Gate]:
    waiters = (
        group_rows(tx.fetch_all("gates/waiters/list_by_gates", gates=[row.number for row in rows])) if rows else {}
    )
    return [_build_gate(row, waiters.get(row.number, ())) for row in rows]


def _build_gate(row: Row, waiters: tuple[str, ...]) -> Gate:
    resolution = _RESOLUTION.read(row, by=row.ended_by, at=row.ended_at) if row.ending else None
    return _GATE.read(row, waiters=waiters, resolution=resolution)
