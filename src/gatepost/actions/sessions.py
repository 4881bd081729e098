"""
The sessions of guests: whose a session is, what it is doing, and what its hooks ask of the store.

A session begins when its program says so, for an agent that is registered: a misspelt name makes no new one.

What most hooks need is light; the rest is imported late, because a guest waits while a hook starts.
"""

from typing import TYPE_CHECKING, Final

from gatepost.core.guest import IDLE, GuestSession
from gatepost.core.instants import DAY, HOUR, Instant
from gatepost.errors import Invalid, NotFound, Refused
from gatepost.ports import Reader, Transaction
from gatepost.tables import sessions

if TYPE_CHECKING:
    from gatepost.core.entity import Entity

_LONGEST_ID: Final = 1_000
#: how long a session is remembered of which nothing is heard, and how many are forgotten at once
_REMEMBERED: Final = 30 * DAY
_REAPED: Final = 20


def begin(tx: Transaction, id: str, *, agent: str, host: str, doing: str = IDLE) -> GuestSession:
    """Note that an agent is in a session."""
    sessions.begin(tx, _checked(id), entity=_guest(tx, agent).number, host=host, doing=doing)
    sessions.reap(tx, tx.now - _REMEMBERED, _REAPED)
    return find(tx, id)


def find(tx: Reader, id: str, *, agent: str | None = None) -> GuestSession:
    """A session, of this agent or (None) of whomever."""
    found = sessions.read(tx, _checked(id))
    if found is None or agent not in (None, found.agent):
        raise NotFound(f"there is no session {id!r:.80}", hint="the hooks of its program make it known")
    return found


def note(tx: Transaction, id: str, doing: str) -> Instant:
    """Note what a session is doing; return what time it is."""
    sessions.note(tx, id, doing)
    return tx.now


def has_items(tx: Reader, agent: str) -> bool:
    """Return True if a drain with reconciliation would find anything for this agent."""
    return sessions.has_items(tx, agent)


def held(tx: Reader, agent: str) -> bool:
    """Whether there is any gate that may keep a guest from stopping; `gates.blocking` says which do."""
    return sessions.held(tx, agent)


def worked(tx: Reader, agent: str, since: Instant) -> bool:
    """Whether a guest has said since then, by a note or an event about a work item, what it did."""
    return sessions.worked(tx, agent, f"evt_{since // 1_000:012x}")


def alert(tx: Transaction, id: str, agent: str, what: str) -> None:
    """Tell the owner of a guest that its session needs looking at; at most once an hour."""
    from gatepost.actions import directory, intake
    from gatepost.core.event import Ref
    from gatepost.core.session import filename

    owner = directory.find(tx, agent).owner or directory.ADMINISTRATOR
    words = f"the agent {agent!r} was let go in its session {id!r:.120}: {what}"
    about = f"hooks:{filename(id)}:{tx.now // HOUR}"
    intake.alert(tx, [intake.warning(owner, words, about, source="hooks", ref=Ref("agent", agent))])


def _guest(tx: Transaction, name: str) -> "Entity":
    from gatepost.actions import directory
    from gatepost.core.entity import Kind

    found = directory.find_live(tx, name)
    if found.kind is not Kind.AGENT:
        raise Refused(f"{found.name!r} is a {found.kind}, not an agent", hint="set GATEPOST_AGENT to an agent's name")
    return found


def _checked(id: str) -> str:
    if not id or len(id) > _LONGEST_ID or "\x00" in id:
        raise Invalid(f"{id[:60]!r} is not the id of a session")
    return id
