"""Calls that wait together are written together, but each succeeds or fails alone."""

import asyncio

import pytest

from gatepost.errors import Conflict, Unavailable
from gatepost.ports import RetryTransaction, Store, Transaction
from gatepost.testing.conformance.fixtures import (
    LANE,
    ExpectedError,
    StoreFixtures,
    count_accepted,
    push_and_fail,
    push_and_stop_iteration,
    push_and_violate_constraint,
    push_text,
    read_texts,
    run_together,
    yield_to_loop,
)
from gatepost.testing.kit import RecordingSignalSink


class GroupSuite(StoreFixtures):
    def test_a_call_that_fails_does_not_affect_its_neighbours(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        verbs = [
            push_text,
            push_and_fail,
            push_text,
            push_and_violate_constraint,
            push_text,
            push_and_stop_iteration,
            push_text,
        ]

        async def run_scenario() -> list[object]:
            calls = (store.run(verbs[number % len(verbs)], str(number), lane=LANE) for number in range(150))
            return await run_together(store, *calls)

        outcomes = asyncio.run(run_scenario())
        expected = [str(number) for number in range(150) if verbs[number % len(verbs)] is push_text]
        assert [outcome for outcome in outcomes if not isinstance(outcome, BaseException)] == expected
        assert [str(number) for number, outcome in enumerate(outcomes) if isinstance(outcome, str)] == expected
        assert other_store.query(read_texts) == expected
        assert other_store.query(count_accepted) == len(expected) == len(signal_sink.signals)

    def test_each_failure_goes_to_its_own_caller(self, store: Store) -> None:
        def refuse(tx: Transaction, text: str) -> str:
            raise Conflict(text)

        async def run_scenario() -> list[object]:
            return await run_together(store, *(store.run(refuse, str(number), lane=LANE) for number in range(20)))

        assert [str(outcome) for outcome in asyncio.run(run_scenario())] == [str(number) for number in range(20)]

    def test_a_verb_that_raises_unavailable_fails_alone(self, store: Store, other_store: Store) -> None:
        def push_and_raise_unavailable(tx: Transaction) -> None:
            push_text(tx, "half")
            raise Unavailable("not today")

        async def run_scenario() -> list[object]:
            return await run_together(
                store,
                store.run(push_text, "before", lane=LANE),
                store.run(push_and_raise_unavailable, lane=LANE),
                store.run(push_text, "after", lane=LANE),
            )

        before, error, after = asyncio.run(run_scenario())
        assert (before, after) == ("before", "after")
        assert isinstance(error, Unavailable)
        assert other_store.query(read_texts) == ["before", "after"]

    def test_a_verb_that_asks_for_a_retry_runs_again_and_has_its_effect_once(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        attempts: list[str] = []

        def push_on_third_try(tx: Transaction, text: str) -> str:
            push_text(tx, text)
            attempts.append(text)
            if attempts.count(text) < 3:
                raise RetryTransaction(text)
            return text

        async def run_scenario() -> list[object]:
            return await run_together(
                store,
                store.run(push_text, "before", lane=LANE),
                store.run(push_on_third_try, "at last", lane=LANE),
                store.run(push_text, "after", lane=LANE),
            )

        assert asyncio.run(run_scenario()) == ["before", "at last", "after"]
        assert store.call(push_on_third_try, "once more") == "once more"
        assert other_store.query(read_texts) == ["before", "at last", "after", "once more"]
        assert other_store.query(count_accepted) == 4 == len(signal_sink.signals)

    def test_a_verb_that_always_asks_for_a_retry_fails_as_unavailable(self, store: Store, other_store: Store) -> None:
        def push_and_always_retry(tx: Transaction) -> None:
            push_text(tx, "never")
            raise RetryTransaction("never")

        with pytest.raises(Unavailable):
            store.call(push_and_always_retry)
        assert other_store.query(read_texts) == []

    def test_a_lane_keeps_the_order_of_its_calls(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(200)]

        async def run_scenario() -> None:
            await asyncio.gather(*(store.run(push_text, text, lane="one lane") for text in texts))

        asyncio.run(run_scenario())
        assert other_store.query(read_texts) == texts

    def test_a_verb_sees_what_came_before_it_in_its_lane(self, store: Store) -> None:
        async def run_scenario() -> list[object]:
            return await run_together(
                store,
                store.run(push_text, "first", lane=LANE),
                store.run(read_texts, lane=LANE),
                store.run(push_and_fail, "never", lane=LANE),
                store.run(push_text, "second", lane=LANE),
                store.run(read_texts, lane=LANE),
            )

        _, first_texts, error, _, last_texts = asyncio.run(run_scenario())
        assert isinstance(error, ExpectedError)
        assert (first_texts, last_texts) == (["first"], ["first", "second"])

    def test_callers_that_give_up_do_no_harm(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(60)]

        async def run_scenario() -> list[object]:
            tasks = [asyncio.create_task(store.run(push_text, text, lane=LANE)) for text in texts]
            await yield_to_loop()
            for task in tasks[::3]:
                task.cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

        outcomes = asyncio.run(run_scenario())
        answers = [outcome for outcome in outcomes if isinstance(outcome, str)]
        assert set(texts) - set(texts[::3]) <= set(answers)
        stored_texts = other_store.query(read_texts)
        assert set(answers) <= set(stored_texts)
        assert len(stored_texts) == len(set(stored_texts)) == other_store.query(count_accepted)
        store.call(push_text, "after all")
        assert other_store.query(read_texts) == [*stored_texts, "after all"]

    def test_a_loop_that_ends_early_does_no_harm(self, store: Store, other_store: Store) -> None:
        async def leave() -> None:
            task = asyncio.create_task(store.run(push_text, "bye"))
            await yield_to_loop()
            task.cancel()

        asyncio.run(leave())
        store.call(push_text, "hello")
        assert set(other_store.query(read_texts)) - {"bye"} == {"hello"}

    @pytest.mark.parametrize("lane", ["", "ann", "a\ud800b", "x" * 10_000])
    def test_any_text_is_a_lane(self, store: Store, lane: str) -> None:
        assert asyncio.run(store.run(push_text, "tea", lane=lane)) == "tea"
