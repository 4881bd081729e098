"""
Live streams: whoever reads one sees everything once and in order, however often it leaves, wherever it comes back, and
whichever signals are lost.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Final

import httpx2
import pytest

from gatepost.core.ports import Store
from gatepost.core.signals import Frame, Topic
from gatepost.directory import key_actions as keys
from gatepost.inbox import claim_actions as inbox
from gatepost.spaces import actions as spaces
from gatepost.transports.memory import MemoryBus, MemoryTransport
from tests.support.collected_failures import CollectedFailures
from tests.support.gateways.local_gateways import Gateway, StreamFrame, StreamListener, create_entities, open_gateway
from tests.support.servers.both_databases import URL_OF_BOTH

POSTGRES_BY_NIGHT = True

NIGHTLY: Final = bool(os.environ.get("GATEPOST_NIGHTLY"))
SPACE_STREAM: Final = "/api/spaces/q4-report/stream"
INBOX_STREAM: Final = "/api/inbox/analyst/stream"
#: what may be read, and what is in it
STREAM_PATHS: Final = {
    "space": SPACE_STREAM,
    "inbox": INBOX_STREAM,
    "combined, named": "/api/stream?space=q4-report&space=side&inbox=analyst",
    "combined, the caller's own": "/api/stream",
    "agent": "/api/agents/analyst/stream",
}
#: how often a reader leaves; all streams are followed by the same code, which one of them tries harder every day
DISCONNECT_COUNTS: Final = {kind: 200 if NIGHTLY else 60 if kind == "space" else 12 for kind in STREAM_PATHS}


@pytest.fixture
async def gateways(url: str) -> AsyncIterator[list[Gateway]]:
    """Two gateways of one installation that lose a third of the signals."""
    async with AsyncExitStack() as stack:
        gateways, network = [], MemoryBus()
        for _ in range(2):
            gateway_context = open_gateway(url, transport=MemoryTransport(network), loss_rate=0.33)
            gateways.append(await stack.enter_async_context(gateway_context))
        create_entities(gateways[0].store)
        gateways[0].store.run_sync(spaces.create, name="Side", members=["husam", "analyst"])
        yield gateways


@pytest.fixture
async def deaf_gateway(url: str) -> AsyncIterator[Gateway]:
    """A gateway that hears no signal at all."""
    async with open_gateway(url, loss_rate=1.0) as deaf_gateway:
        create_entities(deaf_gateway.store)
        yield deaf_gateway


class Writers:
    """Write into everything, by either gateway, until they are told to stop."""

    def __init__(self, gateways: list[Gateway]) -> None:
        self._gateways = gateways
        self._is_stopping = False
        self._random = random.Random(7)

    def stop(self) -> None:
        self._is_stopping = True

    async def write(self, number: int) -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(gateway.open_client()) for gateway in self._gateways]
            count = 0
            while not self._is_stopping:
                count += 1
                await self._write_one(self._random.choice(clients), f"{number}-{count}")

    async def _write_one(self, client: httpx2.AsyncClient, text: str) -> None:
        match self._random.randrange(4):
            case 0 | 1:
                path = self._random.choice(("/api/spaces/q4-report/messages", "/api/spaces/side/messages"))
                answer = await client.post(path, json={"sender": "husam", "content": text})
            case 2:
                answer = await client.post("/api/inbox", json={"to": "analyst", "content": text})
            case _:
                answer = await client.post("/api/inbox", json={"to": "*", "content": text})
        assert answer.status_code == 201, answer.text


@dataclass
class Follower:
    """Reads a stream, leaves at random, comes back at random; notes what it has seen of each part."""

    gateways: list[Gateway]
    path: str
    key: str
    disconnects: int
    last: str | None = None
    seen_by_part: dict[str, list[Any]] = field(default_factory=dict)
    visit_count: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.path)

    async def begin(self) -> None:
        """Have a place to come back to before anything is written."""
        await self._visit(lambda frames: frames == 1)

    async def follow(self) -> None:
        while self.visit_count < self.disconnects:
            await self._visit(partial(int.__eq__, self._random.choice((0, 1, 1, 2, 2, 3, 5, 8))))

    async def finish(self, expected: dict[str, list[Any]]) -> None:
        def is_enough(_: int) -> bool:
            return all(len(self.seen_by_part.get(part, [])) >= len(entries) for part, entries in expected.items())

        await self._visit(is_enough)

    async def _visit(self, is_enough: Callable[[int], bool]) -> None:
        self.visit_count += 1
        gateway = self._random.choice(self.gateways)
        async with await gateway.open_stream(self.path, x_secret_key=self.key, last_event_id=self.last) as stream:
            assert stream.status == 200, await stream.read_body()
            frames = 0
            frame_iterator = aiter(stream)
            while not is_enough(frames):
                self._record(await anext(frame_iterator))
                frames += 1

    def _record(self, frame: StreamFrame) -> None:
        assert frame.event != "ended", frame
        self.last = frame.id or self.last
        if frame.event == "space.message":
            self.seen_by_part.setdefault(f"space:{frame.data['space']}", []).append(frame.data["seq"])
        elif frame.event == "inbox.item":
            self.seen_by_part.setdefault("inbox", []).append((frame.data["eventId"], frame.data["content"]))


@pytest.mark.parametrize("kind", STREAM_PATHS)
async def test_a_reader_that_comes_and_goes_sees_everything_once_and_in_order(
    kind: str, gateways: list[Gateway]
) -> None:
    await check_reader(kind, gateways)


@pytest.mark.parametrize("url", [pytest.param("postgres", id="PostgreSQL")], indirect=True)
async def test_by_day_on_postgresql_too(gateways: list[Gateway]) -> None:
    """Writers commit there in another order than they began; every kind of stream is read there by night."""
    await check_reader("combined, the caller's own", gateways)


async def check_reader(kind: str, gateways: list[Gateway]) -> None:
    reader = Follower(gateways, STREAM_PATHS[kind], gateways[0].create_key("agent", "analyst"), DISCONNECT_COUNTS[kind])
    await reader.begin()
    writers = Writers(gateways)
    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(writers.write(number))
        await reader.follow()
        writers.stop()
    expected = list_written(gateways[0].store, kind)
    await reader.finish(expected)
    assert reader.visit_count >= DISCONNECT_COUNTS[kind]
    assert set(reader.seen_by_part) == set(expected)
    for part, entries in expected.items():
        if part == "inbox":
            assert len(set(reader.seen_by_part[part])) == len(reader.seen_by_part[part])
            assert set(reader.seen_by_part[part]) == set(entries)
            assert_in_order([text for _, text in reader.seen_by_part[part]])
        else:
            assert reader.seen_by_part[part] == entries
    for gateway in gateways:
        assert gateway.app_state.live_streams.readers == 0


def list_written(store: Store, kind: str) -> dict[str, list[Any]]:
    """What there is to be seen of each part."""
    store.run_sync(inbox.claim, "analyst", owner="test", budget=4_000_000, limit=1_000)  # broadcasts are items now
    entries_by_part: dict[str, list[Any]] = {
        f"space:{space.id}": list(range(1, space.last_seq + 1)) for space in store.read_sync(spaces.list_page)
    }
    items = []
    after = 0
    while page := store.read_sync(inbox.list_page, "analyst", after=after, limit=1_000):
        items += page
        after = page[-1].event.arrival
    entries_by_part["inbox"] = [(item.event.id, item.event.content) for item in items]
    match kind:
        case "space":
            return {"space:q4-report": entries_by_part["space:q4-report"]}
        case "inbox":
            return {"inbox": entries_by_part["inbox"]}
        case _:
            return entries_by_part


def assert_in_order(texts: list[str]) -> None:
    """Each writer waited for an answer before it went on, so its own are in their order."""
    numbers: dict[str, int] = {}
    for text in texts:
        writer, _, number = text.partition("-")
        assert int(number) > numbers.get(writer, 0)
        numbers[writer] = int(number)


def list_stored(connected: StreamFrame) -> list[str]:
    """The spaces and inboxes of a stream."""
    return [part for part in connected.data["parts"] if part.startswith(("inbox:", "space:"))]


async def post_message(gateway: Gateway, text: str, space: str = "q4-report") -> None:
    async with gateway.open_client() as client:
        answer = await client.post(f"/api/spaces/{space}/messages", json={"sender": "husam", "content": text})
        assert answer.status_code == 201


async def read_until(stream: StreamListener, event: str) -> list[StreamFrame]:
    """What comes up to and with an event of that name."""
    frames: list[StreamFrame] = []
    async for frame in stream:
        frames.append(frame)
        if frame.event == event:
            return frames
    raise AssertionError(f"the stream ended without {event!r}: {frames}")


@pytest.mark.parametrize("path", [SPACE_STREAM, "/api/stream?space=q4-report&inbox=analyst"])
async def test_who_is_removed_reads_nothing_more(path: str, deaf_gateway: Gateway) -> None:
    """No signal is heard here: the stream ends all the same, before anything more is shown."""
    key = deaf_gateway.create_key("agent", "analyst")
    async with await deaf_gateway.open_stream(path, x_secret_key=key) as stream:
        await post_message(deaf_gateway, "for the analyst")
        frames = await read_until(stream, "space.message")
        deaf_gateway.store.run_sync(spaces.leave, "q4-report", "analyst")
        deaf_gateway.store.run_sync(spaces.post, "q4-report", sender="husam", content="behind its back")
        rest = [frame async for frame in stream]
    contents = [frame.data["content"] for frame in (*frames, *rest) if frame.event == "space.message"]
    assert contents == ["for the analyst"]
    assert (rest[-1].event, rest[-1].data) == ("ended", {"reason": "no longer a member"})
    async with await deaf_gateway.open_stream(path, x_secret_key=key, last_event_id=frames[-1].id) as second_stream:
        assert second_stream.status == 403


@URL_OF_BOTH
async def test_who_is_removed_is_let_go_though_nobody_says_anything(url: str) -> None:
    async with open_gateway(url) as gateway:
        create_entities(gateway.store)
        async with await gateway.open_stream(
            SPACE_STREAM, x_secret_key=gateway.create_key("agent", "analyst")
        ) as stream:
            await read_until(stream, "connected")
            async with gateway.open_client() as client:
                assert (await client.delete("/api/spaces/q4-report/members/analyst")).status_code == 204
            assert [frame.event for frame in [frame async for frame in stream]] == ["ended"]


@pytest.mark.parametrize("path", ["/api/stream", "/api/agents/analyst/stream"])
async def test_a_stream_of_all_spaces_follows_who_is_in_which(path: str, url: str) -> None:
    """When that changes it ends with a place to resume from, and nothing is missed between."""
    async with open_gateway(url) as gateway:
        create_entities(gateway.store)
        key = gateway.create_key("agent", "analyst")
        async with await gateway.open_stream(path, x_secret_key=key) as stream:
            [connected] = await read_until(stream, "connected")
            assert list_stored(connected) == ["inbox:analyst", "space:q4-report"]
            async with gateway.open_client() as client:
                response = await client.post("/api/spaces", json={"name": "new", "members": ["husam", "analyst"]})
                assert response.status_code == 201
            await post_message(gateway, "first words", space="new")
            frames = await read_until(stream, "ended")
        resume = frames[-1].data["resumeFrom"]
        contents = [frame.data["content"] for frame in frames if frame.event == "space.message"]
        async with await gateway.open_stream(path, x_secret_key=key, last_event_id=resume) as stream:
            [connected, *frames] = await read_until(stream, "space.message")
            assert "space:new" in connected.data["parts"]
            contents += [frame.data["content"] for frame in frames if frame.event == "space.message"]
            gateway.store.run_sync(spaces.leave, "q4-report", "analyst")
            frames = await read_until(stream, "ended")
        assert contents == ["first words"]
        async with await gateway.open_stream(
            path, x_secret_key=key, last_event_id=frames[-1].data["resumeFrom"]
        ) as stream:
            [connected] = await read_until(stream, "connected")
            assert list_stored(connected) == ["inbox:analyst", "space:new"]


async def test_who_is_removed_from_one_of_all_spaces_may_come_back_for_the_others(deaf_gateway: Gateway) -> None:
    """Here no signal is heard: the page itself says that it is not for this reader any more."""
    key = deaf_gateway.create_key("agent", "analyst")
    async with await deaf_gateway.open_stream("/api/stream", x_secret_key=key) as stream:
        await read_until(stream, "connected")
        deaf_gateway.store.run_sync(spaces.leave, "q4-report", "analyst")
        [last_frame] = await read_until(stream, "ended")
    assert last_frame.data["reason"] == "the spaces have changed"
    async with await deaf_gateway.open_stream(
        "/api/stream", x_secret_key=key, last_event_id=last_frame.data["resumeFrom"]
    ) as stream:
        [connected] = await read_until(stream, "connected")
        assert list_stored(connected) == ["inbox:analyst"]


async def test_the_administrator_watches_all_spaces(deaf_gateway: Gateway) -> None:
    async with await deaf_gateway.open_stream("/api/stream") as stream:
        [connected] = await read_until(stream, "connected")
        space_ids = [f"space:{space.id}" for space in deaf_gateway.store.read_sync(spaces.list_page)]
        assert list_stored(connected) == ["inbox:admin", *space_ids]
        assert {"agents:", "gates:"} < set(connected.data["parts"])
        await post_message(deaf_gateway, "seen")
        [frame] = await read_until(stream, "space.message")
        assert frame.data["content"] == "seen"
        assert frame.id is not None
        last = frame.id
    deaf_gateway.store.run_sync(spaces.create, name="later", members=["husam"])
    await post_message(deaf_gateway, "later", space="later")
    async with await deaf_gateway.open_stream("/api/stream", last_event_id=last) as stream:
        frame = (await read_until(stream, "space.message"))[-1]
        assert frame.data["content"] == "later"


BAD_CURSORS: Final = (
    *("x", "-1", "1.5", "1-2-3", "01-1", "0x10", "9" * 30, "é", "{}", "null"),
    *("e30=x", "bnVsbA==", "WzFd", "eyJhIjoxfQ==", "eyJzcGFjZTpxNC1yZXBvcnQiOiJ4In0="),
)


async def test_garbage_is_no_place_to_resume_from(deaf_gateway: Gateway) -> None:
    deaf_gateway.store.run_sync(spaces.create, name="Side", members=["husam", "analyst"])
    key = deaf_gateway.create_key("agent", "analyst")
    async with deaf_gateway.open_client() as client:
        with CollectedFailures() as failures:
            for path, last in product(STREAM_PATHS.values(), BAD_CURSORS):
                with failures.check(f"{path} after {last}"):
                    async with await deaf_gateway.open_stream(path, x_secret_key=key, last_event_id=last) as stream:
                        assert stream.status == 422
                        assert b"urn:gatepost:problem:invalid" in await stream.read_body()
                    params = dict(httpx2.QueryParams(path.partition("?")[2])) | {"after": last}
                    assert (await client.get(path, params=params)).status_code == 422


@pytest.mark.parametrize(
    ("path", "last"),
    [
        (SPACE_STREAM, "5"),
        (INBOX_STREAM, f"{2**62}-1"),
        ("/api/stream", "eyJzcGFjZTpxNC1yZXBvcnQiOiI1In0="),
    ],
)
async def test_a_place_that_is_not_reached_yet_is_refused(path: str, last: str, deaf_gateway: Gateway) -> None:
    """Whoever waited there would miss all that comes before."""
    async with await deaf_gateway.open_stream(path, last_event_id=last) as stream:
        assert stream.status == 422


async def test_a_quiet_stream_shows_that_it_lives(deaf_gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.gateway.streams.server_sent_events.PING_INTERVAL", 0.01)
    async with await deaf_gateway.open_stream("/api/stream?space=q4-report&inbox=analyst&inbox=designer") as stream:
        events = []
        async for frame in stream:
            events.append(frame.event)
            if len(events) == 4:
                break
    assert events == ["connected", ": ping", ": ping", ": ping"]


async def test_frames_reach_whoever_is_there_and_have_no_id(url: str) -> None:
    async with open_gateway(url) as gateway:
        create_entities(gateway.store)
        async with await gateway.open_stream(SPACE_STREAM) as stream:
            await post_message(gateway, "hello")
            await read_until(stream, "space.message")
            gateway.app_state.signal_bus.send(
                [Frame(Topic("space", "q4-report"), "agent.active", {"agent": "analyst"})]
            )
            [frame] = await read_until(stream, "agent.active")
            assert (frame.data, frame.id) == ({"agent": "analyst"}, None)


@URL_OF_BOTH
async def test_a_gateway_that_stops_says_where_to_go_on(gateways: list[Gateway]) -> None:
    async with await gateways[0].open_stream(SPACE_STREAM) as stream:
        await read_until(stream, "connected")
        await post_message(gateways[1], "one")
        await read_until(stream, "space.message")
        gateways[0].app_state.live_streams.end()
        [last_frame] = await read_until(stream, "ended")
        assert last_frame.data == {"reason": "the gateway stops", "resumeFrom": "1"}
    async with await gateways[0].open_stream(SPACE_STREAM, last_event_id="1") as stream:
        assert [frame.event async for frame in stream] == ["connected", "ended"], "it stops for newcomers too"
    await post_message(gateways[1], "two")
    async with await gateways[1].open_stream(SPACE_STREAM, last_event_id="1") as stream:
        frames = await read_until(stream, "space.message")
        assert frames[-1].data["content"] == "two"


async def test_a_stream_that_broke_is_ended_and_can_be_resumed(
    deaf_gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with await deaf_gateway.open_stream(SPACE_STREAM) as stream:
        await read_until(stream, "connected")
        with monkeypatch.context() as patch:
            patch.setattr(spaces, "read", lambda *_, **__: 1 / 0)
            [last_frame] = await read_until(stream, "ended")
    assert last_frame.data == {"reason": "something went wrong here", "resumeFrom": "0"}
    await post_message(deaf_gateway, "after it")
    async with await deaf_gateway.open_stream(SPACE_STREAM, last_event_id="0") as stream:
        assert (await read_until(stream, "space.message"))[-1].data["content"] == "after it"


@URL_OF_BOTH
async def test_one_who_is_let_in_while_a_page_is_read_stays(deaf_gateway: Gateway) -> None:
    """A page that was read before somebody joined does not say that they left."""
    async with await deaf_gateway.open_stream(
        SPACE_STREAM, x_secret_key=deaf_gateway.create_key("agent", "analyst")
    ) as first:
        await read_until(first, "connected")
        for number in range(30):
            deaf_gateway.store.run_sync(spaces.join, "q4-report", "designer")
            key = deaf_gateway.create_key("agent", "designer")
            async with await deaf_gateway.open_stream(SPACE_STREAM, x_secret_key=key) as stream:
                await read_until(stream, "connected")
                await post_message(deaf_gateway, str(number))
                assert (await read_until(stream, "space.message"))[-1].data["content"] == str(number)
            deaf_gateway.store.run_sync(spaces.leave, "q4-report", "designer")
        assert deaf_gateway.store.read_sync(keys.list_page)
