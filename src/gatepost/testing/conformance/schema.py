"""Migrations go forward, once, however many start at the same time; code that is too old is refused."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gatepost.errors import Unavailable
from gatepost.ports import Store
from gatepost.tables import statements
from gatepost.testing.conformance.office import PATIENCE, Office, Open, tell, told
from gatepost.testing.kit import FakeClock


class Schema(Office):
    @pytest.fixture
    def later(self, monkeypatch: pytest.MonkeyPatch) -> "Later":
        return Later(monkeypatch)

    def test_migrating_again_changes_nothing(self, store: Store, open: Open, clock: FakeClock) -> None:
        store.call(tell, "kept")
        had, has = store.migrate()
        assert had == has
        assert open(clock=clock).migrate() == (has, has)
        assert store.query(told) == ["kept"]

    def test_an_empty_database_has_version_zero(self, open: Open, clock: FakeClock) -> None:
        had, has = open(clock=clock).migrate()
        assert had == 0
        assert has > 0

    def test_many_may_migrate_at_once(self, open: Open, clock: FakeClock) -> None:
        stores = [open(clock=clock) for _ in range(8)]
        barrier = Barrier(len(stores))

        def migrate(store: Store) -> tuple[int, int]:
            barrier.wait(PATIENCE)
            return store.migrate()

        with ThreadPoolExecutor(len(stores)) as pool:
            versions = list(pool.map(migrate, stores))
        assert {has for _, has in versions} == {max(versions)[1]}
        assert [had for had, _ in versions].count(0) >= 1
        assert stores[0].check() == []

    def test_a_later_migration_is_applied_once(self, store: Store, later: "Later") -> None:
        store.call(tell, "kept")
        _, has = store.migrate()
        later.release("CREATE TABLE later (number INTEGER NOT NULL);\nINSERT INTO later VALUES (1)", oldest=1)
        assert store.migrate() == (has, has + 1)
        assert store.migrate() == (has + 1, has + 1)
        assert store.query(told) == ["kept"]

    def test_a_migration_that_fails_leaves_the_old_version(self, store: Store, later: "Later") -> None:
        _, has = store.migrate()
        later.release("CREATE TABLE later (number INTEGER NOT NULL);\nCREATE TABLE later (again INTEGER)", oldest=1)
        with pytest.raises(Exception, match="already exists"):
            store.migrate()
        later.withdraw()
        assert store.migrate() == (has, has)
        later.release("CREATE TABLE later (number INTEGER NOT NULL)", oldest=1)
        assert store.migrate() == (has, has + 1)

    def test_older_code_goes_on_with_a_schema_that_allows_it(self, store: Store, later: "Later") -> None:
        _, has = store.migrate()
        later.release("CREATE TABLE later (number INTEGER)", oldest=has)
        store.migrate()
        later.withdraw()
        assert store.migrate() == (has + 1, has + 1)
        store.call(tell, "tea")

    def test_older_code_is_refused_by_a_schema_that_does_not(self, store: Store, later: "Later") -> None:
        _, has = store.migrate()
        later.release("CREATE TABLE later (number INTEGER)", oldest=has + 1)
        store.migrate()
        later.withdraw()
        with pytest.raises(Unavailable, match=f"needs Gatepost with schema {has + 1}") as refused:
            store.migrate()
        assert refused.value.hint is not None

    def test_a_healthy_store_has_nothing_to_say(self, store: Store) -> None:
        assert store.check() == []


class Later:
    """Code of the future: the same with one migration more."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def release(self, text: str, *, oldest: int) -> None:
        newest, migration = statements.newest, statements.migration

        def later(dialect: str, number: int) -> str | None:
            last = newest(dialect) + 1
            return f"-- oldest: {oldest}\n{text};\n" if number == last else migration(dialect, number)

        self._monkeypatch.setattr(statements, "migration", later)
        self._monkeypatch.setattr(statements, "newest", lambda dialect: newest(dialect) + 1)

    def withdraw(self) -> None:
        self._monkeypatch.undo()
