"""The WAL of a SQLite store grows while much is written or somebody reads for long, and shrinks afterwards."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gatepost import app
from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Unavailable
from gatepost.stores.sqlite import open_file
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import WorkerOptions, run_worker
from tests.support.servers.private_servers import wait_until_async

MIB = 1024 * 1024


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store that is open, so that its WAL is not removed with the last connection."""
    with closing(open_store(f"sqlite:///{tmp_path}/office.db", busy_timeout=0.1)) as store:
        store.migrate()
        register(store, "admin")
        yield store


def register(store: Store, name: str) -> None:
    store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))


def get_wal_size(folder: Path) -> int:
    wal = folder / "office.db-wal"
    return wal.stat().st_size if wal.exists() else 0


def fill_wal(folder: Path) -> None:
    """Write 20 MiB in one transaction."""
    with closing(open_file(folder / "office.db", 1.0)) as db:
        db.execute("CREATE TABLE IF NOT EXISTS filler (content BLOB)")
        db.execute("INSERT INTO filler VALUES (zeroblob(?))", (20 * MIB,))


def test_it_is_cut_when_it_is_begun_anew(store: Store, tmp_path: Path) -> None:
    fill_wal(tmp_path)
    assert get_wal_size(tmp_path) > 20 * MIB
    register(store, "husam")
    assert get_wal_size(tmp_path) <= 16 * MIB


def test_it_is_cut_to_nothing_when_little_is_written(store: Store, tmp_path: Path) -> None:
    fill_wal(tmp_path)
    store.shrink()
    register(store, "husam")
    assert get_wal_size(tmp_path) > MIB, "much was written since the last look"
    store.shrink()
    store.shrink()
    assert get_wal_size(tmp_path) == 0
    register(store, "ana")
    store.shrink()
    assert 0 < get_wal_size(tmp_path) <= MIB, "so little is left as it is"
    assert [entity.name for entity in store.read_sync(directory.list_page)] == ["admin", "husam", "ana"]


def test_nobody_who_reads_or_writes_is_waited_for(store: Store, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "office.db", isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM entities").fetchone()
        fill_wal(tmp_path)
        for _ in range(3):
            store.shrink()
        assert get_wal_size(tmp_path) > 20 * MIB
        other.execute("COMMIT")
        other.execute("BEGIN IMMEDIATE")
        for _ in range(3):
            store.shrink()
        assert get_wal_size(tmp_path) > MIB
        other.execute("COMMIT")
    for _ in range(2):
        store.shrink()
    assert get_wal_size(tmp_path) == 0


async def test_a_worker_sees_to_it(store: Store, tmp_path: Path) -> None:
    fill_wal(tmp_path)
    bus = SignalBus()

    async def is_small() -> bool:
        return get_wal_size(tmp_path) <= MIB

    async with (
        app.open_cycle_deps(store, bus.send) as deps,
        run_worker(deps, bus, WorkerOptions(recheck_interval=0.01)),
    ):
        await wait_until_async(is_small, "the log is small")


def test_a_file_that_was_deleted_is_not_made_again(store: Store, tmp_path: Path) -> None:
    fill_wal(tmp_path)
    (tmp_path / "office.db").unlink()
    with pytest.raises(Unavailable, match="was deleted"):
        store.shrink()
    assert not (tmp_path / "office.db").exists()
