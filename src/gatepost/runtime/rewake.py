"""
Waking an idle agent by a file.

Some hosts have hooks that wait in the background and wake the agent when they end with 2 (`asyncRewake`). Such a hook
waits here for the file `nudge` in the folder of its session, which the courier writes.

    hook  --waits-->  sessions/<session>/nudge  <--writes--  courier, when the agent is idle

There is one who waits for each session; another that comes meanwhile ends at once. Whoever waits takes the file by
renaming it. A file that is found when nothing is left in the spool is old, and is taken away without waking anybody.

A host that is killed tells nobody, and the shell through which it runs hooks lives on. So whoever waits watches the
process of the host itself, where that is named.
"""

import fcntl
import os
import secrets
import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from gatepost import paths
from gatepost.core.guest import Guest
from gatepost.core.session import encode_filename
from gatepost.errors import Unavailable

#: seconds between two looks
_POLL_INTERVAL: Final = 0.5
_NUDGE_FILE: Final = "nudge"
_MAX_PID: Final = 2**31 - 1


class FileNudge:
    def __init__(self, sessions: Path) -> None:
        """The folder in which every session has its own."""
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
    Wait until a session is nudged, and return what the nudge says; None if another waits already, or when it is `over`.
    `waits` says whether there is anything left to read.
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
    Yield a function that tells whether a process has ended; what is no id of a process never has. The number of one
    that has ended may be given to another, so a descriptor of it is held where the system has those.
    """
    if not (pid.isascii() and pid.isdigit() and 0 < int(pid) <= _MAX_PID):
        yield lambda: False
    elif not hasattr(os, "pidfd_open"):
        yield lambda: not paths.is_running(int(pid))
    else:
        try:
            process = os.pidfd_open(int(pid))
        except ProcessLookupError:
            yield lambda: True
            return
        except OSError:  # it is not allowed
            yield lambda: not paths.is_running(int(pid))
            return
        try:
            yield lambda: bool(select.select([process], [], [], 0)[0])
        finally:
            os.close(process)


@contextmanager
def _lock_session(folder: Path) -> Iterator[bool]:
    """Whether nobody else waits for this session, as long as this is entered."""
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
    own_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.rename(own_path)
    except FileNotFoundError:
        return None
    text = own_path.read_text(encoding="utf-8", errors="replace")
    with suppress(OSError):
        own_path.unlink()
    return text
