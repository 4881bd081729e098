"""A query sees one snapshot, waits for no writer, and changes nothing."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from gatepost.ports import Reader, Store
from gatepost.testing.conformance.fixtures import (
    WAIT_TIMEOUT,
    BlockingVerb,
    ExpectedError,
    StoreFixtures,
    push_text,
    read_texts,
    run_together,
)


class ReadSuite(StoreFixtures):
    def test_a_query_sees_one_moment(self, store: Store, other_store: Store) -> None:
        store.call(push_text, "before")

        def read_twice(tx: Reader) -> tuple[list[str], list[str]]:
            first = read_texts(tx)
            with ThreadPoolExecutor(1) as pool:
                pool.submit(other_store.call, push_text, "meanwhile").result(WAIT_TIMEOUT)
            return first, read_texts(tx)

        assert store.query(read_twice) == (["before"], ["before"])
        assert store.query(read_texts) == ["before", "meanwhile"]

    def test_a_query_waits_for_no_writer(self, store: Store, other_store: Store) -> None:
        async def run_scenario() -> tuple[list[str], list[str]]:
            await store.run(push_text, "before")
            blocker = BlockingVerb()
            write_task = asyncio.create_task(store.run(blocker, lane="ann"))
            assert await asyncio.to_thread(blocker.started_event.wait, WAIT_TIMEOUT)
            texts = await store.read(read_texts), other_store.query(read_texts)
            blocker.release_event.set()
            await write_task
            return texts

        assert asyncio.run(run_scenario()) == (["before"], ["before"])

    def test_many_queries_at_once(self, store: Store) -> None:
        async def run_scenario() -> list[list[str]]:
            await run_together(store, *(store.run(push_text, str(number), lane="ann") for number in range(10)))
            return await asyncio.gather(*(store.read(read_texts) for _ in range(50)))

        assert asyncio.run(run_scenario()) == [[str(number) for number in range(10)]] * 50

    def test_after_a_query_that_raises_the_next_one_works(self, store: Store) -> None:
        def refuse(tx: Reader) -> None:
            read_texts(tx)
            raise ExpectedError("no")

        def run_unknown_statement(tx: Reader) -> None:
            tx.fetch_all("there is/no such statement")

        for query, error in ((refuse, ExpectedError), (run_unknown_statement, LookupError)):
            with pytest.raises(error):
                store.query(query)
            with pytest.raises(error):
                asyncio.run(store.read(query))
            assert store.query(read_texts) == []
            assert asyncio.run(store.read(read_texts)) == []

    def test_a_page_ends_where_the_room_ends(self, store: Store) -> None:
        for number in range(50):
            store.call(push_text, f"{number} {'x' * 1_000}")

        def read_page(tx: Reader, max_chars: int | None) -> tuple[list[str], bool]:
            tx.room = max_chars
            return [text.split()[0] for text in read_texts(tx)], tx.is_cut

        all_texts = [str(number) for number in range(50)]
        assert store.query(read_page, None) == (all_texts, False)
        assert store.query(read_page, 1_000_000) == (all_texts, False)
        assert store.query(read_page, 1) == (["0"], True)
        page_texts, is_truncated = store.query(read_page, 30_000)
        assert 20 < len(page_texts) < 30
        assert (page_texts, is_truncated) == (all_texts[: len(page_texts)], True)
