"""Records: events and items as they are read out for an export, and stored as they were."""

import json
from collections.abc import Sequence

from gatepost.core.event import Priority, Push, Receipt, Ref, Route, State, Trust, Type
from gatepost.core.instants import Instant
from gatepost.core.record import EventRecord, ItemRecord
from gatepost.ports.store import Reader, Row, Work
from gatepost.tables.events import zip_columns

_COLUMNS = (  # noqa: SIM905
    "recipient arrival dedup_key priority sender_is_person source expires_at wakes state attempts seen_at ended_at size"
).split()
#: recipient, arrival, key, priority, whether a person sent it, source, expiry, whether it wakes, state, attempts,
#: when it was seen, when it ended, size
OldItem = tuple[
    int, int, str | None, int, bool, str, Instant | None, bool, str, int, Instant | None, Instant | None, int
]


def count_events(reader: Reader) -> int:
    row = reader.one("events/count")
    assert row is not None
    return int(row[0])


def events(reader: Reader, after: int, most: int) -> list[tuple[int, EventRecord]]:
    """Events in order of arrival, each with its arrival."""
    return [(row[0], _event(row)) for row in reader.all("events/page", after=after, most=most)]


def arrivals_of(reader: Reader, ids: Sequence[str]) -> dict[str, int]:
    """The arrivals of those of these events that there are."""
    return {row[0]: row[1] for row in reader.all("events/by_ids", ids=list(ids))}


def items(
    reader: Reader, first: int, last: int, *, arrival: int, recipient: int, most: int
) -> list[tuple[int, int, ItemRecord]]:
    """The items of the events that arrived from first to last, after one of them; with arrival and recipient."""
    rows = reader.all(
        "items/between", first=first, last=last, arrival=arrival, recipient=recipient, now=reader.now, most=most
    )
    return [(row[0], row[1], _item(row)) for row in rows]


def present(reader: Reader, arrivals: Sequence[int]) -> set[tuple[int, int]]:
    """The (arrival, recipient) of every item of these events."""
    return {(row[0], row[1]) for row in reader.all("items/present", arrivals=sorted(set(arrivals)))}


def awaited(reader: Reader, arrivals: Sequence[int]) -> set[tuple[int, int]]:
    """The (arrival, recipient) of every item that these broadcasts will still become."""
    return {(row[0], row[1]) for row in reader.all("items/awaited", arrivals=sorted(set(arrivals)))}


def restore(work: Work, rows: Sequence[OldItem]) -> None:
    """Store items in whatever state they were in, but for those that are there and for repeats of a key."""
    work.many("items/restore", dict(zip(_COLUMNS, zip_columns(rows), strict=True)))


def attach(work: Work, recipient: int, arrival: int, claim: int) -> None:
    """Give an item its receipt."""
    work.run("items/attach", recipient=recipient, arrival=arrival, claim=claim)


def _event(row: Row) -> EventRecord:
    _, id, type, source, sender, subject, content, data, priority, created_at, *rest = row
    ref_type, ref_id, channel, session, hops, trust = rest
    wish = Push(
        to="",
        type=Type(type),
        source=source,
        sender=sender,
        subject=subject,
        content=content,
        data=json.loads(data) if data is not None else None,
        priority=Priority(priority),
        ref=Ref(ref_type, ref_id) if ref_type else None,
        route=Route(channel, session) if channel else None,
        hops=hops,
        trust=Trust(trust),
    )
    return EventRecord(id, created_at, wish)


def _item(row: Row) -> ItemRecord:
    _, _, recipient, event, state, key, expires_at, wakes, attempts, seen_at, ended_at, kind, owner, at = row
    return ItemRecord(
        event=event,
        recipient=recipient,
        state=State(state),
        key=key,
        expires_at=expires_at,
        wakes=bool(wakes),
        attempts=attempts,
        seen_at=seen_at,
        ended_at=ended_at,
        receipt=Receipt(kind, owner, ended_at or at) if kind else None,
    )
