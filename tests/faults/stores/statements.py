"""
Tell of every statement that a process sends to its database while it opens and migrates it, whichever driver it uses.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import psycopg

from gatepost.stores import statements

#: a migration that does not exist, for either dialect
EXTRA_MIGRATION = """-- oldest: 1
CREATE TABLE later (number INTEGER);
INSERT INTO later VALUES (1);
ALTER TABLE leases ADD COLUMN later INTEGER;
CREATE INDEX leases_later ON leases (later);
"""

READ_VERSION = "SELECT version FROM schema_version"


@contextmanager
def observe_statements(on_statement: Callable[[str], None]) -> Iterator[None]:
    """Call `on_statement` before each statement of every connection that is made meanwhile."""

    class Sqlite(sqlite3.Connection):
        def execute(self, statement: str, *args: Any) -> sqlite3.Cursor:
            on_statement(statement)
            return super().execute(statement, *args)

    class Postgres(psycopg.Connection[Any]):
        def execute(self, query: Any, *args: Any, **kwargs: Any) -> psycopg.Cursor[Any]:
            on_statement(query if isinstance(query, str) else str(query))
            return super().execute(query, *args, **kwargs)

    with (
        patch("sqlite3.connect", partial(sqlite3.connect, factory=Sqlite)),
        patch("psycopg.connect", Postgres.connect),
    ):
        yield


@contextmanager
def add_migration() -> Iterator[None]:
    """Be code that has one more migration than there are."""
    original_migration = statements.read_migration
    newest_versions = {dialect: statements.find_newest_version(dialect) for dialect in ("sqlite", "postgres")}

    def read_migration(dialect: str, number: int) -> str | None:
        return EXTRA_MIGRATION if number == newest_versions[dialect] + 1 else original_migration(dialect, number)

    with (
        patch.object(statements, "read_migration", read_migration),
        patch.object(statements, "find_newest_version", lambda dialect: newest_versions[dialect] + 1),
    ):
        yield
