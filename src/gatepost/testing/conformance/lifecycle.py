"""How a store begins and ends: its schema, and closing it."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.core.ports import Store
from gatepost.errors import Unavailable
from gatepost.stores import statements
from gatepost.testing import FakeClock
from gatepost.testing.conformance.fixtures import (
    LANE,
    WAIT_TIMEOUT,
    BlockingVerb,
    StoreFactory,
    StoreFixtures,
    push_text,
    read_texts,
    yield_to_loop,
)


class CloseSuite(StoreFixtures):
    """A store that closes finishes the calls it has accepted, and accepts no more."""

    async def test_closing_finishes_accepted_calls(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(100)]
        tasks = [asyncio.create_task(store.run(push_text, text, lane=LANE)) for text in texts]
        await yield_to_loop()
        store.close()
        assert await asyncio.gather(*tasks) == texts
        assert other_store.read_sync(read_texts) == texts

    async def test_closing_finishes_calls_of_the_same_turn_of_the_loop(self, store: Store, other_store: Store) -> None:
        task = asyncio.create_task(store.run(push_text, "tea"))
        await asyncio.sleep(0)
        store.close()
        assert await task == "tea"
        assert other_store.read_sync(read_texts) == ["tea"]

    async def test_closing_from_another_thread_finishes_too(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(10)]
        blocker = BlockingVerb()
        first = asyncio.create_task(store.run(blocker, lane=LANE))
        assert await asyncio.to_thread(blocker.started_event.wait, WAIT_TIMEOUT)
        tasks = [asyncio.create_task(store.run(push_text, text, lane=LANE)) for text in texts]
        await yield_to_loop()
        close_task = asyncio.create_task(asyncio.to_thread(store.close))
        await yield_to_loop()
        blocker.release_event.set()
        await asyncio.gather(first, close_task)
        assert await asyncio.gather(*tasks) == texts
        assert other_store.read_sync(read_texts) == texts

    async def test_a_closed_store_accepts_no_calls(self, store: Store, other_store: Store) -> None:
        store.run_sync(push_text, "before")
        store.read_sync(read_texts)
        store.close()
        with pytest.raises(Unavailable, match="closed"):
            await store.run(push_text, "after")
        with pytest.raises(Unavailable, match="closed"):
            await store.read(read_texts)
        with pytest.raises(Unavailable, match="closed"):
            store.run_sync(push_text, "after")
        with pytest.raises(Unavailable, match="closed"):
            store.read_sync(read_texts)
        assert other_store.read_sync(read_texts) == ["before"]

    def test_closing_again_does_nothing(self, store: Store) -> None:
        store.close()
        store.close()

    def test_a_store_that_was_never_used_can_be_closed(self, open: StoreFactory, clock: FakeClock) -> None:
        open(clock=clock).close()

    def test_no_thread_is_left(self, store: Store, open: StoreFactory, clock: FakeClock) -> None:
        threads = set(threading.enumerate())

        async def run_scenario(new_store: Store) -> None:
            task = asyncio.create_task(new_store.run(push_text, "tea"))
            await asyncio.gather(new_store.read(read_texts), new_store.run(push_text, "milk", lane="ann"))
            late_task = asyncio.create_task(new_store.run(push_text, "sugar"))
            await asyncio.sleep(0)
            new_store.close()
            await asyncio.gather(task, late_task)
            await yield_to_loop()

        asyncio.run(run_scenario(open(clock=clock)))
        assert set(threading.enumerate()) <= threads


class SchemaSuite(StoreFixtures):
    """Migrations go forward, once, however many processes start together; code that is too old is refused."""

    @pytest.fixture
    def next_release(self, monkeypatch: pytest.MonkeyPatch) -> "NextRelease":
        return NextRelease(monkeypatch)

    def test_migrating_again_changes_nothing(self, store: Store, open: StoreFactory, clock: FakeClock) -> None:
        store.run_sync(push_text, "kept")
        old_version, new_version = store.migrate()
        assert old_version == new_version
        assert open(clock=clock).migrate() == (new_version, new_version)
        assert store.read_sync(read_texts) == ["kept"]

    def test_an_empty_database_has_version_zero(self, open: StoreFactory, clock: FakeClock) -> None:
        old_version, new_version = open(clock=clock).migrate()
        assert old_version == 0
        assert new_version > 0

    def test_many_may_migrate_at_once(self, open: StoreFactory, clock: FakeClock) -> None:
        stores = [open(clock=clock) for _ in range(8)]
        barrier = threading.Barrier(len(stores))

        def migrate(store: Store) -> tuple[int, int]:
            barrier.wait(WAIT_TIMEOUT)
            return store.migrate()

        with ThreadPoolExecutor(len(stores)) as pool:
            versions = list(pool.map(migrate, stores))
        assert {new_version for _, new_version in versions} == {max(versions)[1]}
        assert [old_version for old_version, _ in versions].count(0) >= 1
        assert stores[0].check() == []

    def test_a_later_migration_is_applied_once(self, store: Store, next_release: "NextRelease") -> None:
        store.run_sync(push_text, "kept")
        _, new_version = store.migrate()
        next_release.release("CREATE TABLE later (number INTEGER NOT NULL);\nINSERT INTO later VALUES (1)", oldest=1)
        assert store.migrate() == (new_version, new_version + 1)
        assert store.migrate() == (new_version + 1, new_version + 1)
        assert store.read_sync(read_texts) == ["kept"]

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
        store.run_sync(push_text, "tea")

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
        store.run_sync(push_text, "kept")
        _, version = store.migrate()
        next_release.squash()
        sentence = f"^the store has schema {version}, and this Gatepost needs schema {version + 1} or later$"
        with pytest.raises(Unavailable, match=sentence) as error_info:
            store.migrate()
        assert error_info.value.hint is not None
        next_release.withdraw()
        assert store.migrate() == (version, version)
        assert store.read_sync(read_texts) == ["kept"]

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
