"""
The store on PostgreSQL: for more than one machine.

Every connection that writes asks for durability (`synchronous_commit`), whatever the default of the server is.

Each writer has a connection. Time is that of the database, so that deadlines mean the same to every process. READ
COMMITTED is enough, because every decision that two verbs could both make depends on a row that both lock or on a
unique index that both meet; after a deadlock or a serialisation failure the group runs again.

A round trip takes longer than most statements do. So what nobody has to wait for (BEGIN, a savepoint, the rows of an
event) is sent with the next statement whose rows are needed, or with COMMIT, in one pipeline. If such a statement
fails, the server skips what follows it, so nothing is committed. What it skipped may be the preparation of a statement,
and the driver believes that it was done. The driver forgets all that it has prepared when it looks at the result of a
ROLLBACK, and it looks only if the text of the command is new to it. So each rollback after a failure has its own text.

If the connection breaks while COMMIT is on its way, the result is unknown. The writer knows the number of its
transaction and asks for its state on a new connection (`pg_xact_status`): "committed" is a success, "aborted" is
`Unavailable`, and "in progress" is asked again until the server has noticed that the old connection is gone.

A server that crashed forgets the numbers that it had not written to disk, and assigns them again. After a crash,
"committed" may therefore be the commit of another transaction, and the caller is told that the result is unknown. The
reset time of the server's statistics shows a crash: only a crash (or an administrator) resets them.
"""

import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, Final

import psycopg
from psycopg import errors, sql

from gatepost.core.ports import Row
from gatepost.core.times import Instant
from gatepost.errors import Invalid, Unavailable
from gatepost.stores import schema_versions as schema
from gatepost.stores.group_commit import fit_rows
from gatepost.stores.postgres_errors import explain_error, is_connection_lost, read_first_line
from gatepost.stores.row_mapping import RowMaker
from gatepost.stores.statements import PARAMETER, get_statement
from gatepost.stores.threaded_store import ThreadedStore

_CONNECT_OPTIONS: Final = {"connect_timeout": 10, "application_name": "gatepost", "autocommit": True}
#: seconds to ask for the state of a transaction whose COMMIT was not answered
_COMMIT_LOOKUP_TIMEOUT: Final = 15.0
#: seconds for which the time of the database runs on by our clock: a verb that begins with the time need not ask first
_MAX_TIME_AGE: Final = 1.0
#: rows of a page that the server sends at once
_PAGE_FETCH_SIZE: Final = 20
#: 'gate' as a number: the advisory lock of migrations
_MIGRATION_LOCK_ID: Final = 0x67617465

#: A process that stops in the middle of a transaction loses it, because others wait for its rows. And a commit that
#: was answered is on disk, whatever the default of the server is; a stricter default (`remote_apply`) is kept.
_WRITER_SETUP: Final = (
    "SET idle_in_transaction_session_timeout = '10s';"
    " SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') <> 'remote_apply'"
)

#: how a transaction begins: its second statement gives its number and the time
_BEGIN: Final = (
    "BEGIN",
    "SELECT pg_current_xact_id()::text::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
)
_BEGIN_READ_ONLY: Final = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SELECT 0::bigint, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
)
_SAVEPOINT: Final = "SAVEPOINT verb"
#: of round trips that failed: a connection of the driver may be used by several of ours, one after the other
_FAILURE_NUMBERS: Final = itertools.count(1)

Cursor = psycopg.Cursor[tuple[Any, ...]]


class Command:
    """A statement that is, or was, sent to the server; afterwards it has the cursor."""

    __slots__ = ("cursor", "may_collide", "parameters", "text")

    def __init__(self, text: str, parameters: Mapping[str, Any] | None = None, *, may_collide: bool = False) -> None:
        self.text = text
        self.parameters = parameters
        self.may_collide = may_collide
        self.cursor: Cursor | None = None


class PostgresConnection:
    """A connection that opens at its first use, and again after it was lost."""

    is_remote = True

    def __init__(self, url: str, *, writes: bool, use_database_time: bool) -> None:
        self._url = url
        self._writes = writes
        self._use_database_time = use_database_time
        self._db: psycopg.Connection[tuple[Any, ...]] | None = None
        #: what goes out with the next statement that somebody waits for
        self._pending: list[Command] = []
        #: whether the server has heard nothing of this transaction
        self._is_unsent = False
        self._xid = 0
        #: the number of the last round trip that failed
        self._last_failure = 0
        #: the time of the database when the last transaction began, and our own when it was answered
        self._now: Instant = 0
        self._now_read_at = -_MAX_TIME_AGE
        self._server_epoch = ""

    def begin(self, waited_seconds: float = 0.0) -> None:  # noqa: ARG002 (PostgreSQL waits for rows, not for a lock)
        self._pending = [Command(text) for text in (_BEGIN if self._writes else _BEGIN_READ_ONLY)]
        self._is_unsent = True

    def read_time(self) -> Instant | None:
        if not self._use_database_time:
            return None
        if not self._is_unsent:
            return self._now
        age = _read_steady_time() - self._now_read_at
        if age < _MAX_TIME_AGE:
            return self._now + int(age * 1_000_000)
        self._exchange()
        return self._now

    def savepoint(self) -> None:
        self._pending.append(Command(_SAVEPOINT))

    def release(self) -> None:
        """Release the savepoint; if the verb has statements that were not sent, wait for them: an error is its own."""
        has_pending = bool(self._pending) and self._pending[-1].text != _SAVEPOINT
        self._pending.append(Command("RELEASE verb"))
        if has_pending:
            self._exchange()

    def rollback_to(self) -> None:
        places = [place for place, command in enumerate(self._pending) if command.text == _SAVEPOINT]
        if places:  # the server has heard nothing of the verb
            del self._pending[places[-1] :]
            return
        self._pending = [Command(f"ROLLBACK TO verb -- {self._last_failure}")]
        self._execute("RELEASE verb")

    def commit(self) -> None:
        if self._is_unsent:
            self._exchange()  # what is sent with BEGIN may have to be sent again, and COMMIT must not
        db = self._db
        assert db is not None
        commands = [*self._take_pending(), Command("COMMIT")]
        try:
            status = self._send(commands).statusmessage
        except psycopg.OperationalError as error:
            if not db.closed:
                raise explain_error(error) from error
            self._resolve_lost_commit()
        except psycopg.Error as error:
            raise explain_error(error, may_collide=_may_collide(commands)) from error
        else:
            if status != "COMMIT":
                raise Unavailable("PostgreSQL rolled the transaction back", hint="nothing was stored; try again")

    def abandon(self) -> None:
        self._pending, self._is_unsent = [], False
        if self._db is None:
            return
        status = self._db.info.transaction_status
        try:
            if not self._db.broken and status != psycopg.pq.TransactionStatus.IDLE:
                # The driver forgets its prepared statements at a ROLLBACK, which a transaction that only reads does not
                # need.
                is_read = not self._writes and status == psycopg.pq.TransactionStatus.INTRANS
                self._db.execute(b"COMMIT" if is_read else f"ROLLBACK -- {self._last_failure}".encode())
        except psycopg.Error:
            self._db.close()
        if self._db.closed:
            self._db = None

    def all(self, name: str, parameters: Mapping[str, Any], /) -> list[Row]:
        text, maker = _prepare(name)
        cursor = self._execute(text, parameters)
        return maker.make_all(cursor, cursor.fetchall())

    def all_later(self, name: str, parameters: Mapping[str, Any], /) -> Callable[[], list[Row]]:
        text, maker = _prepare(name)
        command = Command(text, parameters)
        self._pending.append(command)

        def fetch() -> list[Row]:
            if command.cursor is None:
                self._exchange()
            assert command.cursor is not None
            return maker.make_all(command.cursor, command.cursor.fetchall())

        return fetch

    def fetch_page(self, name: str, parameters: Mapping[str, Any], max_chars: int, /) -> tuple[list[Row], bool]:
        """Read with a cursor on the server, which sends a few rows at once."""
        if self._pending:
            self._exchange()
        assert self._db is not None
        text, maker = _prepare(name)
        try:
            with self._db.cursor("page") as cursor:
                cursor.itersize = _PAGE_FETCH_SIZE
                cursor.execute(text.encode(), parameters)
                return fit_rows(maker.make_each(cursor, cursor), max_chars)
        except psycopg.Error as error:
            raise explain_error(error, in_verb=not self._db.closed) from error

    def run(self, name: str, parameters: Mapping[str, Any], /) -> int:
        return self._execute(_prepare(name)[0], parameters).rowcount

    def many(self, name: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        """Pass each column as an array; the statement unnests it and casts it to its type."""
        return self._execute(_prepare(name)[0], _format_arrays(columns)).rowcount

    def get_cache(self, tables: str) -> None:
        """Return None: other connections write at the same time."""

    def run_later(self, name: str, parameters: Mapping[str, Any], /) -> None:
        self._pending.append(Command(_prepare(name)[0], parameters))
        self._refuse_if_reading()

    def many_later(self, name: str, columns: Mapping[str, Sequence[Any]], /, *, may_collide: bool = False) -> None:
        self._pending.append(Command(_prepare(name)[0], _format_arrays(columns), may_collide=may_collide))
        self._refuse_if_reading()

    def _refuse_if_reading(self) -> None:
        """Let the server refuse what a query writes: a query ends without a COMMIT that would send it."""
        if not self._writes:
            self._exchange()

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _execute(self, text: str, parameters: Mapping[str, Any] | None = None) -> Cursor:
        self._pending.append(Command(text, parameters))
        return self._exchange()

    def _exchange(self) -> Cursor:
        """Send what is pending, in one round trip; return the cursor of the last statement."""
        commands = self._take_pending()
        try:
            try:
                last_cursor = self._send(commands)
            except psycopg.OperationalError:
                if not self._is_unsent or (self._db is not None and not self._db.closed):
                    raise
                # The server may have restarted since the last transaction. Nothing was done yet, so try once more.
                self.close()
                last_cursor = self._send(commands)
        except psycopg.Error as error:
            in_verb = self._db is not None and not self._db.closed
            raise explain_error(error, in_verb=in_verb, may_collide=_may_collide(commands)) from error
        if self._is_unsent:
            self._is_unsent = False
            cursor = commands[1].cursor
            row = cursor.fetchone() if cursor is not None else None
            assert row is not None
            self._xid, self._now = row
            self._now_read_at = _read_steady_time()
        return last_cursor

    def _send(self, commands: Sequence[Command]) -> Cursor:
        db = self._require_db() if self._is_unsent else self._db
        assert db is not None
        *_, last_command = commands
        try:
            with db.pipeline() if len(commands) > 1 else nullcontext():
                for command in commands:
                    command.cursor = db.execute(command.text.encode(), command.parameters)
        except psycopg.Error as error:
            self._last_failure = next(_FAILURE_NUMBERS)
            if is_connection_lost(error):
                db.close()  # the driver may not know it yet, and call the connection usable
            raise
        assert last_command.cursor is not None
        return last_command.cursor

    def _take_pending(self) -> list[Command]:
        pending, self._pending = self._pending, []
        return pending

    def _require_db(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._db is None or self._db.closed:
            self._db = connect(self._url)
            if self._writes:
                self._server_epoch = _read_server_epoch(self._db)
                self._db.execute(_WRITER_SETUP)
        return self._db

    def _resolve_lost_commit(self) -> None:
        """Look up a COMMIT that was not answered; return if it was stored, else raise `Unavailable`."""
        deadline, pause = time.monotonic() + _COMMIT_LOOKUP_TIMEOUT, 0.01
        while time.monotonic() < deadline:
            status, epoch = self._look_up_transaction()
            if status == "committed" and epoch == self._server_epoch:
                return
            if status == "committed":
                break
            if status == "aborted":
                raise Unavailable("the connection to PostgreSQL was lost", hint="nothing was stored; try again")
            time.sleep(pause)  # the server has not noticed yet, or is down; there is no signal to wait for
            pause = min(0.5, pause * 2)
        raise Unavailable(
            "the connection to PostgreSQL was lost during COMMIT, and it is unknown whether the data was stored",
            hint="try again with the same dedup key: a repeat is recognised",
        )

    def _look_up_transaction(self) -> tuple[str | None, str]:
        """Return the state of the transaction, None if unknown, and the epoch of the server that reports it."""
        try:
            with connect(self._url) as db:
                [is_replica] = db.execute("SELECT pg_is_in_recovery()").fetchone() or [True]
                if is_replica:  # it may lag behind
                    return None, ""
                epoch = _read_server_epoch(db)
                row = db.execute("SELECT pg_xact_status(%s::text::xid8)", (str(self._xid),)).fetchone()
        except errors.InvalidParameterValue:  # a number of the future: the server crashed and lost ours
            return "aborted", ""
        except (Unavailable, psycopg.Error):
            return None, ""
        return row[0] if row else None, epoch


class PostgresStore(ThreadedStore):
    dialect = "postgres"

    def __init__(self, url: str, *, writers: int = 2, **options: Any) -> None:
        _check_url(url)
        super().__init__(writers=writers, **options)
        self._url = url

    def connect(self, *, writes: bool) -> PostgresConnection:
        return PostgresConnection(self._url, writes=writes, use_database_time=not self._prefer_clock)

    def migrate(self, *, can_create: bool = True, version: int | None = None) -> tuple[int, int]:
        with _use_database(self._url) as db:
            return schema.migrate(_PostgresMigration(db), can_create=can_create, version=version)

    def check_durability(self) -> tuple[bool, str]:
        """Return True if the server flushes to disk. Our connections already make every commit wait for that."""
        names = ("fsync", "full_page_writes", "synchronous_commit")
        with _use_database(self._url) as db:
            values = {name: db.execute("SELECT current_setting(%s)", (name,)).fetchone() for name in names}
        settings = {name: str(row[0]) if row else "" for name, row in values.items()}
        description = ", ".join(f"{name} {value}" for name, value in settings.items())
        suffix = "" if settings["synchronous_commit"] in ("on", "remote_apply") else " (on for Gatepost)"
        return settings["fsync"] == "on" and settings["full_page_writes"] == "on", description + suffix

    def measure_free_space(self) -> int | None:
        """Return None: the disk is the server's."""
        return None

    def write_and_undo(self, size: int) -> None:
        with _use_database(self._url) as db, db.transaction(force_rollback=True):
            db.execute("CREATE TABLE gatepost_trial (filling text)")
            db.execute(
                "INSERT INTO gatepost_trial SELECT string_agg(md5(n::text), '') FROM generate_series(1, %s) n",
                (size // 32,),
            )

    def shrink(self) -> None:
        """Do nothing: PostgreSQL does this by itself."""

    def check(self) -> list[str]:
        """Read every table; PostgreSQL itself checks the pages that it reads."""
        with connect(self._url) as db:
            try:
                tables = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
                for [table] in tables:
                    db.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table)))
            except psycopg.Error as error:
                return [f"a table cannot be read: {read_first_line(error)}"]
        return []


class _PostgresMigration(schema.MigrationTarget):
    dialect = "postgres"
    integer_type = "bigint"

    def __init__(self, db: psycopg.Connection[tuple[Any, ...]]) -> None:
        super().__init__(lambda text: db.execute(text.encode()))
        self._db = db

    def lock(self) -> None:
        self._db.execute("BEGIN")
        self._db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK_ID,))

    def has_versions(self) -> bool:
        # Read the catalog as a table: to_regclass may still answer as of before the wait for the lock.
        tables = "SELECT 1 FROM pg_tables WHERE schemaname = ANY (current_schemas(false))"
        return self._execute(f"{tables} AND tablename = 'schema_version'").fetchone() is not None

    def rollback(self) -> None:
        if not self._db.broken:
            self._db.execute("ROLLBACK")


def _check_url(url: str) -> None:
    """Raise Invalid for a URL that the driver would split wrongly: its error would show part of the password."""
    server, _, rest = url.partition("://")[2].partition("/")
    hosts = server.rpartition("@")[2].partition("?")[0].split(",")
    ports = [port for host in hosts for port in re.findall(r":([^:\]]*)$", host)]
    has_bad_port = not all(re.fullmatch("[0-9]*", port) for port in ports)
    if server.count("@") > 1 or "@" in rest.partition("?")[0] or has_bad_port:
        raise Invalid(
            "the PostgreSQL URL of the store cannot be read",
            hint="in a password / : @ # ? % are written %2F %3A %40 %23 %3F %25",
        )


def connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a connection, or raise with the reason in one sentence."""
    try:
        return psycopg.connect(url, **_CONNECT_OPTIONS)  # type: ignore[arg-type]
    except psycopg.ProgrammingError:
        # The driver could not read the URL, and its message quotes it, including the password.
        raise Invalid(
            "the PostgreSQL URL of the store cannot be read", hint="write postgresql://user:password@host:5432/database"
        ) from None
    except psycopg.Error as error:
        raise Unavailable(
            f"cannot connect to PostgreSQL: {read_first_line(error)}", hint="see `store` in the settings"
        ) from error


@contextmanager
def _use_database(url: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """Yield a connection, and close it; its errors become those of `explain_error`."""
    with connect(url) as db:
        try:
            yield db
        except psycopg.Error as error:
            raise explain_error(error) from error


def _read_steady_time() -> float:
    """Return seconds by a clock that nobody sets, and that goes on while the machine sleeps, where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if sys.platform == "linux" else time.monotonic()


def _read_server_epoch(db: psycopg.Connection[tuple[Any, ...]]) -> str:
    """Return a value that changes only when the server crashes; a clean restart keeps it."""
    try:
        row = db.execute("SELECT pg_stat_get_bgwriter_stat_reset_time()::text").fetchone()
    except psycopg.Error as error:
        raise explain_error(error) from error
    return str(row[0]) if row else ""


def _may_collide(commands: Sequence[Command]) -> bool:
    return any(command.may_collide for command in commands)


def _format_arrays(columns: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    return {column: _format_array(values) for column, values in columns.items()}


def _format_array(column: Sequence[Any]) -> str:
    """Return a column as an array literal. The driver would inspect every element several times."""
    return "{" + ",".join([_format_element(value) for value in column]) + "}"


def _format_element(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return str(value)


@cache
def _prepare(name: str) -> tuple[str, RowMaker]:
    """Return a statement with its parameters as psycopg writes them, and what makes its rows."""
    return re.sub(PARAMETER, r"%(\1)s", get_statement("postgres", name).replace("%", "%%")), RowMaker()
