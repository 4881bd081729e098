"""Signals are sent after the commit: a receiver already sees the rows."""

import asyncio
import threading
from collections.abc import Sequence

from gatepost.core.signals import Signal
from gatepost.ports import Store, Transaction
from gatepost.testing.conformance.fixtures import (
    LANE,
    WAIT_TIMEOUT,
    StoreFactory,
    StoreFixtures,
    push_and_fail,
    push_text,
    read_texts,
    run_together,
)
from gatepost.testing.kit import FakeClock, RecordingSignalSink


class SignalSuite(StoreFixtures):
    def test_the_sink_sees_the_committed_row(
        self, store: Store, other_store: Store, open: StoreFactory, clock: FakeClock
    ) -> None:
        seen_texts: list[list[str]] = []

        def record_texts(signals: Sequence[Signal]) -> None:
            seen_texts.append(other_store.query(read_texts))

        store_with_sink = open(clock=clock, signal_sink=record_texts)
        store_with_sink.call(push_text, "first")
        asyncio.run(store_with_sink.run(push_text, "second"))
        assert seen_texts == [["first"], ["first", "second"]]

    def test_no_signal_is_sent_before_the_commit(self, store: Store, signal_sink: RecordingSignalSink) -> None:
        def push_and_read_signals(tx: Transaction) -> list[Signal]:
            push_text(tx, "tea")
            return list(signal_sink.signals)

        assert store.call(push_and_read_signals) == []
        assert asyncio.run(store.run(push_and_read_signals))[1:] == []
        assert len(signal_sink.signals) == 2

    def test_the_signal_is_sent_before_the_answer(self, store: Store, signal_sink: RecordingSignalSink) -> None:
        store.call(push_text, "first")
        assert [(signal.recipient, signal.cause) for signal in signal_sink.signals] == [("ann", "event")]
        asyncio.run(store.run(push_text, "second", "bob"))
        assert [signal.recipient for signal in signal_sink.signals] == ["ann", "bob"]

    def test_signals_are_sent_in_order_and_only_for_stored_calls(
        self, store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        def signal(tx: Transaction, name: str) -> None:
            tx.after_commit(Signal(name, "test"))

        async def run_scenario() -> None:
            await run_together(
                store,
                store.run(signal, "1", lane=LANE),
                store.run(push_and_fail, "never", lane=LANE),
                store.run(signal, "2", lane=LANE),
                store.run(signal, "3", lane=LANE),
            )

        asyncio.run(run_scenario())
        assert [signal.recipient for signal in signal_sink.signals] == ["1", "2", "3"]

    def test_a_sink_that_fails_changes_nothing(self, store: Store, open: StoreFactory, clock: FakeClock) -> None:
        def raise_error(signals: Sequence[Signal]) -> None:
            raise RuntimeError("the sink is broken")

        store_with_sink = open(clock=clock, signal_sink=raise_error)
        assert store_with_sink.call(push_text, "first") == "first"
        assert asyncio.run(store_with_sink.run(push_text, "second")) == "second"
        assert store_with_sink.query(read_texts) == ["first", "second"]
        assert store_with_sink.signal_failures == 2

    def test_the_sink_may_use_its_own_store(self, store: Store, open: StoreFactory, clock: FakeClock) -> None:
        seen_texts: list[list[str]] = []
        done = threading.Event()

        def record_texts(signals: Sequence[Signal]) -> None:
            seen_texts.append(store_with_sink.query(read_texts))
            done.set()

        store_with_sink = open(clock=clock, signal_sink=record_texts)
        store_with_sink.call(push_text, "first")
        assert done.wait(WAIT_TIMEOUT)
        asyncio.run(store_with_sink.run(push_text, "second"))
        assert seen_texts == [["first"], ["first", "second"]]
