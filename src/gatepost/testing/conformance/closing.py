"""A store that closes finishes the calls it has accepted, and accepts no more."""

import asyncio
import threading

import pytest

from gatepost.errors import Unavailable
from gatepost.ports import Store
from gatepost.testing.conformance.fixtures import (
    LANE,
    WAIT_TIMEOUT,
    BlockingVerb,
    StoreFactory,
    StoreFixtures,
    push_text,
    read_texts,
    yield_to_loop,
)
from gatepost.testing.kit import FakeClock


class CloseSuite(StoreFixtures):
    def test_closing_finishes_accepted_calls(self, store: Store, other_store: Store) -> None:
        texts = [str(number) for number in range(100)]

        async def run_scenario() -> list[str]:
            tasks = [asyncio.create_task(store.run(push_text, text, lane=LANE)) for text in texts]
            await yield_to_loop()
            store.close()
            return await asyncio.gather(*tasks)

        assert asyncio.run(run_scenario()) == texts
        assert other_store.query(read_texts) == texts

    def test_closing_finishes_calls_of_the_same_turn_of_the_loop(self, store: Store, other_store: Store) -> None:
        async def run_scenario() -> str:
            task = asyncio.create_task(store.run(push_text, "tea"))
            await asyncio.sleep(0)
            store.close()
            return await task

        assert asyncio.run(run_scenario()) == "tea"
        assert other_store.query(read_texts) == ["tea"]

    def test_closing_from_another_thread_finishes_too(self, store: Store, other_store: Store) -> None:
        async def run_scenario() -> list[object]:
            blocker = BlockingVerb()
            first = asyncio.create_task(store.run(blocker, lane=LANE))
            assert await asyncio.to_thread(blocker.started_event.wait, WAIT_TIMEOUT)
            tasks = [asyncio.create_task(store.run(push_text, str(number), lane=LANE)) for number in range(10)]
            await yield_to_loop()
            close_task = asyncio.create_task(asyncio.to_thread(store.close))
            await yield_to_loop()
            blocker.release_event.set()
            await asyncio.gather(first, close_task)
            return await asyncio.gather(*tasks)

        assert asyncio.run(run_scenario()) == [str(number) for number in range(10)]
        assert other_store.query(read_texts) == [str(number) for number in range(10)]

    def test_a_closed_store_accepts_no_calls(self, store: Store, other_store: Store) -> None:
        store.call(push_text, "before")
        store.query(read_texts)
        store.close()
        with pytest.raises(Unavailable, match="closed"):
            asyncio.run(store.run(push_text, "after"))
        with pytest.raises(Unavailable, match="closed"):
            asyncio.run(store.read(read_texts))
        with pytest.raises(Unavailable, match="closed"):
            store.call(push_text, "after")
        with pytest.raises(Unavailable, match="closed"):
            store.query(read_texts)
        assert other_store.query(read_texts) == ["before"]

    def test_closing_again_does_nothing(self, store: Store) -> None:
        store.close()
        store.close()

    def test_a_store_that_was_never_used_can_be_closed(self, open: StoreFactory, clock: FakeClock) -> None:
        open(clock=clock).close()

    def test_no_thread_is_left(self, store: Store, open: StoreFactory, clock: FakeClock) -> None:
        threads = set(threading.enumerate())

        async def run_scenario(new_store: Store) -> None:
            task = asyncio.create_task(new_store.run(push_text, "tea"))
            await asyncio.gather(new_store.read(read_texts), new_store.run(push_text, "milk", lane="ann"))
            late_task = asyncio.create_task(new_store.run(push_text, "sugar"))
            await asyncio.sleep(0)
            new_store.close()
            await asyncio.gather(task, late_task)
            await yield_to_loop()

        asyncio.run(run_scenario(open(clock=clock)))
        assert set(threading.enumerate()) <= threads
