"""An answer means that the work is stored; an error means that nothing is."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.core.times import SECOND
from gatepost.ports import Reader, Store, Transaction
from gatepost.testing.conformance.fixtures import (
    ExpectedError,
    StoreFixtures,
    count_accepted,
    push_and_fail,
    push_and_violate_constraint,
    push_text,
    read_texts,
)
from gatepost.testing.kit import FakeClock, RecordingSignalSink


class AnswerSuite(StoreFixtures):
    def test_when_call_returns_the_work_is_stored(self, store: Store, other_store: Store) -> None:
        assert store.call(push_text, "tea is ready") == "tea is ready"
        assert other_store.query(read_texts) == ["tea is ready"]
        assert other_store.query(count_accepted) == 1

    def test_when_run_returns_the_work_is_stored(self, store: Store, other_store: Store) -> None:
        async def run_scenario() -> list[str]:
            assert await store.run(push_text, "tea is ready", lane="ann") == "tea is ready"
            return await other_store.read(read_texts)

        assert asyncio.run(run_scenario()) == ["tea is ready"]

    @pytest.mark.parametrize("verb", [push_and_fail, push_and_violate_constraint])
    def test_a_verb_that_raises_leaves_nothing(
        self, store: Store, other_store: Store, signal_sink: RecordingSignalSink, verb: object
    ) -> None:
        with pytest.raises(Exception, match="tea|nonsense|constraint"):
            store.call(verb, "tea is ready")  # type: ignore[arg-type]
        with pytest.raises(Exception, match="tea|nonsense|constraint"):
            asyncio.run(store.run(verb, "tea is ready"))  # type: ignore[arg-type]
        assert other_store.query(read_texts) == []
        assert other_store.query(count_accepted) == 0
        assert signal_sink.signals == []

    def test_the_error_is_the_one_that_the_verb_raised(self, store: Store) -> None:
        with pytest.raises(ExpectedError, match="^tea$"):
            store.call(push_and_fail, "tea")

    def test_after_an_error_the_store_goes_on(self, store: Store, other_store: Store) -> None:
        for verb in (push_and_fail, push_and_violate_constraint):
            with pytest.raises(Exception, match=r"first|constraint"):
                store.call(verb, "first")
            store.call(push_text, verb.__name__)
        assert other_store.query(read_texts) == ["push_and_fail", "push_and_violate_constraint"]

    def test_a_verb_sees_what_it_wrote(self, store: Store) -> None:
        def push_twice(tx: Transaction) -> list[str]:
            push_text(tx, "first")
            assert read_texts(tx) == ["first"]
            push_text(tx, "second")
            return read_texts(tx)

        assert store.call(push_twice) == ["first", "second"]

    def test_keyword_arguments_reach_the_verb(self, store: Store) -> None:
        assert store.call(push_text, "tea", to="bob") == "tea"
        asyncio.run(store.run(push_text, text="milk", to="bob", lane="bob"))
        assert store.query(read_texts, name="bob") == ["tea", "milk"]

    def test_time_and_ids_come_from_the_clock(self, store: Store, clock: FakeClock) -> None:
        def get_now(tx: Reader) -> int:
            return tx.now

        def make_id(tx: Transaction) -> tuple[int, str]:
            return tx.now, tx.new_id("evt")

        start = clock.now()
        assert store.query(get_now) == store.call(get_now) == start
        clock.advance(90 * SECOND)
        assert store.query(get_now) == asyncio.run(store.run(get_now)) == start + 90 * SECOND
        time, first_id = store.call(make_id)
        assert time == start + 90 * SECOND
        assert first_id != store.call(make_id)[1]

    def test_a_statement_returns_how_many_rows_it_changed(self, store: Store) -> None:
        def run_statements(tx: Transaction) -> tuple[int, int, object]:
            name = {"name": "annie", "entity": 1, "is_alias": True}
            return (
                tx.execute("names/insert", **name),
                tx.execute("names/insert", **name),
                tx.fetch_one("claims/read", id="no"),
            )

        assert store.call(run_statements) == (1, 0, None)

    def test_threads_may_call_at_once(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(40)]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda text: store.call(push_text, text), texts)) == texts
        assert sorted(other_store.query(read_texts), key=int) == texts
        assert other_store.query(count_accepted) == 40

    def test_event_loops_may_run_at_once(self, store: Store, other_store: Store) -> None:
        async def run_scenario(part: int) -> list[str]:
            return await asyncio.gather(*(store.run(push_text, f"{part} {number}") for number in range(20)))

        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda part: asyncio.run(run_scenario(part)), range(3)))
        assert answers == [[f"{part} {number}" for number in range(20)] for part in range(3)]
        assert sorted(other_store.query(read_texts)) == sorted(text for part in answers for text in part)
