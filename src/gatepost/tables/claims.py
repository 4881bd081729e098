"""Claims, and the inboxes they are made on."""

from typing import Any, Final

from gatepost.core.claim import Claim
from gatepost.core.entity import Entity
from gatepost.core.event import Receipt
from gatepost.core.instants import SET_BACK, Instant
from gatepost.ports.store import Reader, Work
from gatepost.tables.rows import Columns

_claim: Final = Columns(Claim, "number id recipient kind owner fence taken_at deadline ended_at outcome").read


def open_inbox(work: Work, recipient: int, cursor: int) -> None:
    work.run("inboxes/insert", recipient=recipient, cursor=cursor)


def lock(work: Work, recipient: int) -> tuple[int, int]:
    """Take the next fence of an inbox, and with it the inbox; return the fence and the broadcast cursor."""
    row = work.one("inboxes/lock", recipient=recipient)
    assert row is not None
    return row[0], row[1]


def begin(work: Work, recipient: Entity, **fields: Any) -> Claim:
    """Make a claim on an inbox, with nothing under it yet."""
    row = work.one("claims/insert", recipient=recipient.number, now=work.now, **fields)
    assert row is not None
    return Claim(number=row[0], recipient=recipient.name, taken_at=work.now, **fields)


def restore(work: Work, id: str, recipient: int, receipt: Receipt) -> int:
    """Store a receipt from elsewhere; return the number of its claim."""
    row = work.one("claims/restore", id=id, recipient=recipient, kind=receipt.kind, owner=receipt.owner, at=receipt.at)
    assert row is not None
    return int(row[0])


def hold(work: Work, id: str, owner: str, fence: int) -> bool:
    """Take an open claim so that nobody ends it before this is committed; say whether it is theirs, and open."""
    return work.run("claims/hold", id=id, owner=owner, fence=fence) == 1


def extend(work: Work, id: str, owner: str, fence: int, deadline: Instant) -> bool:
    """Make an open claim a session's, with a new deadline; return False if it is not theirs or not open."""
    return work.run("claims/extend", id=id, owner=owner, fence=fence, deadline=deadline) == 1


def end(work: Work, id: str, owner: str, fence: int, outcome: str) -> tuple[int, int] | None:
    """End an open claim; return its number and recipient, or None when it is not theirs or not open."""
    row = work.one("claims/end", id=id, owner=owner, fence=fence, outcome=outcome, now=work.now)
    return (row[0], row[1]) if row else None


def read(reader: Reader, id: str) -> Claim | None:
    row = reader.one("claims/read", id=id)
    return _claim(row) if row else None


def standing(reader: Reader, recipient: int) -> tuple[str | None, bool, int]:
    """The run that has a claim open on this inbox, whether a drain is past its deadline, and the last broadcast."""
    row = reader.one("claims/standing", recipient=recipient, now=reader.now, future=reader.now + SET_BACK)
    assert row is not None
    return row[0], bool(row[1]), row[2]


def awaiting(reader: Reader, after: int, most: int) -> list[tuple[int, str, bool]]:
    """Recipients that have something pending: number, name, and whether it should wake them now."""
    rows = reader.all(
        "inboxes/awaiting", after=after, most=most, now=reader.now, fyi_before=reader.now - reader.limits.fyi_wait
    )
    return [(row[0], row[1], bool(row[2])) for row in rows]


def lapse(work: Work, recipient: int | None, most: int) -> list[tuple[int, str]]:
    """End claims past their deadline; return the number and the recipient's name of each."""
    rows = work.all("claims/lapse", recipient=recipient, now=work.now, future=work.now + SET_BACK, most=most)
    return [(row[0], row[1]) for row in rows]


def reap(work: Work, before: Instant, most: int) -> int:
    return work.run("claims/reap", before=before, most=most)
