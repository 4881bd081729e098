"""What ends in inboxes by itself: a claim that is held too long lapses, an item that is past its time expires."""

from typing import Final

from gatepost.core.ports import Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.inbox import item_rows as items

#: rows that one query or one transaction is about
BATCH_SIZE: Final = 500


def lapse_claims(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Release the items of claims that are past their deadline; return the number of claims."""
    lapsed_claims = items.lapse_claims(tx, None, limit)
    for number, recipient in lapsed_claims:
        items.release(tx, number)
        tx.after_commit(Signal(Topic("inbox", recipient), "lapse"))
    return len(lapsed_claims)


def expire_items(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Mark items past their time as expired; no claim has taken them since then anyway."""
    return items.expire(tx, limit)
