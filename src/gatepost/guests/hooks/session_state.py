"""
The sessions of guests on disk: the state that the hooks of a session keep from one to the next.

    HOME/sessions/SESSION/
        state.json      the agent, its activity, and the results of its stops
        marks/GATE      the agent, or its person, has marked this gate as open
        warned/GATE     the person was warned about this gate
        wake.json       the token of the wake that is under way, and since when its item could have been shown
        waiter.lock     held by the process that waits to wake the session (`guests/waiter.py`)
        lock            held while a hook changes state.json

Every file is written under another name and then renamed, so that a process that is killed leaves the old file or the
new one. A file that cannot be read counts as missing, and a note says so: a hook that knows nothing lets the agent go
on. A session folder that is a symbolic link may belong to anybody, and is not followed.

The same files tell which agents have live sessions on this machine (`list_guests`).
"""

import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from errno import ELOOP
from itertools import islice
from stat import S_ISDIR
from typing import Any, Final, NamedTuple

from gatepost import paths
from gatepost.core import light_json
from gatepost.core.times import DAY, Instant
from gatepost.errors import Unavailable
from gatepost.guests.hooks import host_process
from gatepost.guests.session import ENDED, IDLE, WORKING, Guest, decode_filename, encode_filename
from gatepost.paths import StrPath

SESSIONS_FOLDER: Final = "sessions"
WAKE_FILE: Final = "wake.json"
#: seconds that a hook waits while another hook of its session writes the state
_LOCK_TIMEOUT: Final = 1.0
#: how long a silent session counts as live: its host may have been killed. One that comes back counts again.
_MAX_SILENCE: Final = 7 * DAY


class FailClosedGate(NamedTuple):
    """A gate that blocks even if it cannot be checked: the user wants that, and it was shut at the last check."""

    name: str
    instruction: str = ""
    #: the event that it blocks
    hook: str = "Stop"
    #: True for a gate in the store, False for a session gate
    durable: bool = True


class AnsweredHook(NamedTuple):
    """A hook whose event was answered, or is being answered (`guests/hooks/repeated_event.py`)."""

    #: the same for all hooks of one event
    key: str
    #: the id of its process
    process: int
    #: when it had its answer, on the clock of `host_process`; 0 before
    ended_at: float = 0.0


class SessionState(NamedTuple):
    """The content of state.json; the field names are those of the JSON."""

    agent: str | None = None
    #: the name by which `agent` was found, possibly an alias
    named: str | None = None
    host: str = ""
    #: working, idle or ended
    state: str = WORKING
    started_at: Instant = 0
    #: a name that no agent has; the person was warned about it
    unknown_agent: str | None = None
    #: whether the store knows this session
    registered: bool = False
    #: a decision counts if the agent asked for it after this time: when it was last told to continue
    turn: Instant = 0
    #: the id of the decision that the agent was told to ask again
    again: str | None = None
    #: when recent stops were blocked
    stops: tuple[Instant, ...] = ()
    #: when recent stops of subagents were blocked, each with the id of the subagent
    helper_stops: tuple[tuple[str, Instant], ...] = ()
    #: the beginning of the text that the last stop was answered with, normalized; None after the next prompt
    stop_text: str | None = None
    #: how many stops in a row became a continuation
    continuations: int = 0
    #: prompts of a person so far; a start of the session counts as two, so that every batch printed before is outdated
    prompts: int = 0
    #: the gates that block even if they cannot be checked
    closed: tuple[FailClosedGate, ...] = ()
    #: the process of the program at its last start (`guests/hooks/host_process.py`)
    program: str | None = None
    #: the last hooks that were answered
    answered: tuple[AnsweredHook, ...] = ()


class Session:
    def __init__(self, home: StrPath, id: str) -> None:
        self.id = id
        self.folder = os.path.join(home, SESSIONS_FOLDER, encode_filename(id))
        #: why the state could not be read
        self.read_problem: str | None = None

    @staticmethod
    def sweep(home: StrPath, before: Instant, limit: int, clear_spool: Callable[[str], bool] = lambda _: True) -> None:
        """
        Remove the folders of up to `limit` sessions that have recorded nothing since `before`. `clear_spool` gets the
        id of a session; if it returns False, the folder counts as new and stays.
        """
        with suppress(FileNotFoundError):
            sessions_folder = os.path.join(home, SESSIONS_FOLDER)
            folders = (os.path.join(sessions_folder, name) for name in os.listdir(sessions_folder))
            for folder in list(islice((path for path in folders if _is_old(path, before)), limit)):
                from shutil import rmtree

                id = decode_filename(os.path.basename(folder))
                if id is None or clear_spool(id):
                    rmtree(folder, ignore_errors=True)
                else:
                    os.utime(folder)

    def read(self) -> SessionState:
        """Return the state; a new one if there is none, or if it cannot be read (then `read_problem` says why)."""
        try:
            self._refuse_link()
            return _parse_state(light_json.parse(paths.read_file(f"{self.folder}/state.json").decode()))
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            self.read_problem = f"what this session remembers cannot be read: {error.strerror}"
        except (ValueError, TypeError, RecursionError):
            self.read_problem = "what this session remembers is damaged, and forgotten: its gates may be too"
        return SessionState()

    def update(self, change: Callable[[SessionState], SessionState]) -> SessionState:
        """Change the state under the lock, and return it; nothing is written if nothing changed."""
        with self._hold_lock():
            old_state = self.read()
            new_state = change(old_state)
            if new_state != old_state:
                self._write(
                    "state.json",
                    light_json.encode(new_state._asdict() | {"closed": [gate._asdict() for gate in new_state.closed]}),
                )
        return new_state

    def take_wake(self, prompt: str) -> Instant | None:
        """
        Return since when the item could have been shown for which a prompt wakes the session; None if it is no wake.
        What woke it has left a token here, which is good for one prompt.
        """
        path = f"{self.folder}/{WAKE_FILE}"
        with suppress(OSError, ValueError, TypeError, LookupError, RecursionError):
            self._refuse_link()
            wake = light_json.parse(paths.read_file(path).decode())
            if (token := str(wake["token"])) and token in prompt:
                os.unlink(path)
                return int(wake["since"])
        return None

    def leave_token(self, since: Instant) -> str:
        """Leave a token for the prompt that is to wake the session, which must contain it; return the token."""
        token = os.urandom(8).hex()
        self._write(WAKE_FILE, light_json.encode({"token": token, "since": since}))
        return token

    def is_marked(self, gate: str) -> bool:
        self._refuse_link()
        return _exists(f"{self.folder}/marks/{gate}")

    def mark(self, gate: str) -> None:
        self._write(f"marks/{gate}")

    def clear_mark(self, gate: str) -> bool:
        """Remove a mark, and the record of a warning; return True if there was a mark."""
        is_marked = self.is_marked(gate)
        for folder in ("marks", "warned"):
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(f"{self.folder}/{folder}/{gate}")
        return is_marked

    def has_warned(self, gate: str) -> bool:
        self._refuse_link()
        return _exists(f"{self.folder}/warned/{gate}")

    def record_warning(self, gate: str) -> None:
        self._write(f"warned/{gate}")

    def _write(self, name: str, text: str = "") -> None:
        path = f"{self.folder}/{name}"
        self._make_folder(os.path.dirname(path))
        paths.write_atomically(path, text)

    def _make_folder(self, folder: str) -> None:
        """Create a folder of the session, for this user alone; the home itself is not created."""
        self._refuse_link()
        if not os.path.isdir(folder):
            for path in (os.path.dirname(self.folder), self.folder, folder):
                paths.make_private_folder(path)

    def _refuse_link(self) -> None:
        """Raise OSError if the folder of the session is a symbolic link."""
        if os.path.islink(self.folder):
            raise OSError(ELOOP, f"{self.folder!r} is a link, which is not followed")

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """
        Keep other hooks of this session from writing the state meanwhile. After `_LOCK_TIMEOUT` the hook continues
        without the lock, and the last writer wins.
        """
        self._make_folder(self.folder)
        lock = os.open(f"{self.folder}/lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + _LOCK_TIMEOUT
            while not _try_lock(lock) and time.monotonic() < deadline:
                time.sleep(0.005)
            yield
        finally:
            os.close(lock)


def _try_lock(lock: int) -> bool:
    import fcntl  # not on every system; commands that write nothing do not need it

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_old(folder: str, before: Instant) -> bool:
    try:
        info = os.lstat(folder)
    except OSError:  # another process has removed it
        return False
    return S_ISDIR(info.st_mode) and info.st_mtime_ns // 1_000 < before


def _exists(path: str) -> bool:
    """Return True if the path exists; unlike `os.path.exists`, raise OSError if that cannot be told."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _parse_state(document: Any) -> SessionState:
    fields = {name: document[name] for name in SessionState._fields if name in document}
    fields["stops"] = tuple(int(at) for at in fields.get("stops", ()))
    fields["helper_stops"] = tuple((str(subagent), int(at)) for subagent, at in fields.get("helper_stops", ()))
    fields["closed"] = tuple(FailClosedGate(**gate) for gate in fields.get("closed", ()))
    fields["answered"] = tuple(AnsweredHook(*hook) for hook in fields.get("answered", ()))
    return SessionState(**fields)


def list_guests(home: StrPath, names: Collection[str] | None = None, *, now: Instant) -> list[Guest]:
    """
    Return the live sessions of the agent whose names these are: its hooks may know it by any of them. Without names,
    return those of all agents. Raise Unavailable if the folder of sessions cannot be read.
    """
    try:
        folders = sorted(os.listdir(os.path.join(home, SESSIONS_FOLDER)))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Unavailable(f"the guest sessions in {os.fspath(home)!r} cannot be read: {error.strerror}") from None
    ids = [id for id in map(decode_filename, folders) if id is not None]
    live_guests = [guest for id in ids if (guest := find_guest(home, id, since=now - _MAX_SILENCE)) is not None]
    return [guest for guest in live_guests if names is None or guest.agent in names]


def list_abandoned(home: StrPath, *, agent: str, host: str) -> list[str]:
    """Return the sessions of an agent whose program has ended, perhaps without a word."""
    with suppress(OSError):
        ids = map(decode_filename, os.listdir(os.path.join(home, SESSIONS_FOLDER)))
        states = [(id, Session(home, id).read()) for id in ids if id is not None]
        return [
            id
            for id, state in states
            if (state.agent, state.host) == (agent, host) and state.program and host_process.is_gone(state.program)
        ]
    return []


def list_of_program(home: StrPath, program: str) -> list[tuple[str, Instant]]:
    """Return the sessions of a program (from `host_process.find_program`) that have not ended, and when they began."""
    with suppress(OSError):
        ids = map(decode_filename, os.listdir(os.path.join(home, SESSIONS_FOLDER)))
        states = [(id, Session(home, id).read()) for id in ids if id is not None]
        return [(id, state.started_at) for id, state in states if state.program == program and state.state != ENDED]
    return []


def find_guest(home: StrPath, id: str, *, since: Instant = 0) -> Guest | None:
    """Return the session if its hooks have recorded something after `since`, and not that it has ended; else None."""
    session = Session(home, id)
    try:
        recorded_at = os.stat(f"{session.folder}/state.json").st_mtime_ns // 1_000
    except OSError:
        return None
    if recorded_at <= since:
        return None
    state = session.read()
    if state.agent is None or state.state == ENDED:
        return None
    return Guest(session=id, agent=state.agent, is_idle=state.state == IDLE, revision=recorded_at)


def has_ended(home: StrPath, id: str) -> bool:
    """Return True if the hooks of a session have recorded its end."""
    return Session(home, id).read().state == ENDED
