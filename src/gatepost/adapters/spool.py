"""
A spool of files: JSON lines, one file a session, with a few more beside it.

    <session>.jsonl            what waits; locked (flock) by whoever appends or takes out, never replaced
    <session>.jsonl.lock       held by the one who drains, from beginning to end
    <session>.jsonl.draining   what was taken out and not yet `done` with
    <session>.jsonl.unproved   batches that hooks have printed and no model has answered yet
    <session>.jsonl.aside      text that could not be read, and entries that were shown cut
    <session>.jsonl.shown      keys that were shown of late

Taking out copies first and truncates then, under the lock, so every line is at each moment in one of the files:

    lock .jsonl -> copy to .draining.new, fsync -> rename to .draining -> truncate .jsonl -> unlock -> ... -> remove

Killed before the rename, the lines are where they were; after it, the next drain reads `.draining` first. Only between
the rename and the truncation are they in both, and what is put back is until `.draining` is removed: then those that
have an id are recognised as the same, byte for byte; the few that have none are seen twice. The file of lines is
truncated and never replaced, because a writer that waits for its lock has it open: what it wrote to a removed file
nobody would read.

What a hook has printed goes from `.draining` to `.unproved` with the lines that only the spool has, and from there back
to the first file if no model has read it:

    print, flush -> append to .unproved, fsync -> remove .draining -> ... -> proof:   .shown -> rewrite .unproved
                                                                          `-> release: .jsonl -> rewrite .unproved

A line is in the next file before it leaves the one it was in, so a kill in between leaves it in two. A drain drops
what is in `.unproved`: by its key, and what a dead drain has left also byte for byte. What is put back is not added to
a file that has it; but what was put back, and drained before the note was changed, is put back again. So beside lines
that have neither key nor id, one without a key is seen twice if its release was killed. All of this is done under the
lock of the drain.

When a session has been over for long, its files go. A writer may have opened the file of lines just before: so that is
renamed to `.draining`, where its line is seen by the next drain, and that is removed only if it is still empty when as
much time has passed again. Lines that nobody has read, or could read, stay for ever.

All this needs is `flock`, `O_APPEND` and `rename`, so a writer can be any program. One that died in the middle of a
line, or a full disk, leaves a line without an end: ours end it before they append.
"""

# ruff: noqa: PTH103, PTH104, PTH108, PTH116, PTH120 (descriptors throughout: what is locked is a file, not a name)

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from json import dumps, loads
from typing import Final

from gatepost.core import entry as entries
from gatepost.core import unproved
from gatepost.core.entry import Entry
from gatepost.core.instants import Instant
from gatepost.core.session import filename
from gatepost.core.unproved import PrintedBatch
from gatepost.errors import Conflict, GatepostError, Unavailable
from gatepost.ports import SpoolDrain, UnprovedBatches

#: stands for the session in the path of a spool
SESSION: Final = "<session>"
#: seconds that a drain waits for another one, or for a writer
PATIENCE: Final = 2.0
_PAUSE: Final = 0.005
#: keys that the store knows too and that are kept, once the notes have that many bytes
_REMEMBERED: Final = 1_000
_NOTES: Final = 256 * 1024
#: what is beside a file of lines, in the order in which it is removed; who waits for the lock sees that it is gone
_BESIDE: Final = (
    *(".draining", ".draining.new", ".unproved", ".unproved.new", ".aside", ".shown", ".shown.new"),
    ".lock",
)
_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW


class FileSpool:
    def __init__(self, path: str, *, patience: float = PATIENCE) -> None:
        """`path` has `<session>` where the session's name goes."""
        self._path = path
        self._patience = patience

    def append(self, session: str, entries: Sequence[Entry]) -> None:
        path = self._file(session)
        with _explained(path), self._locked(path) as file:
            _append(file, [entry.line() for entry in entries])

    def peek(self, session: str) -> Sequence[Entry]:
        # What waits is read first: it may be set aside in the meantime, and is then seen twice, but never missed.
        with _explained(path := self._file(session)):
            lines = dict.fromkeys(_lines(_read(path)) + _lines(_read(f"{path}.draining")))
        return [entry for line in lines for entry in entries.read(line)[0]]

    def is_empty(self, session: str) -> bool:
        with _explained(path := self._file(session)):
            return not (_size(path) or _size(f"{path}.draining"))

    @contextmanager
    def drain(self, session: str) -> Iterator[SpoolDrain]:
        path = self._file(session)
        with self._locked(f"{path}.lock", Conflict):
            with _explained(path):
                left, fresh = self._taken(path)
                files = _Files(path, left, fresh, self._locked)
            yield files

    def read_unproved(self, session: str) -> Sequence[PrintedBatch]:
        return _Unproved(self._file(session), self._locked).batches

    @contextmanager
    def settle_unproved(self, session: str) -> Iterator[UnprovedBatches]:
        path = self._file(session)
        with self._locked(f"{path}.lock", Conflict):
            yield _Unproved(path, self._locked)

    def _taken(self, path: str) -> tuple[list[bytes], list[bytes]]:
        """The lines that were set aside by a drain that died, and those that now are."""
        with self._locked(path) as file:
            left = _lines(_read(f"{path}.draining"))
            fresh = _lines(os.pread(file, os.fstat(file).st_size, 0))
            if fresh:
                known = set(filter(_has_id, left))
                fresh = [line for line in fresh if line not in known]
                _replace(f"{path}.draining", b"".join(line + b"\n" for line in (*left, *fresh)))
                os.ftruncate(file, 0)
            return left, fresh

    def clear(self, session: str, *, before: Instant) -> bool:
        path = self._file(session)
        with _explained(path):
            if not any(map(os.path.lexists, (path, *(f"{path}{ending}" for ending in _BESIDE)))):
                return True
        with self._locked(f"{path}.lock", Conflict), _explained(path):
            unread = any(_size(f"{path}{ending}") for ending in ("", ".draining", ".aside"))
            unread = unread or any(batch.lines for batch in _Unproved(path, self._locked).batches)
            if unread or not all(self.read_shown_keys(session).values()):
                return True
            if os.path.lexists(path):
                with self._locked(path) as file:
                    if not os.fstat(file).st_size:
                        os.utime(file)
                        os.rename(path, f"{path}.draining")
                return False
            if _changed(f"{path}.draining") >= before:
                return False
            for ending in _BESIDE:
                with suppress(FileNotFoundError):
                    os.unlink(f"{path}{ending}")
        return True

    def read_shown_keys(self, session: str, *, since: Instant = 0) -> dict[str, bool]:
        with _explained(path := self._file(session)):
            notes = _notes(_read(f"{path}.shown"))
        return {key: known for key, (known, at) in notes.items() if at >= since or not known}

    def record_shown_keys(self, session: str, keys: Iterable[str], *, is_known: bool, at: Instant) -> None:
        lines = [dumps([key, is_known, at]).encode() + b"\n" for key in keys]
        if not lines:
            return
        path = f"{self._file(session)}.shown"
        with _explained(path), self._locked(path) as file:
            _append(file, [b"".join(lines)])
            if os.fstat(file).st_size > _NOTES:
                notes = _newest(_notes(_read(path)))
                _replace(path, b"".join(dumps([key, *note]).encode() + b"\n" for key, note in notes.items()))

    def _file(self, session: str) -> str:
        return self._path.replace(SESSION, filename(session))

    @contextmanager
    def _locked(self, path: str, busy: type[GatepostError] = Unavailable) -> Iterator[int]:
        """A file of ours, open and locked, made if there is none; `busy` is raised if another keeps it too long."""
        with _explained(path):
            file = self._opened(path, busy)
        try:
            yield file
        finally:
            os.close(file)  # and with it the lock

    def _opened(self, path: str, busy: type[GatepostError]) -> int:
        until = time.monotonic() + self._patience
        while True:
            file = _open(path)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is(file, path):
                    return file
            except BlockingIOError:
                if time.monotonic() >= until:
                    os.close(file)
                    raise busy(f"{path!r} is locked by another process") from None
                time.sleep(_PAUSE)
            except BaseException:
                os.close(file)
                raise
            os.close(file)


class _Unproved:
    """What hooks of a session have printed, in a file that only the holder of the drain lock changes."""

    def __init__(self, path: str, locked: Callable[[str], AbstractContextManager[int]]) -> None:
        self._path = path
        self._locked = locked

    @property
    def batches(self) -> list[PrintedBatch]:
        with _explained(self._path):
            return unproved.read(_read(f"{self._path}.unproved"))

    def add(self, batch: PrintedBatch) -> None:
        with _explained(path := f"{self._path}.unproved"), self._locked(path) as file:
            _append(file, [unproved.write(batch)])
            os.fsync(file)

    def replace(self, batches: Sequence[PrintedBatch]) -> None:
        with _explained(path := f"{self._path}.unproved"):
            if batches:
                _replace(path, b"".join(map(unproved.write, batches)))
            else:
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def put_back(self, lines: Sequence[bytes]) -> None:
        with _explained(self._path), self._locked(self._path) as file:
            there = {line.strip() for line in _lines(os.pread(file, os.fstat(file).st_size, 0)) if _has_id(line)}
            _append(file, [line + b"\n" for line in lines if line.strip() not in there])
            os.fsync(file)


class _Files:
    """What is taken out of a spool, and set aside in a file."""

    def __init__(
        self,
        path: str,
        left: Sequence[bytes],
        fresh: Sequence[bytes],
        locked: Callable[[str], AbstractContextManager[int]],
    ) -> None:
        self._path = path
        self._locked = locked
        self.unproved = _Unproved(path, locked)
        read = [entries.read(line) for line in (*left, *fresh)]
        self._broken = [rest for _, rest in read if rest]
        # a hook that was killed after it had noted what it printed has left that in both files
        noted = {line for batch in self.unproved.batches for line in batch.lines} if left else set()
        self.lines = [
            entry
            for place, (found, _) in enumerate(read)
            for entry in found
            if place >= len(left) or not entry.id or entry.line().rstrip(b"\n") not in noted
        ]

    @property
    def warnings(self) -> Sequence[str]:
        count = len(self._broken)
        if not count:
            return ()
        lines = "a line" if count == 1 else f"{count} lines"
        return (f"{lines} of {self._path!r} cannot be read; see {self._aside!r}",)

    @property
    def _aside(self) -> str:
        return f"{self._path}.aside"

    def save_copy(self, entry: Entry) -> str:
        self._put_aside([entry.line()])
        return self._aside

    def finish(self, remaining: Iterable[Entry] = ()) -> None:
        if self._broken:
            self._put_aside([line + b"\n" for line in self._broken])
        with _explained(self._path):
            if lines := [entry.line() for entry in remaining]:
                with self._locked(self._path) as file:
                    _append(file, lines)
                    os.fsync(file)
            with suppress(FileNotFoundError):
                os.unlink(f"{self._path}.draining")

    def _put_aside(self, lines: Sequence[bytes]) -> None:
        with _explained(self._aside), self._locked(self._aside) as file:
            _append(file, lines)


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _FLAGS
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _is(file: int, path: str) -> bool:
    """Whether the file that was waited for still has its name; others may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _append(file: int, lines: Sequence[bytes]) -> None:
    """Append lines, each by one write. A line for which there is no room is taken back, and the error raised."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        lines = [b"\n" + lines[0], *lines[1:]] if lines else []
    for line in lines:
        size = os.fstat(file).st_size
        if os.write(file, line) < len(line):
            os.ftruncate(file, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _replace(path: str, content: bytes) -> None:
    """Give a file new content, all or nothing, also when the machine goes down."""
    new = f"{path}.new"
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _FLAGS, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    finally:
        os.close(file)
    os.rename(new, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _changed(path: str) -> Instant:
    try:
        return os.stat(path).st_mtime_ns // 1_000
    except FileNotFoundError:
        return 0


def _read(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | _FLAGS)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(file, os.fstat(file).st_size, 0)
    finally:
        os.close(file)


def _has_id(line: bytes) -> bool:
    return any(entry.id for entry in entries.read(line)[0])


def _lines(content: bytes) -> list[bytes]:
    return [line for line in content.split(b"\n") if line.strip()]


def _notes(content: bytes) -> dict[str, tuple[bool, Instant]]:
    """The keys that were noted, the newest last; a note that was cut short is none."""
    notes: dict[str, tuple[bool, Instant]] = {}
    for line in _lines(content):
        with suppress(ValueError, TypeError):
            key, known, at = loads(line)
            notes.pop(key, None)
            notes[key] = bool(known), int(at)
    return notes


def _newest(notes: dict[str, tuple[bool, Instant]]) -> dict[str, tuple[bool, Instant]]:
    """Those that were noted last, and all of which the store has still to hear."""
    old = len(notes) - _REMEMBERED
    return {key: note for place, (key, note) in enumerate(notes.items()) if place >= old or not note[0]}


@contextmanager
def _explained(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"the spool {path!r} cannot be used: {error.strerror}") from None
