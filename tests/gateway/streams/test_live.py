"""Live streams: no gap, no repeat, and nobody waits for the slow."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing

import pytest

from gatepost.core.signals import Frame, Signal, Topic
from gatepost.errors import NotFound, Unavailable
from gatepost.gateway.streams.limits import BACKLOG
from gatepost.gateway.streams.live_readers import (
    LiveStreams,
    StreamEnd,
    StreamEntry,
    StreamItem,
    StreamPage,
    StreamPosition,
    StreamSource,
)
from tests.support.waits import LAST_RESORT


class FakeTopic:
    """Something stored that grows, as a store would show it: some entries at a time."""

    def __init__(self, name: str = "q4", page_size: int = 7) -> None:
        self.entries: list[StreamEntry] = []
        self.audience: frozenset[str] | None = None
        self.failures_left = 0
        self.read_count = 0
        self._page_size = page_size
        self.source = StreamSource(Topic("space", name), self._read)

    def add(self, count: int = 1) -> None:
        for _ in range(count):
            number = len(self.entries) + 1
            self.entries.append(StreamEntry(number, "space.message", number))

    async def _read(self, after: StreamPosition) -> StreamPage:
        self.read_count += 1
        if self.failures_left:
            self.failures_left -= 1
            raise Unavailable("away")
        entries = self.entries[after : after + self._page_size]
        page = StreamPage(entries, entries[-1].position if entries else after, self.audience)
        await asyncio.sleep(0)  # others get their turn, as they would
        return page


@pytest.fixture
async def streams() -> AsyncIterator[LiveStreams]:
    streams = LiveStreams()
    yield streams
    await streams.close()


async def read_entries(
    streams: LiveStreams, fake_topic: FakeTopic, position: int, until: int, *, reader: str | None = None
) -> list[int]:
    """Read up to an entry."""
    numbers: list[int] = []
    async with asyncio.timeout(LAST_RESORT):
        stream = streams.read(fake_topic.source, position, entity=reader)
        async for item in stream:
            if isinstance(item, StreamEntry):
                numbers.append(item.data)
            if numbers and numbers[-1] >= until:
                break
        await stream.aclose()
    return numbers


async def test_readers_that_come_and_go_at_random_see_each_entry_once(streams: LiveStreams) -> None:
    fake_topic, random_ = FakeTopic(), random.Random(1)
    total = 400

    async def write() -> None:
        while len(fake_topic.entries) < total:
            fake_topic.add(random_.randrange(4))
            if random_.random() < 0.5:  # half of the signals are lost
                streams.on_signal(Signal(Topic("space", "q4"), "space_message"))
            await asyncio.sleep(0)
        streams.wake()

    async def follow_entries() -> list[int]:
        numbers: list[int] = []
        while len(numbers) < total:
            stop = min(total, len(numbers) + random_.randrange(1, 60))
            numbers += await read_entries(streams, fake_topic, numbers[-1] if numbers else 0, stop)
        return numbers

    async def poll() -> None:
        while True:
            streams.wake()
            await asyncio.sleep(0.001)  # the pace of the polling: nothing is waited for

    poll_task = asyncio.create_task(poll())
    write_task = asyncio.create_task(write())
    results = await asyncio.gather(*(follow_entries() for _ in range(25)))
    poll_task.cancel()
    await write_task
    assert all(numbers == list(range(1, total + 1)) for numbers in results)
    assert streams.readers == 0


async def test_what_is_taken_at_once_and_what_waits_come_in_one_order(streams: LiveStreams) -> None:
    fake_topic, random_ = FakeTopic(), random.Random(2)
    numbers: list[int] = []
    is_behind, total, all_read = False, 300, asyncio.Event()

    def read(item: StreamItem) -> None:
        assert isinstance(item, StreamEntry)
        numbers.append(item.data)
        if item.data == total:
            all_read.set()

    def take(item: StreamEntry | Frame) -> bool:
        if is_behind or random_.random() < 0.3:
            return False
        read(item)
        return True

    async def follow() -> None:
        nonlocal is_behind
        async with aclosing(streams.read(fake_topic.source, 0, entity=None, take=take)) as stream:
            async for item in stream:
                is_behind = True  # what is yielded is not written yet
                await asyncio.sleep(0)
                read(item)
                is_behind = False

    task = asyncio.create_task(follow())
    while len(fake_topic.entries) < total:
        fake_topic.add(min(random_.randrange(4), total - len(fake_topic.entries)))
        streams.wake()
        await asyncio.sleep(0)
    async with asyncio.timeout(LAST_RESORT):
        await all_read.wait()
    task.cancel()
    assert numbers == list(range(1, total + 1))


async def test_many_readers_cost_one_query_for_each_change(streams: LiveStreams) -> None:
    fake_topic = FakeTopic()
    readers = [asyncio.create_task(read_entries(streams, fake_topic, 0, 1)) for _ in range(500)]
    await wait_until(lambda: streams.readers == 500)
    before = fake_topic.read_count
    fake_topic.add()
    streams.on_signal(Signal(Topic("space", "q4"), "space_message"))
    assert await asyncio.gather(*readers) == [[1]] * 500
    assert fake_topic.read_count - before <= 3


async def test_who_is_no_longer_a_member_reads_nothing_more(streams: LiveStreams) -> None:
    fake_topic = FakeTopic()
    fake_topic.audience = frozenset({"ana", "ben"})
    fake_topic.add(3)
    stream = streams.read(fake_topic.source, 0, entity="ben")
    items: list[StreamItem] = [await anext(stream) for _ in range(3)]
    fake_topic.audience = frozenset({"ana"})
    fake_topic.add(3)
    streams.wake()
    items += [item async for item in stream]
    assert [item.data for item in items[:-1] if isinstance(item, StreamEntry)] == [1, 2, 3]
    assert isinstance(items[-1], StreamEnd)
    assert not items[-1].is_resumable
    assert await read_entries(streams, fake_topic, 0, 6, reader="ana") == [1, 2, 3, 4, 5, 6]
    assert [item async for item in streams.read(fake_topic.source, 0, entity="ben")] == items[-1:], (
        "nor when it comes back"
    )


async def test_a_slow_reader_is_dropped_and_the_others_are_not(streams: LiveStreams) -> None:
    fake_topic = FakeTopic(page_size=200)
    slow_reader = streams.read(fake_topic.source, 0, entity=None)
    first = asyncio.ensure_future(anext(slow_reader))
    await wait_until(lambda: streams.readers == 1)
    fake_topic.add(2 * BACKLOG)
    fast = asyncio.create_task(read_entries(streams, fake_topic, 0, 2 * BACKLOG))
    streams.wake()
    assert len(await fast) == 2 * BACKLOG
    items = [await first, *[item async for item in slow_reader]]
    assert isinstance(items[-1], StreamEnd)
    assert items[-1].is_resumable
    numbers = [item.data for item in items[:-1] if isinstance(item, StreamEntry)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) < 2 * BACKLOG
    rest = await read_entries(streams, fake_topic, numbers[-1], 2 * BACKLOG)
    assert numbers + rest == list(range(1, 2 * BACKLOG + 1))


@pytest.mark.parametrize("companions", [0, 1])
async def test_whoever_comes_from_far_behind_is_not_slow_for_that(streams: LiveStreams, companions: int) -> None:
    """Though the store is read faster than anybody reads, and though another that came along takes nothing."""
    fake_topic = FakeTopic(page_size=200)
    fake_topic.add(3 * BACKLOG)
    idle = [streams.read(fake_topic.source, 0, entity=None) for _ in range(companions)]
    for idle_stream in idle:
        await anext(idle_stream)
    items: list[StreamItem] = []
    async with asyncio.timeout(LAST_RESORT):
        async with aclosing(streams.read(fake_topic.source, 0, entity=None)) as stream:
            async for item in stream:
                items.append(item)
                for _ in range(5):
                    await asyncio.sleep(0)  # the store has its turns
                if len(items) == 3 * BACKLOG:
                    break
    assert items == fake_topic.entries
    for idle_stream in idle:
        await idle_stream.aclose()


async def test_frames_reach_whoever_is_there(streams: LiveStreams) -> None:
    fake_topic = FakeTopic()
    stream = streams.read(fake_topic.source, 0, entity=None)
    next_item = asyncio.ensure_future(anext(stream))
    await wait_until(lambda: streams.readers == 1)
    streams.on_signal(Frame(Topic("space", "other"), "agent.active", {}))
    streams.on_signal(Frame(Topic("space", "q4"), "agent.active", {"agent": "ana"}))
    assert await asyncio.wait_for(next_item, LAST_RESORT) == Frame(
        Topic("space", "q4"), "agent.active", {"agent": "ana"}
    )


async def test_a_store_that_is_away_is_waited_for(streams: LiveStreams, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.gateway.streams.live_readers._RETRY", 0.001)
    fake_topic = FakeTopic()
    read_task = asyncio.create_task(read_entries(streams, fake_topic, 0, 2))
    await wait_until(lambda: streams.readers == 1)
    fake_topic.failures_left = 3
    fake_topic.add(2)
    streams.wake()
    assert await read_task == [1, 2]


async def test_ending_the_hub_lets_everybody_go_with_a_place_to_resume(streams: LiveStreams) -> None:
    fake_topic = FakeTopic()
    stream = streams.read(fake_topic.source, 0, entity=None)
    next_item = asyncio.ensure_future(anext(stream))
    await wait_until(lambda: streams.readers == 1)
    streams.end()
    end = await asyncio.wait_for(next_item, LAST_RESORT)
    assert isinstance(end, StreamEnd)
    assert end.is_resumable


async def test_who_is_removed_is_let_go_though_nothing_is_said(streams: LiveStreams) -> None:
    fake_topic = FakeTopic()
    fake_topic.audience = frozenset({"ana", "ben"})
    stream = streams.read(fake_topic.source, 0, entity="ben")
    next_item = asyncio.ensure_future(anext(stream))
    await wait_until(lambda: fake_topic.read_count == 1)
    fake_topic.audience = frozenset({"ana"})
    streams.on_signal(Signal(Topic("space", "q4"), "leave"))
    end = await asyncio.wait_for(next_item, LAST_RESORT)
    assert isinstance(end, StreamEnd)
    assert not end.is_resumable


async def test_a_page_that_was_read_before_a_reader_came_does_not_judge_it(streams: LiveStreams) -> None:
    """While a page is on its way from the store somebody joins, and comes: that page does not know it yet."""
    fake_topic, may_return = FakeTopic(), asyncio.Event()
    fake_topic.audience = frozenset({"ana"})
    first = asyncio.create_task(read_entries(streams, fake_topic, 0, 1, reader="ana"))
    await wait_until(lambda: fake_topic.read_count == 1)

    async def read_slowly(after: StreamPosition) -> StreamPage:
        page = await fake_topic._read(after)
        await may_return.wait()
        return page

    tail = streams._tails[Topic("space", "q4")]
    tail.source = StreamSource(tail.source.topic, read_slowly)
    fake_topic.add()
    streams.wake()
    await wait_until(lambda: fake_topic.read_count == 2)
    fake_topic.audience = frozenset({"ana", "ben"})
    second = asyncio.create_task(read_entries(streams, fake_topic, 0, 1, reader="ben"))
    await wait_until(lambda: streams.readers == 2)
    may_return.set()
    assert list(await asyncio.gather(first, second)) == [[1], [1]]


@pytest.mark.parametrize(("error", "resumable"), [(ZeroDivisionError(), True), (NotFound("gone"), False)])
async def test_a_topic_that_cannot_be_read_lets_its_readers_go(
    streams: LiveStreams, error: Exception, resumable: bool
) -> None:
    async def fail(_: StreamPosition) -> StreamPage:
        raise error

    [end] = [item async for item in streams.read(StreamSource(Topic("space", "q4"), fail), 0, entity=None)]
    assert isinstance(end, StreamEnd)
    assert end.is_resumable is resumable
    fake_topic = FakeTopic()
    fake_topic.add()
    assert await read_entries(streams, fake_topic, 0, 1) == [1]


async def test_a_hub_that_ends_lets_newcomers_go_too(streams: LiveStreams) -> None:
    fake_topic = FakeTopic()
    streams.end()
    [end] = [item async for item in streams.read(fake_topic.source, 0, entity=None)]
    assert isinstance(end, StreamEnd)
    assert end.is_resumable


@pytest.mark.parametrize(
    "signal",
    [Signal(Topic("keys"), "key"), Signal(Topic("space", "new"), "create"), Signal(Topic("space", "q4"), "join")],
)
async def test_news_of_rights_is_passed_on(streams: LiveStreams, signal: Signal) -> None:
    before = streams.access_change
    streams.on_signal(Signal(Topic("inbox", "ana"), "event"))
    assert not before.is_set()
    streams.on_signal(signal)
    assert before.is_set()
    assert not streams.access_change.is_set()


async def wait_until(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    async with asyncio.timeout(LAST_RESORT):
        while not condition():  # noqa: ASYNC110 (there is no event for what is waited for, and every turn is short)
            await asyncio.sleep(0)
