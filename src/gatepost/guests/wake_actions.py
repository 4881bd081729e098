"""
Wakes: which session of an agent is to be woken, and when. A gateway and a waiter without a gateway decide by this.

An agent may have several sessions, which share its inbox. One of them is woken: the one that is idle and was active
last. A session that works shows items by its own hooks; it is woken only if an item has waited for `BUSY_PATIENCE`,
because it may have been interrupted, which no hook tells. While a session is being woken, no other is.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import DAY, SECOND, Instant, format_duration
from gatepost.directory import attention_actions as attention, entity_actions as directory
from gatepost.errors import NotFound
from gatepost.guests import session_actions as sessions
from gatepost.guests.reachability import (
    ARMING_TIME,
    LOST,
    WAITER,
    WAKE_TIMEOUT,
    IsRunning,
    can_be_woken,
    is_recent,
    judge,
)
from gatepost.guests.session import IDLE, GuestSession
from gatepost.inbox.event import Ref
from gatepost.inbox.push import actions as push
from gatepost.inbox.wake_actions import FindReceptions, Reception

#: how long an item waits before a session that works is woken
BUSY_PATIENCE: Final = 30 * SECOND
#: alerts about unseen items that one call sends; the next call sends the rest
_MAX_ALERTS: Final = 100
_UNSEEN: Final = "unseen:"


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
    chosen = _choose_session(others, now=tx.now, is_running=is_running)
    if chosen is None or chosen.session != id:
        return None
    if chosen.state == IDLE:
        return max(int(row.since), chosen.seen_at)
    has_just_come = 0 <= tx.now - row.since < BUSY_PATIENCE  # what is to come was before the clock was set back
    return None if has_just_come else int(row.since)


def _choose_session(candidates: Iterable[GuestSession], *, now: Instant, is_running: IsRunning) -> GuestSession | None:
    """
    Return which session of an agent to wake: one that can be woken now, does not leave a wake unanswered, is idle, and
    was active last, in this order. Return None if none can be, or one is being woken.
    """
    live = [session for session in candidates if judge(session, now=now, is_running=is_running).state != LOST]
    if any(session.woken_at is not None and is_recent(session.woken_at, now, WAKE_TIMEOUT) for session in live):
        return None
    return max(
        (session for session in live if can_be_woken(session, now, is_running)),
        key=lambda session: (session.woken_at is None, session.state == IDLE, session.seen_at),
        default=None,
    )


def take_wake(tx: Transaction, id: str, *, is_running: IsRunning, method: str = WAITER) -> Instant | None:
    """Return the same, and record that the session is woken."""
    since = find_wake(tx, id, is_running=is_running)
    if since is not None:
        sessions.begin_wake(tx, id, method=method)
    return since


def find_receptions(tx: Reader, question: FindReceptions) -> Callable[[], Mapping[str, Reception]]:
    """Ask which entities have no session that can be reached, as far as is recorded, or are not woken by everything."""
    times = {"now": tx.now, "seen_before": tx.now - ARMING_TIME}
    names, cache = list(question.names), tx.get_cache("sessions attention entities names")
    if cache is not None:
        if missing := [name for name in names if name not in cache]:
            rows = tx.fetch_all("guests/sessions/list_hindered", names=missing)
            cache |= dict.fromkeys(missing, False) | {row.name: True for row in rows}
        names = [name for name in names if cache[name]]
        if not names:
            return dict
    fetch = tx.fetch_later("guests/sessions/list_receptions", names=names, **times)
    return lambda: {
        row.name: Reception(row.is_lost, attention.read_row(row) if row.until is not None else None) for row in fetch()
    }


def build_unseen_filters(tx: Reader) -> dict[str, Any]:
    """Return when urgent items came that an owner is to be told of now, and how the keys of such alerts begin."""
    times = {"unseen_before": tx.now - tx.policy.wake_patience, "unseen_after": tx.now - DAY}
    return {**times, "unseen_key": f"{push.ALERT_KEY_PREFIX}{_UNSEEN}"}


def report_unseen(tx: Transaction) -> int:
    """
    Alert the owners of agents in other programs whose urgent items no session has shown or claimed in time; return how
    many items there were.
    """
    rows = tx.fetch_all("guests/sessions/list_unseen", now=tx.now, limit=_MAX_ALERTS, **build_unseen_filters(tx))
    alerts = []
    for row in rows:
        owner = directory.find_responsible(tx, directory.find(tx, row.agent))
        waited = format_duration(tx.policy.wake_patience)
        text = f"an urgent item for {row.agent!r} has waited for {waited}, and no session of it has shown it: {row.id}"
        ref = Ref("agent", row.agent)
        to = directory.ADMINISTRATOR if owner == row.agent else owner
        alerts.append(push.build_alert(to, text, f"{_UNSEEN}{row.id}/{row.agent}", ref=ref, cause=Ref("event", row.id)))
    push.push_alerts(tx, alerts)
    return len(rows)
