"""End what has lasted too long in inboxes (claims lapse, items expire), and find whom to wake again."""

from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal
from gatepost.inbox import claim_rows as inboxes, item_rows as items

BATCH_SIZE: Final = 500


def lapse_claims(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Release the items of claims that are past their deadline; return the number of claims."""
    lapsed_claims = inboxes.lapse_claims(tx, None, limit)
    for number, recipient in lapsed_claims:
        items.release(tx, number)
        tx.after_commit(Signal(recipient, "lapse"))
    return len(lapsed_claims)


def expire_items(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Mark items past their time as expired; no claim has taken them since then anyway."""
    return items.expire(tx, limit)


def find_inboxes_to_wake(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """
    Return the names of entities that should wake and that nobody works for: their items were committed, but the signal
    may have been lost. Read one batch of inboxes with items, from the number `after` on; return also where the next
    batch begins, None at the end.
    """
    rows = inboxes.list_pending_recipients(tx, after, BATCH_SIZE)
    names = [name for _, name, wakes in rows if wakes]
    return names, rows[-1][0] if len(rows) == BATCH_SIZE else None


def find_agents_behind(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """Return the names of agents that have not taken the last broadcast, and where the next batch begins."""
    rows = inboxes.list_agents_behind(tx, after, BATCH_SIZE)
    return [name for _, name in rows], rows[-1][0] if len(rows) == BATCH_SIZE else None
