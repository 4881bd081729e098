"""A query sees one moment, waits for no writer, and changes nothing."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.ports import Reader, Store
from gatepost.testing.conformance.office import PATIENCE, Hold, Office, Refusal, tell, together, told


class Reads(Office):
    def test_a_query_sees_one_moment(self, store: Store, other: Store) -> None:
        store.call(tell, "before")

        def look_twice(tx: Reader) -> tuple[list[str], list[str]]:
            first = told(tx)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(other.call, tell, "meanwhile").result(PATIENCE)
            return first, told(tx)

        assert store.query(look_twice) == (["before"], ["before"])
        assert store.query(told) == ["before", "meanwhile"]

    def test_a_query_waits_for_no_writer(self, store: Store, other: Store) -> None:
        async def scene() -> tuple[list[str], list[str]]:
            await store.run(tell, "before")
            hold = Hold()
            writing = asyncio.create_task(store.run(hold, lane="ann"))
            assert await asyncio.to_thread(hold.began.wait, PATIENCE)
            seen = await store.read(told), other.query(told)
            hold.go.set()
            await writing
            return seen

        assert asyncio.run(scene()) == (["before"], ["before"])

    def test_many_queries_at_once(self, store: Store) -> None:
        async def scene() -> list[list[str]]:
            await together(store, *(store.run(tell, str(number), lane="ann") for number in range(10)))
            return await asyncio.gather(*(store.read(told) for _ in range(50)))

        assert asyncio.run(scene()) == [[str(number) for number in range(10)]] * 50

    def test_a_query_that_raises_says_so_and_the_next_one_works(self, store: Store) -> None:
        def refuse(tx: Reader) -> None:
            told(tx)
            raise Refusal("no")

        def ask_nonsense(tx: Reader) -> None:
            tx.fetch_all("there is/no such statement")

        for query, error in ((refuse, Refusal), (ask_nonsense, LookupError)):
            with pytest.raises(error):
                store.query(query)
            with pytest.raises(error):
                asyncio.run(store.read(query))
            assert store.query(told) == []
            assert asyncio.run(store.read(told)) == []

    def test_a_page_ends_where_there_is_no_more_room(self, store: Store) -> None:
        for number in range(50):
            store.call(tell, f"{number} {'x' * 1_000}")

        def look(tx: Reader, room: int | None) -> tuple[list[str], bool]:
            tx.room = room
            return [text.split()[0] for text in told(tx)], tx.is_cut

        every = [str(number) for number in range(50)]
        assert store.query(look, None) == (every, False)
        assert store.query(look, 1_000_000) == (every, False)
        assert store.query(look, 1) == (["0"], True)
        some, is_cut = store.query(look, 30_000)
        assert 20 < len(some) < 30
        assert (some, is_cut) == (every[: len(some)], True)
