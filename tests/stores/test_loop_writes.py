"""An event loop that writes a small call itself: only if nobody has to wait for it."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.app import open_store
from gatepost.core.ports import Transaction, batched
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid
from gatepost.stores import call_queues, threaded_store
from gatepost.stores.sqlite import SqliteConnection, SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = open_store(f"sqlite:///{tmp_path}/gatepost.db", writes_in_loop=True)
    assert isinstance(store, SqliteStore)
    with closing(store):
        store.migrate()
        yield store


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a write may take long."""
    monkeypatch.setattr(threaded_store, "_QUICK_WRITE", 1e9)


@batched
def name_threads(tx: Transaction, elements: Sequence[str]) -> list[str]:
    """Return for each element where it was written."""
    tx.execute("inbox/inboxes/advance", recipient=1, cursor=0)
    return [f"{element}: {threading.current_thread().name}" for element in elements]


def name_thread(tx: Transaction) -> str:
    return name_threads(tx, [""])[0]


IN_LOOP = threading.main_thread().name


async def test_a_small_call_alone_is_written_by_the_loop(store: SqliteStore) -> None:
    assert await store.run(name_threads, ["a", "b"]) == [f"a: {IN_LOOP}", f"b: {IN_LOOP}"]
    assert store._write_queues == []
    outcomes = await asyncio.gather(*(store.run(name_threads, [str(number)]) for number in range(3)))
    assert [outcome[0] for outcome in outcomes] == [f"{number}: gatepost-write-0" for number in range(3)]
    assert await store.run(name_threads, ["c"]) == [f"c: {IN_LOOP}"]
    assert "gatepost-write-0" in await store.run(name_thread)
    assert "gatepost-write-0" in (await store.run(name_threads, ["x"] * 11))[0]


async def test_an_error_reaches_the_caller_and_stores_nothing(store: SqliteStore) -> None:
    @batched
    def fail(tx: Transaction, elements: Sequence[str]) -> list[str]:
        name_threads(tx, elements)
        raise Invalid("not this")

    commit_count = store.commit_count
    with pytest.raises(Invalid, match="not this"):
        await store.run(fail, ["a"])
    assert await store.run(name_threads, ["a"]) == [f"a: {IN_LOOP}"]
    assert store.commit_count - commit_count <= 2


async def test_a_loop_never_waits_for_another_process(store: SqliteStore, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "gatepost.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        task = asyncio.create_task(store.run(name_threads, ["a"]))
        for _ in range(3):  # the loop goes on, though the call waits
            await asyncio.sleep(0)
        assert not task.done()
        other.execute("ROLLBACK")
        assert await task == ["a: gatepost-write-0"]
    assert store.failure is None


async def test_a_call_does_not_overtake_one_that_waits_in_the_queue(store: SqliteStore) -> None:
    begun, may_end, order = threading.Event(), threading.Event(), list[str]()

    def hold(tx: Transaction) -> None:
        begun.set()
        may_end.wait()
        order.append("first")

    @batched
    def follow(tx: Transaction, elements: Sequence[str]) -> list[str]:
        order.extend(elements)
        return list(elements)

    first_task = asyncio.create_task(store.run(hold, lane="ann"))
    await asyncio.to_thread(begun.wait)
    second_task = asyncio.create_task(store.run(follow, ["second"], lane="ann"))
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.gather(first_task, second_task)
    assert order == ["first", "second"]


async def test_after_a_slow_write_calls_are_queued_for_a_while(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threaded_store, "_QUICK_WRITE", 0.0)
    monkeypatch.setattr(threaded_store, "_DETOURS", 2)
    places = [(await store.run(name_threads, [""]))[0] for _ in range(4)]
    assert places == [f": {IN_LOOP}", ": gatepost-write-0", ": gatepost-write-0", f": {IN_LOOP}"]


async def test_the_journal_is_copied_elsewhere(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or else a commit in the loop would have to copy it."""
    threads = list[str]()
    copy_journal = SqliteConnection.copy_journal

    def copy_and_note(self: SqliteConnection) -> None:
        threads.append(threading.current_thread().name)
        copy_journal(self)

    monkeypatch.setattr(SqliteConnection, "copy_journal", copy_and_note)
    monkeypatch.setattr(call_queues, "_MAX_TRIES", 3)
    places = [(await store.run(name_threads, [""]))[0] for _ in range(8)]
    assert [place == f": {IN_LOOP}" for place in places] == [True, True, True, False, True, True, True, False]
    assert threads == ["gatepost-write-0"] * 2


async def test_threads_and_the_loop_write_through_one_connection(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store._turns is not None
    connection = store._turns._connection
    used: set[SqliteConnection] = set()
    commit = SqliteConnection.commit

    def commit_and_note(self: SqliteConnection) -> None:
        used.add(self)
        commit(self)

    monkeypatch.setattr(SqliteConnection, "commit", commit_and_note)
    await store.run(name_threads, ["a"])
    await store.run(name_thread)
    await asyncio.to_thread(store.run_sync, name_thread)
    store.run_sync(name_thread)
    assert store.read_sync(directory.list_page) == []
    assert used == {connection}
