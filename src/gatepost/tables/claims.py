"""Claims, and the inboxes that they are on."""

from typing import Any, Final

from gatepost.core.claim import Claim
from gatepost.core.entity import Entity
from gatepost.core.times import CLOCK_TOLERANCE, Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper

_build_claim: Final = Mapper(Claim).read


def open_inbox(tx: Transaction, recipient: int, cursor: int) -> None:
    tx.execute("inboxes/insert", recipient=recipient, cursor=cursor)


def lock_inbox(tx: Transaction, recipient: int) -> tuple[int, int]:
    """Lock an inbox and increment its fence; return the fence and the broadcast cursor."""
    row = tx.fetch_one("inboxes/lock", recipient=recipient)
    assert row is not None
    return row.fence, row.cursor


def create(tx: Transaction, recipient: Entity, **fields: Any) -> Claim:
    """Create a claim on an inbox, without items."""
    row = tx.fetch_one("claims/insert", recipient=recipient.number, now=tx.now, **fields)
    assert row is not None
    return Claim(number=row.number, recipient=recipient.name, taken_at=tx.now, **fields)


def lock(tx: Transaction, id: str, owner: str, fence: int) -> bool:
    """Lock an open claim until the commit; return False if it is not theirs or not open."""
    return tx.execute("claims/lock", id=id, owner=owner, fence=fence) == 1


def extend(tx: Transaction, id: str, owner: str, fence: int, deadline: Instant) -> bool:
    """Give an open claim to a session, with a new deadline; return False if it is not theirs or not open."""
    return tx.execute("claims/extend", id=id, owner=owner, fence=fence, deadline=deadline) == 1


def end(tx: Transaction, id: str, owner: str, fence: int, outcome: str) -> tuple[int, int] | None:
    """End an open claim; return its number and recipient, or None if it is not theirs or not open."""
    row = tx.fetch_one("claims/end", id=id, owner=owner, fence=fence, outcome=outcome, now=tx.now)
    return (row.number, row.recipient) if row else None


def read(tx: Reader, id: str) -> Claim | None:
    row = tx.fetch_one("claims/read", id=id)
    return _build_claim(row) if row else None


def read_inbox_state(tx: Reader, recipient: int) -> tuple[str | None, bool, int]:
    """Return the run that has claimed this inbox, whether a drain is past its deadline, and the last broadcast."""
    row = tx.fetch_one("claims/read_inbox_state", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE)
    assert row is not None
    return row.run, row.is_late, row.last_broadcast


def list_pending_recipients(tx: Reader, after: int, limit: int) -> list[tuple[int, str, bool]]:
    """Return the recipients that have pending items: number, name, and whether an item should wake them now."""
    rows = tx.fetch_all(
        "inboxes/list_pending", after=after, limit=limit, now=tx.now, fyi_before=tx.now - tx.limits.fyi_wait
    )
    return [(row.number, row.name, row.is_waking) for row in rows]


def lapse(tx: Transaction, recipient: int | None, limit: int) -> list[tuple[int, str]]:
    """End claims past their deadline; return the number and the recipient's name of each."""
    rows = tx.fetch_all("claims/lapse", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE, limit=limit)
    return [(row.number, row.recipient) for row in rows]


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("claims/reap", before=before, limit=limit)
