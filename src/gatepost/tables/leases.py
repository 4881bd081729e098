"""Leases at rest."""

from gatepost.core.times import CLOCK_TOLERANCE, Instant
from gatepost.ports import Reader, Transaction


def take(tx: Transaction, name: str, holder: str, deadline: Instant) -> int | None:
    """Take or renew; return the fence, or None while somebody else has it."""
    row = tx.fetch_one(
        "leases/take", name=name, holder=holder, deadline=deadline, now=tx.now, future=deadline + CLOCK_TOLERANCE
    )
    return row.fence if row else None


def release(tx: Transaction, name: str, holder: str, fence: int) -> bool:
    return tx.execute("leases/release", name=name, holder=holder, fence=fence) == 1


def hold(tx: Transaction, name: str, holder: str, fence: int, deadline: Instant) -> bool:
    """Keep a lease until then, and its row until the commit; say whether it is still theirs."""
    changed = tx.execute(
        "leases/hold", name=name, holder=holder, fence=fence, deadline=deadline, future=deadline + CLOCK_TOLERANCE
    )
    return changed == 1


def read_deadline(tx: Reader, name: str) -> Instant | None:
    row = tx.fetch_one("leases/read", name=name)
    return row.deadline if row else None


def set_deadline(tx: Transaction, name: str, deadline: Instant) -> None:
    """Write a deadline under a name that nobody holds."""
    tx.execute("leases/set", name=name, deadline=deadline)


def drop(tx: Transaction, name: str) -> None:
    """Take a lease from whoever has it."""
    tx.execute("leases/drop", name=name)
