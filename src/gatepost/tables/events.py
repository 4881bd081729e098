"""Events, and the order they arrived in."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from gatepost.core.event import Event
from gatepost.core.signals import Position
from gatepost.ports import Reader, Transaction

_COLUMNS = [
    "arrival",
    "id",
    "type",
    "source",
    "sender",
    "subject",
    "content",
    "data",
    "priority",
    "created_at",
    "ref_type",
    "ref_id",
    "route_channel",
    "route_session",
    "hops",
    "trust",
    "occurred_at",
]


@dataclass(frozen=True, slots=True)
class Here:
    """How far the order of all events is settled."""

    #: the last event before which nothing can appear any more
    last: Position
    #: what no event that is settled can have reached
    end: Position
    #: whether there are events past the last
    held: bool


def here(tx: Reader) -> Here:
    row = tx.fetch_one("events/here")
    assert row is not None
    return Here(
        last=Position(row.last_transaction, row.last_arrival),
        end=Position(row.end_transaction, row.end_arrival),
        held=row.has_more,
    )


def take_arrivals(tx: Transaction, count: int) -> list[int]:
    """The next places in the order of all events."""
    row = tx.fetch_one("arrivals/take", count=count)
    assert row is not None
    arrivals: list[int] = json.loads(row.arrivals)
    return arrivals


def insert(tx: Transaction, events: Sequence[tuple[Event, int | None, str | None]]) -> None:
    """Store events, each with the number of its sender and its data as JSON."""
    rows = [
        (
            event.arrival,
            event.id,
            event.type.value,
            event.source,
            sender,
            event.subject,
            event.content,
            data,
            event.priority.value,
            event.created_at,
            event.ref.type if event.ref else None,
            event.ref.id if event.ref else None,
            event.route.channel if event.route else None,
            event.route.session if event.route else None,
            event.hops,
            event.trust.value,
            event.source_time,
        )
        for event, sender, data in events
    ]
    tx.execute_many("events/insert", dict(zip(_COLUMNS, zip_columns(rows), strict=True)))


def zip_columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]


def reap(tx: Transaction, arrivals: Sequence[int]) -> int:
    """
    Of these, delete those that nobody has any more. They are locked first: of two reapers that each remove one of the
    last two items of an event, the second must see that the first has done so.
    """
    tx.fetch_all("events/lock", arrivals=list(arrivals))
    return tx.execute("events/reap", arrivals=list(arrivals))
