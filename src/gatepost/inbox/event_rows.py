"""Events, and the order in which they arrived."""

import json
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Position
from gatepost.core.times import Duration, Instant
from gatepost.inbox.event import Event
from gatepost.stores.row_mapping import fetch_row, zip_columns

_COLUMNS: Final = (
    "arrival id type source sender subject content data priority created_at "
    "ref_type ref_id route_channel route_session hops trust occurred_at dedup_key"
)


class Watermark(NamedTuple):
    """The position up to which the order of all events is final."""

    #: the last event before which no other event can appear any more
    last: Position
    #: a position after every event whose position is final
    end: Position
    #: whether there are events after the last
    has_more: bool


def read_watermark(tx: Reader) -> Watermark:
    row = fetch_row(tx, "inbox/events/read_watermark")
    return Watermark(
        last=Position(row.last_transaction, row.last_arrival),
        end=Position(row.end_transaction, row.end_arrival),
        has_more=row.has_more,
    )


def take_arrivals(tx: Transaction, count: int) -> list[int]:
    """Return the next numbers in the order of all events."""
    return take_arrivals_later(tx, count)()


def take_arrivals_later(tx: Transaction, count: int) -> Callable[[], list[int]]:
    """Return a function that returns them, once another statement has run."""
    fetch = tx.fetch_later("inbox/arrivals/take", count=count)

    def read() -> list[int]:
        [row] = fetch()
        if count == 1 or row.arrivals is None:
            return list(range(row.last - count + 1, row.last + 1))
        arrivals: list[int] = json.loads(row.arrivals)
        return arrivals

    return read


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
            event.dedup_key,
        )
        for event, sender, data in events
    ]
    tx.execute_many_later("inbox/events/insert", zip_columns(_COLUMNS, rows))


def reap(tx: Transaction, arrivals: Sequence[int]) -> int:
    """
    Delete those of these events that have no items any more. They are locked first: if two reapers each delete one of
    the last two items of an event, the second must see what the first has deleted.
    """
    tx.fetch_all("inbox/events/lock", arrivals=list(arrivals))
    return tx.execute("inbox/events/reap", arrivals=list(arrivals))


def find_first_arrivals(tx: Reader, since: Instant, until: Instant, step: Duration) -> list[int]:
    """Return the arrival of the first event at or after each instant from `since` to `until`, in steps."""
    rows = tx.fetch_all("inbox/arrivals/find_first_arrivals", since=since, until=until, step=step)
    return [row.arrival for row in rows]


def find_first_arrival(tx: Reader, since: Instant) -> int:
    """Return the arrival of the first event at or after an instant; the next arrival if there is none."""
    return find_first_arrivals(tx, since, since, 1)[0]
