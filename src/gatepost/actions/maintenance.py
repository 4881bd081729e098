"""
Keeping the house: what has run out of time, and what has been kept long enough. Every verb here works through a small
batch, so that writers never wait for long, and returns how much it did; whoever calls repeats it until that is nothing.
"""

from gatepost.actions import directory
from gatepost.core.account import Account
from gatepost.core.signals import Signal
from gatepost.core.times import DAY, Duration
from gatepost.ports import Reader, Transaction
from gatepost.tables import broadcasts, claims, errands, events, gates, items, plans, replies, tallies

BATCH_SIZE = 500


def lapse_claims(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Give back what drains held too long; return how many drains."""
    lapsed_claims = claims.lapse(tx, None, limit)
    for number, recipient in lapsed_claims:
        items.release(tx, number)
        tx.after_commit(Signal(recipient, "lapse"))
    return len(lapsed_claims)


def expire_items(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Write down what has run out of time; it was not delivered since then anyway."""
    return items.expire(tx, limit)


def reap(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Remove what ended longer ago than is remembered, adding it to the accounts of the state it had."""
    before = tx.now - tx.limits.remember
    old_items = items.reap(tx, before, limit)
    for recipient, _, state in old_items:
        tx.add_to_tally(recipient, state, 1)
    # those of the last day are counted (`limits.broadcasts`)
    broadcast_arrivals = broadcasts.reap(tx, min(before, tx.now - DAY), limit)
    event_arrivals = {arrival for _, arrival, _ in old_items}.union(broadcast_arrivals)
    if event_arrivals:
        events.reap(tx, sorted(event_arrivals))
    counts = [
        reap_table(tx, before, limit)
        for reap_table in (claims.reap, errands.reap, plans.reap, gates.reap, replies.reap)
    ]
    return len(old_items) + len(broadcast_arrivals) + sum(counts)


def find_inboxes_to_wake(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """
    Who should wake and nobody is at work for: what they wait for was committed, but the ring may have been lost. Looks
    at so many inboxes that hold something, from a number on; returns the names and where to go on, None at the end.
    """
    rows = claims.awaiting(tx, after, BATCH_SIZE)
    names = [name for _, name, wakes in rows if wakes]
    return names, rows[-1][0] if len(rows) == BATCH_SIZE else None


def find_agents_behind(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """The same for agents that have not taken the last broadcast."""
    rows = broadcasts.behind(tx, after, BATCH_SIZE)
    return [name for _, name in rows], rows[-1][0] if len(rows) == BATCH_SIZE else None


def measure_lag(tx: Reader) -> Duration:
    """How long the oldest item that waits for an agent or a service has waited."""
    oldest = items.oldest(tx)
    return max(0, tx.now - oldest) if oldest is not None else 0


def list_accounts(tx: Reader, name: str | None = None) -> list[Account]:
    """The accounts of one inbox, or of all: accepted on one side, what became of it on the other."""
    return tallies.accounts(tx, directory.find_number(tx, name))
