"""A batched verb gets the elements of all waiting calls, and every outcome reaches the right caller."""

import asyncio
from collections.abc import Sequence

import pytest

from gatepost.actions import push
from gatepost.core.event import PushResult
from gatepost.errors import Invalid, UnknownAddress
from gatepost.ports import Store, Transaction, batched
from gatepost.testing.conformance.fixtures import (
    LANE,
    ExpectedError,
    StoreFixtures,
    count_accepted,
    make_push,
    push_text,
    read_texts,
    run_together,
)
from gatepost.testing.kit import RecordingSignalSink


@batched
def push_texts(tx: Transaction, texts: Sequence[str]) -> list[str | Invalid]:
    """Push each text. The outcome of "bad" is an error; "terrible" makes the whole verb fail."""
    outcomes: list[str | Invalid] = []
    for text in texts:
        if text == "bad":
            outcomes.append(Invalid("bad"))
        else:
            outcomes.append(push_text(tx, text))
    if "terrible" in texts:
        raise ExpectedError("terrible")
    return outcomes


class BatchSuite(StoreFixtures):
    def test_outcomes_go_to_the_right_callers(self, store: Store, other_store: Store) -> None:
        lists = [[f"{number} {element}" for element in range(number % 4)] for number in range(50)]

        async def run_scenario() -> list[list[str]]:
            return await run_together(store, *(store.run(push_texts, texts, lane=LANE) for texts in lists))

        assert asyncio.run(run_scenario()) == lists
        assert other_store.query(read_texts) == [text for texts in lists for text in texts]

    def test_one_bad_element_fails_alone(self, store: Store, other_store: Store) -> None:
        async def run_scenario() -> list[list[object]]:
            return await run_together(store, *(store.run(push_texts, ["a", "bad", "b"], lane=LANE) for _ in range(3)))

        for first, second, third in asyncio.run(run_scenario()):
            assert (first, third) == ("a", "b")
            assert isinstance(second, Invalid)
        assert other_store.query(read_texts) == ["a", "b"] * 3

    def test_a_call_that_raises_fails_alone(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        lists = [["a", "b"], ["c", "terrible"], ["d"], ["terrible"], []]

        async def run_scenario() -> list[object]:
            return await run_together(store, *(store.run(push_texts, texts, lane=LANE) for texts in lists))

        outcomes = asyncio.run(run_scenario())
        assert [isinstance(outcome, ExpectedError) for outcome in outcomes] == [False, True, False, True, False]
        assert [outcome for outcome in outcomes if isinstance(outcome, list)] == [["a", "b"], ["d"], []]
        assert other_store.query(read_texts) == ["a", "b", "d"]
        assert other_store.query(count_accepted) == 3 == len(signal_sink.signals)

    def test_a_single_call_works_too(self, store: Store) -> None:
        assert store.call(push_texts, ["a"]) == ["a"]
        assert asyncio.run(store.run(push_texts, ["b"])) == ["b"]
        with pytest.raises(ExpectedError):
            store.call(push_texts, ["terrible"])
        assert store.query(read_texts) == ["a", "b"]

    def test_more_elements_than_a_group_holds_are_all_written(self, store: Store, other_store: Store) -> None:
        async def run_scenario() -> list[list[str]]:
            lists = [[f"{number} {element}" for element in range(250)] for number in range(5)]
            return await run_together(store, *(store.run(push_texts, texts, lane=LANE) for texts in lists))

        assert [len(outcomes) for outcomes in asyncio.run(run_scenario())] == [250] * 5
        assert len(other_store.query(read_texts)) == 1250

    def test_a_lane_keeps_its_order_across_batched_and_other_verbs(self, store: Store, other_store: Store) -> None:
        async def run_scenario() -> list[object]:
            return await run_together(
                store,
                store.run(push_texts, ["1"], lane=LANE),
                store.run(read_texts, lane=LANE),
                store.run(push_texts, ["2"], lane=LANE),
                store.run(push_text, "3", lane=LANE),
                store.run(push_texts, ["4"], lane=LANE),
                store.run(read_texts, lane=LANE),
            )

        _, first_texts, _, _, _, last_texts = asyncio.run(run_scenario())
        assert first_texts == ["1"]
        assert last_texts == ["1", "2", "3", "4"]

    def test_pushes_of_many_callers(self, store: Store, other_store: Store, signal_sink: RecordingSignalSink) -> None:
        async def run_scenario() -> list[list[PushResult | UnknownAddress]]:
            calls = (
                store.run(
                    push.push_all,
                    [make_push(str(number)), make_push("lost", "nobody"), make_push(str(number), "bob")],
                    lane=LANE,
                )
                for number in range(30)
            )
            return await run_together(store, *calls)

        for first, error, last in asyncio.run(run_scenario()):
            assert isinstance(first, PushResult)
            assert isinstance(error, UnknownAddress)
            assert isinstance(last, PushResult)
            assert [delivery.name for delivery in (*first.deliveries, *last.deliveries)] == ["ann", "bob"]
        assert (
            other_store.query(read_texts)
            == other_store.query(read_texts, "bob")
            == [str(number) for number in range(30)]
        )
        assert other_store.query(count_accepted) == other_store.query(count_accepted, "bob") == 30
        assert len(signal_sink.signals) == 60
