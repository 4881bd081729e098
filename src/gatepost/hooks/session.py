"""
A guest's session on disk: what its hooks remember from one to the next.

    HOME/sessions/SESSION/
        state.json      who the guest is, what it is doing, and what its stops came to
        marks/GATE      the guest, or its person, said that this gate is open
        warned/GATE     the person was warned of this gate

Every file is written aside and then renamed, so that whoever is killed leaves the old one or the new one. What cannot
be read counts as not there, and is told of: a hook that knows nothing lets its guest go. A folder that is a link is
nobody's we know, and not followed.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import ELOOP
from itertools import islice
from pathlib import Path
from stat import S_ISDIR
from typing import Any, Final, NamedTuple

from gatepost import paths
from gatepost.core.guest import WORKING
from gatepost.core.session import decode_filename, encode_filename
from gatepost.core.times import Instant

SESSIONS_FOLDER: Final = "sessions"
#: seconds that a hook waits for another one of its session to write its state
_LOCK_TIMEOUT: Final = 1.0


class FailClosedGate(NamedTuple):
    """A gate that is to hold also when nobody can look: the user has said so, and it was shut when last seen."""

    name: str
    instruction: str = ""
    #: the event on which it holds
    hook: str = "Stop"
    #: whether it is in the store, and not one of the session's own
    durable: bool = True


class SessionState(NamedTuple):
    agent: str | None = None
    #: how the agent was called when its name was found out: by an alias, it may be
    named: str | None = None
    host: str = ""
    state: str = WORKING
    started_at: Instant = 0
    #: the name that no agent has, of which the person was warned
    unknown_agent: str | None = None
    #: whether the store knows this session
    registered: bool = False
    #: since when a decision counts that the agent asked for: since it was last told to go on
    turn: Instant = 0
    #: the decision that the agent was told to ask again
    again: str | None = None
    #: when stops were blocked, of late
    stops: tuple[Instant, ...] = ()
    #: when stops of helpers were blocked, of late, with the helper's id
    helper_stops: tuple[tuple[str, Instant], ...] = ()
    #: how the text begins that the last stop was answered with, normalized; None once a prompt came
    stop_text: str | None = None
    #: how often in a row a stop became a continuation
    continuations: int = 0
    #: prompts of a person so far; a start of the session counts as two, so that whatever was printed before is outdated
    prompts: int = 0
    closed: tuple[FailClosedGate, ...] = ()


class Session:
    def __init__(self, home: Path, id: str) -> None:
        self.id = id
        self.folder = home / SESSIONS_FOLDER / encode_filename(id)
        #: why what is remembered could not be read
        self.read_problem: str | None = None

    @staticmethod
    def sweep(home: Path, before: Instant, limit: int, clear_spool: Callable[[str], bool] = lambda _: True) -> None:
        """
        Remove the folders of some sessions that have noted nothing since then. One whose spool is not `cleared`, by its
        id, stays as long again.
        """
        with suppress(FileNotFoundError):
            old_folders = (path for path in (home / SESSIONS_FOLDER).iterdir() if _is_old(path, before))
            for folder in list(islice(old_folders, limit)):
                from shutil import rmtree

                id = decode_filename(folder.name)
                if id is None or clear_spool(id):
                    rmtree(folder, ignore_errors=True)
                else:
                    os.utime(folder)

    def read(self) -> SessionState:
        """What is remembered; a fresh state where nothing is, or where it cannot be read, and then `trouble` is why."""
        try:
            self._refuse_link()
            return _parse_state(json.loads((self.folder / "state.json").read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            self.read_problem = f"what this session remembers cannot be read: {error.strerror}"
        except (ValueError, TypeError, RecursionError):
            self.read_problem = "what this session remembers is damaged, and forgotten: its gates may be too"
        return SessionState()

    def update(self, change: Callable[[SessionState], SessionState]) -> SessionState:
        """Change what is remembered, while no other hook does; nothing is written where nothing changed."""
        with self._hold_lock():
            old_state = self.read()
            new_state = change(old_state)
            if new_state != old_state:
                self._write(
                    "state.json",
                    json.dumps(new_state._asdict() | {"closed": [gate._asdict() for gate in new_state.closed]}),
                )
        return new_state

    def is_marked(self, gate: str) -> bool:
        self._refuse_link()
        return _exists(self.folder / "marks" / gate)

    def mark(self, gate: str) -> None:
        self._write(f"marks/{gate}")

    def clear_mark(self, gate: str) -> bool:
        """Take a mark away, and forget that anybody was warned; say whether there was one."""
        is_marked = self.is_marked(gate)
        for folder in ("marks", "warned"):
            with suppress(FileNotFoundError, NotADirectoryError):
                (self.folder / folder / gate).unlink()
        return is_marked

    def has_warned(self, gate: str) -> bool:
        self._refuse_link()
        return _exists(self.folder / "warned" / gate)

    def record_warning(self, gate: str) -> None:
        self._write(f"warned/{gate}")

    def _write(self, name: str, text: str = "") -> None:
        path = self.folder / name
        self._make_folder(path.parent)
        paths.write_atomically(str(path), text)

    def _make_folder(self, folder: Path) -> None:
        """Make one of the session's folders, for this user alone; the home itself is not made."""
        self._refuse_link()
        if not folder.is_dir():
            for path in (self.folder.parent, self.folder, folder):
                path.mkdir(mode=0o700, exist_ok=True)

    def _refuse_link(self) -> None:
        """OSError if the session's folder is somewhere else."""
        if self.folder.is_symlink():
            raise OSError(ELOOP, f"{str(self.folder)!r} is a link, which is not followed")

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """
        Keep other hooks of this session from writing its state meanwhile. Whoever keeps us waiting is not waited for
        long: then the last one to write is right.
        """
        self._make_folder(self.folder)
        lock = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + _LOCK_TIMEOUT
            while not _try_lock(lock) and time.monotonic() < deadline:
                time.sleep(0.005)
            yield
        finally:
            os.close(lock)


def _try_lock(lock: int) -> bool:
    import fcntl  # not everywhere; commands that write nothing do without

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_old(folder: Path, before: Instant) -> bool:
    try:
        info = folder.lstat()
    except OSError:  # another one has removed it
        return False
    return S_ISDIR(info.st_mode) and info.st_mtime_ns // 1_000 < before


def _exists(path: Path) -> bool:
    """Whether it is there; unlike `Path.exists` it does not take what cannot be looked at for missing."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _parse_state(document: Any) -> SessionState:
    fields = {name: document[name] for name in SessionState._fields if name in document}
    fields["stops"] = tuple(int(at) for at in fields.get("stops", ()))
    fields["helper_stops"] = tuple((str(helper), int(at)) for helper, at in fields.get("helper_stops", ()))
    fields["closed"] = tuple(FailClosedGate(**gate) for gate in fields.get("closed", ()))
    return SessionState(**fields)
