"""
New SQLite stores as copies of one that was migrated, which takes a hundredth of the time of migrating each.

Every test process migrates one file by the real code. Afterwards, a store of this process that is to be migrated and
whose file is missing or empty gets those bytes. Other processes migrate by themselves, and so do the tests of a module
that says

    pytestmark = pytest.mark.usefixtures("real_migrations")
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, cast

import pytest

from gatepost.app import open_store
from gatepost.stores import statements
from gatepost.stores.sqlite import SqliteStore

_migrate_really: Final = SqliteStore.migrate
#: where SQLite locks a file, and how many bytes: see "File Locking And Concurrency In SQLite"
_LOCK_START: Final = 0x40000000
_LOCK_LENGTH: Final = 512


@contextmanager
def copy_migrated_files() -> Iterator[None]:
    """While entered, new files are copies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteStore, "migrate", _migrate)
        yield


@contextmanager
def migrate_really() -> Iterator[None]:
    """While entered, new files are migrated as in production."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteStore, "migrate", _migrate_really)
        yield


def _migrate(self: SqliteStore, *, can_create: bool = True, version: int | None = None) -> tuple[int, int]:
    newest = statements.find_newest_version("sqlite")
    if can_create and version is None and _fill_file(Path(self._path), newest):
        return 0, newest
    return _migrate_really(self, can_create=can_create, version=version)


@cache
def _read_template(newest: int) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "template.db")
        with closing(cast(SqliteStore, open_store(f"sqlite:///{path}"))) as store:
            assert _migrate_really(store) == (0, newest)
        assert os.listdir(folder) == [path.name], "all of it is in the file"  # noqa: PTH208
        return path.read_bytes()


def _fill_file(path: Path, newest: int) -> bool:
    """Write the template where nothing is yet; return True if that was done, else the real migration does it all."""
    try:
        if path.stat().st_size:
            return False
    except FileNotFoundError:
        pass
    except OSError:
        return False
    if Path(f"{path}-wal").exists():
        return False
    content = _read_template(newest)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError:
        return False
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCK_LENGTH, _LOCK_START)
        is_empty = not os.fstat(file).st_size
        if is_empty:
            os.write(file, content)
    except OSError:
        return False
    else:
        return is_empty
    finally:
        os.close(file)
