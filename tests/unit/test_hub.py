"""The hub: no gap, no repeat, and nobody waits for the slow."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest

from gatepost.core.frame import Frame
from gatepost.core.signals import Signal
from gatepost.errors import NotFound, Unavailable
from gatepost.runtime.live import (
    BACKLOG,
    LiveStreams,
    StreamEnd,
    StreamEntry,
    StreamItem,
    StreamPage,
    StreamPosition,
    StreamSource,
)

PATIENCE = 10.0


class Shelf:
    """Something stored that grows, as a store would show it: some entries at a time."""

    def __init__(self, topic: str = "space:q4", page: int = 7) -> None:
        self.entries: list[StreamEntry] = []
        self.audience: frozenset[str] | None = None
        self.broken = 0
        self.reads = 0
        self._page = page
        self.source = StreamSource(topic, self._read)

    def add(self, count: int = 1) -> None:
        for _ in range(count):
            number = len(self.entries) + 1
            self.entries.append(StreamEntry(number, "space.message", number))

    async def _read(self, after: StreamPosition) -> StreamPage:
        self.reads += 1
        if self.broken:
            self.broken -= 1
            raise Unavailable("away")
        found = self.entries[after : after + self._page]
        page = StreamPage(found, found[-1].position if found else after, self.audience)
        await asyncio.sleep(0)  # others get their turn, as they would
        return page


@pytest.fixture
async def hub() -> AsyncIterator[LiveStreams]:
    hub = LiveStreams()
    yield hub
    await hub.close()


async def read(hub: LiveStreams, shelf: Shelf, position: int, until: int, *, who: str | None = None) -> list[int]:
    """Read up to an entry."""
    got: list[int] = []
    async with asyncio.timeout(PATIENCE):
        stream = hub.read(shelf.source, position, entity=who)
        async for what in stream:
            if isinstance(what, StreamEntry):
                got.append(what.data)
            if got and got[-1] >= until:
                break
        await stream.aclose()
    return got


async def test_readers_that_come_and_go_at_random_see_each_entry_once(hub: LiveStreams) -> None:
    shelf, random_ = Shelf(), random.Random(1)
    total = 400

    async def write() -> None:
        while len(shelf.entries) < total:
            shelf.add(random_.randrange(4))
            if random_.random() < 0.5:  # half of the rings are lost
                hub.on_signal(Signal("space:q4", "space_message"))
            await asyncio.sleep(0)
        hub.wake()

    async def follow() -> list[int]:
        seen: list[int] = []
        while len(seen) < total:
            stop = min(total, len(seen) + random_.randrange(1, 60))
            seen += await read(hub, shelf, seen[-1] if seen else 0, stop)
        return seen

    async def stir() -> None:
        while True:
            hub.wake()
            await asyncio.sleep(0.001)

    stirring = asyncio.create_task(stir())
    writing = asyncio.create_task(write())
    results = await asyncio.gather(*(follow() for _ in range(25)))
    stirring.cancel()
    await writing
    assert all(seen == list(range(1, total + 1)) for seen in results)
    assert hub.readers == 0


async def test_many_readers_cost_one_query_for_each_change(hub: LiveStreams) -> None:
    shelf = Shelf()
    readers = [asyncio.create_task(read(hub, shelf, 0, 1)) for _ in range(500)]
    await _until(lambda: hub.readers == 500)
    before = shelf.reads
    shelf.add()
    hub.on_signal(Signal("space:q4", "space_message"))
    assert await asyncio.gather(*readers) == [[1]] * 500
    assert shelf.reads - before <= 3


async def test_who_is_no_longer_a_member_reads_nothing_more(hub: LiveStreams) -> None:
    shelf = Shelf()
    shelf.audience = frozenset({"ana", "ben"})
    shelf.add(3)
    stream = hub.read(shelf.source, 0, entity="ben")
    seen: list[StreamItem] = [await anext(stream) for _ in range(3)]
    shelf.audience = frozenset({"ana"})
    shelf.add(3)
    hub.wake()
    seen += [what async for what in stream]
    assert [what.data for what in seen[:-1] if isinstance(what, StreamEntry)] == [1, 2, 3]
    assert isinstance(seen[-1], StreamEnd)
    assert not seen[-1].is_resumable
    assert await read(hub, shelf, 0, 6, who="ana") == [1, 2, 3, 4, 5, 6]
    assert [what async for what in hub.read(shelf.source, 0, entity="ben")] == seen[-1:], "nor when it comes back"


async def test_a_slow_reader_is_dropped_and_the_others_are_not(hub: LiveStreams) -> None:
    shelf = Shelf(page=200)
    slow = hub.read(shelf.source, 0, entity=None)
    first = asyncio.ensure_future(anext(slow))
    await _until(lambda: hub.readers == 1)
    shelf.add(2 * BACKLOG)
    fast = asyncio.create_task(read(hub, shelf, 0, 2 * BACKLOG))
    hub.wake()
    assert len(await fast) == 2 * BACKLOG
    seen = [await first, *[what async for what in slow]]
    assert isinstance(seen[-1], StreamEnd)
    assert seen[-1].is_resumable
    numbers = [what.data for what in seen[:-1] if isinstance(what, StreamEntry)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) < 2 * BACKLOG
    rest = await read(hub, shelf, numbers[-1], 2 * BACKLOG)
    assert numbers + rest == list(range(1, 2 * BACKLOG + 1))


@pytest.mark.parametrize("companions", [0, 1])
async def test_whoever_comes_from_far_behind_is_not_slow_for_that(hub: LiveStreams, companions: int) -> None:
    """Though the store is read faster than anybody reads, and though another that came along takes nothing."""
    shelf = Shelf(page=200)
    shelf.add(3 * BACKLOG)
    idle = [hub.read(shelf.source, 0, entity=None) for _ in range(companions)]
    for one in idle:
        await anext(one)
    seen: list[StreamItem] = []
    async with asyncio.timeout(PATIENCE):
        async with aclosing(hub.read(shelf.source, 0, entity=None)) as stream:
            async for what in stream:
                seen.append(what)
                for _ in range(5):
                    await asyncio.sleep(0)  # the store has its turns
                if len(seen) == 3 * BACKLOG:
                    break
    assert seen == shelf.entries
    for one in idle:
        await one.aclose()


async def test_frames_reach_whoever_is_there(hub: LiveStreams) -> None:
    shelf = Shelf()
    stream = hub.read(shelf.source, 0, entity=None)
    waiting = asyncio.ensure_future(anext(stream))
    await _until(lambda: hub.readers == 1)
    hub.on_signal(Frame("space:other", "agent.active", {}))
    hub.on_signal(Frame("space:q4", "agent.active", {"agent": "ana"}))
    assert await asyncio.wait_for(waiting, PATIENCE) == Frame("space:q4", "agent.active", {"agent": "ana"})


async def test_a_store_that_is_away_is_waited_for(hub: LiveStreams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.runtime.live._RETRY", 0.001)
    shelf = Shelf()
    reading = asyncio.create_task(read(hub, shelf, 0, 2))
    await _until(lambda: hub.readers == 1)
    shelf.broken = 3
    shelf.add(2)
    hub.wake()
    assert await reading == [1, 2]


async def test_ending_the_hub_lets_everybody_go_with_a_place_to_resume(hub: LiveStreams) -> None:
    shelf = Shelf()
    stream = hub.read(shelf.source, 0, entity=None)
    waiting = asyncio.ensure_future(anext(stream))
    await _until(lambda: hub.readers == 1)
    hub.end()
    ended = await asyncio.wait_for(waiting, PATIENCE)
    assert isinstance(ended, StreamEnd)
    assert ended.is_resumable


async def test_who_is_removed_is_let_go_though_nothing_is_said(hub: LiveStreams) -> None:
    shelf = Shelf()
    shelf.audience = frozenset({"ana", "ben"})
    stream = hub.read(shelf.source, 0, entity="ben")
    waiting = asyncio.ensure_future(anext(stream))
    await _until(lambda: shelf.reads == 1)
    shelf.audience = frozenset({"ana"})
    hub.on_signal(Signal("space:q4", "leave"))
    ended = await asyncio.wait_for(waiting, PATIENCE)
    assert isinstance(ended, StreamEnd)
    assert not ended.is_resumable


async def test_a_page_that_was_read_before_a_reader_came_does_not_judge_it(hub: LiveStreams) -> None:
    """While a page is on its way from the store somebody joins, and comes: that page does not know it yet."""
    shelf, go = Shelf(), asyncio.Event()
    shelf.audience = frozenset({"ana"})
    first = asyncio.create_task(read(hub, shelf, 0, 1, who="ana"))
    await _until(lambda: shelf.reads == 1)

    async def slow(after: StreamPosition) -> StreamPage:
        page = await shelf._read(after)
        await go.wait()
        return page

    tail = hub._tails["space:q4"]
    tail.source = StreamSource(tail.source.topic, slow)
    shelf.add()
    hub.wake()
    await _until(lambda: shelf.reads == 2)
    shelf.audience = frozenset({"ana", "ben"})
    second = asyncio.create_task(read(hub, shelf, 0, 1, who="ben"))
    await _until(lambda: hub.readers == 2)
    go.set()
    assert list(await asyncio.gather(first, second)) == [[1], [1]]


@pytest.mark.parametrize(("error", "resumable"), [(ZeroDivisionError(), True), (NotFound("gone"), False)])
async def test_a_topic_that_cannot_be_read_lets_its_readers_go(
    hub: LiveStreams, error: Exception, resumable: bool
) -> None:
    async def broken(_: StreamPosition) -> StreamPage:
        raise error

    [ended] = [what async for what in hub.read(StreamSource("space:q4", broken), 0, entity=None)]
    assert isinstance(ended, StreamEnd)
    assert ended.is_resumable is resumable
    shelf = Shelf()
    shelf.add()
    assert await read(hub, shelf, 0, 1) == [1]


async def test_a_hub_that_ends_lets_newcomers_go_too(hub: LiveStreams) -> None:
    shelf = Shelf()
    hub.end()
    [ended] = [what async for what in hub.read(shelf.source, 0, entity=None)]
    assert isinstance(ended, StreamEnd)
    assert ended.is_resumable


@pytest.mark.parametrize("ring", [Signal("keys:", "key"), Signal("space:new", "create"), Signal("space:q4", "join")])
async def test_news_of_rights_is_passed_on(hub: LiveStreams, ring: Signal) -> None:
    before = hub.access_change
    hub.on_signal(Signal("ana", "event"))
    assert not before.is_set()
    hub.on_signal(ring)
    assert before.is_set()
    assert not hub.access_change.is_set()


async def _until(true: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110 (the hub has no event for what is waited for, and every turn is short)
            await asyncio.sleep(0)
