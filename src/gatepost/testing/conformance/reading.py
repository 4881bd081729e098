"""What a store does beside writing: queries, signals, its schema, and how it closes."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.core.ports import Reader, Store, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.errors import Unavailable
from gatepost.stores import statements
from gatepost.testing import FakeClock, RecordingSignalSink
from gatepost.testing.conformance.fixtures import (
    LANE,
    WAIT_TIMEOUT,
    BlockingVerb,
    ExpectedError,
    StoreFactory,
    StoreFixtures,
    push_and_fail,
    push_text,
    read_texts,
    run_together,
    yield_to_loop,
)


class ReadSuite(StoreFixtures):
    """A query sees one snapshot, waits for no writer, and changes nothing."""

    def test_a_query_sees_one_moment(self, store: Store, other_store: Store) -> None:
        store.run_sync(push_text, "before")

        def read_twice(tx: Reader) -> tuple[list[str], list[str]]:
            first = read_texts(tx)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(other_store.run_sync, push_text, "meanwhile").result(WAIT_TIMEOUT)
            return first, read_texts(tx)

        assert store.read_sync(read_twice) == (["before"], ["before"])
        assert store.read_sync(read_texts) == ["before", "meanwhile"]

    async def test_a_query_waits_for_no_writer(self, store: Store, other_store: Store) -> None:
        await store.run(push_text, "before")
        blocker = BlockingVerb()
        write_task = asyncio.create_task(store.run(blocker, lane="ann"))
        assert await asyncio.to_thread(blocker.started_event.wait, WAIT_TIMEOUT)
        assert await store.read(read_texts) == other_store.read_sync(read_texts) == ["before"]
        blocker.release_event.set()
        await write_task

    async def test_many_queries_at_once(self, store: Store) -> None:
        await run_together(store, *(store.run(push_text, str(number), lane="ann") for number in range(10)))
        results = await asyncio.gather(*(store.read(read_texts) for _ in range(50)))
        assert results == [[str(number) for number in range(10)]] * 50

    async def test_after_a_query_that_raises_the_next_one_works(self, store: Store) -> None:
        def refuse(tx: Reader) -> None:
            read_texts(tx)
            raise ExpectedError("no")

        def run_unknown_statement(tx: Reader) -> None:
            tx.fetch_all("there is/no such statement")

        for query, error in ((refuse, ExpectedError), (run_unknown_statement, LookupError)):
            with pytest.raises(error):
                store.read_sync(query)
            with pytest.raises(error):
                await store.read(query)
            assert store.read_sync(read_texts) == await store.read(read_texts) == []

    def test_a_page_ends_where_the_room_ends(self, store: Store) -> None:
        for number in range(50):
            store.run_sync(push_text, f"{number} {'x' * 1_000}")

        def read_page(tx: Reader, max_chars: int | None) -> tuple[list[str], bool]:
            tx.max_page_chars = max_chars
            return [text.split()[0] for text in read_texts(tx)], tx.is_truncated

        all_texts = [str(number) for number in range(50)]
        assert store.read_sync(read_page, None) == (all_texts, False)
        assert store.read_sync(read_page, 1_000_000) == (all_texts, False)
        assert store.read_sync(read_page, 1) == (["0"], True)
        page_texts, is_truncated = store.read_sync(read_page, 30_000)
        assert 20 < len(page_texts) < 30
        assert (page_texts, is_truncated) == (all_texts[: len(page_texts)], True)


class SignalSuite(StoreFixtures):
    """Signals are sent after the commit: a receiver already sees the rows."""

    async def test_the_sink_sees_the_committed_row(
        self, store: Store, other_store: Store, open: StoreFactory, clock: FakeClock
    ) -> None:
        seen_texts: list[list[str]] = []

        def record_texts(signals: Sequence[Signal]) -> None:
            seen_texts.append(other_store.read_sync(read_texts))

        store_with_sink = open(clock=clock, signal_sink=record_texts)
        store_with_sink.run_sync(push_text, "first")
        await store_with_sink.run(push_text, "second")
        assert seen_texts == [["first"], ["first", "second"]]

    async def test_no_signal_is_sent_before_the_commit(self, store: Store, signal_sink: RecordingSignalSink) -> None:
        def push_and_read_signals(tx: Transaction) -> list[Signal]:
            push_text(tx, "tea")
            return list(signal_sink.signals)

        assert store.run_sync(push_and_read_signals) == []
        assert (await store.run(push_and_read_signals))[1:] == []
        assert len(signal_sink.signals) == 2

    async def test_the_signal_is_sent_before_the_answer(self, store: Store, signal_sink: RecordingSignalSink) -> None:
        store.run_sync(push_text, "first")
        assert [(signal.topic.recipient, signal.cause) for signal in signal_sink.signals] == [("ann", "event")]
        await store.run(push_text, "second", "bob")
        assert [signal.topic.recipient for signal in signal_sink.signals] == ["ann", "bob"]

    async def test_signals_are_sent_in_order_and_only_for_stored_calls(
        self, store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        def signal(tx: Transaction, name: str) -> None:
            tx.after_commit(Signal(Topic("inbox", name), "test"))

        await run_together(
            store,
            store.run(signal, "1", lane=LANE),
            store.run(push_and_fail, "never", lane=LANE),
            store.run(signal, "2", lane=LANE),
            store.run(signal, "3", lane=LANE),
        )
        assert [signal.topic.recipient for signal in signal_sink.signals] == ["1", "2", "3"]

    async def test_a_sink_that_fails_changes_nothing(self, store: Store, open: StoreFactory, clock: FakeClock) -> None:
        def raise_error(signals: Sequence[Signal]) -> None:
            raise RuntimeError("the sink is broken")

        store_with_sink = open(clock=clock, signal_sink=raise_error)
        assert store_with_sink.run_sync(push_text, "first") == "first"
        assert await store_with_sink.run(push_text, "second") == "second"
        assert store_with_sink.read_sync(read_texts) == ["first", "second"]
        assert store_with_sink.signal_failures == 2

    async def test_the_sink_may_use_its_own_store(self, store: Store, open: StoreFactory, clock: FakeClock) -> None:
        seen_texts: list[list[str]] = []
        done = threading.Event()

        def record_texts(signals: Sequence[Signal]) -> None:
            seen_texts.append(store_with_sink.read_sync(read_texts))
            done.set()

        store_with_sink = open(clock=clock, signal_sink=record_texts)
        store_with_sink.run_sync(push_text, "first")
        assert done.wait(WAIT_TIMEOUT)
        await store_with_sink.run(push_text, "second")
        assert seen_texts == [["first"], ["first", "second"]]


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
