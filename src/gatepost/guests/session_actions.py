"""
The sessions of guests: the agent of a session, what the session is doing, what wakes it, and what its hooks read from
the store.

A session begins when its program reports it, for a registered agent: a misspelt name does not register a new agent.

Only what most hooks need is imported at the top. The rest is imported late, because a guest waits while a hook starts.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.times import DAY, HOUR, Duration, Instant
from gatepost.errors import Invalid, NotFound, Refused, quote_value
from gatepost.guests.session import IDLE, GuestSession

if TYPE_CHECKING:
    from gatepost.directory.entity import Entity

_MAX_ID_LENGTH: Final = 1_000
#: a session is removed after this time without activity
_RETENTION: Final = 30 * DAY
#: sessions that are removed at once
_REAP_LIMIT: Final = 20


def begin(
    tx: Transaction,
    id: str,
    *,
    agent: str,
    host: str,
    doing: str = IDLE,
    program: str | None = None,
    model: str | None = None,
) -> GuestSession:
    """
    Record that an agent is in a session, in a process of its program and with a model if these are known; return the
    session.
    """
    entity = _require_agent(tx, agent).number
    fields = {"entity": entity, "host": host, "state": doing, "program": program, "model": model}
    tx.execute_later("guests/sessions/forget_waker", id=_validate_id(id), program=program)
    tx.execute_later("guests/sessions/save", id=_validate_id(id), **fields, now=tx.now)
    tx.execute_later("guests/sessions/reap", before=tx.now - _RETENTION, limit=_REAP_LIMIT)
    return find(tx, id)


def find(tx: Reader, id: str, *, agent: str | None = None) -> GuestSession:
    """Return a session of this agent, or of any agent (None); raise `NotFound` for any other."""
    row = tx.fetch_one("guests/sessions/read", id=_validate_id(id))
    if row is None or agent not in (None, row.agent):
        raise NotFound(f"there is no guest session {quote_value(id)}", hint="the hooks of its program make it known")
    return _read_row(row)


def list_recent(
    tx: Reader, *, agent: str | None = None, include_ended: bool = False, limit: int = 100
) -> list[GuestSession]:
    """Return the newest sessions, of one agent or of all (None)."""
    filters = {"agent": agent, "include_ended": include_ended, "limit": limit}
    return [_read_row(row) for row in tx.fetch_page("guests/sessions/list_recent", **filters)]


def list_of_entities(tx: Reader, entities: Sequence[int]) -> list[GuestSession]:
    """Return the sessions of these agents that have not ended, and the last one of each; the newest first."""
    return [_read_row(row) for row in tx.fetch_all("guests/sessions/list_of_entities", entities=list(entities))]


def find_model(tx: Reader, entity: int) -> str | None:
    """Return the model of a guest in its last session whose program has said it."""
    row = tx.fetch_one("guests/sessions/find_model", entity=entity)
    model: str | None = row.model if row is not None else None
    return model


def list_of_agent(tx: Reader, agent: str) -> list[GuestSession]:
    """Return the sessions of an agent that have not ended."""
    return [_read_row(row) for row in tx.fetch_all("guests/sessions/list_of_agent", agent=agent)]


def note_activity(tx: Transaction, id: str, doing: str) -> Instant:
    """Record what a session is doing; return the current time of the store."""
    tx.execute_later("guests/sessions/update_state", id=id, state=doing, now=tx.now)
    return tx.now


def arm(tx: Transaction, id: str, *, method: str, waker: str | None, program: str | None = None) -> bool:
    """
    Record that something is there now that wakes a session: its process if that has a name, and the process of the
    program if it knows that. Return False if the store does not know yet that the session has begun.
    """
    return tx.execute("guests/sessions/arm", id=id, method=method, waker=waker, program=program, now=tx.now) == 1


def confirm(tx: Transaction, ids: Sequence[str]) -> None:
    """Record that what wakes these sessions is still there: for readers who cannot see its process."""
    tx.execute_later("guests/sessions/confirm", ids=list(ids), now=tx.now)


def disarm(tx: Transaction, id: str, *, waker: str | None = None) -> None:
    """Record that nothing wakes a session any more, or that this process does not."""
    tx.execute_later("guests/sessions/disarm", id=id, waker=waker)


def begin_wake(tx: Transaction, id: str, *, method: str) -> None:
    """Record that a session is woken. The wake is outstanding until it is proved, or there was nothing to read."""
    tx.execute_later("guests/sessions/begin_wake", id=id, method=method, now=tx.now)


def prove_wake(tx: Transaction, id: str, *, latency: Duration) -> None:
    """Record that the model has read what it was woken for, and how long the item took to get there."""
    tx.execute_later("guests/sessions/prove_wake", id=id, latency=latency, now=tx.now)


def forget_wake(tx: Transaction, id: str) -> None:
    """Record that a wake has come to a session that had nothing to read any more: there is nothing to prove."""
    tx.execute_later("guests/sessions/forget_wake", id=id)


def list_programs(tx: Reader) -> list[tuple[str, str]]:
    """Return the sessions that have not ended, each with the process of its program; without those that have none."""
    return [(row.id, row.program) for row in tx.fetch_all("guests/sessions/list_programs")]


def end_gone(tx: Transaction, programs: Sequence[tuple[str, str]]) -> None:
    """End the sessions whose program has ended without a word; each is given with the process of its program."""
    for id, program in programs:
        tx.execute_later("guests/sessions/end_gone", id=id, program=program)


def has_items(tx: Reader, agent: str) -> bool:
    """Return True if a drain with reconciliation would find anything for this agent."""
    return tx.fetch_one("inbox/inboxes/has_items", agent=agent, now=tx.now) is not None


def may_wake(tx: Reader, agent: str, priority: int) -> bool:
    """Return False if the attention of an agent keeps an item of this priority from waking it now."""
    return tx.fetch_one("directory/attention/is_held", name=agent, priority=priority, now=tx.now) is None


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


def _read_row(row: Row) -> GuestSession:
    return GuestSession(**{name: getattr(row, name) for name in GuestSession._fields})


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
