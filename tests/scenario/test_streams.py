"""
Live streams: whoever reads one sees everything once and in order, however often it leaves, wherever it comes back, and
whichever rings are lost.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import httpx2
import pytest

from gatepost.actions import inbox, keys, spaces
from gatepost.adapters.transports.memory import MemoryBus, MemoryTransport
from gatepost.core.frame import Frame
from gatepost.ports import Store
from tests.gateways import Gateway, Listener, Told, furnish, gateway

NIGHTLY: Final = bool(os.environ.get("GATEPOST_NIGHTLY"))
SPACE: Final = "/api/spaces/q4-report/stream"
INBOX: Final = "/api/inbox/analyst/stream"
#: what may be read, and what is in it
STREAMS: Final = {
    "space": SPACE,
    "inbox": INBOX,
    "combined, named": "/api/stream?space=q4-report&space=side&inbox=analyst",
    "combined, the caller's own": "/api/stream",
    "agent": "/api/agents/analyst/stream",
}
#: how often a reader leaves; all streams are followed by the same code, which one of them tries hard every day
DISCONNECTS: Final = {kind: 200 if NIGHTLY or kind == "space" else 20 for kind in STREAMS}


@pytest.fixture
async def pair(url: str) -> AsyncIterator[list[Gateway]]:
    """Two gateways of one installation that lose a third of the rings."""
    async with AsyncExitStack() as stack:
        made, room = [], MemoryBus()
        for _ in range(2):
            one = gateway(url, transport=MemoryTransport(room), loses=0.33)
            made.append(await stack.enter_async_context(one))
        furnish(made[0].store)
        made[0].store.call(spaces.create, name="Side", members=["husam", "analyst"])
        yield made


@pytest.fixture
async def lone(url: str) -> AsyncIterator[Gateway]:
    """A gateway that hears no ring at all."""
    async with gateway(url, loses=1.0) as made:
        furnish(made.store)
        yield made


class Writers:
    """Write into everything, by either gateway, until they are told to stop."""

    def __init__(self, gateways: list[Gateway]) -> None:
        self._gateways = gateways
        self._stopping = False
        self._random = random.Random(7)

    def stop(self) -> None:
        self._stopping = True

    async def write(self, number: int) -> None:
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(one.client()) for one in self._gateways]
            count = 0
            while not self._stopping:
                count += 1
                await self._once(self._random.choice(clients), f"{number}-{count}")

    async def _once(self, client: httpx2.AsyncClient, text: str) -> None:
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
    seen: dict[str, list[Any]] = field(default_factory=dict)
    left: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.path)

    async def begin(self) -> None:
        """Have a place to come back to before anything is written."""
        await self._visit(lambda frames: frames == 1)

    async def follow(self) -> None:
        while self.left < self.disconnects:
            await self._visit(partial(int.__eq__, self._random.choice((0, 1, 1, 2, 2, 3, 5, 8))))

    async def finish(self, wanted: dict[str, list[Any]]) -> None:
        def enough(_: int) -> bool:
            return all(len(self.seen.get(part, [])) >= len(everything) for part, everything in wanted.items())

        await self._visit(enough)

    async def _visit(self, enough: Callable[[int], bool]) -> None:
        self.left += 1
        one = self._random.choice(self.gateways)
        async with await one.listen(self.path, x_secret_key=self.key, last=self.last) as stream:
            assert stream.status == 200, await stream.body()
            frames = 0
            told = aiter(stream)
            while not enough(frames):
                self._note(await anext(told))
                frames += 1

    def _note(self, told: Told) -> None:
        assert told.event != "ended", told
        self.last = told.id or self.last
        if told.event == "space.message":
            self.seen.setdefault(f"space:{told.data['space']}", []).append(told.data["seq"])
        elif told.event == "inbox.item":
            self.seen.setdefault("inbox", []).append((told.data["eventId"], told.data["content"]))


@pytest.mark.parametrize("kind", STREAMS)
async def test_a_reader_that_comes_and_goes_sees_everything_once_and_in_order(kind: str, pair: list[Gateway]) -> None:
    reader = Follower(pair, STREAMS[kind], pair[0].key("agent", "analyst"), DISCONNECTS[kind])
    await reader.begin()
    writers = Writers(pair)
    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(writers.write(number))
        await reader.follow()
        writers.stop()
    wanted = written(pair[0].store, kind)
    await reader.finish(wanted)
    assert reader.left >= DISCONNECTS[kind]
    assert set(reader.seen) == set(wanted)
    for part, everything in wanted.items():
        if part == "inbox":
            assert len(set(reader.seen[part])) == len(reader.seen[part])
            assert set(reader.seen[part]) == set(everything)
            assert_in_order([text for _, text in reader.seen[part]])
        else:
            assert reader.seen[part] == everything
    for one in pair:
        assert one.office.hub.readers == 0


def written(store: Store, kind: str) -> dict[str, list[Any]]:
    """What there is to be seen of each part."""
    store.call(inbox.claim, "analyst", owner="test", budget=4_000_000, limit=1_000)  # broadcasts are items now
    found: dict[str, list[Any]] = {
        f"space:{one.id}": list(range(1, one.last_seq + 1)) for one in store.query(spaces.page)
    }
    items = []
    after = 0
    while page := store.query(inbox.page, "analyst", after=after, limit=1_000):
        items += page
        after = page[-1].event.arrival
    found["inbox"] = [(item.event.id, item.event.content) for item in items]
    match kind:
        case "space":
            return {"space:q4-report": found["space:q4-report"]}
        case "inbox":
            return {"inbox": found["inbox"]}
        case _:
            return found


def assert_in_order(texts: list[str]) -> None:
    """Each writer waited for an answer before it went on, so its own are in their order."""
    numbers: dict[str, int] = {}
    for text in texts:
        writer, _, number = text.partition("-")
        assert int(number) > numbers.get(writer, 0)
        numbers[writer] = int(number)


async def post(made: Gateway, text: str, space: str = "q4-report") -> None:
    async with made.client() as client:
        answer = await client.post(f"/api/spaces/{space}/messages", json={"sender": "husam", "content": text})
        assert answer.status_code == 201


async def until(stream: Listener, event: str) -> list[Told]:
    """What comes up to and with an event of that name."""
    told: list[Told] = []
    async for one in stream:
        told.append(one)
        if one.event == event:
            return told
    raise AssertionError(f"the stream ended without {event!r}: {told}")


@pytest.mark.parametrize("path", [SPACE, "/api/stream?space=q4-report&inbox=analyst"])
async def test_who_is_removed_reads_nothing_more(path: str, lone: Gateway) -> None:
    """No ring is heard here: the stream ends all the same, before anything more is shown."""
    key = lone.key("agent", "analyst")
    async with await lone.listen(path, x_secret_key=key) as stream:
        await post(lone, "for the analyst")
        told = await until(stream, "space.message")
        lone.store.call(spaces.leave, "q4-report", "analyst")
        lone.store.call(spaces.post, "q4-report", sender="husam", content="behind its back")
        rest = [one async for one in stream]
    seen = [one.data["content"] for one in (*told, *rest) if one.event == "space.message"]
    assert seen == ["for the analyst"]
    assert (rest[-1].event, rest[-1].data) == ("ended", {"reason": "no longer a member"})
    async with await lone.listen(path, x_secret_key=key, last=told[-1].id) as again:
        assert again.status == 403


async def test_who_is_removed_is_let_go_though_nobody_says_anything(url: str) -> None:
    async with gateway(url) as made:
        furnish(made.store)
        async with await made.listen(SPACE, x_secret_key=made.key("agent", "analyst")) as stream:
            await until(stream, "connected")
            async with made.client() as client:
                assert (await client.delete("/api/spaces/q4-report/members/analyst")).status_code == 204
            assert [one.event for one in [one async for one in stream]] == ["ended"]


@pytest.mark.parametrize("path", ["/api/stream", "/api/agents/analyst/stream"])
async def test_a_stream_of_all_spaces_follows_who_is_in_which(path: str, url: str) -> None:
    """When that changes it ends with a place to resume from, and nothing is missed between."""
    async with gateway(url) as made:
        furnish(made.store)
        key = made.key("agent", "analyst")
        async with await made.listen(path, x_secret_key=key) as stream:
            [connected] = await until(stream, "connected")
            assert connected.data["parts"] == ["inbox:analyst", "space:q4-report"]
            async with made.client() as client:
                made_space = await client.post("/api/spaces", json={"name": "new", "members": ["husam", "analyst"]})
                assert made_space.status_code == 201
            await post(made, "first words", space="new")
            told = await until(stream, "ended")
        resume = told[-1].data["resumeFrom"]
        seen = [one.data["content"] for one in told if one.event == "space.message"]
        async with await made.listen(path, x_secret_key=key, last=resume) as stream:
            [connected, *told] = await until(stream, "space.message")
            assert "space:new" in connected.data["parts"]
            seen += [one.data["content"] for one in told if one.event == "space.message"]
            made.store.call(spaces.leave, "q4-report", "analyst")
            told = await until(stream, "ended")
        assert seen == ["first words"]
        async with await made.listen(path, x_secret_key=key, last=told[-1].data["resumeFrom"]) as stream:
            [connected] = await until(stream, "connected")
            assert connected.data["parts"] == ["inbox:analyst", "space:new"]


async def test_who_is_removed_from_one_of_all_spaces_may_come_back_for_the_others(lone: Gateway) -> None:
    """Here no ring is heard: the page itself says that it is not for this reader any more."""
    key = lone.key("agent", "analyst")
    async with await lone.listen("/api/stream", x_secret_key=key) as stream:
        await until(stream, "connected")
        lone.store.call(spaces.leave, "q4-report", "analyst")
        [ended] = await until(stream, "ended")
    assert ended.data["reason"] == "the spaces have changed"
    async with await lone.listen("/api/stream", x_secret_key=key, last=ended.data["resumeFrom"]) as stream:
        [connected] = await until(stream, "connected")
        assert connected.data["parts"] == ["inbox:analyst"]


async def test_the_administrator_watches_all_spaces(lone: Gateway) -> None:
    async with await lone.listen("/api/stream") as stream:
        [connected] = await until(stream, "connected")
        assert set(connected.data["parts"]) == {f"space:{one.id}" for one in lone.store.query(spaces.page)}
        await post(lone, "seen")
        [told] = await until(stream, "space.message")
        assert told.data["content"] == "seen"
        assert told.id is not None
        last = told.id
    lone.store.call(spaces.create, name="later", members=["husam"])
    await post(lone, "later", space="later")
    async with await lone.listen("/api/stream", last=last) as stream:
        told = (await until(stream, "space.message"))[-1]
        assert told.data["content"] == "later"


GARBAGE: Final = (
    *("x", "-1", "1.5", "1-2-3", "01-1", "0x10", "9" * 30, "é", "{}", "null"),
    *("e30=x", "bnVsbA==", "WzFd", "eyJhIjoxfQ==", "eyJzcGFjZTpxNC1yZXBvcnQiOiJ4In0="),
)


@pytest.mark.parametrize("path", STREAMS.values())
async def test_garbage_is_no_place_to_resume_from(path: str, lone: Gateway) -> None:
    lone.store.call(spaces.create, name="Side", members=["husam", "analyst"])
    key = lone.key("agent", "analyst")
    for last in GARBAGE:
        async with await lone.listen(path, x_secret_key=key, last=last) as stream:
            assert stream.status == 422, last
            assert b"urn:gatepost:problem:invalid" in await stream.body()
        async with lone.client() as client:
            answer = await client.get(path, params=dict(httpx2.QueryParams(path.partition("?")[2])) | {"after": last})
            assert answer.status_code == 422, last


@pytest.mark.parametrize(
    ("path", "last"),
    [
        (SPACE, "5"),
        (INBOX, f"{2**62}-1"),
        ("/api/stream", "eyJzcGFjZTpxNC1yZXBvcnQiOiI1In0="),
    ],
)
async def test_a_place_that_is_not_reached_yet_is_refused(path: str, last: str, lone: Gateway) -> None:
    """Whoever waited there would miss all that comes before."""
    async with await lone.listen(path, last=last) as stream:
        assert stream.status == 422


async def test_a_quiet_stream_shows_that_it_lives(lone: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.gateway.stream.PING", 0.01)
    async with await lone.listen("/api/stream?space=q4-report&inbox=analyst&inbox=designer") as stream:
        told = []
        async for one in stream:
            told.append(one.event)
            if len(told) == 4:
                break
    assert told == ["connected", ": ping", ": ping", ": ping"]


async def test_frames_reach_whoever_is_there_and_have_no_id(url: str) -> None:
    async with gateway(url) as made:
        furnish(made.store)
        async with await made.listen(SPACE) as stream:
            await post(made, "hello")
            await until(stream, "space.message")
            made.office.exchange.send([Frame("space:q4-report", "agent.active", {"agent": "analyst"})])
            [told] = await until(stream, "agent.active")
            assert (told.data, told.id) == ({"agent": "analyst"}, None)


async def test_a_gateway_that_stops_says_where_to_go_on(pair: list[Gateway]) -> None:
    async with await pair[0].listen(SPACE) as stream:
        await until(stream, "connected")
        await post(pair[1], "one")
        await until(stream, "space.message")
        pair[0].office.hub.end()
        [ended] = await until(stream, "ended")
        assert ended.data == {"reason": "the gateway stops", "resumeFrom": "1"}
    async with await pair[0].listen(SPACE, last="1") as stream:
        assert [one.event async for one in stream] == ["connected", "ended"], "it stops for newcomers too"
    await post(pair[1], "two")
    async with await pair[1].listen(SPACE, last="1") as stream:
        told = await until(stream, "space.message")
        assert told[-1].data["content"] == "two"


async def test_a_stream_that_broke_is_ended_and_can_be_resumed(lone: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    async with await lone.listen(SPACE) as stream:
        await until(stream, "connected")
        with monkeypatch.context() as broken:
            broken.setattr(spaces, "read", lambda *_, **__: 1 / 0)
            [ended] = await until(stream, "ended")
    assert ended.data == {"reason": "something went wrong here", "resumeFrom": "0"}
    await post(lone, "after it")
    async with await lone.listen(SPACE, last="0") as stream:
        assert (await until(stream, "space.message"))[-1].data["content"] == "after it"


async def test_one_who_is_let_in_while_a_page_is_read_stays(lone: Gateway) -> None:
    """A page that was read before somebody joined does not say that they left."""
    async with await lone.listen(SPACE, x_secret_key=lone.key("agent", "analyst")) as first:
        await until(first, "connected")
        for number in range(30):
            lone.store.call(spaces.join, "q4-report", "designer")
            key = lone.key("agent", "designer")
            async with await lone.listen(SPACE, x_secret_key=key) as stream:
                await until(stream, "connected")
                await post(lone, str(number))
                assert (await until(stream, "space.message"))[-1].data["content"] == str(number)
            lone.store.call(spaces.leave, "q4-report", "designer")
        assert lone.store.query(keys.page)
