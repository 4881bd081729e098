"""The sessions of guests."""

from gatepost.core.guest import GuestSession
from gatepost.core.instants import Instant
from gatepost.ports.store import Reader, Work


def begin(work: Work, id: str, *, entity: int, host: str, doing: str) -> None:
    work.run("sessions/begin", id=id, entity=entity, host=host, state=doing, now=work.now)


def read(reader: Reader, id: str) -> GuestSession | None:
    row = reader.one("sessions/read", id=id)
    return GuestSession(*row) if row else None


def note(work: Work, id: str, doing: str) -> bool:
    return work.run("sessions/note", id=id, state=doing, now=work.now) > 0


def has_items(reader: Reader, agent: str) -> bool:
    """Return True if the agent has anything to read."""
    return reader.one("inboxes/has_items", agent=agent, now=reader.now) is not None


def held(reader: Reader, agent: str) -> bool:
    """Whether there is a gate at all that may hold somebody."""
    return reader.one("sessions/held", agent=agent) is not None


def worked(reader: Reader, agent: str, since: str) -> bool:
    """Whether somebody has pushed a note, or an event about a work item, with this id or a later one."""
    return reader.one("sessions/worked", agent=agent, since=since) is not None


def reap(work: Work, before: Instant, most: int) -> None:
    work.run("sessions/reap", before=before, most=most)
