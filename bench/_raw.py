"""The databases without Gatepost: what the floors are measured on, and how inboxes are filled quickly."""

from collections.abc import Callable
from typing import Any, Protocol

import psycopg

from gatepost.adapters.stores.sqlite import open_file
from gatepost.app import sqlite_path

Values = dict[str, Any]


class Raw(Protocol):
    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement without parameters."""
        ...

    def columns(self, table: str) -> dict[str, str]:
        """The columns of a table that do not fill themselves, and their types."""
        ...

    def tables(self) -> list[str]: ...

    def unguarded(self) -> None:
        """Do without foreign keys and without waiting for the disk from now on: only for filling."""
        ...

    def number_from(self, arrival: int) -> None:
        """Let the next event be the one after this."""
        ...

    def tidy(self) -> None:
        """Do the housekeeping that the database would have done in the meantime."""
        ...

    def close(self) -> None: ...


class RawSqlite:
    """With the settings of the store, because its own function opens it."""

    def __init__(self, url: str) -> None:
        self.db = open_file(sqlite_path(url), 30.0)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.db.execute(statement).fetchall()

    def columns(self, table: str) -> dict[str, str]:
        return {name: kind for _, name, kind, *_ in self.rows(f"PRAGMA table_info({table})")}

    def tables(self) -> list[str]:
        return [name for [name] in self.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")]

    def unguarded(self) -> None:
        self.rows("PRAGMA foreign_keys = OFF")
        self.rows("PRAGMA synchronous = OFF")

    def number_from(self, arrival: int) -> None:
        self.rows(f"UPDATE counters SET value = {arrival} WHERE name = 'arrival'")

    def tidy(self) -> None:
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self.db.close()


class RawPostgres:
    def __init__(self, url: str) -> None:
        self.db = psycopg.connect(url, autocommit=True)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        cursor = self.db.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def columns(self, table: str) -> dict[str, str]:
        return dict(
            self.rows(
                "SELECT column_name, udt_name FROM information_schema.columns WHERE table_schema = 'public'"
                f" AND table_name = '{table}' AND column_default IS NULL ORDER BY ordinal_position"
            )
        )

    def tables(self) -> list[str]:
        return [name for [name] in self.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]

    def unguarded(self) -> None:
        self.rows("SET session_replication_role = replica")
        self.rows("SET synchronous_commit = off")

    def number_from(self, arrival: int) -> None:
        self.rows(f"SELECT setval('arrivals', {arrival})")

    def tidy(self) -> None:
        self.rows("VACUUM ANALYZE events, items, tallies")
        self.rows("CHECKPOINT")

    def close(self) -> None:
        self.db.close()


def open_raw(url: str) -> Raw:
    return RawSqlite(url) if url.startswith("sqlite") else RawPostgres(url)


def written_by(raw: Raw, act: Callable[[], object]) -> set[str]:
    """The tables that hold something else after the act than before."""
    before = {table: raw.rows(f"SELECT * FROM {table}") for table in raw.tables()}
    act()
    return {table for table, rows in before.items() if raw.rows(f"SELECT * FROM {table}") != rows}


def newest(raw: Raw, table: str, by: str = "arrival") -> Values:
    """What the last push wrote into a table: its columns but for those left empty."""
    names = list(raw.columns(table))
    [row] = raw.rows(f"SELECT {', '.join(names)} FROM {table} ORDER BY {by} DESC LIMIT 1")
    return {name: value for name, value in zip(names, row, strict=True) if value is not None}
