"""Leases at rest."""

from gatepost.core.instants import SET_BACK, Instant
from gatepost.ports.store import Reader, Work


def take(work: Work, name: str, holder: str, deadline: Instant) -> int | None:
    """Take or renew; return the fence, or None while somebody else has it."""
    row = work.one("leases/take", name=name, holder=holder, deadline=deadline, now=work.now, future=deadline + SET_BACK)
    return row[0] if row else None


def release(work: Work, name: str, holder: str, fence: int) -> bool:
    return work.run("leases/release", name=name, holder=holder, fence=fence) == 1


def hold(work: Work, name: str, holder: str, fence: int, deadline: Instant) -> bool:
    """Keep a lease until then, and its row until the commit; say whether it is still theirs."""
    changed = work.run(
        "leases/hold", name=name, holder=holder, fence=fence, deadline=deadline, future=deadline + SET_BACK
    )
    return changed == 1


def read_deadline(reader: Reader, name: str) -> Instant | None:
    row = reader.one("leases/read", name=name)
    return row[0] if row else None


def set_deadline(work: Work, name: str, deadline: Instant) -> None:
    """Write a deadline under a name that nobody holds."""
    work.run("leases/set", name=name, deadline=deadline)


def drop(work: Work, name: str) -> None:
    """Take a lease from whoever has it."""
    work.run("leases/drop", name=name)
