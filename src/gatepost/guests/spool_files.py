"""
The spool in files: JSON lines, one file for each session, and a few side files.

    <session>.jsonl            lines that wait; locked (flock) by every writer and every drain, never replaced
    <session>.jsonl.lock       locked by the drain, from its start to its end
    <session>.jsonl.draining   lines that were taken out and are not finished
    <session>.jsonl.unproved   batches that hooks have printed and no model has answered yet
    <session>.jsonl.aside      text that could not be read, and lines that were shown cut
    <session>.jsonl.shown      keys that were shown recently

A drain copies first and truncates then, under the lock, so at each moment every line is in one of the files:

    lock .jsonl -> copy to .draining.new, fsync -> rename to .draining -> truncate .jsonl -> unlock -> ... -> remove

If the process is killed before the rename, the lines are where they were; if after it, the next drain reads `.draining`
first. Lines are in both files only between the rename and the truncation, and, if they are put back, until `.draining`
is removed. Then a line with an id is recognised as the same, byte for byte; the few without one are seen twice. The
file of lines is truncated and never replaced, because a writer that waits for its lock has it open: nobody would read
what it writes to a removed file.

After a hook has printed lines, those that only the spool has go from `.draining` to `.unproved`, and from there back to
the first file if no model has read them:

    print, flush -> append to .unproved, fsync -> remove .draining -> ... -> proof:   .shown -> rewrite .unproved
                                                                          `-> release: .jsonl -> rewrite .unproved

A line is in the next file before it leaves the previous one, so a kill in between leaves it in both. A drain drops the
lines that are in `.unproved`: by their key, and lines that a dead drain has left also byte for byte. A line that is put
back is not added to a file that has it; but if it was put back and drained before `.unproved` was rewritten, it is put
back again. So, besides lines with neither key nor id, a line without a key is seen twice if its release was killed. All
of this happens under the lock of the drain.

When a session has been over for long, its files are removed. A writer may have opened the file of lines just before; so
that file is renamed to `.draining`, where the next drain sees its line, and `.draining` is removed only if it is still
empty after the same time again. Lines that nobody has read, or could read, stay for ever.

All this needs only `flock`, `O_APPEND` and `rename`, so a writer can be any program. A writer that died in the middle
of a line, or a full disk, leaves a line without an end: our writers end it before they append.
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

from gatepost.core.times import Instant
from gatepost.errors import Conflict, GatepostError, Unavailable
from gatepost.guests import spool_line as spool_lines
from gatepost.guests.ports import SpoolDrain, UnprovedBatches
from gatepost.guests.session import PrintedBatch, decode_batches, encode_batch, encode_filename
from gatepost.guests.spool_line import SpoolLine

#: the part of a spool path that is replaced by the session
SESSION_PLACEHOLDER: Final = "<session>"
#: seconds to wait for a lock of another drain or of a writer
LOCK_TIMEOUT: Final = 2.0
_LOCK_RETRY_DELAY: Final = 0.005
#: keys that are kept when `.shown` is larger than this; keys that the store does not know yet are always kept
_MAX_SHOWN_KEYS: Final = 1_000
_MAX_NOTES_BYTES: Final = 256 * 1024
#: the side files, in the order of their removal; a process that waits for the lock notices that the file is gone
_SIDE_FILE_SUFFIXES: Final = (
    *(".draining", ".draining.new", ".unproved", ".unproved.new", ".aside", ".shown", ".shown.new"),
    ".lock",
)
_OPEN_FLAGS: Final = os.O_CLOEXEC | os.O_NOFOLLOW


class FileSpool:
    def __init__(self, path: str, *, lock_timeout: float = LOCK_TIMEOUT) -> None:
        """`path` contains `<session>`, which is replaced by the name of the session; `lock_timeout` is in seconds."""
        self._path = path
        self._lock_timeout = lock_timeout

    def append(self, session: str, lines: Sequence[SpoolLine]) -> None:
        path = self._build_path(session)
        with _translate_errors(path), self._lock_file(path) as file:
            _append(file, [spool_line.to_bytes() for spool_line in lines])

    def peek(self, session: str) -> Sequence[SpoolLine]:
        # In this order: a line that is set aside in the meantime is seen twice, but never missed.
        with _translate_errors(path := self._build_path(session)):
            lines = dict.fromkeys(_split_lines(_read_file(path)) + _split_lines(_read_file(f"{path}.draining")))
        return [spool_line for line in lines for spool_line in spool_lines.parse_line(line)[0]]

    def is_empty(self, session: str) -> bool:
        with _translate_errors(path := self._build_path(session)):
            return not (_read_size(path) or _read_size(f"{path}.draining"))

    @contextmanager
    def drain(self, session: str) -> Iterator[SpoolDrain]:
        path = self._build_path(session)
        with self._lock_file(f"{path}.lock", Conflict):
            with _translate_errors(path):
                old_lines, new_lines = self._set_lines_aside(path)
                drain = _SpoolDrain(path, old_lines, new_lines, self._lock_file)
            yield drain

    def read_unproved(self, session: str) -> Sequence[PrintedBatch]:
        return _UnprovedFile(self._build_path(session), self._lock_file).batches

    @contextmanager
    def settle_unproved(self, session: str) -> Iterator[UnprovedBatches]:
        path = self._build_path(session)
        with self._lock_file(f"{path}.lock", Conflict):
            yield _UnprovedFile(path, self._lock_file)

    def _set_lines_aside(self, path: str) -> tuple[list[bytes], list[bytes]]:
        """Move the lines to `.draining`; return the lines that a dead drain left there, and the new ones."""
        with self._lock_file(path) as file:
            old_lines = _split_lines(_read_file(f"{path}.draining"))
            new_lines = _split_lines(os.pread(file, os.fstat(file).st_size, 0))
            if new_lines:
                seen_lines = set(filter(_has_id, old_lines))
                new_lines = [line for line in new_lines if line not in seen_lines]
                _replace(f"{path}.draining", b"".join(line + b"\n" for line in (*old_lines, *new_lines)))
                os.ftruncate(file, 0)
            return old_lines, new_lines

    def clear(self, session: str, *, before: Instant) -> bool:
        path = self._build_path(session)
        with _translate_errors(path):
            if not any(map(os.path.lexists, (path, *(f"{path}{suffix}" for suffix in _SIDE_FILE_SUFFIXES)))):
                return True
        with self._lock_file(f"{path}.lock", Conflict), _translate_errors(path):
            has_unread = any(_read_size(f"{path}{suffix}") for suffix in ("", ".draining", ".aside"))
            has_unread = has_unread or any(batch.lines for batch in _UnprovedFile(path, self._lock_file).batches)
            if has_unread or not all(self.read_shown_keys(session).values()):
                return True
            if os.path.lexists(path):
                with self._lock_file(path) as file:
                    if not os.fstat(file).st_size:
                        os.utime(file)
                        os.rename(path, f"{path}.draining")
                return False
            if _read_mtime(f"{path}.draining") >= before:
                return False
            for suffix in _SIDE_FILE_SUFFIXES:
                with suppress(FileNotFoundError):
                    os.unlink(f"{path}{suffix}")
        return True

    def read_shown_keys(self, session: str, *, since: Instant = 0) -> dict[str, bool]:
        with _translate_errors(path := self._build_path(session)):
            notes = _parse_notes(_read_file(f"{path}.shown"))
        return {key: is_stored for key, (is_stored, at) in notes.items() if at >= since or not is_stored}

    def record_shown_keys(self, session: str, keys: Iterable[str], *, is_known: bool, at: Instant) -> None:
        lines = [dumps([key, is_known, at]).encode() + b"\n" for key in keys]
        if not lines:
            return
        path = f"{self._build_path(session)}.shown"
        with _translate_errors(path), self._lock_file(path) as file:
            _append(file, [b"".join(lines)])
            if os.fstat(file).st_size > _MAX_NOTES_BYTES:
                notes = _parse_notes(_read_file(path))
                excess = len(notes) - _MAX_SHOWN_KEYS
                kept_lines = [
                    dumps([key, *note]).encode() + b"\n"
                    for index, (key, note) in enumerate(notes.items())
                    if index >= excess or not note[0]
                ]
                _replace(path, b"".join(kept_lines))

    def _build_path(self, session: str) -> str:
        return self._path.replace(SESSION_PLACEHOLDER, encode_filename(session))

    @contextmanager
    def _lock_file(self, path: str, busy_error: type[GatepostError] = Unavailable) -> Iterator[int]:
        """Yield a file, open and locked, created if missing; raise `busy_error` if another process keeps the lock."""
        with _translate_errors(path):
            file = self._open_locked(path, busy_error)
        try:
            yield file
        finally:
            os.close(file)  # releases the lock

    def _open_locked(self, path: str, busy_error: type[GatepostError]) -> int:
        deadline = time.monotonic() + self._lock_timeout
        while True:
            file = _open(path)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_same_file(file, path):
                    return file
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    os.close(file)
                    raise busy_error(f"{path!r} is locked by another process") from None
                time.sleep(_LOCK_RETRY_DELAY)
            except BaseException:
                os.close(file)
                raise
            os.close(file)


class _UnprovedFile:
    """The batches that hooks of a session have printed. Only the holder of the drain lock changes the file."""

    def __init__(self, path: str, lock_file: Callable[[str], AbstractContextManager[int]]) -> None:
        self._path = path
        self._lock_file = lock_file

    @property
    def batches(self) -> list[PrintedBatch]:
        with _translate_errors(self._path):
            return decode_batches(_read_file(f"{self._path}.unproved"))

    def add(self, batch: PrintedBatch) -> None:
        with _translate_errors(path := f"{self._path}.unproved"), self._lock_file(path) as file:
            _append(file, [encode_batch(batch)])
            os.fsync(file)

    def replace(self, batches: Sequence[PrintedBatch]) -> None:
        with _translate_errors(path := f"{self._path}.unproved"):
            if batches:
                _replace(path, b"".join(map(encode_batch, batches)))
            else:
                with suppress(FileNotFoundError):
                    os.unlink(path)

    def put_back(self, lines: Sequence[bytes]) -> None:
        with _translate_errors(self._path), self._lock_file(self._path) as file:
            existing_lines = {
                line.strip() for line in _split_lines(os.pread(file, os.fstat(file).st_size, 0)) if _has_id(line)
            }
            _append(file, [line + b"\n" for line in lines if line.strip() not in existing_lines])
            os.fsync(file)


class _SpoolDrain:
    """The lines that were taken out of a spool and are in `.draining`."""

    def __init__(
        self,
        path: str,
        old_lines: Sequence[bytes],
        new_lines: Sequence[bytes],
        lock_file: Callable[[str], AbstractContextManager[int]],
    ) -> None:
        self._path = path
        self._lock_file = lock_file
        self.unproved = _UnprovedFile(path, lock_file)
        parsed_lines = [spool_lines.parse_line(line) for line in (*old_lines, *new_lines)]
        self._unreadable_lines = [unreadable for _, unreadable in parsed_lines if unreadable]
        # A hook that was killed after it had recorded its batch has left the lines in both files.
        noted_lines = {line for batch in self.unproved.batches for line in batch.lines} if old_lines else set()
        self.lines = [
            spool_line
            for index, (line_group, _) in enumerate(parsed_lines)
            for spool_line in line_group
            if index >= len(old_lines) or not spool_line.id or spool_line.to_bytes().rstrip(b"\n") not in noted_lines
        ]

    @property
    def warnings(self) -> Sequence[str]:
        count = len(self._unreadable_lines)
        if not count:
            return ()
        lines = "a line" if count == 1 else f"{count} lines"
        return (f"{lines} of {self._path!r} cannot be read; see {self._aside_path!r}",)

    @property
    def _aside_path(self) -> str:
        return f"{self._path}.aside"

    def save_copy(self, spool_line: SpoolLine) -> str:
        self._append_aside([spool_line.to_bytes()])
        return self._aside_path

    def finish(self, remaining: Iterable[SpoolLine] = ()) -> None:
        if self._unreadable_lines:
            self._append_aside([line + b"\n" for line in self._unreadable_lines])
        with _translate_errors(self._path):
            if lines := [spool_line.to_bytes() for spool_line in remaining]:
                with self._lock_file(self._path) as file:
                    _append(file, lines)
                    os.fsync(file)
            with suppress(FileNotFoundError):
                os.unlink(f"{self._path}.draining")

    def _append_aside(self, lines: Sequence[bytes]) -> None:
        with _translate_errors(self._aside_path), self._lock_file(self._aside_path) as file:
            _append(file, lines)


def _open(path: str) -> int:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _OPEN_FLAGS
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        return os.open(path, flags, 0o600)


def _is_same_file(file: int, path: str) -> bool:
    """Return True if the open file is still the one at the path; another process may have removed it meanwhile."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _append(file: int, lines: Sequence[bytes]) -> None:
    """Append lines, each by one write. If the disk is full, remove the incomplete line and raise."""
    size = os.fstat(file).st_size
    if size and os.pread(file, 1, size - 1) != b"\n":
        lines = [b"\n" + lines[0], *lines[1:]] if lines else []
    for line in lines:
        size = os.fstat(file).st_size
        if os.write(file, line) < len(line):
            os.ftruncate(file, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _replace(path: str, content: bytes) -> None:
    """Replace the content of a file, all or nothing, also if the machine crashes."""
    new_path = f"{path}.new"
    file = os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _OPEN_FLAGS, 0o600)
    try:
        remaining = memoryview(content)
        while remaining:
            remaining = remaining[os.write(file, remaining) :]
        os.fsync(file)
    finally:
        os.close(file)
    os.rename(new_path, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _read_mtime(path: str) -> Instant:
    try:
        return os.stat(path).st_mtime_ns // 1_000
    except FileNotFoundError:
        return 0


def _read_file(path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | _OPEN_FLAGS)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(file, os.fstat(file).st_size, 0)
    finally:
        os.close(file)


def _has_id(line: bytes) -> bool:
    return any(spool_line.id for spool_line in spool_lines.parse_line(line)[0])


def _split_lines(content: bytes) -> list[bytes]:
    return [line for line in content.split(b"\n") if line.strip()]


def _parse_notes(content: bytes) -> dict[str, tuple[bool, Instant]]:
    """Return the recorded keys, the newest last; an incomplete note is skipped."""
    notes: dict[str, tuple[bool, Instant]] = {}
    for line in _split_lines(content):
        with suppress(ValueError, TypeError):
            key, is_stored, at = loads(line)
            notes.pop(key, None)
            notes[key] = bool(is_stored), int(at)
    return notes


@contextmanager
def _translate_errors(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"the spool {path!r} cannot be used: {error.strerror}") from None
