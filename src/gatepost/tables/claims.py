"""Claims, and the inboxes they are made on."""

from typing import Any, Final

from gatepost.core.claim import Claim
from gatepost.core.entity import Entity
from gatepost.core.times import CLOCK_TOLERANCE, Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper

_claim: Final = Mapper(Claim).read


def open_inbox(tx: Transaction, recipient: int, cursor: int) -> None:
    tx.execute("inboxes/insert", recipient=recipient, cursor=cursor)


def lock(tx: Transaction, recipient: int) -> tuple[int, int]:
    """Take the next fence of an inbox, and with it the inbox; return the fence and the broadcast cursor."""
    row = tx.fetch_one("inboxes/lock", recipient=recipient)
    assert row is not None
    return row.fence, row.cursor


def begin(tx: Transaction, recipient: Entity, **fields: Any) -> Claim:
    """Make a claim on an inbox, with nothing under it yet."""
    row = tx.fetch_one("claims/insert", recipient=recipient.number, now=tx.now, **fields)
    assert row is not None
    return Claim(number=row.number, recipient=recipient.name, taken_at=tx.now, **fields)


def hold(tx: Transaction, id: str, owner: str, fence: int) -> bool:
    """Take an open claim so that nobody ends it before this is committed; say whether it is theirs, and open."""
    return tx.execute("claims/hold", id=id, owner=owner, fence=fence) == 1


def extend(tx: Transaction, id: str, owner: str, fence: int, deadline: Instant) -> bool:
    """Make an open claim a session's, with a new deadline; return False if it is not theirs or not open."""
    return tx.execute("claims/extend", id=id, owner=owner, fence=fence, deadline=deadline) == 1


def end(tx: Transaction, id: str, owner: str, fence: int, outcome: str) -> tuple[int, int] | None:
    """End an open claim; return its number and recipient, or None when it is not theirs or not open."""
    row = tx.fetch_one("claims/end", id=id, owner=owner, fence=fence, outcome=outcome, now=tx.now)
    return (row.number, row.recipient) if row else None


def read(tx: Reader, id: str) -> Claim | None:
    row = tx.fetch_one("claims/read", id=id)
    return _claim(row) if row else None


def standing(tx: Reader, recipient: int) -> tuple[str | None, bool, int]:
    """The run that has a claim open on this inbox, whether a drain is past its deadline, and the last broadcast."""
    row = tx.fetch_one("claims/standing", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE)
    assert row is not None
    return row.run, row.is_late, row.last_broadcast


def awaiting(tx: Reader, after: int, limit: int) -> list[tuple[int, str, bool]]:
    """Recipients that have something pending: number, name, and whether it should wake them now."""
    rows = tx.fetch_all(
        "inboxes/awaiting", after=after, limit=limit, now=tx.now, fyi_before=tx.now - tx.limits.fyi_wait
    )
    return [(row.number, row.name, row.is_waking) for row in rows]


def lapse(tx: Transaction, recipient: int | None, limit: int) -> list[tuple[int, str]]:
    """End claims past their deadline; return the number and the recipient's name of each."""
    rows = tx.fetch_all("claims/lapse", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE, limit=limit)
    return [(row.number, row.recipient) for row in rows]


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("claims/reap", before=before, limit=limit)
