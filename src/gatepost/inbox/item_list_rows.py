"""
Lists of items, of one inbox or of all, by arrival or backwards.

A list has two parts: the items that are stored, and the broadcasts that agents have not taken yet, each as the item
that it will be. Each part is read by a statement of its own in its order, and they are merged here: a query over both
would make PostgreSQL sort all items. A transaction that reads sees both at one moment.
"""

from collections.abc import Sequence
from typing import Any, Final

from gatepost.core.ports import Reader, Row
from gatepost.core.times import CLOCK_TOLERANCE, Instant
from gatepost.inbox.event import EventType, Item, ItemState, Priority, Ref
from gatepost.inbox.event_rows import find_first_arrival
from gatepost.inbox.item_rows import build_item

#: after every arrival
_END: Final = 2**62


def list_page(
    tx: Reader,
    *,
    recipient: int | None,
    state: ItemState | None = None,
    type: EventType | None = None,
    priority: Priority | None = None,
    sender: str | None = None,
    ref: Ref | None = None,
    channel: str | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    text: str | None = None,
    newest_first: bool = False,
    after: int,
    after_recipient: int | None,
    limit: int,
) -> list[Item]:
    """
    Return items of one inbox or of all by arrival and recipient, after an arrival; with `after_recipient` also those of
    this arrival that go to recipients after that one. With `newest_first`, go backwards: `after` is the last arrival
    seen too, and 0 is the beginning. Pending items past their time are shown as expired. `text` is in the subject or in
    the content, in capitals or not.
    """
    # Matches may be rare, so nothing is looked for among older events; if the clock was set back a little, events that
    # seem older may come later.
    first = 1 if since is None else find_first_arrival(tx, since - CLOCK_TOLERANCE)
    filters: dict[str, Any] = {
        "state": state,
        "type": type,
        "priority": None if priority is None else priority.value,
        "sender": sender,
        "ref_type": ref.type if ref else None,
        "ref_id": ref.id if ref else None,
        "channel": channel,
        "since": since,
        "until": until,
        "pattern": None if text is None else f"%{_escape_pattern(text)}%",
        "after": first - 1 if newest_first else max(after, first - 1),
        "before": (after or _END) if newest_first else _END,
        "now": tx.now,
        "limit": limit,
    }
    rows = (
        _read_all(tx, filters, newest_first, after, after_recipient)
        if recipient is None
        else _read_inbox(tx, filters | {"recipient": recipient}, newest_first)
    )
    return [build_item(row, tx.now) for row in rows]


def _read_inbox(tx: Reader, filters: dict[str, Any], newest_first: bool) -> list[Row]:
    merged = _MergedPage(tx, newest_first)
    merged.add(tx.fetch_page("inbox/item_lists/list_inbox_broadcasts", newest_first=newest_first, **filters))
    if newest_first:
        merged.add(tx.fetch_page("inbox/item_lists/list_inbox_newest", **filters))
    else:
        merged.add(tx.fetch_page("inbox/item_lists/list_inbox", **filters))
    return merged.end(filters["limit"])


def _read_all(
    tx: Reader, filters: dict[str, Any], newest_first: bool, after: int, after_recipient: int | None
) -> list[Row]:
    filters |= {"last_arrival": after, "last_recipient": after_recipient}
    if after_recipient is not None:  # the rest of the last arrival comes first
        filters |= {"before": after + 1} if newest_first else {"after": filters["after"] - 1}
    merged = _MergedPage(tx, newest_first)
    merged.add(tx.fetch_page("inbox/item_lists/list_all_broadcasts", newest_first=newest_first, **filters))
    if newest_first:
        merged.add(tx.fetch_page("inbox/item_lists/list_all_newest", **filters))
    else:
        merged.add(tx.fetch_page("inbox/item_lists/list_all", **filters))
    return merged.end(filters["limit"])


class _MergedPage:
    """A page of several parts. It ends where the first part ends that was truncated: others would leave rows out."""

    def __init__(self, tx: Reader, newest_first: bool) -> None:
        self._tx = tx
        self._sign = -1 if newest_first else 1
        self._rows: list[Row] = []
        self._ends: list[tuple[int, int]] = []
        tx.is_truncated = False

    def add(self, rows: Sequence[Row]) -> None:
        """Add the part that was just read."""
        self._rows += rows
        if self._tx.is_truncated:
            self._ends.append(self._get_position(rows[-1]))
            self._tx.is_truncated = False

    def end(self, limit: int) -> list[Row]:
        """Return the rows of the page in order."""
        rows = sorted(self._rows, key=self._get_position)
        if self._ends:
            self._tx.is_truncated = True
            end = min(self._ends)
            rows = [row for row in rows if self._get_position(row) <= end]
        return rows[:limit]

    def _get_position(self, row: Row) -> tuple[int, int]:
        return self._sign * row.arrival, self._sign * row.recipient


def _escape_pattern(text: str) -> str:
    """Return text that means itself in a pattern of LIKE."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
