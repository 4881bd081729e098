"""Claims on inboxes. A claim locks the row of its inbox, which has the fence and the broadcast cursor."""

from typing import Any, Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import CLOCK_TOLERANCE, Instant
from gatepost.directory.entity import Entity
from gatepost.inbox.claim import Claim, EndedClaim
from gatepost.stores.row_mapping import Mapper, fetch_row

_CLAIM: Final = Mapper(Claim)


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


def lapse_claims(tx: Transaction, recipient: int | None, limit: int) -> list[tuple[int, str]]:
    """End claims past their deadline; return the number and the recipient's name of each."""
    rows = tx.fetch_all(
        "inbox/claims/lapse", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE, limit=limit
    )
    return [(row.number, row.recipient) for row in rows]


def reap_claims(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("inbox/claims/reap", before=before, limit=limit)
