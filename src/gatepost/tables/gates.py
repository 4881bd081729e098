"""Gates, who waits for them, and how they ended."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from gatepost.core.chain import PAUSE
from gatepost.core.event import Json
from gatepost.core.gate import Ending, Gate, GateKind, Resolution
from gatepost.core.instants import Instant
from gatepost.core.position import Position
from gatepost.ports.store import Reader, Row, Work
from gatepost.tables.rows import Columns, columns, grouped

_GATE: Final = Columns(
    Gate,
    "number id name kind owner made_by awaits instruction deadline at_deadline fail trouble escalated_at created_at"
    " hops hops_at",
)
_RESOLUTION: Final = Columns(Resolution, "ending reason by at")

#: the id of a gate, the event that it has waited for, and how long the chain is that this ends
Match = tuple[str, str, int]


def insert(
    work: Work,
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
    row = work.one(
        "gates/insert",
        **columns(gate, "id name kind awaits instruction deadline at_deadline fail hops hops_at"),
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
    return int(row[0])


def lock(work: Work, id: str) -> Gate | None:
    """Read a gate that nobody else ends, or changes, until the commit."""
    return read(work, id) if work.one("gates/lock", id=id) else None


def read(reader: Reader, id: str) -> Gate | None:
    row = reader.one("gates/read", id=id)
    return _gates(reader, [row])[0] if row else None


def page(
    reader: Reader,
    *,
    owner: int | None,
    waiter: int | None,
    concerned: int | None,
    kind: GateKind | None,
    pending: bool | None,
    after: int,
    most: int,
) -> list[Gate]:
    """Gates in the order they were made."""
    rows = reader.page(
        "gates/list",
        owner=owner,
        waiter=waiter,
        concerned=concerned,
        kind=kind,
        pending=pending,
        after=after,
        most=most,
    )
    return _gates(reader, rows)


def pending(reader: Reader, owner: int) -> list[Gate]:
    return _gates(reader, reader.all("gates/pending", owner=owner))


def count_pending(reader: Reader, owner: int, limit: int) -> int:
    """Count the pending gates of an owner, up to a limit."""
    row = reader.one("gates/count_pending", owner=owner, limit=limit)
    assert row is not None
    return int(row[0])


def uninstructed(reader: Reader, owner: int) -> set[int]:
    """Return the pending gates whose owner can do something about them and has not been told what, by number."""
    return {row[0] for row in reader.all("gates/uninstructed", owner=owner)}


def instruct(work: Work, id: str, at: Instant | None) -> None:
    """Record when the owner of a gate was told what to do about it; None if that was in vain."""
    work.run("gates/instruct", id=id, at=at)


def hops(reader: Reader, gate: int) -> int:
    """How long the chain of events is in which a gate was made, or a question asked anew, if that is not long past."""
    row = reader.one("gates/hops", number=gate, since=reader.now - PAUSE)
    return int(row[0]) if row else 0


def chain(work: Work, gate: int, hops: int) -> None:
    """Note that a gate is part of a chain of events so long, from now on."""
    work.run("gates/chain", number=gate, hops=hops, now=work.now, since=work.now - PAUSE)


def wait(work: Work, gate: int, entity: int) -> None:
    """Let somebody be told when a gate ends; whoever is already stays so."""
    work.run("waiters/insert", gate=gate, entity=entity)


def end(work: Work, gate: int, ending: Ending, reason: str, by: int | None) -> bool:
    """Write down how a gate ended; say whether that is how."""
    if work.run("resolutions/insert", gate=gate, ending=ending, reason=reason, ended_by=by, now=work.now) == 0:
        return False
    work.run("gates/end", number=gate, now=work.now)
    return True


def postpone(work: Work, gate: int, deadline: Instant | None) -> None:
    work.run("gates/postpone", number=gate, deadline=deadline)


def due(work: Work, most: int) -> list[str]:
    """Take gates whose deadline has come, the longest due first, but for those that somebody else has in hand."""
    return [row[0] for row in work.all("gates/due", now=work.now, most=most)]


def next_due(reader: Reader) -> Instant | None:
    row = reader.one("gates/next_due")
    return row[0] if row else None


def matched(reader: Reader, gates: Collection[int]) -> dict[int, Match]:
    """Of these gates those for which has come what they wait for, whenever that was."""
    rows = reader.all("gates/matched", gates=sorted(gates)) if gates else []
    return {number: (id, event, hops) for number, id, event, hops in rows}


def reached(reader: Reader, after: Position) -> dict[int, Match]:
    """Of all gates those for which it has come after a place."""
    rows = reader.all("gates/reached", transaction=after.transaction, arrival=after.arrival)
    return {number: (id, event, hops) for number, id, event, hops in rows}


def watching(reader: Reader) -> list[tuple[int, str, str]]:
    """Gates that wait for something to come to their owner, who that is, and of which type it is."""
    return [(number, name, type) for number, name, type in reader.all("gates/watching")]


def left_behind(reader: Reader, entity: int) -> list[str]:
    return [row[0] for row in reader.all("gates/left_behind", entity=entity)]


def repeats(reader: Reader, recipient: int, source: str, about: Mapping[str, Json]) -> list[str]:
    """Events that somebody was told once more, and has still before them; those that say this in their data."""
    rows = reader.all("gates/repeats", recipient=recipient, source=source)
    told = [(id, json.loads(data)) for id, data in rows if data is not None]
    return [id for id, data in told if isinstance(data, dict) and about.items() <= data.items()]


def escalate(work: Work, gate: int) -> None:
    work.run("gates/escalate", number=gate, now=work.now)


def take(work: Work, until: Instant, after: str, most: int) -> list[str]:
    """
    Take gates that somebody has to look at, owner by owner from the one after a name; unless they say what they saw,
    another may look from then on.
    """
    return [row[0] for row in work.all("gates/take", until=until, now=work.now, after=after, most=most)]


def look_now(work: Work) -> None:
    """Have every gate looked at now."""
    work.run("gates/hurry", now=work.now)


def next_look(reader: Reader) -> Instant | None:
    row = reader.one("gates/next_look")
    return row[0] if row else None


def looked(work: Work, gate: int, *, trouble: str | None, look_at: Instant) -> None:
    work.run("gates/looked", number=gate, trouble=trouble, look_at=look_at)


def reap(work: Work, before: Instant, most: int) -> int:
    """Delete those that ended before then, but for those of decisions and those that plans still name."""
    return work.run("gates/reap", before=before, most=most)


def _gates(reader: Reader, rows: Sequence[Row]) -> list[Gate]:
    waiters = grouped(reader.all("waiters/of_gates", gates=[row[0] for row in rows])) if rows else {}
    return [_gate(row, waiters.get(row[0], ())) for row in rows]


def _gate(row: Row, waiters: tuple[str, ...]) -> Gate:
    gate, ended, chain = row[:14], row[14:18], row[18:]
    return _GATE.read((*gate, *chain), waiters=waiters, resolution=_RESOLUTION.read(ended) if ended[0] else None)
