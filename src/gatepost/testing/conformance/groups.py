"""Calls that wait together are written together, and yet each stands alone."""

import asyncio

import pytest

from gatepost.errors import Conflict, Unavailable
from gatepost.ports import RetryTransaction, Store, Transaction
from gatepost.testing.conformance.office import (
    LANE,
    Office,
    Refusal,
    accepted,
    handed_over,
    tell,
    tell_and_break,
    tell_and_refuse,
    tell_and_run_dry,
    together,
    told,
)
from gatepost.testing.kit import RecordingBell


class Groups(Office):
    def test_one_that_fails_does_not_touch_its_neighbours(
        self, store: Store, other: Store, bell: RecordingBell
    ) -> None:
        verbs = [tell, tell_and_refuse, tell, tell_and_break, tell, tell_and_run_dry, tell]

        async def scene() -> list[object]:
            calls = (store.run(verbs[number % len(verbs)], str(number), lane=LANE) for number in range(150))
            return await together(store, *calls)

        outcomes = asyncio.run(scene())
        good = [str(number) for number in range(150) if verbs[number % len(verbs)] is tell]
        assert [outcome for outcome in outcomes if not isinstance(outcome, BaseException)] == good
        assert [str(number) for number, outcome in enumerate(outcomes) if isinstance(outcome, str)] == good
        assert other.query(told) == good
        assert other.query(accepted) == len(good) == len(bell.rings)

    def test_each_failure_goes_to_its_own_caller(self, store: Store) -> None:
        def refuse(tx: Transaction, text: str) -> str:
            raise Conflict(text)

        async def scene() -> list[object]:
            return await together(store, *(store.run(refuse, str(number), lane=LANE) for number in range(20)))

        assert [str(outcome) for outcome in asyncio.run(scene())] == [str(number) for number in range(20)]

    def test_a_verb_that_says_unavailable_says_so_for_itself_alone(self, store: Store, other: Store) -> None:
        def unable(tx: Transaction) -> None:
            tell(tx, "half")
            raise Unavailable("not today")

        async def scene() -> list[object]:
            return await together(
                store,
                store.run(tell, "before", lane=LANE),
                store.run(unable, lane=LANE),
                store.run(tell, "after", lane=LANE),
            )

        before, refused, after = asyncio.run(scene())
        assert (before, after) == ("before", "after")
        assert isinstance(refused, Unavailable)
        assert other.query(told) == ["before", "after"]

    def test_a_verb_that_asks_for_it_is_run_again_and_has_its_effect_once(
        self, store: Store, other: Store, bell: RecordingBell
    ) -> None:
        tries: list[str] = []

        def tell_at_last(tx: Transaction, text: str) -> str:
            tell(tx, text)
            tries.append(text)
            if tries.count(text) < 3:
                raise RetryTransaction(text)
            return text

        async def scene() -> list[object]:
            return await together(
                store,
                store.run(tell, "before", lane=LANE),
                store.run(tell_at_last, "at last", lane=LANE),
                store.run(tell, "after", lane=LANE),
            )

        assert asyncio.run(scene()) == ["before", "at last", "after"]
        assert store.call(tell_at_last, "once more") == "once more"
        assert other.query(told) == ["before", "at last", "after", "once more"]
        assert other.query(accepted) == 4 == len(bell.rings)

    def test_a_verb_that_asks_for_it_for_ever_is_told_that_it_cannot_be_done(self, store: Store, other: Store) -> None:
        def never(tx: Transaction) -> None:
            tell(tx, "never")
            raise RetryTransaction("never")

        with pytest.raises(Unavailable):
            store.call(never)
        assert other.query(told) == []

    def test_a_lane_keeps_the_order_of_its_calls(self, store: Store, other: Store) -> None:
        texts = [str(number) for number in range(200)]

        async def scene() -> None:
            await asyncio.gather(*(store.run(tell, text, lane="one lane") for text in texts))

        asyncio.run(scene())
        assert other.query(told) == texts

    def test_a_verb_sees_what_came_before_it_in_its_lane(self, store: Store) -> None:
        async def scene() -> list[object]:
            return await together(
                store,
                store.run(tell, "first", lane=LANE),
                store.run(told, lane=LANE),
                store.run(tell_and_refuse, "never", lane=LANE),
                store.run(tell, "second", lane=LANE),
                store.run(told, lane=LANE),
            )

        _, once, error, _, twice = asyncio.run(scene())
        assert isinstance(error, Refusal)
        assert (once, twice) == (["first"], ["first", "second"])

    def test_callers_that_give_up_do_no_harm(self, store: Store, other: Store) -> None:
        texts = [str(number) for number in range(60)]

        async def scene() -> list[object]:
            tasks = [asyncio.create_task(store.run(tell, text, lane=LANE)) for text in texts]
            await handed_over()
            for task in tasks[::3]:
                task.cancel()
            return await asyncio.gather(*tasks, return_exceptions=True)

        outcomes = asyncio.run(scene())
        answered = [outcome for outcome in outcomes if isinstance(outcome, str)]
        assert set(texts) - set(texts[::3]) <= set(answered)
        stored = other.query(told)
        assert set(answered) <= set(stored)
        assert len(stored) == len(set(stored)) == other.query(accepted)
        store.call(tell, "after all")
        assert other.query(told) == [*stored, "after all"]

    def test_a_loop_that_ends_early_does_no_harm(self, store: Store, other: Store) -> None:
        async def leave() -> None:
            task = asyncio.create_task(store.run(tell, "bye"))
            await handed_over()
            task.cancel()

        asyncio.run(leave())
        store.call(tell, "hello")
        assert set(other.query(told)) - {"bye"} == {"hello"}

    @pytest.mark.parametrize("lane", ["", "ann", "a\ud800b", "x" * 10_000])
    def test_any_text_is_a_lane(self, store: Store, lane: str) -> None:
        assert asyncio.run(store.run(tell, "tea", lane=lane)) == "tea"
