"""
The feed of an inbox: a reader names its position and gets the items after it, each item once and none left out, from
any gateway, and however often it disconnects.

Items are read in the order of their events' positions (`core/signals.py`), and only up to the *watermark*: the last
event before which no other can appear any more. On SQLite that is the last arrival. On PostgreSQL a transaction that
took its number early may commit late, so a reader stays below the oldest transaction that is still running. What is
visible beyond that is held back, and the page says so: it comes when that transaction has ended, and no signal tells.

    arrival   41     42     43          43 is committed, 42 is not: a reader that took 43 now would miss 42;
    state     done   open   done        so it gets 41 with `has_delayed_items`, and asks again

An item has the position of its event. A broadcast is in the feed of an agent from the moment it is pushed, and does not
appear again when the agent takes it. Two events that are pushed at the same time may come in either order; an event
that is pushed after the answer to another push comes after it.
"""

from dataclasses import dataclass

from gatepost.core.ports import Reader
from gatepost.core.signals import Position
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid
from gatepost.inbox import event_rows as events, item_rows as items
from gatepost.inbox.event import Item

__all__ = ["FeedPage", "Position", "read_end", "read_page"]


@dataclass(frozen=True, slots=True)
class FeedPage:
    #: each item, with the position of a reader that has seen it and all before it
    entries: list[tuple[Item, Position]]
    #: the position after this page
    position: Position
    #: an event is committed that cannot be shown yet: ask again soon, no signal will come
    has_delayed_items: bool


def read_end(tx: Reader) -> Position:
    """Return the position of a reader that has seen everything so far."""
    return events.read_watermark(tx).last


def read_page(tx: Reader, name: str, after: Position, limit: int = 100) -> FeedPage:
    """Return the next items of an inbox after a position, in any state."""
    recipient = directory.find(tx, name)
    watermark = events.read_watermark(tx)
    if after >= watermark.end:
        raise Invalid(
            f"{str(after)!r} is a position that this store has not reached yet", hint="begin again without it"
        )
    entries = items.list_since(tx, recipient.number, after, watermark.last, limit) if after < watermark.last else []
    is_full = len(entries) == limit or tx.is_truncated
    return FeedPage(entries, entries[-1][1] if is_full else max(after, watermark.last), watermark.has_more)
