"""Leases at rest."""

from gatepost.core.instants import Instant
from gatepost.ports.store import Work


def take(work: Work, name: str, holder: str, deadline: Instant) -> int | None:
    """Take or renew; return the fence, or None while somebody else has it."""
    row = work.one("leases/take", name=name, holder=holder, deadline=deadline, now=work.now)
    return row[0] if row else None


def release(work: Work, name: str, holder: str, fence: int) -> bool:
    return work.run("leases/release", name=name, holder=holder, fence=fence) == 1
