"""How a store ends: what was taken on is finished, and nothing more is taken on."""

import asyncio
import threading

import pytest

from gatepost.errors import Unavailable
from gatepost.ports import Store
from gatepost.testing.conformance.office import LANE, PATIENCE, Hold, Office, Open, handed_over, tell, told
from gatepost.testing.kit import FakeClock


class Closing(Office):
    def test_closing_finishes_what_was_taken_on(self, store: Store, other: Store) -> None:
        texts = [str(number) for number in range(100)]

        async def scene() -> list[str]:
            tasks = [asyncio.create_task(store.run(tell, text, lane=LANE)) for text in texts]
            await handed_over()
            store.close()
            return await asyncio.gather(*tasks)

        assert asyncio.run(scene()) == texts
        assert other.query(told) == texts

    def test_closing_finishes_what_was_only_just_called(self, store: Store, other: Store) -> None:
        async def scene() -> str:
            task = asyncio.create_task(store.run(tell, "tea"))
            await asyncio.sleep(0)
            store.close()
            return await task

        assert asyncio.run(scene()) == "tea"
        assert other.query(told) == ["tea"]

    def test_closing_from_another_thread_finishes_too(self, store: Store, other: Store) -> None:
        async def scene() -> list[object]:
            hold = Hold()
            first = asyncio.create_task(store.run(hold, lane=LANE))
            assert await asyncio.to_thread(hold.began.wait, PATIENCE)
            tasks = [asyncio.create_task(store.run(tell, str(number), lane=LANE)) for number in range(10)]
            await handed_over()
            closing = asyncio.create_task(asyncio.to_thread(store.close))
            await handed_over()
            hold.go.set()
            await asyncio.gather(first, closing)
            return await asyncio.gather(*tasks)

        assert asyncio.run(scene()) == [str(number) for number in range(10)]
        assert other.query(told) == [str(number) for number in range(10)]

    def test_after_closing_nothing_is_taken_on(self, store: Store, other: Store) -> None:
        store.call(tell, "before")
        store.query(told)
        store.close()
        with pytest.raises(Unavailable, match="closed"):
            asyncio.run(store.run(tell, "after"))
        with pytest.raises(Unavailable, match="closed"):
            asyncio.run(store.read(told))
        with pytest.raises(Unavailable, match="closed"):
            store.call(tell, "after")
        with pytest.raises(Unavailable, match="closed"):
            store.query(told)
        assert other.query(told) == ["before"]

    def test_closing_again_does_nothing(self, store: Store) -> None:
        store.close()
        store.close()

    def test_a_store_that_was_never_used_can_be_closed(self, open: Open, clock: FakeClock) -> None:
        open(clock=clock).close()

    def test_no_thread_is_left(self, store: Store, open: Open, clock: FakeClock) -> None:
        before = set(threading.enumerate())

        async def scene(closed: Store) -> None:
            task = asyncio.create_task(closed.run(tell, "tea"))
            await asyncio.gather(closed.read(told), closed.run(tell, "milk", lane="ann"))
            late = asyncio.create_task(closed.run(tell, "sugar"))
            await asyncio.sleep(0)
            closed.close()
            await asyncio.gather(task, late)
            await handed_over()

        asyncio.run(scene(open(clock=clock)))
        assert set(threading.enumerate()) <= before
