"""The sessions of guests."""

from collections.abc import Sequence

from gatepost.core.guest import GuestSession
from gatepost.core.instants import Instant
from gatepost.core.limits import LONGEST_CHAIN
from gatepost.ports.store import Reader, Work


def begin(work: Work, id: str, *, entity: int, host: str, doing: str) -> None:
    work.run("sessions/begin", id=id, entity=entity, host=host, state=doing, now=work.now)


def read(reader: Reader, id: str) -> GuestSession | None:
    row = reader.one("sessions/read", id=id)
    return GuestSession(*row) if row else None


def note(work: Work, id: str, doing: str) -> bool:
    return work.run("sessions/note", id=id, state=doing, now=work.now) > 0


def chain(work: Work, id: str, hops: int) -> None:
    """Note how long the chain of events is that goes on with whatever the session pushes."""
    work.run("sessions/chain", id=id, hops=hops, now=work.now)


def hops(reader: Reader, entities: Sequence[int]) -> dict[int, int]:
    """For those of these entities that are in a session, or in a run: the longest chain that goes on there."""
    found = reader.all("sessions/hops", entities=sorted(set(entities)))
    return {entity: min(hops, LONGEST_CHAIN) for entity, hops in found}


def held(reader: Reader, agent: str) -> bool:
    """Whether there is a gate at all that may hold somebody."""
    return reader.one("sessions/held", agent=agent) is not None


def worked(reader: Reader, agent: str, since: str) -> bool:
    """Whether somebody has pushed a note, or an event about a work item, with this id or a later one."""
    return reader.one("sessions/worked", agent=agent, since=since) is not None


def reap(work: Work, before: Instant, most: int) -> None:
    work.run("sessions/reap", before=before, most=most)
