"""The threads that use a store: the connections that it keeps for them, and the commits that they share."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from gatepost.app import open_store
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid
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
        kit.store.read_sync(directory.list_page)
        run_in_threads(20, lambda: kit.store.read_sync(directory.list_page))
        assert len(opened_connections) == 1 + 21  # the first is that of all who write
        assert len(closed_connections) == 19
        assert kit.store.read_sync(directory.list_page) == []
        assert opened_connections[1] not in closed_connections
    assert len(closed_connections) == 1 + 21


def test_the_server_is_not_left_with_them(migrated_postgres_url: str) -> None:
    """But with that of the last thread. A session ends a little after its connection."""
    sessions = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'gatepost'"
    store = open_store(migrated_postgres_url)
    with psycopg.connect(migrated_postgres_url, autocommit=True) as db:
        run_in_threads(10, lambda: store.read_sync(directory.list_page))
        wait_until(lambda: len(db.execute(sessions).fetchall()) == 1, "one session is left")
        store.close()
        wait_until(lambda: not db.execute(sessions).fetchall(), "no session is left")


def test_threads_that_wait_at_the_same_time_share_a_commit() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def register(tx: Transaction, number: int) -> str:
        if number == 0:
            begun.set()
            may_end.wait()
        if number == 7:
            raise Invalid("not this one")
        return directory.register(tx, EntitySpec(name=f"agent-{number}", kind=EntityKind.AGENT)).name

    with Kit() as kit, ThreadPoolExecutor(10) as pool:
        store, commit_count = kit.store, kit.store.commit_count
        assert isinstance(store, SqliteStore)
        assert store._turns is not None
        waiting_calls = store._turns._waiting_calls
        futures = [pool.submit(store.run_sync, register, 0)]
        begun.wait()
        futures += [pool.submit(store.run_sync, register, number) for number in range(1, 10)]
        wait_until(lambda: waiting_calls.qsize() == 9, "nine threads wait")
        may_end.set()
        outcomes = [future.exception() or future.result() for future in futures]
        assert store.commit_count - commit_count == 2
    assert [str(outcome) for outcome in outcomes] == [
        "not this one" if number == 7 else f"agent-{number}" for number in range(10)
    ]


def test_an_interrupted_thread_leaves_no_other_waiting() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def interrupt(tx: Transaction) -> None:
        begun.set()
        may_end.wait()
        raise KeyboardInterrupt

    with Kit() as kit, ThreadPoolExecutor(2) as pool:
        interrupted = pool.submit(kit.store.run_sync, interrupt)
        begun.wait()
        second = pool.submit(kit.store.run_sync, directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        may_end.set()
        assert isinstance(interrupted.exception(), KeyboardInterrupt)
        assert second.result().name == "ann"
