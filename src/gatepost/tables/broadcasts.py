"""Broadcasts: one row for every agent there is, and each agent's cursor."""

from gatepost.core.times import Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables.items import NewItem


def number(tx: Transaction, *, by: int) -> int:
    """
    Take the row under which broadcasts and registrations take turns, and return the number: the next one (`by` 1) or
    the last (`by` 0). The row stays locked until the commit, so numbers become visible in their order.
    """
    row = tx.fetch_one("broadcasts/number", increment=by)
    assert row is not None
    return int(row.value)


def insert(tx: Transaction, number: int, item: NewItem, sender: int | None) -> None:
    _, arrival, key, priority, person, source, expires_at, wakes, size = item
    tx.execute(
        "broadcasts/insert",
        number=number,
        arrival=arrival,
        dedup_key=key,
        priority=priority,
        sender=sender,
        sender_is_person=person,
        source=source,
        expires_at=expires_at,
        wakes=wakes,
        size=size,
    )


def keyed(tx: Transaction, key: str) -> tuple[int, str] | None:
    """The number and the event of the broadcast that came first with this key."""
    row = tx.fetch_one("broadcasts/keyed", dedup_key=key)
    return (row.number, row.event) if row else None


def count_since(tx: Reader, sender: int, since: Instant) -> int:
    """Count the broadcasts that an entity has made after a time."""
    row = tx.fetch_one("broadcasts/count_since", sender=sender, since=since)
    assert row is not None
    return int(row.total)


def last(tx: Reader) -> int:
    row = tx.fetch_one("broadcasts/last")
    assert row is not None
    return int(row.number)


def materialise(tx: Transaction, recipient: int, cursor: int, last: int) -> int:
    """Make items of what an agent has not taken yet, up to the last; return how many are new."""
    if last <= cursor:
        return 0
    made = tx.execute("broadcasts/materialise", recipient=recipient, cursor=cursor, last=last, now=tx.now)
    tx.execute("inboxes/advance", recipient=recipient, cursor=last)
    return made


def behind(tx: Reader, after: int, limit: int) -> list[tuple[int, str]]:
    """Agents that have not taken the last broadcast that wakes."""
    return [(row.number, row.name) for row in tx.fetch_all("inboxes/behind", after=after, limit=limit, now=tx.now)]


def reap(tx: Transaction, before: Instant, limit: int) -> list[int]:
    """Delete those that every live agent has behind it; return their arrivals."""
    return [row.arrival for row in tx.fetch_all("broadcasts/reap", before=before, limit=limit)]
