"""The sessions of guests."""

from gatepost.core.session import GuestSession
from gatepost.core.times import Instant
from gatepost.ports import Reader, Transaction


def begin(tx: Transaction, id: str, *, entity: int, host: str, doing: str) -> None:
    tx.execute("sessions/begin", id=id, entity=entity, host=host, state=doing, now=tx.now)


def read(tx: Reader, id: str) -> GuestSession | None:
    row = tx.fetch_one("sessions/read", id=id)
    return GuestSession(row.id, row.agent, row.host, row.state, row.started_at, row.seen_at) if row else None


def note(tx: Transaction, id: str, doing: str) -> bool:
    return tx.execute("sessions/note", id=id, state=doing, now=tx.now) > 0


def has_items(tx: Reader, agent: str) -> bool:
    """Return True if the agent has anything to read."""
    return tx.fetch_one("inboxes/has_items", agent=agent, now=tx.now) is not None


def held(tx: Reader, agent: str) -> bool:
    """Whether there is a gate at all that may hold somebody."""
    return tx.fetch_one("sessions/held", agent=agent) is not None


def worked(tx: Reader, agent: str, since: str) -> bool:
    """Whether somebody has pushed a note, or an event about a work item, with this id or a later one."""
    return tx.fetch_one("sessions/worked", agent=agent, since=since) is not None


def reap(tx: Transaction, before: Instant, limit: int) -> None:
    tx.execute("sessions/reap", before=before, limit=limit)
