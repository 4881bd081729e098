"""
One at a time: taking, keeping and giving back leases.

A lease is a row with a holder, a deadline by the database's clock, and a fence that grows whenever the holder may have
changed. Two can think they hold it at once (the old one was asleep past its deadline), so a lease alone protects
nothing: whoever acts under it must name the fence in the transaction of the act, where the row decides.
"""

from gatepost.core.lease import Lease
from gatepost.core.times import Duration
from gatepost.errors import Lost
from gatepost.ports import Transaction
from gatepost.tables import leases


def take(tx: Transaction, name: str, holder: str, length: Duration) -> Lease | None:
    """Take a lease that is free or lapsed, or renew one's own; None while somebody else has it."""
    deadline = tx.now + length
    fence = leases.take(tx, name, holder, deadline)
    return Lease(name=name, holder=holder, fence=fence, deadline=deadline) if fence is not None else None


def release(tx: Transaction, lease: Lease) -> bool:
    """Give a lease back; say whether it still was one's own."""
    return leases.release(tx, lease.name, lease.holder, lease.fence)


def release_or_raise(tx: Transaction, lease: Lease) -> None:
    """The same for whoever may act only while it is their own, in the transaction of their last act."""
    if not release(tx, lease):
        raise _build_lost_error(lease)


def hold(tx: Transaction, lease: Lease, length: Duration) -> None:
    """
    Make sure, for as long as this transaction lasts, that a lease is still one's own, and keep it from now on for so
    long. A holder that was asleep past its deadline keeps it too, as long as nobody else has taken it.
    """
    if not leases.hold(tx, lease.name, lease.holder, lease.fence, tx.now + length):
        raise _build_lost_error(lease)


def drop(tx: Transaction, name: str) -> None:
    """Take a lease from whoever has it: nothing they do under it counts any more."""
    leases.drop(tx, name)


def _build_lost_error(lease: Lease) -> Lost:
    return Lost(f"{lease.holder!r} has lost the lease {lease.name!r} with fence {lease.fence}")
