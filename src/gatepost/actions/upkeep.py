"""
Keeping the house: what has run out of time, and what has been kept long enough. Every verb here works through a small
batch, so that writers never wait for long, and returns how much it did; whoever calls repeats it until that is nothing.
"""

from gatepost.actions import directory
from gatepost.core.account import Account
from gatepost.core.instants import DAY, Duration
from gatepost.core.ring import Ring
from gatepost.ports.store import Reader, Work
from gatepost.tables import broadcasts, claims, errands, events, gates, items, plans, replies, tallies

BATCH = 500


def lapse(work: Work, *, limit: int = BATCH) -> int:
    """Give back what drains held too long; return how many drains."""
    lapsed = claims.lapse(work, None, limit)
    for number, recipient in lapsed:
        items.release(work, number)
        work.after_commit(Ring(recipient, "lapse"))
    return len(lapsed)


def expire(work: Work, *, limit: int = BATCH) -> int:
    """Write down what has run out of time; it was not delivered since then anyway."""
    return items.expire(work, limit)


def reap(work: Work, *, limit: int = BATCH) -> int:
    """Remove what ended longer ago than is remembered, adding it to the accounts of the state it had."""
    before = work.now - work.limits.remember
    gone = items.reap(work, before, limit)
    for recipient, _, state in gone:
        work.count(recipient, state, 1)
    # those of the last day are counted (`limits.broadcasts`)
    cast = broadcasts.reap(work, min(before, work.now - DAY), limit)
    orphans = {arrival for _, arrival, _ in gone}.union(cast)
    if orphans:
        events.reap(work, sorted(orphans))
    others = [reap(work, before, limit) for reap in (claims.reap, errands.reap, plans.reap, gates.reap, replies.reap)]
    return len(gone) + len(cast) + sum(others)


def awaiting(reader: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """
    Who should wake and nobody is at work for: what they wait for was committed, but the ring may have been lost. Looks
    at so many inboxes that hold something, from a number on; returns the names and where to go on, None at the end.
    """
    rows = claims.awaiting(reader, after, BATCH)
    names = [name for _, name, wakes in rows if wakes]
    return names, rows[-1][0] if len(rows) == BATCH else None


def behind(reader: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """The same for agents that have not taken the last broadcast."""
    rows = broadcasts.behind(reader, after, BATCH)
    return [name for _, name in rows], rows[-1][0] if len(rows) == BATCH else None


def lag(reader: Reader) -> Duration:
    """How long the oldest item that waits for an agent or a service has waited."""
    oldest = items.oldest(reader)
    return max(0, reader.now - oldest) if oldest is not None else 0


def accounts(reader: Reader, name: str | None = None) -> list[Account]:
    """The accounts of one inbox, or of all: accepted on one side, what became of it on the other."""
    return tallies.accounts(reader, directory.number(reader, name))
