"""
The sessions of guests: the agent of a session, what the session is doing, and what its hooks read from the store.

A session begins when its program reports it, for a registered agent: a misspelt name does not register a new agent.

Only what most hooks need is imported at the top. The rest is imported late, because a guest waits while a hook starts.
"""

from typing import TYPE_CHECKING, Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import DAY, HOUR, Instant
from gatepost.errors import Invalid, NotFound, Refused, quote_value
from gatepost.guests.session import IDLE, GuestSession

if TYPE_CHECKING:
    from gatepost.directory.entity import Entity

_MAX_ID_LENGTH: Final = 1_000
#: a session is removed after this time without activity
_RETENTION: Final = 30 * DAY
#: sessions that are removed at once
_REAP_LIMIT: Final = 20


def begin(tx: Transaction, id: str, *, agent: str, host: str, doing: str = IDLE) -> GuestSession:
    """Record that an agent is in a session; return the session."""
    entity = _require_agent(tx, agent).number
    tx.execute("guests/sessions/save", id=_validate_id(id), entity=entity, host=host, state=doing, now=tx.now)
    tx.execute("guests/sessions/reap", before=tx.now - _RETENTION, limit=_REAP_LIMIT)
    return find(tx, id)


def find(tx: Reader, id: str, *, agent: str | None = None) -> GuestSession:
    """Return a session of this agent, or of any agent (None); raise `NotFound` for any other."""
    row = tx.fetch_one("guests/sessions/read", id=_validate_id(id))
    if row is None or agent not in (None, row.agent):
        raise NotFound(f"there is no guest session {quote_value(id)}", hint="the hooks of its program make it known")
    return GuestSession(row.id, row.agent, row.host, row.state, row.started_at, row.seen_at)


def note_activity(tx: Transaction, id: str, doing: str) -> Instant:
    """Record what a session is doing; return the current time of the store."""
    tx.execute("guests/sessions/update_state", id=id, state=doing, now=tx.now)
    return tx.now


def has_items(tx: Reader, agent: str) -> bool:
    """Return True if a drain with reconciliation would find anything for this agent."""
    return tx.fetch_one("inbox/inboxes/has_items", agent=agent, now=tx.now) is not None


def has_pending_gates(tx: Reader, agent: str) -> bool:
    """Return True if any gate may keep a guest from stopping; `gates.list_blocking` returns those that do."""
    return tx.fetch_one("guests/sessions/has_pending_gates", agent=agent) is not None


def has_reported_work(tx: Reader, agent: str, since: Instant) -> bool:
    """
    Return True if a guest has reported its work since a time, by a note on a work item or an event of one; also if
    there are no work items.
    """
    if tx.fetch_one("mail/work_items/has_any") is None:
        return True
    return tx.fetch_one("mail/outgoing/has_worked_since", agent=agent, since=since) is not None


def alert_owner(tx: Transaction, id: str, agent: str, reason: str) -> None:
    """Alert the owner of a guest that its session was allowed to stop, with the reason; at most once an hour."""
    from gatepost.directory import entity_actions as directory
    from gatepost.guests.session import encode_filename
    from gatepost.inbox.event import Ref
    from gatepost.inbox.push import actions as push

    owner = directory.find(tx, agent).owner or directory.ADMINISTRATOR
    text = f"the agent {agent!r} was let go in its session {quote_value(id, 120)}: {reason}"
    topic = f"hooks:{encode_filename(id)}:{tx.now // HOUR}"
    ref = Ref("agent", agent)
    push.push_alerts(tx, [push.build_alert(owner, text, topic, source="hooks", ref=ref, cause=ref)])


def _require_agent(tx: Transaction, name: str) -> "Entity":
    from gatepost.directory import entity_actions as directory
    from gatepost.directory.entity import EntityKind

    entity = directory.find_live(tx, name)
    if entity.kind is not EntityKind.AGENT:
        raise Refused(
            f"{entity.name!r} is {entity.kind.phrase}, not an agent", hint="set GATEPOST_AGENT to an agent's name"
        )
    return entity


def _validate_id(id: str) -> str:
    if not id or len(id) > _MAX_ID_LENGTH or "\x00" in id:
        raise Invalid(f"{quote_value(id)} is not the id of a guest session")
    return id
