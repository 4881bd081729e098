"""
What a process writes down about itself, because it may be killed at any moment: a line before each call and one after.

Lines are appended by one `write`, which the kernel may cut off at the end of a page if the process is killed: a last
line without its end was never written. The page cache outlives the process; a log that stands for a reader's output
(`is_synced`) is flushed to disk all the same, as a reader's would be.
"""

import json
import os
from pathlib import Path
from typing import Any

JournalEntry = dict[str, Any]


class Journal:
    def __init__(self, path: Path, *, is_synced: bool = False) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._is_synced = is_synced

    def write(self, word: str, /, **facts: Any) -> None:
        self.write_all([{"word": word, **facts}])

    def write_all(self, entries: list[JournalEntry]) -> None:
        os.write(self._file, "".join(json.dumps(entry) + "\n" for entry in entries).encode())
        if self._is_synced:
            os.fsync(self._file)


#: what was read of a file, by its path, and the size it had: whoever wrote it is dead, or only appends
_read_files: dict[str, tuple[int, list[JournalEntry]]] = {}


def read_journals(folder: Path, suffix: str) -> dict[str, list[JournalEntry]]:
    """The entries of every life that wrote a file with this ending into the folder. Leave them as they are."""
    with os.scandir(folder) as files:
        found = sorted(
            (file.name, file.path, file.stat().st_size) for file in files if file.name.endswith(f".{suffix}")
        )
    return {name.removesuffix(f".{suffix}"): _read_journal(path, size) for name, path, size in found}


def _read_journal(path: str, size: int) -> list[JournalEntry]:
    """What is read of a file that has not grown since is what was read before."""
    if path not in _read_files or _read_files[path][0] != size:
        lines = Path(path).read_bytes()[:size].splitlines(keepends=True)
        _read_files[path] = size, [json.loads(line) for line in lines if line.endswith(b"\n")]
    return _read_files[path][1]
