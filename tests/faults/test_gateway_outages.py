"""
What a gateway stands on goes away and comes back, under load: Redis, NATS, PostgreSQL, killed or stopped.

Two gateways share a store. Callers write through the first and are never hung up on; watchers read the same from both,
each on one connection from the beginning to the end. Neither gateway is started again. While there is no transport, the
second hears no ring, and its watcher sees everything all the same, a little later.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost.actions import inbox, maintenance, spaces
from gatepost.app import open_store
from gatepost.core.event import Item
from gatepost.core.space import Message
from gatepost.ports import Store
from tests.brokers import Nats, Redis
from tests.faults.callers import Caller, Watcher
from tests.faults.conftest import NIGHTLY
from tests.faults.houses import PATIENCE, SPACE, House, furnish, housed
from tests.gateways import Told
from tests.servers import Postgres

SERVERS: Final = {"postgres": Postgres, "redis": Redis, "nats": Nats}
Server = Postgres | Redis | Nats

#: seconds that a server is stopped
STOPPED: Final = 10.0 if NIGHTLY else 1.0
#: seconds that a stopped broker may go unnoticed: it is given that long to answer
UNNOTICED: Final = 5.0
#: answers that the load has to get before, in and after an outage
ENOUGH: Final = 30
#: what happens, with each transport; the store is always there, so it is hurt in the company of each
OUTAGES: Final = {
    "redis": ("kill redis", "stop redis", "kill postgres"),
    "nats": ("kill nats", "stop nats", "stop postgres"),
    "postgres": ("kill postgres", "stop postgres"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Callable[[str], Server]]:
    """Servers that all tests here hurt, started when first asked for."""
    with ExitStack() as stack:
        yield cache(lambda kind: stack.enter_context(SERVERS[kind]()))


class Load:
    """Callers that write without end, each one thing after the other."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._stopping = False
        self._more = asyncio.Event()
        #: what was answered, by what was written: the id of an event, or the number of a message
        self.pushed: dict[str, str] = {}
        self.posted: dict[str, int] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While entered; leaving waits for what is under way."""
        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(self._write(f"push-{number}", self._push))
                group.create_task(self._write(f"post-{number}", self._post))
            try:
                yield
            finally:
                self._stopping = True

    async def enough(self) -> None:
        """Return when each kind of writing was answered some more times."""
        pushed, posted = len(self.pushed) + ENOUGH, len(self.posted) + ENOUGH
        async with asyncio.timeout(PATIENCE):
            while len(self.pushed) < pushed or len(self.posted) < posted:
                self._more.clear()
                await self._more.wait()

    async def _write(self, name: str, what: Callable[[Caller, str], Awaitable[bool]]) -> None:
        async with Caller(self._house.port, self._house.key) as caller:
            count = 0
            while not self._stopping:
                count += 1
                while not await what(caller, f"{name}-{count}"):  # noqa: ASYNC110 (it was told "not now")
                    await asyncio.sleep(0.05)
                self._more.set()
                await asyncio.sleep(0.01)  # the pace of the load: nothing is waited for

    async def _push(self, caller: Caller, text: str) -> bool:
        status, answer = await caller.post("/api/inbox", {"to": "ana", "content": text}, key=text)
        if status == 201:
            self.pushed[text] = answer["recipients"][0]["eventId"]
        assert status in (201, 503), answer
        return status == 201

    async def _post(self, caller: Caller, text: str) -> bool:
        body = {"sender": "husam", "content": text}
        status, answer = await caller.post(f"/api/spaces/{SPACE}/messages", body, key=text)
        if status == 201:
            self.posted[text] = answer["seq"]
        assert status in (201, 503), answer
        return status == 201


class Audience:
    """Somebody who watches the space and an inbox at one gateway, on one connection."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._more = asyncio.Event()
        self.connected = asyncio.Event()
        self.messages: list[dict[str, Any]] = []
        self.items: list[dict[str, Any]] = []

    async def watch(self) -> None:
        path = f"/api/stream?space={SPACE}&inbox=ana"
        async with Watcher(self._house.port, self._house.key, path) as watcher:
            async for told in watcher.read():
                self._note(told)
        raise AssertionError("the stream has ended")

    def _note(self, told: Told) -> None:
        match told.event:
            case "connected":
                self.connected.set()
            case "space.message":
                self.messages.append(told.data)
            case "inbox.item":
                self.items.append(told.data)
            case _:
                raise AssertionError(told)
        self._more.set()

    async def until(self, messages: int, items: int) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while len(self.messages) < messages or len(self.items) < items:
                    self._more.clear()
                    await self._more.wait()
        except TimeoutError:
            seen = f"{len(self.messages)} of {messages} messages, {len(self.items)} of {items} items"
            raise AssertionError(f"{seen}: {self._house.said}") from None


class Scene:
    def __init__(self, houses: tuple[House, House], server: Callable[[str], Server]) -> None:
        self._server = server
        self._houses = houses
        self.load = Load(houses[0])
        self.audiences = [Audience(house) for house in houses]

    @asynccontextmanager
    async def playing(self) -> AsyncIterator[None]:
        """While entered, callers write and watchers read; leaving waits until both have everything."""
        async with asyncio.TaskGroup() as group:
            watching = [group.create_task(audience.watch()) for audience in self.audiences]
            for audience in self.audiences:
                await audience.connected.wait()
            async with self.load.running():
                await self.load.enough()
                yield
            await self._seen()
            for task in watching:
                task.cancel()

    async def suffer(self, outage: str) -> None:
        """Let a server go away, for as long as it takes that the gateways notice, and come back."""
        verb, _, kind = outage.partition(" ")
        server = self._server(kind)
        if verb == "kill":
            server.kill()
            await self._weather(good=False)
            if kind != "postgres":
                await self.load.enough()
                await self._seen()
            await asyncio.to_thread(server.restart)
        else:
            server.stop()
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(asyncio.sleep(STOPPED))  # the length of the outage: nothing is waited for
                    if kind == "postgres" or STOPPED > UNNOTICED:
                        group.create_task(self._weather(good=False))
                    if kind != "postgres":
                        group.create_task(self.load.enough())
            finally:
                server.cont()
        await self._weather(good=True)
        await self.load.enough()

    async def _seen(self) -> None:
        """Return when both watchers have seen as much as was answered until now."""
        messages, items = len(self.load.posted), len(self.load.pushed) + len(self.load.posted)
        for audience in self.audiences:
            await audience.until(messages, items)

    async def _weather(self, *, good: bool) -> None:
        """Return when both gateways say that they are well, or that they are not."""
        await asyncio.gather(*(weather(house, good=good) for house in self._houses))


async def weather(house: House, *, good: bool) -> None:
    async with Caller(house.port, house.key) as caller, asyncio.timeout(PATIENCE):
        while ((await caller.get("/health"))[1]["status"] == "ok") != good:  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("transport", OUTAGES)
async def test_outages_under_load(transport: str, server: Callable[[str], Server], tmp_path: Path) -> None:
    postgres = server("postgres")
    assert isinstance(postgres, Postgres)
    url = "postgres:" if transport == "postgres" else server(transport).url
    with postgres.database() as store:
        furnish(store)
        one, two = (House(tmp_path / name, store, transport=url, interval="1s") for name in ("one", "two"))
        with housed(one, two):
            scene = Scene((one, two), server)
            async with scene.playing():
                for outage in OUTAGES[transport]:
                    await scene.suffer(outage)
        compare(store, scene)


def compare(url: str, scene: Scene) -> None:
    """What is there was answered, and what was answered is there, once; and so the watchers saw it."""
    load = scene.load
    with closing(open_store(url)) as store:
        messages, items = stored(store)
        [account] = store.query(maintenance.list_accounts, "ana")
    assert account.is_balanced
    assert account.accepted == len(items)
    assert {message.content: message.seq for message in messages} == load.posted
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    pushed = {item.event.content: item.event.id for item in items if item.event.content.startswith("push")}
    assert pushed == load.pushed
    assert len(items) == len(load.pushed) + len(load.posted)
    for audience in scene.audiences:
        assert [(one["seq"], one["content"]) for one in audience.messages] == [
            (message.seq, message.content) for message in messages
        ]
        seen = [one["eventId"] for one in audience.items]
        assert len(set(seen)) == len(seen)
        assert set(seen) == {item.event.id for item in items}
        in_order([one["content"] for one in audience.items])


def stored(store: Store) -> tuple[list[Message], list[Item]]:
    messages: list[Message] = []
    while page := store.query(spaces.read, SPACE, after_seq=len(messages), limit=1_000):
        messages += page
    items: list[Item] = []
    while some := store.query(inbox.page, "ana", after=items[-1].event.arrival if items else 0, limit=1_000):
        items += some
    return messages, items


def in_order(texts: list[str]) -> None:
    """Each caller waited for an answer before it went on, so its own come in their order."""
    last: dict[str, int] = defaultdict(int)
    for text in texts:
        writer, _, number = text.rpartition("-")
        assert int(number) == last[writer] + 1, text
        last[writer] = int(number)
