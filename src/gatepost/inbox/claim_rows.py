"""
Inboxes: the claims on them, their accounts, checks of their rows, and broadcasts, which have one row for all agents and
a cursor for each.
"""

from typing import Any, Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import CLOCK_TOLERANCE, Instant
from gatepost.directory.entity import Entity
from gatepost.inbox.claim import Claim, EndedClaim
from gatepost.inbox.item_rows import ITEM_COLUMNS, NewItem
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row

_CLAIM: Final = Mapper(Claim)


def open_inbox(tx: Transaction, recipient: int, cursor: int) -> None:
    tx.execute("inbox/inboxes/insert", recipient=recipient, cursor=cursor)


def lock_inbox(tx: Transaction, recipient: int) -> tuple[int, int]:
    """Lock an inbox and increment its fence; return the fence and the broadcast cursor."""
    row = fetch_row(tx, "inbox/inboxes/lock", recipient=recipient)
    return row.fence, row.cursor


def create_claim(tx: Transaction, recipient: Entity, **fields: Any) -> Claim:
    """Create a claim on an inbox, without items."""
    row = fetch_row(tx, "inbox/claims/insert", recipient=recipient.number, now=tx.now, **fields)
    return Claim(number=row.number, recipient=recipient.name, taken_at=tx.now, **fields)


def lock_claim(tx: Transaction, id: str, owner: str, fence: int) -> bool:
    """Lock an open claim until the commit; return False if it is not theirs or not open."""
    return tx.execute("inbox/claims/lock", id=id, owner=owner, fence=fence) == 1


def extend_claim(tx: Transaction, id: str, owner: str, fence: int, deadline: Instant) -> bool:
    """Give an open claim to a session, with a new deadline; return False if it is not theirs or not open."""
    return tx.execute("inbox/claims/extend", id=id, owner=owner, fence=fence, deadline=deadline) == 1


def end_claim(tx: Transaction, id: str, owner: str, fence: int, outcome: str) -> EndedClaim | None:
    """End an open claim, and return it; None if it is not theirs or not open."""
    row = tx.fetch_one("inbox/claims/end", id=id, owner=owner, fence=fence, outcome=outcome, now=tx.now)
    return EndedClaim(row.number, row.recipient, bool(row.has_awaited_mail)) if row else None


def read_claim(tx: Reader, id: str) -> Claim | None:
    return _CLAIM.fetch_one(tx, "inbox/claims/read", id=id)


def read_inbox_state(tx: Reader, recipient: int) -> tuple[str | None, bool, int]:
    """Return the run that has claimed this inbox, whether a drain is past its deadline, and the last broadcast."""
    row = fetch_row(
        tx, "inbox/claims/read_inbox_state", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE
    )
    return row.run, row.is_late, row.last_broadcast


def list_pending_recipients(tx: Reader, after: int, limit: int) -> list[tuple[int, str, bool]]:
    """Return the recipients that have pending items: number, name, and whether an item should wake them now."""
    rows = tx.fetch_all(
        "inbox/inboxes/list_pending", after=after, limit=limit, now=tx.now, fyi_before=tx.now - tx.limits.fyi_wait
    )
    return [(row.number, row.name, row.is_waking) for row in rows]


def lapse_claims(tx: Transaction, recipient: int | None, limit: int) -> list[tuple[int, str]]:
    """End claims past their deadline; return the number and the recipient's name of each."""
    rows = tx.fetch_all(
        "inbox/claims/lapse", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE, limit=limit
    )
    return [(row.number, row.recipient) for row in rows]


def reap_claims(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("inbox/claims/reap", before=before, limit=limit)


def lock_broadcasts(tx: Transaction) -> int:
    """
    Lock the counter of broadcasts and return the last number. By this lock broadcasts and registrations take turns. It
    lasts until the commit, so numbers become visible in their order.
    """
    return fetch_number(tx, "inbox/broadcasts/lock_number", increment=0)


def take_broadcast_number(tx: Transaction) -> int:
    """Return the number of the next broadcast."""
    return fetch_number(tx, "inbox/broadcasts/lock_number", increment=1)


def insert_broadcast(tx: Transaction, number: int, item: NewItem, sender: int | None) -> None:
    columns = dict(zip(ITEM_COLUMNS.split(), item, strict=True))
    del columns["recipient"]
    tx.execute("inbox/broadcasts/insert", number=number, sender=sender, **columns)


def find_broadcast(tx: Transaction, key: str) -> tuple[int, str] | None:
    """Return the number and the event id of the first broadcast with this key."""
    row = tx.fetch_one("inbox/broadcasts/find_by_key", dedup_key=key)
    return (row.number, row.event) if row else None


def count_broadcasts(tx: Reader, sender: int, since: Instant) -> int:
    """Count the broadcasts that an entity has sent after a time."""
    return fetch_number(tx, "inbox/broadcasts/count_since", sender=sender, since=since)


def read_last_broadcast(tx: Reader) -> int:
    return fetch_number(tx, "inbox/broadcasts/read_last_number")


def take_broadcasts(tx: Transaction, recipient: int, cursor: int, last: int) -> int:
    """Create items of the broadcasts that an agent has not taken, up to the last; return the number of new items."""
    if last <= cursor:
        return 0
    row_count = tx.execute("inbox/broadcasts/materialise", recipient=recipient, cursor=cursor, last=last, now=tx.now)
    tx.execute("inbox/inboxes/advance", recipient=recipient, cursor=last)
    return row_count


def list_agents_behind(tx: Reader, after: int, limit: int) -> list[tuple[int, str]]:
    """Return the agents that have not taken the last broadcast that wakes: number and name."""
    return [
        (row.number, row.name)
        for row in tx.fetch_all("inbox/inboxes/list_behind", after=after, limit=limit, now=tx.now)
    ]


def reap_broadcasts(tx: Transaction, before: Instant, limit: int) -> list[int]:
    """Delete the broadcasts that every live agent has taken; return their arrivals."""
    return [row.arrival for row in tx.fetch_all("inbox/broadcasts/reap", before=before, limit=limit)]
