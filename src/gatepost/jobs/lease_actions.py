"""
Take, hold and release leases, so that one holder acts at a time.

A lease is a row with a holder, a deadline by the database's clock, and a fence that grows whenever the holder may have
changed. Two processes can believe at once that they hold it (the old one was asleep past its deadline), so a lease
alone protects nothing: a holder must name the fence in the transaction in which it acts, where the row decides.
"""

from msgspec import Struct

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import CLOCK_TOLERANCE, Duration, Instant
from gatepost.errors import Lost


class Lease(Struct, frozen=True, kw_only=True):
    name: str
    holder: str
    #: higher than that of every earlier holder; every write under the lease gives it
    fence: int
    deadline: Instant


def name_agent_lease(agent: str) -> str:
    """Return the name of the lease under which a process runs the cycles of an agent."""
    return f"agent:{agent}"


def take(tx: Transaction, name: str, holder: str, length: Duration) -> Lease | None:
    """Take a lease that is free or lapsed, or renew one that `holder` has; None while another holder has it."""
    deadline = tx.now + length
    row = tx.fetch_one(
        "jobs/leases/acquire",
        name=name,
        holder=holder,
        deadline=deadline,
        now=tx.now,
        future=deadline + CLOCK_TOLERANCE,
    )
    return Lease(name=name, holder=holder, fence=row.fence, deadline=deadline) if row else None


def is_held_by_another(tx: Reader, name: str, holder: str, length: Duration) -> bool:
    """Return True if `take` would return None."""
    times = {"now": tx.now, "future": tx.now + length + CLOCK_TOLERANCE}
    return tx.fetch_one("jobs/leases/has_other_holder", name=name, holder=holder, **times) is not None


def release(tx: Transaction, lease: Lease) -> bool:
    """Release a lease; return True if its holder still had it."""
    return tx.execute("jobs/leases/release", name=lease.name, holder=lease.holder, fence=lease.fence) == 1


def release_or_raise(tx: Transaction, lease: Lease) -> None:
    """Release a lease in the holder's last transaction under it; raise `Lost` if the holder has lost it."""
    if not release(tx, lease):
        raise _build_lost_error(lease)


def require_and_extend(tx: Transaction, lease: Lease, length: Duration) -> None:
    """
    Check that the holder still has a lease, lock it until the commit, and extend it to `length` from now; raise `Lost`
    if the holder has lost it. A holder that was asleep past the deadline still has the lease, unless another has taken
    it.
    """
    deadline = tx.now + length
    row_count = tx.execute(
        "jobs/leases/renew",
        name=lease.name,
        holder=lease.holder,
        fence=lease.fence,
        deadline=deadline,
        future=deadline + CLOCK_TOLERANCE,
    )
    if row_count != 1:
        raise _build_lost_error(lease)


def drop(tx: Transaction, name: str) -> None:
    """Take a lease away from its holder: every transaction under it fails from now on."""
    tx.execute_later("jobs/leases/revoke", name=name)


def _build_lost_error(lease: Lease) -> Lost:
    return Lost(f"{lease.holder!r} has lost the lease {lease.name!r} with fence {lease.fence}")
