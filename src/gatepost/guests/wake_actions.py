"""
Wakes: which session of an agent is to be woken, and when. A gateway and a waiter without a gateway decide by this.

An agent may have several sessions, which share its inbox. One of them is woken: the one that is idle and was active
last. A session that works shows items by its own hooks; it is woken only if an item has waited for `BUSY_PATIENCE`,
because it may have been interrupted, which no hook tells. While a session is being woken, no other is.
"""

from collections.abc import Collection
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import SECOND, Instant
from gatepost.errors import NotFound
from gatepost.guests import session_actions as sessions
from gatepost.guests.reachability import WAITER, IsRunning, choose_to_wake
from gatepost.guests.session import IDLE
from gatepost.inbox.event import FindLost

#: how long an item waits before a session that works is woken
BUSY_PATIENCE: Final = 30 * SECOND


def find_wake(tx: Reader, id: str, *, is_running: IsRunning) -> Instant | None:
    """
    Return since when a session could have been shown an item, if it is the one to be woken now; else None. That is when
    the item came or, if that was later, when the session became idle.
    """
    try:
        session = sessions.find(tx, id)
    except NotFound:
        return None
    row = tx.fetch_one("guests/sessions/find_wake_reason", agent=session.agent, now=tx.now)
    if row is None or row.since is None:
        return None
    others = sessions.list_of_agent(tx, session.agent)
    chosen = choose_to_wake(others, now=tx.now, is_running=is_running)
    if chosen is None or chosen.session != id:
        return None
    if chosen.state == IDLE:
        return max(int(row.since), chosen.seen_at)
    return int(row.since) if tx.now - row.since >= BUSY_PATIENCE else None


def take_wake(tx: Transaction, id: str, *, is_running: IsRunning, method: str = WAITER) -> Instant | None:
    """Return the same, and record that the session is woken."""
    since = find_wake(tx, id, is_running=is_running)
    if since is not None:
        sessions.begin_wake(tx, id, method=method)
    return since


def find_lost(tx: Reader, question: FindLost) -> Collection[str]:
    """Return the names of those agents of whom no session can be reached, as far as that is recorded."""
    return [row.name for row in tx.fetch_all("guests/sessions/list_lost", names=list(question.names))]
