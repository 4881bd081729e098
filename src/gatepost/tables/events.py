"""Events, and the order they arrived in."""

import json
from collections.abc import Sequence

from gatepost.core.event import Event
from gatepost.ports.store import Work

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
]


def take_arrivals(work: Work, count: int) -> list[int]:
    """The next places in the order of all events."""
    row = work.one("arrivals/take", count=count)
    assert row is not None
    arrivals: list[int] = json.loads(row[0])
    return arrivals


def insert(work: Work, events: Sequence[tuple[Event, int | None, str | None]]) -> None:
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
        )
        for event, sender, data in events
    ]
    work.many("events/insert", dict(zip(_COLUMNS, zip_columns(rows), strict=True)))


def zip_columns(rows: Sequence[tuple[object, ...]]) -> list[list[object]]:
    return [list(column) for column in zip(*rows, strict=True)]


def reap(work: Work, arrivals: Sequence[int]) -> int:
    """Of these, delete those that nobody has any more."""
    return work.run("events/reap", arrivals=list(arrivals))
