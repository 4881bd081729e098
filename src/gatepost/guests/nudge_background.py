"""
Nudges: tell an idle agent that events wait for it, and no other agent.

A line in the spool is enough for an agent at work, because its next hook drains it. But an agent that is about to stop
may have drained just before the line was written and be idle just after; so a nudge stays pending until the agent is
idle. Then it names only the events that still wait at that moment, and if none waits, no nudge is sent. After a nudge
the next one is sent only when the agent's hooks have recorded something, or some time has passed.

A nudge is a command (`CommandNudge`), a request to a URL (`residents/remote_tools/http_tools.py`) or a file
(`FileNudge`). The file is for hosts with hooks that wait in the background and wake the agent when they end with 2
(`asyncRewake`). Such a hook waits (`wait_for_nudge`) for the file `nudge` in the folder of its session:

    hook  --waits-->  sessions/<session>/nudge  <--writes--  courier, when the agent is idle

One hook waits for each session; another that starts meanwhile ends at once. The waiting hook takes the file by renaming
it. A file that is found when the spool is empty is old, and is removed without waking the agent.

A host that is killed tells no one, and the shell through which it runs hooks stays alive. So the waiting hook watches
the process of the host itself, if its id is known (`watch_process`).
"""

import fcntl
import os
import secrets
import select
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import structlog

from gatepost import paths
from gatepost.core.backoff import Backoff
from gatepost.errors import GatepostError, Unavailable
from gatepost.gates.condition_check import CommandRunner
from gatepost.guests.ports import Nudge
from gatepost.guests.session import Guest, encode_filename
from gatepost.inbox import event_rendering as render
from gatepost.inbox.event import Event
from gatepost.telemetry import hide_secrets

log = structlog.get_logger("gatepost.courier")

#: characters of an event in the text of a nudge
_MAX_TEXT: Final = 200
#: seconds between two nudges of an agent that does not react
_NUDGE_INTERVAL: Final = 60.0
#: seconds between two tries of a nudge that fails
_BACKOFF: Final = Backoff(2.0, cap=_NUDGE_INTERVAL)
#: events of each session that are remembered, because they cause no second nudge
_MAX_REMEMBERED: Final = 10_000
#: seconds between two checks for the nudge file
_POLL_INTERVAL: Final = 0.5
_NUDGE_FILE: Final = "nudge"
_MAX_PID: Final = 2**31 - 1

#: returns the keys (ids of events without a key) that a session has still to read
ReadWaitingKeys = Callable[[str], Awaitable[Collection[str]]]
#: returns True if an event of this priority may wake the agent now
MayWake = Callable[[int], Awaitable[bool]]
#: seconds until the next look, if the attention of the agent keeps it from being nudged
_ATTENTION_INTERVAL: Final = 5.0


@dataclass(slots=True)
class _PendingNudge:
    #: the events that the session has to read, by id
    events: dict[str, Event] = field(default_factory=dict)
    attempts: int = 0
    not_before: float = 0.0

    def remove(self, events: Iterable[Event]) -> None:
        """Remove these events only: another thread may have added others meanwhile."""
        for event in events:
            self.events.pop(event.id, None)


async def wake_always(priority: int) -> bool:  # noqa: ARG001 (of no agent is anything else known)
    return True


class Nudger:
    """Keeps the pending nudges of an agent's sessions, and sends each when its session is idle."""

    def __init__(
        self,
        nudge: Nudge,
        read_waiting_keys: ReadWaitingKeys,
        may_wake: MayWake = wake_always,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nudge = nudge
        self._read_waiting_keys = read_waiting_keys
        self._may_wake = may_wake
        self._clock = clock
        self._pending_nudges: dict[str, _PendingNudge] = {}
        self._last_nudges: dict[str, tuple[int, float]] = {}
        #: the ids of events that have caused a nudge, by session, the newest last
        self._remembered_ids: dict[str, dict[str, None]] = {}

    def schedule(self, session: str, events: Sequence[Event]) -> None:
        """Make a nudge pending for a session, unless its events do not wake an agent or have caused a nudge before."""
        remembered_ids = self._remembered_ids.setdefault(session, {})
        new_events = [event for event in events if event.wakes and event.id not in remembered_ids]
        self._remembered_ids[session] = dict(
            list((remembered_ids | {event.id: None for event in new_events}).items())[-_MAX_REMEMBERED:]
        )
        if new_events:
            self._pending_nudges.setdefault(session, _PendingNudge()).events |= {
                event.id: event for event in new_events
            }

    async def send_due(self, guests: Mapping[str, Guest]) -> None:
        """Nudge the idle sessions that have events to read; other nudges stay pending until their events are read."""
        for session, pending_nudge in list(self._pending_nudges.items()):
            guest = guests.get(session)
            if guest is None:
                self._pending_nudges.pop(session, None)
            elif (
                pending_nudge.events
                and guest.is_idle
                and self._is_due(guest, pending_nudge)
                and (pending_events := await self._choose_pending(session, pending_nudge))
            ):
                await self._send(guest, pending_nudge, pending_events)
        self._last_nudges = {
            session: last_nudge for session, last_nudge in self._last_nudges.items() if session in guests
        }
        self._remembered_ids = {
            session: remembered_ids for session, remembered_ids in self._remembered_ids.items() if session in guests
        }

    async def _choose_pending(self, session: str, pending_nudge: _PendingNudge) -> list[Event]:
        """Return the events that the session has still to read, and forget the others."""
        events = list(pending_nudge.events.values())
        waiting_keys = await self._read_waiting_keys(session)
        pending_events = [event for event in events if (event.dedup_key or event.id) in waiting_keys]
        pending_nudge.remove(event for event in events if event not in pending_events)
        return pending_events

    def _is_due(self, guest: Guest, pending_nudge: _PendingNudge) -> bool:
        now = self._clock()
        last_revision, nudged_at = self._last_nudges.get(guest.session, (-1, -_NUDGE_INTERVAL))
        return now >= pending_nudge.not_before and (
            last_revision != guest.revision or now >= nudged_at + _NUDGE_INTERVAL
        )

    async def _send(self, guest: Guest, pending_nudge: _PendingNudge, pending_events: Sequence[Event]) -> None:
        now, most_urgent = self._clock(), min(pending_events, key=lambda event: event.priority)
        if not await self._may_wake(most_urgent.priority):
            pending_nudge.not_before = now + _ATTENTION_INTERVAL
            return
        try:
            await self._nudge(guest, render_nudge(most_urgent, len(pending_events)))
        except GatepostError as error:
            pending_nudge.attempts += 1
            pending_nudge.not_before = now + _BACKOFF.delay(pending_nudge.attempts)
            log.warning("the nudge failed", session=guest.session, reason=error.message, times=pending_nudge.attempts)
        else:
            pending_nudge.remove(pending_events)
            pending_nudge.attempts, pending_nudge.not_before = 0, 0.0
            self._last_nudges[guest.session] = (guest.revision, now)
            log.info("nudged", session=guest.session, events=len(pending_events))


def render_nudge(event: Event, count: int) -> str:
    """Return the text of a nudge, on one line."""
    count_text = "1 event waits" if count == 1 else f"{count} events wait, the first"
    return f"Inbox: {count_text}: {render.render_event(event, _MAX_TEXT)}"


class CommandNudge:
    """
    Nudges by a command of the user, which the shell runs for each nudge. The text of the nudge is not part of the
    command line: it is `$1` and stdin, and `$2` is the session.
    """

    def __init__(self, commands: CommandRunner, command: str, *, timeout: float) -> None:
        self._commands = commands
        self._command = command
        self._timeout = timeout

    async def __call__(self, guest: Guest, text: str) -> None:
        argv = ["/bin/sh", "-c", self._command, "gatepost", text, guest.session]
        try:
            result = await self._commands.run(argv, stdin=f"{text}\n", time_limit=self._timeout)
        except ValueError as error:  # the id of a session may contain a NUL, which no argument can
            raise Unavailable(f"the command cannot be run: {error}") from None
        if result.code is None:
            raise Unavailable(f"the command took longer than {self._timeout:g} s and was killed")
        if result.code != 0:
            detail = f": {hide_secrets(result.first_line)[:200]}" if result.first_line else ""
            raise Unavailable(f"the command ended with {result.code}{detail}")


class FileNudge:
    """Nudges by a file in the folder of the session, for which a hook waits."""

    def __init__(self, sessions: Path) -> None:
        """`sessions` is the folder with a folder for each session."""
        self._sessions = sessions

    async def __call__(self, guest: Guest, text: str) -> None:
        path = self._sessions / encode_filename(guest.session) / _NUDGE_FILE
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            paths.write_atomically(str(path), text)
        except OSError as error:
            raise Unavailable(f"{str(path)!r} cannot be written: {error.strerror}") from None


def wait_for_nudge(
    sessions: Path,
    session: str,
    *,
    has_waiting: Callable[[], bool],
    is_over: Callable[[], bool],
    sleep: Callable[[], None] = lambda: time.sleep(_POLL_INTERVAL),
) -> str | None:
    """
    Wait until a session is nudged, and return the text of the nudge; None if another process waits already, or when
    `is_over` returns True. `has_waiting` says whether there is anything left to read.
    """
    folder = sessions / encode_filename(session)
    with _lock_session(folder) as is_only_waiter:
        while is_only_waiter and not is_over():
            text = _take_nudge(folder / _NUDGE_FILE)
            if text is not None and has_waiting():
                return text
            if text is None:
                sleep()
    return None


@contextmanager
def watch_process(pid: str) -> Iterator[Callable[[], bool]]:
    """
    Yield a function that returns True when a process has ended; for a text that is no process id it never does. The
    system may give the id of an ended process to another, so a descriptor of the process is held, if the system has
    such descriptors.
    """
    if not (pid.isascii() and pid.isdigit() and 0 < int(pid) <= _MAX_PID):
        yield lambda: False
        return
    try:
        process = os.pidfd_open(int(pid))
    except ProcessLookupError:
        yield lambda: True
    except (AttributeError, OSError):  # this system has no descriptors, or they are not allowed here
        yield lambda: not paths.is_running(int(pid))
    else:
        try:
            yield lambda: bool(select.select([process], [], [], 0)[0])
        finally:
            os.close(process)


@contextmanager
def _lock_session(folder: Path) -> Iterator[bool]:
    """While entered, hold the lock of waiting hooks; yield False if another process holds it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(folder / "rewake.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Unavailable(f"the folder {str(folder)!r} cannot be used: {error.strerror}") from None
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(file)


def _take_nudge(path: Path) -> str | None:
    """Remove the nudge file and return its text; None if there is none, or another process was first."""
    own_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.rename(own_path)
    except FileNotFoundError:
        return None
    text = own_path.read_text(encoding="utf-8", errors="replace")
    with suppress(OSError):
        own_path.unlink()
    return text
