"""Claims on inboxes. A claim locks the row of its inbox, which has the fence and the broadcast cursor."""

from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import CLOCK_TOLERANCE, Instant
from gatepost.inbox.claim import Claim, EndedClaim
from gatepost.stores.row_mapping import Mapper, fetch_row

_CLAIM: Final = Mapper(Claim)


def lock_inbox(tx: Transaction, recipient: int) -> tuple[int, int]:
    """Lock an inbox and increment its fence; return the fence and the broadcast cursor."""
    row = fetch_row(tx, "inbox/inboxes/lock", recipient=recipient)
    return row.fence, row.cursor


def end_claim(tx: Transaction, id: str, owner: str, fence: int, outcome: str) -> EndedClaim | None:
    """End an open claim, and return it; None if it is not theirs or not open."""
    row = tx.fetch_one("inbox/claims/end", id=id, owner=owner, fence=fence, outcome=outcome, now=tx.now)
    return EndedClaim(row.number, row.recipient, bool(row.has_awaited_mail)) if row else None


def read_claim(tx: Reader, id: str) -> Claim | None:
    return _CLAIM.fetch_one(tx, "inbox/claims/read", id=id)


def lapse_claims(tx: Transaction, recipient: int | None, limit: int) -> list[tuple[int, str]]:
    """End claims past their deadline; return the number and the recipient's name of each."""
    rows = tx.fetch_all(
        "inbox/claims/lapse", recipient=recipient, now=tx.now, future=tx.now + CLOCK_TOLERANCE, limit=limit
    )
    return [(row.number, row.recipient) for row in rows]


def reap_claims(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("inbox/claims/reap", before=before, limit=limit)
