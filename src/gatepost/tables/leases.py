"""Leases at rest."""

from gatepost.core.instants import Instant
from gatepost.ports.store import Work


def take(work: Work, name: str, holder: str, deadline: Instant) -> int | None:
    """Take or renew; return the fence, or None while somebody else has it."""
    row = work.one("leases/take", name=name, holder=holder, deadline=deadline, now=work.now)
    return row[0] if row else None


def release(work: Work, name: str, holder: str, fence: int) -> bool:
    return work.run("leases/release", name=name, holder=holder, fence=fence) == 1


def hold(work: Work, name: str, holder: str, fence: int, deadline: Instant) -> bool:
    """Keep a lease until then, and its row until the commit; say whether it is still theirs."""
    return work.run("leases/hold", name=name, holder=holder, fence=fence, deadline=deadline) == 1


def drop(work: Work, name: str) -> None:
    """Take a lease from whoever has it."""
    work.run("leases/drop", name=name)
