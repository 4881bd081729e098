"""
What comes to an inbox, as something to follow: a reader says how far it is and gets what came since, each item once and
none left out, from whichever gateway it asks and however often it goes away.

Items are read in the order of their events' positions (`core/position.py`), and only up to *here*: the last event
before which nothing can appear any more. On SQLite that is the last arrival. On PostgreSQL a transaction that took its
number early may commit late, so a reader stays below the oldest one that is still running; what is visible beyond that
is held back, and the page says so: it comes when that transaction has ended, for which there is no ring.

    arrival   41   42   43        43 is committed, 42 is not: a reader that took 43 now would have to pass over 42
    state     in  open  in        so it gets 41, is told that something is held, and asks again

An item is where its event is. A broadcast is in the feed of an agent from the moment it was made, and does not appear
again when the agent takes it. Two events that were pushed at the same time may come in either order; one that was
pushed after another was answered comes after it.
"""

from dataclasses import dataclass

from gatepost.actions import directory
from gatepost.core.event import Item
from gatepost.core.position import Position
from gatepost.errors import Invalid
from gatepost.ports import Reader
from gatepost.tables import events, items

__all__ = ["FeedPage", "Position", "read_end", "read_page"]


@dataclass(frozen=True, slots=True)
class FeedPage:
    #: each item, and the position of whoever has seen it and all before it
    entries: list[tuple[Item, Position]]
    #: where to go on
    position: Position
    #: whether something was committed that cannot be shown yet: ask again soon, no ring will come
    has_delayed_items: bool


def read_end(tx: Reader) -> Position:
    """The position of whoever has seen everything so far."""
    return events.here(tx).last


def read_page(tx: Reader, name: str, after: Position, limit: int = 100) -> FeedPage:
    """The next items of an inbox after a position, in whatever state they are by now."""
    recipient = directory.find(tx, name)
    horizon = events.here(tx)
    if after >= horizon.end:
        raise Invalid(f"{str(after)!r} is a place that this store has not reached yet", hint="begin again without it")
    entries = items.since(tx, recipient.number, after, horizon.last, limit) if after < horizon.last else []
    is_full = len(entries) == limit or tx.is_cut
    return FeedPage(entries, entries[-1][1] if is_full else max(after, horizon.last), horizon.held)
