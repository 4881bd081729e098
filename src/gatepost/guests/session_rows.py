"""The sessions of guests."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.guests.session import GuestSession


def save(tx: Transaction, id: str, *, entity: int, host: str, state: str) -> None:
    tx.execute("guests/sessions/save", id=id, entity=entity, host=host, state=state, now=tx.now)


def read(tx: Reader, id: str) -> GuestSession | None:
    row = tx.fetch_one("guests/sessions/read", id=id)
    return GuestSession(row.id, row.agent, row.host, row.state, row.started_at, row.seen_at) if row else None


def update_state(tx: Transaction, id: str, state: str) -> bool:
    return tx.execute("guests/sessions/update_state", id=id, state=state, now=tx.now) > 0


def has_items(tx: Reader, agent: str) -> bool:
    """Return True if the agent has anything to read."""
    return tx.fetch_one("inbox/inboxes/has_items", agent=agent, now=tx.now) is not None


def has_pending_gates(tx: Reader, agent: str) -> bool:
    """Return True if an agent has a pending gate."""
    return tx.fetch_one("guests/sessions/has_pending_gates", agent=agent) is not None


def has_work_items(tx: Reader) -> bool:
    return tx.fetch_one("mail/work_items/has_any") is not None


def has_worked_since(tx: Reader, agent: str, since: Instant) -> bool:
    """Return True if an agent has posted a note, or an event of a work item, since a time."""
    return tx.fetch_one("mail/outgoing/has_worked_since", agent=agent, since=since) is not None


def reap(tx: Transaction, before: Instant, limit: int) -> None:
    tx.execute("guests/sessions/reap", before=before, limit=limit)
