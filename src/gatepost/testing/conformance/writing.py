"""What a store does with the calls that write."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.core.ports import Reader, RetryTransaction, Store, Transaction, batched
from gatepost.core.times import SECOND
from gatepost.errors import Conflict, Invalid, Unavailable, UnknownAddress
from gatepost.inbox.event import PushResult
from gatepost.inbox.push import actions as push
from gatepost.testing import FakeClock, RecordingSignalSink
from gatepost.testing.conformance.fixtures import (
    LANE,
    ExpectedError,
    StoreFixtures,
    count_accepted,
    make_push,
    push_and_fail,
    push_and_stop_iteration,
    push_and_violate_constraint,
    push_text,
    read_texts,
    run_together,
    yield_to_loop,
)


class AnswerSuite(StoreFixtures):
    """An answer means that the work is stored; an error means that nothing is."""

    def test_when_call_returns_the_work_is_stored(self, store: Store, other_store: Store) -> None:
        assert store.run_sync(push_text, "tea is ready") == "tea is ready"
        assert other_store.read_sync(read_texts) == ["tea is ready"]
        assert other_store.read_sync(count_accepted) == 1

    async def test_when_run_returns_the_work_is_stored(self, store: Store, other_store: Store) -> None:
        assert await store.run(push_text, "tea is ready", lane="ann") == "tea is ready"
        assert await other_store.read(read_texts) == ["tea is ready"]

    @pytest.mark.parametrize("verb", [push_and_fail, push_and_violate_constraint])
    async def test_a_verb_that_raises_leaves_nothing(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink, verb: object
    ) -> None:
        with pytest.raises(Exception, match="tea|nonsense|constraint"):
            store.run_sync(verb, "tea is ready")  # type: ignore[arg-type]
        with pytest.raises(Exception, match="tea|nonsense|constraint"):
            await store.run(verb, "tea is ready")  # type: ignore[arg-type]
        assert other_store.read_sync(read_texts) == []
        assert other_store.read_sync(count_accepted) == 0
        assert signal_sink.signals == []

    def test_the_error_is_the_one_that_the_verb_raised(self, store: Store) -> None:
        with pytest.raises(ExpectedError, match="^tea$"):
            store.run_sync(push_and_fail, "tea")

    async def test_a_failure_of_the_database_within_a_verb_is_reported(self, store: Store) -> None:
        def fail_as_a_full_disk(_: Transaction) -> None:
            raise Unavailable("the disk is full")

        with pytest.raises(Unavailable, match="the disk is full"):
            store.run_sync(fail_as_a_full_disk)
        failures = [store.failure]
        store.run_sync(push_text, "tea")
        failures.append(store.failure)
        assert failures == ["the disk is full", None]
        with pytest.raises(Unavailable, match="the disk is full"):
            await asyncio.gather(  # in one lane: after another writer's commit it would be forgotten
                store.run(push_text, "tea", lane="tea"), store.run(fail_as_a_full_disk, lane="tea")
            )
        assert store.failure == "the disk is full"

    def test_a_failure_is_kept_until_a_write_of_its_size_succeeds(self, store: Store) -> None:
        def fail_to_store(_: Transaction, text: str) -> None:
            raise Unavailable(f"there is no room for {len(text)} characters")

        with pytest.raises(Unavailable, match="no room"):
            store.run_sync(fail_to_store, "tea" * 1_000)
        store.run_sync(push_text, "tea")
        assert store.failure == "there is no room for 3000 characters", "a small write says nothing of a large one"
        store.run_sync(push_text, "tea" * 2_000)
        assert store.failure is None

    def test_a_trial_ends_a_failure_and_leaves_nothing(self, store: Store, other_store: Store) -> None:
        def fail_to_store(_: Transaction) -> None:
            raise Unavailable("there is no room")

        store.run_sync(push_text, "tea")
        with pytest.raises(Unavailable, match="no room"):
            store.run_sync(fail_to_store)
        for _ in range(2):
            store.try_to_write()
            assert store.failure is None
        assert other_store.check() == []
        assert other_store.read_sync(read_texts) == ["tea"]

    def test_after_an_error_the_store_goes_on(self, store: Store, other_store: Store) -> None:
        for verb in (push_and_fail, push_and_violate_constraint):
            with pytest.raises(Exception, match=r"first|constraint"):
                store.run_sync(verb, "first")
            store.run_sync(push_text, verb.__name__)
        assert other_store.read_sync(read_texts) == ["push_and_fail", "push_and_violate_constraint"]

    def test_a_verb_sees_what_it_wrote(self, store: Store) -> None:
        def push_twice(tx: Transaction) -> list[str]:
            push_text(tx, "first")
            assert read_texts(tx) == ["first"]
            push_text(tx, "second")
            return read_texts(tx)

        assert store.run_sync(push_twice) == ["first", "second"]

    async def test_keyword_arguments_reach_the_verb(self, store: Store) -> None:
        assert store.run_sync(push_text, "tea", to="bob") == "tea"
        await store.run(push_text, text="milk", to="bob", lane="bob")
        assert store.read_sync(read_texts, name="bob") == ["tea", "milk"]

    async def test_time_and_ids_come_from_the_clock(self, store: Store, clock: FakeClock) -> None:
        def get_now(tx: Reader) -> int:
            return tx.now

        def make_id(tx: Transaction) -> tuple[int, str]:
            return tx.now, tx.new_id("evt")

        start = clock.now()
        assert store.read_sync(get_now) == store.run_sync(get_now) == start
        clock.advance(90 * SECOND)
        assert store.read_sync(get_now) == await store.run(get_now) == start + 90 * SECOND
        time, first_id = store.run_sync(make_id)
        assert time == start + 90 * SECOND
        assert first_id != store.run_sync(make_id)[1]

    def test_a_statement_returns_how_many_rows_it_changed(self, store: Store) -> None:
        def run_statements(tx: Transaction) -> tuple[int, int, object]:
            name = {"name": "annie", "entity": 1, "is_alias": True}
            return (
                tx.execute("directory/names/insert", **name),
                tx.execute("directory/names/insert", **name),
                tx.fetch_one("inbox/claims/read", id="no"),
            )

        assert store.run_sync(run_statements) == (1, 0, None)

    def test_threads_may_call_at_once(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(40)]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda text: store.run_sync(push_text, text), texts)) == texts
        assert sorted(other_store.read_sync(read_texts), key=int) == texts
        assert other_store.read_sync(count_accepted) == 40

    def test_event_loops_may_run_at_once(self, store: Store, other_store: Store) -> None:
        async def run_scenario(part: int) -> list[str]:
            return await asyncio.gather(*(store.run(push_text, f"{part} {number}") for number in range(20)))

        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda part: asyncio.run(run_scenario(part)), range(3)))
        assert answers == [[f"{part} {number}" for number in range(20)] for part in range(3)]
        assert sorted(other_store.read_sync(read_texts)) == sorted(text for part in answers for text in part)


class GroupSuite(StoreFixtures):
    """Calls that wait together are written together, but each succeeds or fails alone."""

    async def test_a_call_that_fails_does_not_affect_its_neighbours(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        failing_verbs = (push_and_fail, push_and_violate_constraint, push_and_stop_iteration)
        verbs = [verb for failing_verb in failing_verbs for verb in (push_text, failing_verb)] + [push_text]
        calls = (store.run(verbs[number % len(verbs)], str(number), lane=LANE) for number in range(150))
        outcomes = await run_together(store, *calls)
        expected = [str(number) for number in range(150) if verbs[number % len(verbs)] is push_text]
        assert [outcome for outcome in outcomes if not isinstance(outcome, BaseException)] == expected
        assert [str(number) for number, outcome in enumerate(outcomes) if isinstance(outcome, str)] == expected
        assert other_store.read_sync(read_texts) == expected
        assert other_store.read_sync(count_accepted) == len(expected) == len(signal_sink.signals)

    async def test_each_failure_goes_to_its_own_caller(self, store: Store) -> None:
        def refuse(tx: Transaction, text: str) -> str:
            raise Conflict(text)

        outcomes = await run_together(store, *(store.run(refuse, str(number), lane=LANE) for number in range(20)))
        assert [str(outcome) for outcome in outcomes] == [str(number) for number in range(20)]

    async def test_a_verb_that_raises_unavailable_fails_alone(self, store: Store, other_store: Store) -> None:
        def push_and_raise_unavailable(tx: Transaction) -> None:
            push_text(tx, "half")
            raise Unavailable("not today")

        before, error, after = await run_together(
            store,
            store.run(push_text, "before", lane=LANE),
            store.run(push_and_raise_unavailable, lane=LANE),
            store.run(push_text, "after", lane=LANE),
        )
        assert (before, after) == ("before", "after")
        assert isinstance(error, Unavailable)
        assert other_store.read_sync(read_texts) == ["before", "after"]

    async def test_a_verb_that_asks_for_a_retry_runs_again_and_has_its_effect_once(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        attempts: list[str] = []

        def push_on_third_try(tx: Transaction, text: str) -> str:
            push_text(tx, text)
            attempts.append(text)
            if attempts.count(text) < 3:
                raise RetryTransaction(text)
            return text

        outcomes = await run_together(
            store,
            store.run(push_text, "before", lane=LANE),
            store.run(push_on_third_try, "at last", lane=LANE),
            store.run(push_text, "after", lane=LANE),
        )
        assert outcomes == ["before", "at last", "after"]
        assert store.run_sync(push_on_third_try, "once more") == "once more"
        assert other_store.read_sync(read_texts) == ["before", "at last", "after", "once more"]
        assert other_store.read_sync(count_accepted) == 4 == len(signal_sink.signals)

    def test_a_verb_that_always_asks_for_a_retry_fails_as_unavailable(self, store: Store, other_store: Store) -> None:
        def push_and_always_retry(tx: Transaction) -> None:
            push_text(tx, "never")
            raise RetryTransaction("never")

        with pytest.raises(Unavailable):
            store.run_sync(push_and_always_retry)
        assert other_store.read_sync(read_texts) == []

    async def test_a_lane_keeps_the_order_of_its_calls(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(200)]
        await asyncio.gather(*(store.run(push_text, text, lane="one lane") for text in texts))
        assert other_store.read_sync(read_texts) == texts

    async def test_a_verb_sees_what_came_before_it_in_its_lane(self, store: Store) -> None:
        _, first_texts, error, _, last_texts = await run_together(
            store,
            store.run(push_text, "first", lane=LANE),
            store.run(read_texts, lane=LANE),
            store.run(push_and_fail, "never", lane=LANE),
            store.run(push_text, "second", lane=LANE),
            store.run(read_texts, lane=LANE),
        )
        assert isinstance(error, ExpectedError)
        assert (first_texts, last_texts) == (["first"], ["first", "second"])

    async def test_callers_that_give_up_do_no_harm(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(60)]
        tasks = [asyncio.create_task(store.run(push_text, text, lane=LANE)) for text in texts]
        await yield_to_loop()
        for task in tasks[::3]:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        answers = [outcome for outcome in outcomes if isinstance(outcome, str)]
        assert set(texts) - set(texts[::3]) <= set(answers)
        stored_texts = other_store.read_sync(read_texts)
        assert set(answers) <= set(stored_texts)
        assert len(stored_texts) == len(set(stored_texts)) == other_store.read_sync(count_accepted)
        store.run_sync(push_text, "after all")
        assert other_store.read_sync(read_texts) == [*stored_texts, "after all"]

    def test_a_loop_that_ends_early_does_no_harm(self, store: Store, other_store: Store) -> None:
        async def leave() -> None:
            task = asyncio.create_task(store.run(push_text, "bye"))
            await yield_to_loop()
            task.cancel()

        asyncio.run(leave())
        store.run_sync(push_text, "hello")
        assert set(other_store.read_sync(read_texts)) - {"bye"} == {"hello"}

    @pytest.mark.parametrize("lane", ["", "ann", "a\ud800b", "x" * 10_000])
    async def test_any_text_is_a_lane(self, store: Store, lane: str) -> None:
        assert await store.run(push_text, "tea", lane=lane) == "tea"


@batched
def push_texts(tx: Transaction, texts: Sequence[str]) -> list[str | Invalid]:
    """Push each text. The outcome of "bad" is an error; "terrible" makes the whole verb fail."""
    outcomes = [Invalid("bad") if text == "bad" else push_text(tx, text) for text in texts]
    if "terrible" in texts:
        raise ExpectedError("terrible")
    return outcomes


class BatchSuite(StoreFixtures):
    """A batched verb gets the elements of all waiting calls, and every outcome reaches the right caller."""

    async def test_outcomes_go_to_the_right_callers(self, store: Store, other_store: Store) -> None:
        lists = [[f"{number} {element}" for element in range(number % 4)] for number in range(50)]
        assert await run_together(store, *(store.run(push_texts, texts, lane=LANE) for texts in lists)) == lists
        assert other_store.read_sync(read_texts) == [text for texts in lists for text in texts]

    async def test_one_bad_element_fails_alone(self, store: Store, other_store: Store) -> None:
        calls = (store.run(push_texts, ["a", "bad", "b"], lane=LANE) for _ in range(3))
        for first, second, third in await run_together(store, *calls):
            assert (first, third) == ("a", "b")
            assert isinstance(second, Invalid)
        assert other_store.read_sync(read_texts) == ["a", "b"] * 3

    async def test_a_call_that_raises_fails_alone(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        lists = [["a", "b"], ["c", "terrible"], ["d"], ["terrible"], []]
        outcomes = await run_together(store, *(store.run(push_texts, texts, lane=LANE) for texts in lists))
        assert [isinstance(outcome, ExpectedError) for outcome in outcomes] == [False, True, False, True, False]
        assert [outcome for outcome in outcomes if isinstance(outcome, list)] == [["a", "b"], ["d"], []]
        assert other_store.read_sync(read_texts) == ["a", "b", "d"]
        assert other_store.read_sync(count_accepted) == 3 == len(signal_sink.signals)

    async def test_a_single_call_works_too(self, store: Store) -> None:
        assert store.run_sync(push_texts, ["a"]) == ["a"]
        assert await store.run(push_texts, ["b"]) == ["b"]
        with pytest.raises(ExpectedError):
            store.run_sync(push_texts, ["terrible"])
        assert store.read_sync(read_texts) == ["a", "b"]

    async def test_more_elements_than_a_group_holds_are_all_written(self, store: Store, other_store: Store) -> None:
        lists = [[f"{number} {element}" for element in range(250)] for number in range(5)]
        outcomes = await run_together(store, *(store.run(push_texts, texts, lane=LANE) for texts in lists))
        assert [len(outcome) for outcome in outcomes] == [250] * 5
        assert len(other_store.read_sync(read_texts)) == 1250

    async def test_a_lane_keeps_its_order_across_batched_and_other_verbs(
        self, store: Store, other_store: Store
    ) -> None:
        _, first_texts, _, _, _, last_texts = await run_together(
            store,
            store.run(push_texts, ["1"], lane=LANE),
            store.run(read_texts, lane=LANE),
            store.run(push_texts, ["2"], lane=LANE),
            store.run(push_text, "3", lane=LANE),
            store.run(push_texts, ["4"], lane=LANE),
            store.run(read_texts, lane=LANE),
        )
        assert first_texts == ["1"]
        assert last_texts == ["1", "2", "3", "4"]

    async def test_pushes_of_many_callers(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink
    ) -> None:
        pushes = [
            [make_push(str(number)), make_push("lost", "nobody"), make_push(str(number), "bob")] for number in range(30)
        ]
        calls = (store.run(push.push_all, requests, lane=LANE) for requests in pushes)
        for first, error, last in await run_together(store, *calls):
            assert isinstance(first, PushResult)
            assert isinstance(error, UnknownAddress)
            assert isinstance(last, PushResult)
            assert [delivery.name for delivery in (*first.deliveries, *last.deliveries)] == ["ann", "bob"]
        texts = [str(number) for number in range(30)]
        assert other_store.read_sync(read_texts) == other_store.read_sync(read_texts, "bob") == texts
        assert other_store.read_sync(count_accepted) == other_store.read_sync(count_accepted, "bob") == 30
        assert len(signal_sink.signals) == 60
