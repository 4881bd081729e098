"""
Reachability: whether a push reaches an agent that lives in another program, and how that is known.

A session is judged by what was seen, never by what is installed or by the exit code of a command:

    armed      a process that wakes the session runs now: a waiter holds its lock, a thread is loaded, a plugin is there
    proved     the same, and the last wake was proved: the model has read the item, `latency` after it could be shown
    unproved   nothing shows that a wake would reach it, or the last wake was followed by no delivery in time
    lost       its program has ended, or what would wake it has

`judge` is a pure function of the record of a session, the time, and what is known of processes here. Processes of
another machine cannot be checked here: for them the report of who checks them there counts, for `REPORT_LIFETIME`.

An agent is as reachable as the best of its sessions.
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from gatepost.core.times import MINUTE, SECOND, Duration, Instant
from gatepost.guests.session import ENDED, IDLE, WORKING, GuestSession

ARMED: Final = "armed"
PROVED: Final = "proved"
UNPROVED: Final = "unproved"
LOST: Final = "lost"

#: the ways in which a session is woken: a hook of Claude Code that waits, a thread of Codex, a plugin of OpenCode
WAITER: Final = "waiter"
THREAD: Final = "thread"
PLUGIN: Final = "plugin"

#: how long a program may take to react to a wake
WAKE_TIMEOUT: Final = MINUTE
#: how long the turn that follows a wake may take until its reply proves the wake
PROOF_TIMEOUT: Final = 30 * MINUTE
#: how long after a hook of a session what wakes it may begin
ARMING_TIME: Final = 30 * SECOND
#: how long the report of another machine counts; it is renewed every minute
REPORT_LIFETIME: Final = 3 * MINUTE

#: returns True if a process runs, False if it has ended, None if that cannot be known here
IsRunning = Callable[[str], bool | None]

_ORDER: Final = (PROVED, ARMED, UNPROVED, LOST)


class Reachability(NamedTuple):
    #: armed, proved, unproved or lost
    state: str
    #: how it is woken: waiter, thread, plugin; None if nothing wakes it
    by: str | None
    since: Instant
    proved_at: Instant | None = None
    latency: Duration | None = None


def judge(session: GuestSession, *, now: Instant, is_running: IsRunning) -> Reachability:
    """Return how reachable a session is."""
    state, since = _find_state(session, now, is_running)
    return Reachability(state, session.wake_method, since, session.proved_at, session.latency)


def _find_state(session: GuestSession, now: Instant, is_running: IsRunning) -> tuple[str, Instant]:
    if session.state == ENDED or (session.program is not None and is_running(session.program) is False):
        return LOST, session.seen_at
    if session.woken_at is not None:
        has_reacted = session.seen_at > session.woken_at
        timeout = PROOF_TIMEOUT if has_reacted and session.state == WORKING else WAKE_TIMEOUT
        if not is_recent(session.woken_at, now, timeout):
            return UNPROVED, min(session.woken_at, now)
        if not has_reacted:  # it is being woken: what woke it has done its work, and the next one is not there yet
            return _get_armed_state(session), session.woken_at
    if session.wake_method is None:
        return UNPROVED, session.started_at
    is_armed = False if session.armed_at is None else is_running(session.waker) if session.waker is not None else None
    if is_armed is False:
        # While it works, its own hooks show it what comes; and what wakes it begins a moment after a hook.
        is_lost = session.state == IDLE and now - session.seen_at > ARMING_TIME
        return LOST if is_lost else UNPROVED, session.seen_at
    checked_at = session.checked_at or 0
    if is_armed is None and not is_recent(checked_at, now, REPORT_LIFETIME):
        return UNPROVED, checked_at
    return _get_armed_state(session), session.armed_at or checked_at


def is_recent(then: Instant, now: Instant, length: Duration) -> bool:
    """Return True if something was at most this long ago. What is to come was before the clock was set back."""
    return 0 <= now - then <= length


def _get_armed_state(session: GuestSession) -> str:
    return ARMED if session.proved_at is None else PROVED


def choose_best(reachabilities: Iterable[Reachability]) -> Reachability | None:
    """Return the reachability of an agent from those of its sessions; None without sessions."""
    return min(reachabilities, key=lambda entry: (_ORDER.index(entry.state), -entry.since), default=None)


def can_be_woken(session: GuestSession, now: Instant, is_running: IsRunning) -> bool:
    """Return True if what wakes a session is there, as far as that is known here."""
    is_there = False if session.armed_at is None else is_running(session.waker) if session.waker is not None else None
    return is_recent(session.checked_at or 0, now, REPORT_LIFETIME) if is_there is None else is_there
