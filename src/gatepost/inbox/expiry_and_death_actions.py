"""
How items and claims end by themselves: a claim that is held too long lapses, an item that is past its time expires, and
an item that has failed too often is dead.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.inbox import claim_rows as claims, item_rows as items
from gatepost.inbox.claim import EndedClaim

BATCH_SIZE: Final = 500


def lapse_claims(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Release the items of claims that are past their deadline; return the number of claims."""
    lapsed_claims = claims.lapse_claims(tx, None, limit)
    for number, recipient in lapsed_claims:
        items.release(tx, number)
        tx.after_commit(Signal(Topic("inbox", recipient), "lapse"))
    return len(lapsed_claims)


def expire_items(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Mark items past their time as expired; no claim has taken them since then anyway."""
    return tx.execute("inbox/items/expire", now=tx.now, limit=limit)


def fail_items(tx: Transaction, claim: EndedClaim, events: Sequence[str]) -> int:
    """
    Count a failure for those items of a claim that failed by themselves, and return how many. An item that has failed
    `limits.attempts` times dies: nobody reads it any more, until it is replayed. The others are pending again.
    """
    return tx.execute(
        "inbox/items/fail", claim=claim.number, events=list(events), attempts=tx.limits.attempts, now=tx.now
    )
