"""The databases without Gatepost: floors are measured on them, and inboxes are filled through them."""

from collections.abc import Callable
from typing import Any, Protocol

import psycopg

from gatepost.app import parse_sqlite_path
from gatepost.stores.sqlite import open_file

Values = dict[str, Any]


class RawDatabase(Protocol):
    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement without parameters."""
        ...

    def list_columns(self, table: str) -> dict[str, str]:
        """The columns of a table that do not fill themselves, and their types."""
        ...

    def list_tables(self) -> list[str]: ...

    def disable_safety(self) -> None:
        """Do without foreign keys and without waiting for the disk from now on: only for filling."""
        ...

    def set_last_arrival(self, arrival: int) -> None:
        """Let the next event be the one after this."""
        ...

    def run_maintenance(self) -> None:
        """Do the housekeeping that the database would have done in the meantime."""
        ...

    def close(self) -> None: ...


class RawSqlite:
    """With the settings of the store, because its own function opens it."""

    def __init__(self, url: str) -> None:
        self.db = open_file(parse_sqlite_path(url), 30.0)

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return self.db.execute(statement).fetchall()

    def list_columns(self, table: str) -> dict[str, str]:
        return {name: kind for _, name, kind, *_ in self.execute(f"PRAGMA table_info({table})")}

    def list_tables(self) -> list[str]:
        return [name for [name] in self.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql <> ''")]

    def disable_safety(self) -> None:
        self.execute("PRAGMA foreign_keys = OFF")
        self.execute("PRAGMA synchronous = OFF")

    def set_last_arrival(self, arrival: int) -> None:
        self.execute(f"UPDATE counters SET value = {arrival} WHERE name = 'arrival'")

    def run_maintenance(self) -> None:
        self.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self.db.close()


class RawPostgres:
    def __init__(self, url: str) -> None:
        self.db = psycopg.connect(url, autocommit=True)

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        cursor = self.db.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def list_columns(self, table: str) -> dict[str, str]:
        return dict(
            self.execute(
                "SELECT column_name, udt_name FROM information_schema.columns WHERE table_schema = 'public'"
                f" AND table_name = '{table}' AND column_default IS NULL ORDER BY ordinal_position"
            )
        )

    def list_tables(self) -> list[str]:
        return [name for [name] in self.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]

    def disable_safety(self) -> None:
        self.execute("SET session_replication_role = replica")
        self.execute("SET synchronous_commit = off")

    def set_last_arrival(self, arrival: int) -> None:
        self.execute(f"SELECT setval('arrivals', {arrival})")

    def run_maintenance(self) -> None:
        self.execute("VACUUM ANALYZE events, pending, past, dedup_keys, accounts")
        self.execute("CHECKPOINT")

    def close(self) -> None:
        self.db.close()


def open_raw(url: str) -> RawDatabase:
    return RawSqlite(url) if url.startswith("sqlite") else RawPostgres(url)


def find_written_tables(raw: RawDatabase, operation: Callable[[], object]) -> set[str]:
    """The tables that hold something else after the act than before."""
    old_rows = {table: raw.execute(f"SELECT * FROM {table}") for table in raw.list_tables()}
    operation()
    return {table for table, rows in old_rows.items() if raw.execute(f"SELECT * FROM {table}") != rows}


def read_newest_row(raw: RawDatabase, table: str, order_by: str = "arrival") -> Values:
    """What the last push wrote into a table: its columns but for those left empty."""
    names = list(raw.list_columns(table))
    [row] = raw.execute(f"SELECT {', '.join(names)} FROM {table} ORDER BY {order_by} DESC LIMIT 1")
    return {name: value for name, value in zip(names, row, strict=True) if value is not None}
