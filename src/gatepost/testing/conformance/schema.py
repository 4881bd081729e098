"""Migrations go forward, once, however many processes start together; code that is too old is refused."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gatepost.errors import Unavailable
from gatepost.ports import Store
from gatepost.tables import statements
from gatepost.testing.conformance.fixtures import WAIT_TIMEOUT, StoreFactory, StoreFixtures, push_text, read_texts
from gatepost.testing.kit import FakeClock


class SchemaSuite(StoreFixtures):
    @pytest.fixture
    def next_release(self, monkeypatch: pytest.MonkeyPatch) -> "NextRelease":
        return NextRelease(monkeypatch)

    def test_migrating_again_changes_nothing(self, store: Store, open: StoreFactory, clock: FakeClock) -> None:
        store.call(push_text, "kept")
        old_version, new_version = store.migrate()
        assert old_version == new_version
        assert open(clock=clock).migrate() == (new_version, new_version)
        assert store.query(read_texts) == ["kept"]

    def test_an_empty_database_has_version_zero(self, open: StoreFactory, clock: FakeClock) -> None:
        old_version, new_version = open(clock=clock).migrate()
        assert old_version == 0
        assert new_version > 0

    def test_many_may_migrate_at_once(self, open: StoreFactory, clock: FakeClock) -> None:
        stores = [open(clock=clock) for _ in range(8)]
        barrier = Barrier(len(stores))

        def migrate(store: Store) -> tuple[int, int]:
            barrier.wait(WAIT_TIMEOUT)
            return store.migrate()

        with ThreadPoolExecutor(len(stores)) as pool:
            versions = list(pool.map(migrate, stores))
        assert {new_version for _, new_version in versions} == {max(versions)[1]}
        assert [old_version for old_version, _ in versions].count(0) >= 1
        assert stores[0].check() == []

    def test_a_later_migration_is_applied_once(self, store: Store, next_release: "NextRelease") -> None:
        store.call(push_text, "kept")
        _, new_version = store.migrate()
        next_release.release("CREATE TABLE later (number INTEGER NOT NULL);\nINSERT INTO later VALUES (1)", oldest=1)
        assert store.migrate() == (new_version, new_version + 1)
        assert store.migrate() == (new_version + 1, new_version + 1)
        assert store.query(read_texts) == ["kept"]

    def test_a_migration_that_fails_leaves_the_old_version(self, store: Store, next_release: "NextRelease") -> None:
        _, new_version = store.migrate()
        next_release.release(
            "CREATE TABLE later (number INTEGER NOT NULL);\nCREATE TABLE later (again INTEGER)", oldest=1
        )
        with pytest.raises(Exception, match="already exists"):
            store.migrate()
        next_release.withdraw()
        assert store.migrate() == (new_version, new_version)
        next_release.release("CREATE TABLE later (number INTEGER NOT NULL)", oldest=1)
        assert store.migrate() == (new_version, new_version + 1)

    def test_older_code_goes_on_with_a_schema_that_allows_it(self, store: Store, next_release: "NextRelease") -> None:
        _, new_version = store.migrate()
        next_release.release("CREATE TABLE later (number INTEGER)", oldest=new_version)
        store.migrate()
        next_release.withdraw()
        assert store.migrate() == (new_version + 1, new_version + 1)
        store.call(push_text, "tea")

    def test_older_code_is_refused_by_a_schema_that_does_not(self, store: Store, next_release: "NextRelease") -> None:
        _, new_version = store.migrate()
        next_release.release("CREATE TABLE later (number INTEGER)", oldest=new_version + 1)
        store.migrate()
        next_release.withdraw()
        with pytest.raises(Unavailable, match=f"needs Gatepost with schema {new_version + 1}") as error_info:
            store.migrate()
        assert error_info.value.hint is not None

    def test_a_store_from_before_the_first_migration_is_refused_and_stays_as_it_is(
        self, store: Store, next_release: "NextRelease"
    ) -> None:
        store.call(push_text, "kept")
        _, version = store.migrate()
        next_release.squash()
        sentence = f"^the store has schema {version}, and this Gatepost needs schema {version + 1} or later$"
        with pytest.raises(Unavailable, match=sentence) as error_info:
            store.migrate()
        assert error_info.value.hint is not None
        next_release.withdraw()
        assert store.migrate() == (version, version)
        assert store.query(read_texts) == ["kept"]

    def test_the_check_of_a_healthy_store_finds_nothing(self, store: Store) -> None:
        assert store.check() == []


class NextRelease:
    """Simulates the next release: the same code with one more migration."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def release(self, text: str, *, oldest: int) -> None:
        newest, migration = statements.find_newest_version, statements.read_migration

        def read_migration(dialect: str, number: int) -> str | None:
            last_number = newest(dialect) + 1
            return f"-- oldest: {oldest}\n{text};\n" if number == last_number else migration(dialect, number)

        self._monkeypatch.setattr(statements, "read_migration", read_migration)
        self._monkeypatch.setattr(statements, "find_newest_version", lambda dialect: newest(dialect) + 1)

    def squash(self) -> None:
        """Be code whose first migration is newer than every store."""
        version = statements.find_newest_version("sqlite") + 1
        self._monkeypatch.setattr(statements, "FIRST_VERSION", version)
        self._monkeypatch.setattr(statements, "find_newest_version", lambda _: version)

    def withdraw(self) -> None:
        self._monkeypatch.undo()
