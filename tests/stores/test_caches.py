"""What a writing connection keeps from one transaction to the next is what the database has."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.app import open_store
from gatepost.core.ports import Reader, Store, Transaction
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.stores.sqlite import SqliteConnection


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with closing(open_store(url)) as store:
        store.migrate()
        register(store, "ann")
        yield store


def register(store: Store, name: str) -> None:
    store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))


def find(tx: Reader, *names: str) -> set[str]:
    return set(entities.find_by_names(tx, names))


def count_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements with rows that run from now on."""
    statements: list[str] = []
    run = SqliteConnection.all

    def record(self: SqliteConnection, name: str, parameters: dict[str, object], /) -> object:
        statements.append(name)
        return run(self, name, parameters)

    monkeypatch.setattr(SqliteConnection, "all", record)
    return statements


def test_names_are_read_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    assert store.run_sync(find, "ann", "bob") == {"ann"}
    statements = count_statements(monkeypatch)
    assert store.run_sync(find, "ann", "bob") == {"ann"}
    assert statements == []


def test_a_change_is_seen_in_its_transaction_and_after_it(store: Store) -> None:
    def register_and_find(tx: Transaction) -> set[str]:
        assert find(tx, "ann", "bob") == {"ann"}
        directory.register(tx, EntitySpec(name="bob", kind=EntityKind.AGENT))
        return find(tx, "ann", "bob")

    assert store.run_sync(register_and_find) == {"ann", "bob"}
    assert store.run_sync(find, "ann", "bob") == {"ann", "bob"}


def test_what_was_undone_is_not_kept(store: Store) -> None:
    def register_and_fail(tx: Transaction) -> None:
        directory.register(tx, EntitySpec(name="bob", kind=EntityKind.AGENT))
        assert find(tx, "bob") == {"bob"}
        raise LookupError

    with pytest.raises(LookupError):
        store.run_sync(register_and_fail)
    assert store.run_sync(find, "ann", "bob") == {"ann"}


async def test_what_was_undone_alone_is_not_kept_by_its_group(store: Store) -> None:
    import asyncio

    def register_and_fail(tx: Transaction) -> None:
        directory.register(tx, EntitySpec(name="bob", kind=EntityKind.AGENT))
        assert find(tx, "bob") == {"bob"}
        raise LookupError

    calls = [store.run(find, "ann", lane="a"), store.run(register_and_fail, lane="b"), store.run(find, "bob", lane="c")]
    first, failure, last = await asyncio.gather(*calls, return_exceptions=True)
    assert (first, type(failure), last) == ({"ann"}, LookupError, set())


def test_what_another_connection_writes_is_seen(store: Store, url: str) -> None:
    assert store.run_sync(find, "ann", "bob") == {"ann"}
    with closing(open_store(url)) as other_store:
        register(other_store, "bob")
        assert store.run_sync(find, "ann", "bob") == {"ann", "bob"}
        other_store.run_sync(directory.retire, "ann")
    [ann] = store.run_sync(entities.find_by_names, ["ann"]).values()
    assert not ann.is_live


def test_a_reader_keeps_nothing(store: Store) -> None:
    assert store.read_sync(find, "bob") == set()
    register(store, "bob")
    assert store.read_sync(find, "bob") == {"bob"}
