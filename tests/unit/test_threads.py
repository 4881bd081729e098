"""The connections that a store keeps for the threads that use it."""

import threading
from collections.abc import Callable

import psycopg
import pytest

from gatepost.actions import directory
from gatepost.adapters.stores.sqlite import SqliteConnection, SqliteStore
from gatepost.app import open_store
from gatepost.testing import Kit


def in_threads(count: int, act: Callable[[], object]) -> None:
    """One after the other."""
    for _ in range(count):
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()


def test_the_connections_of_threads_that_have_ended_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[SqliteConnection] = []
    closed: list[SqliteConnection] = []
    connect, close = SqliteStore.connect, SqliteConnection.close

    def watched(self: SqliteStore, *, writes: bool) -> SqliteConnection:
        opened.append(connect(self, writes=writes))
        return opened[-1]

    def counted(self: SqliteConnection) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(SqliteStore, "connect", watched)
    monkeypatch.setattr(SqliteConnection, "close", counted)
    with Kit() as kit:
        kit.store.query(directory.page)
        in_threads(20, lambda: kit.store.query(directory.page))
        assert len(opened) == 21
        assert len(closed) == 19
        assert kit.store.query(directory.page) == []
        assert opened[0] not in closed
    assert len(closed) == 21


def test_the_server_is_not_left_with_them(postgres_url: str) -> None:
    store = open_store(postgres_url)
    store.migrate()
    with psycopg.connect(postgres_url, autocommit=True) as db:
        in_threads(10, lambda: store.query(directory.page))
        row = db.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    store.close()
    assert row is not None
    assert row[0] <= 3
