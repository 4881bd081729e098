"""Gates, who waits for them, and how they ended."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from gatepost.core.chain import CHAIN_PAUSE
from gatepost.core.event import Json
from gatepost.core.gate import Ending, Gate, GateKind, Resolution
from gatepost.core.signals import Position
from gatepost.core.times import Instant
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Mapper, get_columns, group_rows

_GATE: Final = Mapper(Gate, apart="waiters resolution")
_RESOLUTION: Final = Mapper(Resolution, apart="by at")

#: the id of a gate, the event that it has waited for, and how long the chain is that this ends
Match = tuple[str, str, int]


def insert(
    tx: Transaction,
    gate: Gate,
    *,
    owner: int,
    made_by: int | None,
    awaited: int | None = None,
    event_type: str | None = None,
    event_source: str | None = None,
    since: int | None = None,
    look_at: Instant | None = None,
) -> int:
    row = tx.fetch_one(
        "gates/insert",
        **get_columns(gate, "id name kind awaits instruction deadline at_deadline fail hops hops_at"),
        owner=owner,
        made_by=made_by,
        awaited=awaited,
        event_type=event_type,
        event_source=event_source,
        since=since,
        look_at=look_at,
        now=gate.created_at,
    )
    assert row is not None
    return int(row.number)


def lock(tx: Transaction, id: str) -> Gate | None:
    """Read a gate that nobody else ends, or changes, until the commit."""
    return read(tx, id) if tx.fetch_one("gates/lock", id=id) else None


def read(tx: Reader, id: str) -> Gate | None:
    row = tx.fetch_one("gates/read", id=id)
    return _gates(tx, [row])[0] if row else None


def page(
    tx: Reader,
    *,
    owner: int | None,
    waiter: int | None,
    concerned: int | None,
    kind: GateKind | None,
    pending: bool | None,
    after: int,
    limit: int,
) -> list[Gate]:
    """Gates in the order they were made."""
    rows = tx.fetch_page(
        "gates/list",
        owner=owner,
        waiter=waiter,
        participant=concerned,
        kind=kind,
        is_pending=pending,
        after=after,
        limit=limit,
    )
    return _gates(tx, rows)


def pending(tx: Reader, owner: int) -> list[Gate]:
    return _gates(tx, tx.fetch_all("gates/pending", owner=owner))


def count_pending(tx: Reader, owner: int, limit: int) -> int:
    """Count the pending gates of an owner, up to a limit."""
    row = tx.fetch_one("gates/count_pending", owner=owner, limit=limit)
    assert row is not None
    return int(row.total)


def uninstructed(tx: Reader, owner: int) -> set[int]:
    """Return the pending gates whose owner can do something about them and has not been told what, by number."""
    return {row.number for row in tx.fetch_all("gates/uninstructed", owner=owner)}


def instruct(tx: Transaction, id: str, at: Instant | None) -> None:
    """Record when the owner of a gate was told what to do about it; None if that was in vain."""
    tx.execute("gates/instruct", id=id, at=at)


def hops(tx: Reader, gate: int) -> int:
    """How long the chain of events is in which a gate was made, or a question asked anew, if that is not long past."""
    row = tx.fetch_one("gates/hops", number=gate, since=tx.now - CHAIN_PAUSE)
    return int(row.hops) if row else 0


def chain(tx: Transaction, gate: int, hops: int) -> None:
    """Note that a gate is part of a chain of events so long, from now on."""
    tx.execute("gates/chain", number=gate, hops=hops, now=tx.now, since=tx.now - CHAIN_PAUSE)


def wait(tx: Transaction, gate: int, entity: int) -> None:
    """Let somebody be told when a gate ends; whoever is already stays so."""
    tx.execute("waiters/insert", gate=gate, entity=entity)


def end(tx: Transaction, gate: int, ending: Ending, reason: str, by: int | None) -> bool:
    """Write down how a gate ended; say whether that is how."""
    if tx.execute("resolutions/insert", gate=gate, ending=ending, reason=reason, ended_by=by, now=tx.now) == 0:
        return False
    tx.execute("gates/end", number=gate, now=tx.now)
    return True


def postpone(tx: Transaction, gate: int, deadline: Instant | None) -> None:
    tx.execute("gates/postpone", number=gate, deadline=deadline)


def due(tx: Transaction, limit: int) -> list[str]:
    """Take gates whose deadline has come, the longest due first, but for those that somebody else has in hand."""
    return [row.id for row in tx.fetch_all("gates/due", now=tx.now, limit=limit)]


def next_due(tx: Reader) -> Instant | None:
    row = tx.fetch_one("gates/next_due")
    return row.deadline if row else None


def matched(tx: Reader, gates: Collection[int]) -> dict[int, Match]:
    """Of these gates those for which has come what they wait for, whenever that was."""
    rows = tx.fetch_all("gates/matched", gates=sorted(gates)) if gates else []
    return {row.number: (row.id, row.event, row.hops) for row in rows}


def reached(tx: Reader, after: Position) -> dict[int, Match]:
    """Of all gates those for which it has come after a place."""
    rows = tx.fetch_all("gates/reached", transaction=after.transaction, arrival=after.arrival)
    return {row.number: (row.id, row.event, row.hops) for row in rows}


def watching(tx: Reader) -> list[tuple[int, str, str]]:
    """Gates that wait for something to come to their owner, who that is, and of which type it is."""
    return [(row.number, row.owner, row.event_type) for row in tx.fetch_all("gates/watching")]


def left_behind(tx: Reader, entity: int) -> list[str]:
    return [row.id for row in tx.fetch_all("gates/left_behind", entity=entity)]


def repeats(tx: Reader, recipient: int, source: str, about: Mapping[str, Json]) -> list[str]:
    """Events that somebody was told once more, and has still before them; those that say this in their data."""
    rows = tx.fetch_all("gates/repeats", recipient=recipient, source=source)
    told = [(row.id, json.loads(row.data)) for row in rows if row.data is not None]
    return [id for id, data in told if isinstance(data, dict) and about.items() <= data.items()]


def escalate(tx: Transaction, gate: int) -> None:
    tx.execute("gates/escalate", number=gate, now=tx.now)


def take(tx: Transaction, until: Instant, after: str, limit: int) -> list[str]:
    """
    Take gates that somebody has to look at, owner by owner from the one after a name; unless they say what they saw,
    another may look from then on.
    """
    return [row.id for row in tx.fetch_all("gates/take", until=until, now=tx.now, after=after, limit=limit)]


def look_now(tx: Transaction) -> None:
    """Have every gate looked at now."""
    tx.execute("gates/hurry", now=tx.now)


def next_look(tx: Reader) -> Instant | None:
    row = tx.fetch_one("gates/next_look")
    return row.look_at if row else None


def looked(tx: Transaction, gate: int, *, trouble: str | None, look_at: Instant) -> None:
    tx.execute("gates/looked", number=gate, trouble=trouble, look_at=look_at)


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    """Delete those that ended before then, but for those of decisions and those that plans still name."""
    return tx.execute("gates/reap", before=before, limit=limit)


def _gates(tx: Reader, rows: Sequence[Row]) -> list[Gate]:
    waiters = group_rows(tx.fetch_all("waiters/of_gates", gates=[row.number for row in rows])) if rows else {}
    return [_gate(row, waiters.get(row.number, ())) for row in rows]


def _gate(row: Row, waiters: tuple[str, ...]) -> Gate:
    resolution = _RESOLUTION.read(row, by=row.ended_by, at=row.ended_at) if row.ending else None
    return _GATE.read(row, waiters=waiters, resolution=resolution)
