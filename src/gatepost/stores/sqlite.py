"""
The store on SQLite: one file, one writer, and a few settings that differ from the defaults.

The journal is a WAL, so that readers never wait for the writer. `synchronous=FULL`, so that a commit is on disk when it
returns. The WAL may grow to 16 MB before it is copied into the file, because the commit that triggers the copy waits
for it; it grows further while a long read runs, it is cut to 16 MB when it restarts, and to nothing when little is
written. Foreign keys are checked. Every writing transaction begins IMMEDIATE: it has the write lock before it reads, so
nothing that it has read can change. Other processes wait for the lock up to `busy_timeout` seconds.

The file is marked as ours (`application_id`), and a file of another program is not touched.
"""

import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from typing import Any, Final

from gatepost.core.ports import Row
from gatepost.errors import Damaged, Unavailable
from gatepost.paths import StrPath
from gatepost.stores import schema_versions as schema
from gatepost.stores.call_queues import SharedTurns
from gatepost.stores.group_commit import fit_rows
from gatepost.stores.row_mapping import RowMaker
from gatepost.stores.statements import PARAMETER, ConstraintViolation, get_statement
from gatepost.stores.threaded_store import ThreadedStore

#: a shorter time in the queue is ignored, in seconds
_SHORT_WAIT: Final = 0.5
#: more seconds than any wait
_NO_WAIT: Final = 1e9
#: pages after which the WAL is copied into the file, and bytes that the WAL file keeps then
_CHECKPOINT_PAGES: Final = 4_000
_MAX_WAL_BYTES: Final = _CHECKPOINT_PAGES * 4_096
#: a WAL up to this size is never cut, and fewer new pages since the last check mean an idle store
_SMALL_WAL_BYTES: Final = 1024 * 1024
_IDLE_PAGES: Final = 256
#: entries of a cache
_MAX_CACHED: Final = 10_000
#: the table that a statement writes
_WRITTEN_TABLE: Final = r"\b(?:INTO|UPDATE(?: OR [A-Z]+)?|DELETE FROM)\s+\"?([a-z_]+)"
#: "gate" in ASCII
APPLICATION_ID: Final = 0x67617465


class SqliteConnection:
    """A connection that opens at its first use, and again after it was closed."""

    is_remote = False

    def __init__(self, path: StrPath, identity: "FileIdentity", *, busy_timeout: float, writes: bool) -> None:
        self._path = path
        self._identity = identity
        self._busy_timeout = busy_timeout
        self._writes = writes
        self._db: sqlite3.Connection | None = None
        #: what transactions keep, by the names of the tables that it was read from
        self._caches: dict[str, dict[Any, Any]] = {}
        #: grows when another connection, also of another process, has written to the file
        self._data_version: int | None = None

    def begin(self, waited_seconds: float = 0.0) -> None:
        try:
            self._identity.check()
        except Unavailable:
            self.close()
            raise
        if self._db is not None and self._db.in_transaction:  # `try_to_begin` has begun it
            return
        if self._db is None:
            self._db = open_file(self._path, self._busy_timeout)
            self._identity.check()
            if not self._writes:
                self._execute("PRAGMA query_only = ON")
        if not self._writes:
            self._execute("BEGIN")
        elif waited_seconds < _SHORT_WAIT:
            self._execute("BEGIN IMMEDIATE")
        else:
            self._begin_after_wait(waited_seconds)
        if self._caches:
            self._check_caches()

    def get_cache(self, tables: str) -> dict[Any, Any] | None:
        """
        Return what transactions keep of these tables. A transaction that writes is alone: what it has read stays true
        until it writes itself, is undone, or another connection has written before the next one begins.
        """
        if not self._writes:
            return None
        if not self._caches:
            self._check_caches()
        cache = self._caches.setdefault(tables, {})
        if len(cache) > _MAX_CACHED:
            cache.clear()
        return cache

    def _check_caches(self) -> None:
        """Empty the caches if another connection has written since they were checked before."""
        [data_version] = self._execute("PRAGMA data_version").fetchone()
        if data_version != self._data_version:
            self._data_version = data_version
            self._caches.clear()

    def _forget_changed(self, name: str) -> None:
        """Empty the caches of tables that a statement writes."""
        for table in _find_written_tables(name):
            for tables in [tables for tables in self._caches if table in tables.split()]:
                del self._caches[tables]

    def try_to_begin(self) -> bool:
        try:
            self.begin(_NO_WAIT)
        except Unavailable:  # whoever writes it later says why
            return False
        return True

    def copy_journal(self) -> None:
        with suppress(sqlite3.Error):  # the next commit says what is wrong
            if self._db is not None:
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _begin_after_wait(self, waited_seconds: float) -> None:
        """Begin to write. The time that the call waited in the queue counts towards the time to wait for the lock."""
        self._execute(f"PRAGMA busy_timeout = {max(0, int((self._busy_timeout - waited_seconds) * 1000))}")
        try:
            self._execute("BEGIN IMMEDIATE")
        finally:
            self._execute(f"PRAGMA busy_timeout = {int(self._busy_timeout * 1000)}")

    def read_time(self) -> None:
        """Return None: SQLite has the clock of its process."""

    def savepoint(self) -> None:
        self._execute("SAVEPOINT verb")

    def release(self) -> None:
        self._execute("RELEASE verb")

    def rollback_to(self) -> None:
        if self._db is None or not self._db.in_transaction:
            raise Unavailable(
                f"the store {str(self._path)!r} gave up the transaction", hint="nothing was stored; try again"
            )
        self._caches.clear()
        self._execute("ROLLBACK TO verb")
        self._execute("RELEASE verb")

    def commit(self) -> None:
        self._execute("COMMIT")

    def abandon(self) -> None:
        self._caches.clear()
        if self._db is None:
            return
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except sqlite3.Error:
            self.close()

    def all(self, name: str, parameters: Mapping[str, Any], /) -> list[Row]:
        assert self._db is not None
        text, lists, maker = _prepare(name)
        if self._caches:
            self._forget_changed(name)
        try:
            cursor = self._db.execute(text, _encode_lists(parameters, lists) if lists else parameters)
            return maker.make_all(cursor, cursor.fetchall())
        except sqlite3.Error as error:  # fetchall can raise for a later row, too
            raise self._explain_error(error) from error

    def all_later(self, name: str, parameters: Mapping[str, Any], /) -> Callable[[], list[Row]]:
        rows = self.all(name, parameters)
        return lambda: rows

    def fetch_page(self, name: str, parameters: Mapping[str, Any], max_chars: int, /) -> tuple[list[Row], bool]:
        """Read the rows one by one: a cursor reads a row when it is asked for it."""
        assert self._db is not None
        text, lists, maker = _prepare(name)
        try:
            with closing(self._db.execute(text, _encode_lists(parameters, lists) if lists else parameters)) as cursor:
                return fit_rows(maker.make_each(cursor, cursor), max_chars)
        except sqlite3.Error as error:
            raise self._explain_error(error) from error

    def run(self, name: str, parameters: Mapping[str, Any], /) -> int:
        text, lists, _ = _prepare(name)
        if self._caches:
            self._forget_changed(name)
        return self._execute(text, _encode_lists(parameters, lists) if lists else parameters).rowcount

    def many(self, name: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        assert self._db is not None
        text, order = _prepare_positional(name)
        if self._caches:
            self._forget_changed(name)
        try:
            # sqlite3 would search an adapter for each boolean
            values = [
                [*map(int, column)] if column and type(column[0]) is bool else column
                for column in map(columns.__getitem__, order)
            ]
            return self._db.executemany(text, zip(*values, strict=True)).rowcount
        except sqlite3.Error as error:
            raise self._explain_error(error) from error

    def run_later(self, name: str, parameters: Mapping[str, Any], /) -> None:
        self.run(name, parameters)

    def many_later(self, name: str, columns: Mapping[str, Sequence[Any]], /, *, may_collide: bool = False) -> None:  # noqa: ARG002 (there is one writer)
        self.many(name, columns)

    def close(self) -> None:
        self._caches.clear()
        if self._db is not None:
            self._db.close()
            self._db = None

    def _execute(self, text: str, parameters: Mapping[str, Any] | Sequence[Any] = ()) -> sqlite3.Cursor:
        assert self._db is not None
        try:
            return self._db.execute(text, parameters)
        except sqlite3.Error as error:
            raise self._explain_error(error) from error

    def _explain_error(self, error: sqlite3.Error) -> Exception:
        """
        Return `Unavailable` for an error of the file, which ends the transaction. Others are errors of the verb: return
        `ConstraintViolation` for a broken constraint, else the error itself.
        """
        if isinstance(error, sqlite3.IntegrityError):
            return ConstraintViolation(str(error))
        return explain_error(error, self._path) or error


class FileIdentity:
    """
    The identity of the open file. SQLite continues to write to a file that was deleted or replaced, and those commits
    are lost with the process; so every transaction first checks that its file is still the one at the path.
    """

    def __init__(self, path: StrPath) -> None:
        self._path = path
        self._file: tuple[int, int] | None = None

    def check(self) -> None:
        """Remember the file at the path; raise `Unavailable` if it is no longer the remembered one."""
        try:
            stat = os.stat(self._path)
        except FileNotFoundError:
            stat = None
        except OSError as error:
            raise Unavailable(f"the store {str(self._path)!r} cannot be opened: {error.strerror}") from None
        file = (stat.st_dev, stat.st_ino) if stat is not None else None
        if self._file is None:
            self._file = file
        elif file != self._file:
            change = "was deleted" if file is None else "was replaced by another file"
            raise Unavailable(
                f"the store {str(self._path)!r} {change} while it was open",
                hint="nothing was stored; put the file back, or restart to use what is there",
            )


class SqliteStore(ThreadedStore):
    dialect = "sqlite"

    def __init__(self, path: StrPath, *, busy_timeout: float = 30.0, **options: Any) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._identity = FileIdentity(path)
        self._wal_pages = 0
        super().__init__(**options)

    def _make_turns(self) -> SharedTurns:
        return SharedTurns(self.connect(writes=True), self._make_writer)

    def connect(self, *, writes: bool) -> SqliteConnection:
        return SqliteConnection(self._path, self._identity, busy_timeout=self._busy_timeout, writes=writes)

    def migrate(self, *, can_create: bool = True, version: int | None = None) -> tuple[int, int]:
        if not can_create and not os.path.exists(self._path):
            return 0, 0
        with _use_file(self._path, self._busy_timeout) as db:
            return schema.migrate(_SqliteMigration(db), can_create=can_create, version=version)

    def check_durability(self) -> tuple[bool, str]:
        """Return True always: every connection of ours sets it, so no other setting can change it."""
        return True, "every commit waits for the disk (synchronous = FULL)"

    def check(self) -> list[str]:
        with closing(open_file(self._path, self._busy_timeout)) as db:
            try:
                integrity_errors = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
                orphans = db.execute("PRAGMA foreign_key_check").fetchall()
            except sqlite3.Error as error:
                return [str(explain_error(error, self._path) or error)]
        return integrity_errors + [f"a row of {row[0]} refers to one of {row[2]} that is gone" for row in orphans]

    def measure_free_space(self) -> int | None:
        try:
            disk = os.statvfs(os.path.dirname(self._path) or ".")
        except OSError:
            return None
        return disk.f_bavail * disk.f_frsize

    def write_and_undo(self, size: int) -> None:
        """With a cache of a page, the rows are in the WAL before the rollback; the next commit writes over them."""
        with _use_file(self._path, self._busy_timeout) as db:
            self._identity.check()
            db.execute("PRAGMA cache_size = 1")
            db.execute("PRAGMA cache_spill = ON")
            db.execute("BEGIN IMMEDIATE")
            try:
                db.execute("CREATE TABLE trial (filling BLOB)")
                db.execute("INSERT INTO trial VALUES (zeroblob(?))", (size,))
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

    def shrink(self) -> None:
        """
        Copy the WAL into the file without making others wait, and cut the WAL if little was written since the last
        call. A gateway that is nearly idle writes a few pages, too.
        """
        wal_path = f"{self._path}-wal"
        self._identity.check()
        if not os.path.exists(wal_path) or os.path.getsize(wal_path) <= _SMALL_WAL_BYTES:
            return
        with _use_file(self._path, busy_timeout=0) as db:
            _, pages, copied_pages = db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if pages == copied_pages and 0 <= pages - self._wal_pages < _IDLE_PAGES:
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._wal_pages = pages


class _SqliteMigration(schema.MigrationTarget):
    dialect = "sqlite"
    integer_type = "INTEGER"

    def __init__(self, db: sqlite3.Connection) -> None:
        from gatepost.core.text import fold_text  # a hook migrates nothing

        super().__init__(db.execute)
        self._db = db
        db.create_function("fold_text", 1, fold_text, deterministic=True)

    def lock(self) -> None:
        # A table that others refer to can only be recreated without foreign keys; `commit` checks them.
        self._db.execute("PRAGMA foreign_keys = OFF")
        self._db.execute("BEGIN IMMEDIATE")

    def has_versions(self) -> bool:
        return self._db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'schema_version'").fetchone() is not None

    def apply(self, text: str) -> None:
        # not executescript, which would commit first
        for part in text.split(";\n"):
            if part.strip():
                self._db.execute(part)
        self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def commit(self) -> None:
        if orphan := self._db.execute("PRAGMA foreign_key_check").fetchone():
            raise Unavailable(
                f"the schema cannot be migrated: a row of {orphan[0]!r} refers to one of {orphan[2]!r} that is gone",
                hint="see docs/howto/damaged-store.md",
            )
        super().commit()

    def rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")


def open_file(path: StrPath, busy_timeout: float) -> sqlite3.Connection:
    """Return a connection with our settings, or raise `Unavailable` with the reason in one sentence."""
    try:
        db = sqlite3.connect(
            path, timeout=busy_timeout, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            _configure(db, path, busy_timeout)
        except BaseException:
            db.close()
            raise
    except sqlite3.Error as error:
        raise (explain_error(error, path) or error) from error
    return db


def _configure(db: sqlite3.Connection, path: StrPath, busy_timeout: float) -> None:
    # In this order: one commit writes both, and another process may make that commit between the two reads.
    schema_row = db.execute("SELECT 1 FROM sqlite_schema").fetchone()
    [application_id] = db.execute("PRAGMA application_id").fetchone()
    if schema_row and application_id != APPLICATION_ID:
        raise Unavailable(f"{str(path)!r} is a database of another program", hint="name another file in `store`")
    _enable_wal(db, busy_timeout)
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    db.execute(f"PRAGMA journal_size_limit = {_MAX_WAL_BYTES}")
    db.execute("PRAGMA foreign_keys = ON")


@contextmanager
def _use_file(path: StrPath, busy_timeout: float) -> Iterator[sqlite3.Connection]:
    """Yield a connection with our settings, and close it; errors of the file become `Unavailable`."""
    with closing(open_file(path, busy_timeout)) as db:
        try:
            yield db
        except sqlite3.Error as error:
            raise (explain_error(error, path) or error) from error


def _enable_wal(db: sqlite3.Connection, busy_timeout: float) -> None:
    """Switch the file to WAL. Wait for other processes that do the same to a new file: SQLite does not wait."""
    deadline = time.monotonic() + busy_timeout
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.01)  # there is no signal to wait for


_FILE_ERRORS: Final = {
    sqlite3.SQLITE_BUSY: ("is locked by another process", "try again when it is done"),
    sqlite3.SQLITE_LOCKED: ("is locked by another process", "try again when it is done"),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full, or a limit is reached", "make room; nothing was stored"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "look at the disk; nothing was stored"),
    sqlite3.SQLITE_READONLY: ("is read-only", "give this user the right to write it and its folder"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "see that its folder exists and can be written"),
    sqlite3.SQLITE_PERM: ("is not open to this user", "give this user the right to write it"),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "restore a backup, or see docs/howto/damaged-store.md"),
    sqlite3.SQLITE_NOTADB: ("is not a database", "name another file in `store`"),
    sqlite3.SQLITE_NOMEM: ("cannot be used: out of memory", "free some memory"),
    sqlite3.SQLITE_INTERRUPT: ("was interrupted", "try again"),
    sqlite3.SQLITE_SCHEMA: ("has changed its schema", "try again"),
}

#: codes of a full disk that SQLite calls errors of the disk
_FULL_ERRORS: Final = (sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_WRITE)

#: codes that mean that a part of the file cannot be read
_READ_ERRORS: Final = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ)


def explain_error(error: sqlite3.Error, path: StrPath) -> Unavailable | None:
    """Return `Unavailable` (`Damaged` for lost data) for an error of the file; None for one of the statement."""
    code = getattr(error, "sqlite_errorcode", None)
    if code is None and "decode to UTF-8" in str(error):
        code = sqlite3.SQLITE_CORRUPT
    if code is None and "closed" not in str(error):
        return None
    is_full = code in _FULL_ERRORS
    explanation = _FILE_ERRORS.get(sqlite3.SQLITE_FULL if is_full else (code or sqlite3.SQLITE_IOERR) & 0xFF)
    is_damaged = code in _READ_ERRORS or (code or 0) & 0xFF == sqlite3.SQLITE_CORRUPT
    kind = Damaged if is_damaged else Unavailable
    return kind(f"the store {str(path)!r} {explanation[0]}", hint=explanation[1]) if explanation else None


@cache
def _prepare(name: str) -> tuple[str, tuple[str, ...], RowMaker]:
    """Return a statement, which of its parameters are lists, and what makes its rows."""
    text = get_statement("sqlite", name)
    return (
        text,
        tuple({part.partition(")")[0] for part in text.split("json_each(:")[1:]}),
        RowMaker(convert_booleans=True),
    )


@cache
def _find_written_tables(name: str) -> frozenset[str]:
    return frozenset(re.findall(_WRITTEN_TABLE, get_statement("sqlite", name)))


def _encode_lists(parameters: Mapping[str, Any], lists: Sequence[str]) -> Mapping[str, Any]:
    """Return the parameters with lists as JSON: the statement reads them with json_each."""
    import json  # a hook with nothing to do passes no list

    return {**parameters, **{name: json.dumps(parameters[name]) for name in lists}}


@cache
def _prepare_positional(name: str) -> tuple[str, tuple[str, ...]]:
    """Return a statement with `?` for its parameters, and their order: rows are then zipped, not built one by one."""
    text = get_statement("sqlite", name)
    return re.sub(PARAMETER, "?", text), tuple(re.findall(PARAMETER, text))
