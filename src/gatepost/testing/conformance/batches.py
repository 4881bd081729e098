"""A batched verb takes the elements of all who wait, and every outcome finds its way back."""

import asyncio
from collections.abc import Sequence

import pytest

from gatepost.actions import intake
from gatepost.core.event import Pushed
from gatepost.errors import Invalid, UnknownAddress
from gatepost.ports import Store, Transaction, batched
from gatepost.testing.conformance.office import LANE, Office, Refusal, accepted, tell, together, told, wish
from gatepost.testing.kit import RecordingBell


@batched
def tell_all(tx: Transaction, texts: Sequence[str]) -> list[str | Invalid]:
    """Each is told but the bad, of which only the saying fails; a terrible one fails the verb."""
    outcomes: list[str | Invalid] = []
    for text in texts:
        if text == "bad":
            outcomes.append(Invalid("bad"))
        else:
            outcomes.append(tell(tx, text))
    if "terrible" in texts:
        raise Refusal("terrible")
    return outcomes


class Batches(Office):
    def test_outcomes_go_to_the_right_callers(self, store: Store, other: Store) -> None:
        lists = [[f"{number} {element}" for element in range(number % 4)] for number in range(50)]

        async def scene() -> list[list[str]]:
            return await together(store, *(store.run(tell_all, texts, lane=LANE) for texts in lists))

        assert asyncio.run(scene()) == lists
        assert other.query(told) == [text for texts in lists for text in texts]

    def test_one_bad_element_fails_alone(self, store: Store, other: Store) -> None:
        async def scene() -> list[list[object]]:
            return await together(store, *(store.run(tell_all, ["a", "bad", "b"], lane=LANE) for _ in range(3)))

        for first, second, third in asyncio.run(scene()):
            assert (first, third) == ("a", "b")
            assert isinstance(second, Invalid)
        assert other.query(told) == ["a", "b"] * 3

    def test_a_call_that_raises_fails_alone(self, store: Store, other: Store, bell: RecordingBell) -> None:
        lists = [["a", "b"], ["c", "terrible"], ["d"], ["terrible"], []]

        async def scene() -> list[object]:
            return await together(store, *(store.run(tell_all, texts, lane=LANE) for texts in lists))

        outcomes = asyncio.run(scene())
        assert [isinstance(outcome, Refusal) for outcome in outcomes] == [False, True, False, True, False]
        assert [outcome for outcome in outcomes if isinstance(outcome, list)] == [["a", "b"], ["d"], []]
        assert other.query(told) == ["a", "b", "d"]
        assert other.query(accepted) == 3 == len(bell.rings)

    def test_a_single_call_works_too(self, store: Store) -> None:
        assert store.call(tell_all, ["a"]) == ["a"]
        assert asyncio.run(store.run(tell_all, ["b"])) == ["b"]
        with pytest.raises(Refusal):
            store.call(tell_all, ["terrible"])
        assert store.query(told) == ["a", "b"]

    def test_more_than_a_group_holds_is_written_all_the_same(self, store: Store, other: Store) -> None:
        async def scene() -> list[list[str]]:
            lists = [[f"{number} {element}" for element in range(250)] for number in range(5)]
            return await together(store, *(store.run(tell_all, texts, lane=LANE) for texts in lists))

        assert [len(outcomes) for outcomes in asyncio.run(scene())] == [250] * 5
        assert len(other.query(told)) == 1250

    def test_a_lane_keeps_its_order_across_batched_and_other_verbs(self, store: Store, other: Store) -> None:
        async def scene() -> list[object]:
            return await together(
                store,
                store.run(tell_all, ["1"], lane=LANE),
                store.run(told, lane=LANE),
                store.run(tell_all, ["2"], lane=LANE),
                store.run(tell, "3", lane=LANE),
                store.run(tell_all, ["4"], lane=LANE),
                store.run(told, lane=LANE),
            )

        _, early, _, _, _, late = asyncio.run(scene())
        assert early == ["1"]
        assert late == ["1", "2", "3", "4"]

    def test_pushes_of_many_callers(self, store: Store, other: Store, bell: RecordingBell) -> None:
        async def scene() -> list[list[Pushed | UnknownAddress]]:
            calls = (
                store.run(
                    intake.push_all, [wish(str(number)), wish("lost", "nobody"), wish(str(number), "bob")], lane=LANE
                )
                for number in range(30)
            )
            return await together(store, *calls)

        for first, lost, last in asyncio.run(scene()):
            assert isinstance(first, Pushed)
            assert isinstance(lost, UnknownAddress)
            assert isinstance(last, Pushed)
            assert [one.name for one in (*first.deliveries, *last.deliveries)] == ["ann", "bob"]
        assert other.query(told) == other.query(told, "bob") == [str(number) for number in range(30)]
        assert other.query(accepted) == other.query(accepted, "bob") == 30
        assert len(bell.rings) == 60
