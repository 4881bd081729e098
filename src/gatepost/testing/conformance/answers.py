"""An answer means stored; an error means that nothing is left."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.core.instants import SECOND
from gatepost.ports import Reader, Store, Transaction
from gatepost.testing.conformance.office import (
    Office,
    Refusal,
    accepted,
    tell,
    tell_and_break,
    tell_and_refuse,
    told,
)
from gatepost.testing.kit import FakeClock, RecordingBell


class Answers(Office):
    def test_what_call_answered_is_stored(self, store: Store, other: Store) -> None:
        assert store.call(tell, "tea is ready") == "tea is ready"
        assert other.query(told) == ["tea is ready"]
        assert other.query(accepted) == 1

    def test_what_run_answered_is_stored(self, store: Store, other: Store) -> None:
        async def scene() -> list[str]:
            assert await store.run(tell, "tea is ready", lane="ann") == "tea is ready"
            return await other.read(told)

        assert asyncio.run(scene()) == ["tea is ready"]

    @pytest.mark.parametrize("verb", [tell_and_refuse, tell_and_break])
    def test_a_verb_that_raises_leaves_nothing(
        self, store: Store, other: Store, bell: RecordingBell, verb: object
    ) -> None:
        with pytest.raises(Exception, match="tea|nonsense|constraint"):
            store.call(verb, "tea is ready")  # type: ignore[arg-type]
        with pytest.raises(Exception, match="tea|nonsense|constraint"):
            asyncio.run(store.run(verb, "tea is ready"))  # type: ignore[arg-type]
        assert other.query(told) == []
        assert other.query(accepted) == 0
        assert bell.rings == []

    def test_the_error_is_the_one_that_the_verb_raised(self, store: Store) -> None:
        with pytest.raises(Refusal, match="^tea$"):
            store.call(tell_and_refuse, "tea")

    def test_after_an_error_the_store_goes_on(self, store: Store, other: Store) -> None:
        for verb in (tell_and_refuse, tell_and_break):
            with pytest.raises(Exception, match=r"first|constraint"):
                store.call(verb, "first")
            store.call(tell, verb.__name__)
        assert other.query(told) == ["tell_and_refuse", "tell_and_break"]

    def test_a_verb_sees_what_it_wrote(self, store: Store) -> None:
        def tell_twice(tx: Transaction) -> list[str]:
            tell(tx, "first")
            assert told(tx) == ["first"]
            tell(tx, "second")
            return told(tx)

        assert store.call(tell_twice) == ["first", "second"]

    def test_keyword_arguments_reach_the_verb(self, store: Store) -> None:
        assert store.call(tell, "tea", to="bob") == "tea"
        asyncio.run(store.run(tell, text="milk", to="bob", lane="bob"))
        assert store.query(told, name="bob") == ["tea", "milk"]

    def test_time_and_identity_are_the_clocks(self, store: Store, clock: FakeClock) -> None:
        def now(tx: Reader) -> int:
            return tx.now

        def id(tx: Transaction) -> tuple[int, str]:
            return tx.now, tx.new_id("evt")

        then = clock.now()
        assert store.query(now) == store.call(now) == then
        clock.advance(90 * SECOND)
        assert store.query(now) == asyncio.run(store.run(now)) == then + 90 * SECOND
        at, first = store.call(id)
        assert at == then + 90 * SECOND
        assert first != store.call(id)[1]

    def test_a_statement_says_how_many_rows_it_changed(self, store: Store) -> None:
        def count(tx: Transaction) -> tuple[int, int, object]:
            name = {"name": "annie", "entity": 1, "is_alias": True}
            return (
                tx.execute("names/insert", **name),
                tx.execute("names/insert", **name),
                tx.fetch_one("claims/read", id="no"),
            )

        assert store.call(count) == (1, 0, None)

    def test_threads_may_call_at_once(self, store: Store, other: Store) -> None:
        texts = [str(number) for number in range(40)]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda text: store.call(tell, text), texts)) == texts
        assert sorted(other.query(told), key=int) == texts
        assert other.query(accepted) == 40

    def test_event_loops_may_run_at_once(self, store: Store, other: Store) -> None:
        async def scene(part: int) -> list[str]:
            return await asyncio.gather(*(store.run(tell, f"{part} {number}") for number in range(20)))

        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(lambda part: asyncio.run(scene(part)), range(3)))
        assert answers == [[f"{part} {number}" for number in range(20)] for part in range(3)]
        assert sorted(other.query(told)) == sorted(text for part in answers for text in part)
