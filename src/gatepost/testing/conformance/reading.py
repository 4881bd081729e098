"""What others see of a store: queries, and signals."""

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.core.ports import Reader, Store, Transaction
from gatepost.core.signals import Signal
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
        assert [(signal.recipient, signal.cause) for signal in signal_sink.signals] == [("ann", "event")]
        await store.run(push_text, "second", "bob")
        assert [signal.recipient for signal in signal_sink.signals] == ["ann", "bob"]

    async def test_signals_are_sent_in_order_and_only_for_stored_calls(
        self, store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        def signal(tx: Transaction, name: str) -> None:
            tx.after_commit(Signal(name, "test"))

        await run_together(
            store,
            store.run(signal, "1", lane=LANE),
            store.run(push_and_fail, "never", lane=LANE),
            store.run(signal, "2", lane=LANE),
            store.run(signal, "3", lane=LANE),
        )
        assert [signal.recipient for signal in signal_sink.signals] == ["1", "2", "3"]

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
