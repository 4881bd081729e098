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

from gatepost import home as houses
from gatepost.core.guest import WORKING
from gatepost.core.instants import Instant
from gatepost.core.session import filename, of_filename

FOLDER: Final = "sessions"
#: seconds that a hook waits for another one of its session to write its state
_PATIENCE: Final = 1.0


class Held(NamedTuple):
    """A gate that is to hold also when nobody can look: the user has said so, and it was shut when last seen."""

    name: str
    instruction: str = ""
    #: the event on which it holds
    hook: str = "Stop"
    #: whether it is in the store, and not one of the session's own
    durable: bool = True


class State(NamedTuple):
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
    closed: tuple[Held, ...] = ()


class Session:
    def __init__(self, home: Path, id: str) -> None:
        self.id = id
        self.folder = home / FOLDER / filename(id)
        #: why what is remembered could not be read
        self.trouble: str | None = None

    @staticmethod
    def sweep(home: Path, before: Instant, most: int, cleared: Callable[[str], bool] = lambda _: True) -> None:
        """
        Remove the folders of some sessions that have noted nothing since then. One whose spool is not `cleared`, by its
        id, stays as long again.
        """
        with suppress(FileNotFoundError):
            old = (each for each in (home / FOLDER).iterdir() if _is_old(each, before))
            for folder in list(islice(old, most)):
                from shutil import rmtree

                id = of_filename(folder.name)
                if id is None or cleared(id):
                    rmtree(folder, ignore_errors=True)
                else:
                    os.utime(folder)

    def read(self) -> State:
        """What is remembered; a fresh state where nothing is, or where it cannot be read, and then `trouble` is why."""
        try:
            self._own()
            return _state(json.loads((self.folder / "state.json").read_bytes()))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            self.trouble = f"what this session remembers cannot be read: {error.strerror}"
        except (ValueError, TypeError, RecursionError):
            self.trouble = "what this session remembers is damaged, and forgotten: its gates may be too"
        return State()

    def update(self, change: Callable[[State], State]) -> State:
        """Change what is remembered, while no other hook does; nothing is written where nothing changed."""
        with self._alone():
            old = self.read()
            new = change(old)
            if new != old:
                self._write(
                    "state.json", json.dumps(new._asdict() | {"closed": [held._asdict() for held in new.closed]})
                )
        return new

    def marked(self, gate: str) -> bool:
        self._own()
        return _exists(self.folder / "marks" / gate)

    def mark(self, gate: str) -> None:
        self._write(f"marks/{gate}")

    def clear(self, gate: str) -> bool:
        """Take a mark away, and forget that anybody was warned; say whether there was one."""
        there = self.marked(gate)
        for folder in ("marks", "warned"):
            with suppress(FileNotFoundError, NotADirectoryError):
                (self.folder / folder / gate).unlink()
        return there

    def warned(self, gate: str) -> bool:
        self._own()
        return _exists(self.folder / "warned" / gate)

    def warn(self, gate: str) -> None:
        self._write(f"warned/{gate}")

    def _write(self, name: str, text: str = "") -> None:
        path = self.folder / name
        self._make(path.parent)
        houses.write(str(path), text)

    def _make(self, folder: Path) -> None:
        """Make one of the session's folders, for this user alone; the home itself is not made."""
        self._own()
        if not folder.is_dir():
            for each in (self.folder.parent, self.folder, folder):
                each.mkdir(mode=0o700, exist_ok=True)

    def _own(self) -> None:
        """OSError if the session's folder is somewhere else."""
        if self.folder.is_symlink():
            raise OSError(ELOOP, f"{str(self.folder)!r} is a link, which is not followed")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """
        Keep other hooks of this session from writing its state meanwhile. Whoever keeps us waiting is not waited for
        long: then the last one to write is right.
        """
        self._make(self.folder)
        lock = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            end = time.monotonic() + _PATIENCE
            while not _locked(lock) and time.monotonic() < end:
                time.sleep(0.005)
            yield
        finally:
            os.close(lock)


def _locked(lock: int) -> bool:
    import fcntl  # not everywhere; commands that write nothing do without

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_old(folder: Path, before: Instant) -> bool:
    try:
        found = folder.lstat()
    except OSError:  # another one has removed it
        return False
    return S_ISDIR(found.st_mode) and found.st_mtime_ns // 1_000 < before


def _exists(path: Path) -> bool:
    """Whether it is there; unlike `Path.exists` it does not take what cannot be looked at for missing."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _state(document: Any) -> State:
    known = {name: document[name] for name in State._fields if name in document}
    known["stops"] = tuple(int(at) for at in known.get("stops", ()))
    known["helper_stops"] = tuple((str(helper), int(at)) for helper, at in known.get("helper_stops", ()))
    known["closed"] = tuple(Held(**held) for held in known.get("closed", ()))
    return State(**known)
