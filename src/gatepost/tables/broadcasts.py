"""Broadcasts: one row for all agents, and a cursor for each agent."""

from gatepost.core.times import Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables.items import NewItem


def lock_number(tx: Transaction, *, increment: int) -> int:
    """
    Lock the counter of broadcasts and return the next number (`increment` 1) or the last one (`increment` 0). By this
    lock broadcasts and registrations take turns. It lasts until the commit, so numbers become visible in their order.
    """
    row = tx.fetch_one("broadcasts/lock_number", increment=increment)
    assert row is not None
    return int(row.value)


def insert(tx: Transaction, number: int, item: NewItem, sender: int | None) -> None:
    _, arrival, key, priority, sender_is_person, source, expires_at, wakes, size = item
    tx.execute(
        "broadcasts/insert",
        number=number,
        arrival=arrival,
        dedup_key=key,
        priority=priority,
        sender=sender,
        sender_is_person=sender_is_person,
        source=source,
        expires_at=expires_at,
        wakes=wakes,
        size=size,
    )


def find_by_key(tx: Transaction, key: str) -> tuple[int, str] | None:
    """Return the number and the event id of the first broadcast with this key."""
    row = tx.fetch_one("broadcasts/find_by_key", dedup_key=key)
    return (row.number, row.event) if row else None


def count_since(tx: Reader, sender: int, since: Instant) -> int:
    """Count the broadcasts that an entity has sent after a time."""
    row = tx.fetch_one("broadcasts/count_since", sender=sender, since=since)
    assert row is not None
    return int(row.total)


def read_last_number(tx: Reader) -> int:
    row = tx.fetch_one("broadcasts/read_last_number")
    assert row is not None
    return int(row.number)


def materialise(tx: Transaction, recipient: int, cursor: int, last: int) -> int:
    """Create items of the broadcasts that an agent has not taken, up to the last; return the number of new items."""
    if last <= cursor:
        return 0
    row_count = tx.execute("broadcasts/materialise", recipient=recipient, cursor=cursor, last=last, now=tx.now)
    tx.execute("inboxes/advance", recipient=recipient, cursor=last)
    return row_count


def list_agents_behind(tx: Reader, after: int, limit: int) -> list[tuple[int, str]]:
    """Return the agents that have not taken the last broadcast that wakes: number and name."""
    return [(row.number, row.name) for row in tx.fetch_all("inboxes/list_behind", after=after, limit=limit, now=tx.now)]


def reap(tx: Transaction, before: Instant, limit: int) -> list[int]:
    """Delete the broadcasts that every live agent has taken; return their arrivals."""
    return [row.arrival for row in tx.fetch_all("broadcasts/reap", before=before, limit=limit)]
