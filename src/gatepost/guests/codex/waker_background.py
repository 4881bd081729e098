"""
The waker of Codex: a gateway wakes the sessions of this user's terminals, by starting a turn.

Where the thread of a session runs decides how. Terminals share one daemon of their user, which says on its socket
which threads are loaded; the turn is started there. A terminal without a daemon (`--no-daemon`, or with options of its
own) runs its thread itself, and takes what `codex queue` writes for it.

A thread stays loaded for a while after its terminal was closed or has begun another one, and a turn would run with
nobody there. So a session counts as armed only while there is a terminal of Codex for it: the process that runs the
thread, or one that was started in the folder of the thread, with the same folder of Codex, and shows no other thread
(`match_terminals`). With `wake.unattended` the daemon alone is enough.

What wakes a session is a prompt that says nothing but that there are items; the hook of that prompt recognises it by
its token, and shows them. One wake of a session is outstanding at a time: a prompt that waits in a queue is not sent
again. Processes are looked up in /proc. A session of another user, machine or container is left to its courier, and so
is every session where there is no /proc.
"""

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from gatepost.core.ports import Reader, Store
from gatepost.core.signals import EVERY_INBOX, Signal
from gatepost.core.times import Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.guests import session_actions as sessions, wake_actions as wakes
from gatepost.guests.codex import daemon_background as codex_daemon
from gatepost.guests.hooks import host_process
from gatepost.guests.hooks.session_state import Session
from gatepost.guests.host_settings import agent_programs
from gatepost.guests.reachability import THREAD
from gatepost.guests.session import IDLE, WORKING, GuestSession

log = structlog.get_logger("gatepost.codex")

#: seconds between two looks without a signal
INTERVAL: Final = 5.0
_HOST: Final = "codex"
_MAX_SESSIONS: Final = 1_000
#: the ids of threads; nothing else becomes an argument
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
#: seconds that `codex queue` may take
_QUEUE_TIMEOUT: Final = 30.0
_TEXT: Final = "Gatepost: items are pending in the inbox of this agent, and are shown with this message (wake {})"


class Terminal(NamedTuple):
    """A process of Codex that has a terminal."""

    #: as `host_process.name_process` names it
    name: str
    pid: int
    cwd: str
    #: the folder of Codex
    codex_home: Path
    environ: Mapping[str, str]


class _Thread(NamedTuple):
    """The thread of a session, which can be woken now."""

    #: the process without which nobody would be there
    waker: str
    #: None if it runs in the terminal itself
    codex_home: Path | None
    terminal: Terminal | None
    #: whether no turn runs in it; None if that is not known
    is_idle: bool | None


class CodexWaker:
    def __init__(self, home: Path, store: Store, *, is_unattended: bool = False) -> None:
        self._home = home
        self._store = store
        self._is_unattended = is_unattended

    def is_wake_signal(self, signal: Signal) -> bool:
        return signal.topic.kind == "inbox" or signal.topic == EVERY_INBOX

    async def run_round(self) -> float | None:
        """Record which sessions can be woken, and wake those that are to be woken now."""
        guests = [
            session
            for session in await self._store.read(_list_sessions)
            if session.program is not None and host_process.is_running(session.program)
        ]
        if not guests:
            return None
        terminals = await asyncio.to_thread(_list_terminals)
        threads = await self._find_threads(guests, terminals)
        for session in guests:
            try:
                await self._attend(session, threads.get(session.session))
            except GatepostError as error:
                log.warning("a session cannot be woken now", session=session.session, reason=error.message)
        return None

    async def _find_threads(self, guests: Sequence[GuestSession], terminals: Sequence[Terminal]) -> dict[str, _Thread]:
        """Return the threads of sessions that can be woken, by the id of the session."""
        threads: dict[str, _Thread] = {}
        by_name = {terminal.name: terminal for terminal in terminals}
        own = [session for session in guests if session.program in by_name]
        for session in own:  # the newest first: a terminal shows one thread at a time
            if (terminal := by_name.pop(session.program or "", None)) is not None:
                threads[session.session] = _Thread(terminal.name, None, terminal, None)
        others = {session.session: session for session in guests if session not in own}
        for codex_home in {home for session in others.values() for home in _list_codex_homes(session, terminals)}:
            with suppress(Unavailable):  # it has no daemon
                async with codex_daemon.connect(codex_home) as daemon:
                    ids = [id for id in await daemon.list_threads() if _UUID.fullmatch(id)]
                    loaded = [thread for id in ids if (thread := await daemon.read_thread(id)) is not None]
                in_home = [terminal for terminal in by_name.values() if terminal.codex_home == codex_home]
                last_terminals = {
                    id: guest.waker for id, guest in others.items() if guest.waker not in (None, guest.program)
                }
                shown = match_terminals(loaded, in_home, last_terminals)
                for thread in loaded:
                    terminal, guest = shown.get(thread.id), others.get(thread.id)
                    if guest is None or guest.program is None or not (terminal or self._is_unattended):
                        continue
                    waker = terminal.name if terminal is not None else guest.program
                    threads[thread.id] = _Thread(waker, codex_home, terminal, thread.is_idle)
        return threads

    async def _attend(self, session: GuestSession, thread: _Thread | None) -> None:
        """Record whether a session can be woken, and wake it if it is to be woken now."""
        id = session.session
        if thread is None:
            if session.armed_at is not None and session.wake_method == THREAD:
                await self._store.run(sessions.disarm, id)
            return
        if session.waker != thread.waker or session.armed_at is None:
            await self._store.run(sessions.arm, id, method=THREAD, waker=thread.waker)
        if thread.is_idle is False or _is_outstanding(session, thread):
            return
        if thread.is_idle and session.state == WORKING:  # the turn was interrupted, which no hook tells
            await self._store.run(sessions.note_activity, id, IDLE)
        if await self._store.read(wakes.find_wake, id, is_running=host_process.is_running) is None:
            return
        since = await self._store.run(wakes.take_wake, id, is_running=host_process.is_running, method=THREAD)
        if since is not None:
            await self._wake(id, thread, since)

    async def _wake(self, id: str, thread: _Thread, since: Instant) -> None:
        token = await asyncio.to_thread(Session(self._home, id).leave_token, since)
        try:
            if thread.codex_home is not None:
                async with codex_daemon.connect(thread.codex_home) as daemon:
                    await daemon.start_turn(id, _TEXT.format(token))
            elif thread.terminal is not None:
                await _queue(thread.terminal, id, _TEXT.format(token))
        except GatepostError:
            await self._store.run(sessions.forget_wake, id)
            raise
        log.info("woken", session=id)


def _list_sessions(tx: Reader) -> list[GuestSession]:
    return [session for session in sessions.list_recent(tx, limit=_MAX_SESSIONS) if session.host == _HOST]


def _is_outstanding(session: GuestSession, thread: _Thread) -> bool:
    """Return True if the prompt of an earlier wake may still wait in the queue of a terminal."""
    return thread.codex_home is None and session.woken_at is not None and session.seen_at <= session.woken_at


def _list_terminals() -> list[Terminal]:
    terminals = []
    for pid in agent_programs.find_terminals(_HOST):
        name, folder = host_process.name_process(pid), Path(f"/proc/{pid}")
        with suppress(OSError):
            environ = _read_environ(pid)
            home = environ.get("CODEX_HOME") or os.path.join(environ.get("HOME", ""), ".codex")  # noqa: PTH118 (of its own)
            if name is not None:
                terminals.append(Terminal(name, pid, str((folder / "cwd").readlink()), Path(home), environ))
    return terminals


def _read_environ(pid: int) -> dict[str, str]:
    pairs = (Path(f"/proc/{pid}/environ").read_bytes().decode(errors="surrogateescape")).split("\0")
    return dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def _list_codex_homes(session: GuestSession, terminals: Sequence[Terminal]) -> set[Path]:
    """Return the folders of Codex in which the thread of a session may be: those of terminals, and of its daemon."""
    homes = {terminal.codex_home for terminal in terminals}
    pid = (session.program or "").split(" ")[1:2]
    with suppress(OSError, ValueError):
        environ = _read_environ(int(pid[0])) if pid else {}
        homes |= {Path(environ["CODEX_HOME"])} if "CODEX_HOME" in environ else set()
        homes |= {Path(environ["HOME"]) / ".codex"} if "CODEX_HOME" not in environ and "HOME" in environ else set()
    return homes


def match_terminals(
    threads: Sequence[codex_daemon.LoadedThread], terminals: Sequence[Terminal], last_terminals: Mapping[str, str]
) -> dict[str, Terminal]:
    """
    Return the terminal of each thread that a terminal shows, by the id of the thread. `last_terminals` are the names of
    those in which threads were seen last.

    Nobody says which thread a terminal shows, so the threads that were used last choose first. A thread stays in its
    terminal. A thread that was seen in none has just begun, as after `/clear`, and takes a terminal from the thread
    before. A thread whose terminal is gone takes only one that no other thread was seen in: it may have been resumed.
    """
    matched: dict[str, Terminal] = {}
    free = {terminal.name: terminal for terminal in terminals}
    for thread in sorted(threads, key=lambda thread: (thread.used_at, thread.id), reverse=True):
        last = last_terminals.get(thread.id)
        seen = {name for id, name in last_terminals.items() if id != thread.id}
        in_folder = sorted(
            (terminal for terminal in free.values() if terminal.cwd == thread.cwd),
            key=lambda terminal: (terminal.name != last, terminal.name in seen),
        )
        chosen = next(iter(in_folder), None)
        if chosen is None or (last is not None and chosen.name != last and chosen.name in seen):
            continue
        matched[thread.id] = free.pop(chosen.name)
    return matched


async def _queue(terminal: Terminal, id: str, text: str) -> None:
    """Queue a prompt for the thread of a terminal, by its own program; raise Unavailable if that fails."""
    if not _UUID.fullmatch(id):
        raise Unavailable(f"{id!r} is not the id of a thread of Codex")
    process = await asyncio.create_subprocess_exec(
        f"/proc/{terminal.pid}/exe",
        "queue",
        f"--thread={id}",
        f"--message={text}",
        cwd=terminal.cwd,
        env=terminal.environ,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_QUEUE_TIMEOUT):
            _, stderr = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        raise Unavailable(f"`codex queue` took longer than {_QUEUE_TIMEOUT:g} s") from None
    if process.returncode != 0:
        lines = stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(f"`codex queue` ended with {process.returncode}: {lines[-1][:200] if lines else ''}")
