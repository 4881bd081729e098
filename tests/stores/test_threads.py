"""The connections that a store keeps for the threads that use it."""

import threading
from collections.abc import Callable

import psycopg
import pytest

from gatepost.app import open_store
from gatepost.directory import entity_actions as directory
from gatepost.stores.sqlite import SqliteConnection, SqliteStore
from gatepost.testing import Kit
from tests.support.servers.private_servers import wait_until


def run_in_threads(count: int, action: Callable[[], object]) -> None:
    """One after the other."""
    for _ in range(count):
        thread = threading.Thread(target=action)
        thread.start()
        thread.join()


def test_the_connections_of_threads_that_have_ended_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened_connections: list[SqliteConnection] = []
    closed_connections: list[SqliteConnection] = []
    connect, close = SqliteStore.connect, SqliteConnection.close

    def connect_and_record(self: SqliteStore, *, writes: bool) -> SqliteConnection:
        opened_connections.append(connect(self, writes=writes))
        return opened_connections[-1]

    def close_and_record(self: SqliteConnection) -> None:
        closed_connections.append(self)
        close(self)

    monkeypatch.setattr(SqliteStore, "connect", connect_and_record)
    monkeypatch.setattr(SqliteConnection, "close", close_and_record)
    with Kit() as kit:
        kit.store.read_sync(directory.page)
        run_in_threads(20, lambda: kit.store.read_sync(directory.page))
        assert len(opened_connections) == 21
        assert len(closed_connections) == 19
        assert kit.store.read_sync(directory.page) == []
        assert opened_connections[0] not in closed_connections
    assert len(closed_connections) == 21


def test_the_server_is_not_left_with_them(migrated_postgres_url: str) -> None:
    """But with that of the last thread. A session ends a little after its connection."""
    sessions = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gatepost'"
    store = open_store(migrated_postgres_url)
    with psycopg.connect(migrated_postgres_url, autocommit=True) as db:
        run_in_threads(10, lambda: store.read_sync(directory.page))
        wait_until(lambda: len(db.execute(sessions).fetchall()) == 1, "one session is left")
        store.close()
        wait_until(lambda: not db.execute(sessions).fetchall(), "no session is left")
