"""
What a gateway stands on goes away and comes back, under load: Redis, NATS, PostgreSQL, killed or stopped.

Two gateways share a store. Callers write through the first and are never hung up on; watchers read the same from both,
each on one connection from the beginning to the end. Neither gateway is started again. While there is no transport, the
second hears no signal, and its watcher sees everything all the same, a little later.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Item
from gatepost.spaces import actions as spaces
from gatepost.spaces.space import Message
from tests.faults.conftest import NIGHTLY
from tests.faults.gateway.callers import Caller, Watcher
from tests.faults.gateway.guarded_gateway import SPACE, GuardedGateway, create_crew_and_space, run_gateways
from tests.support.gateways.local_gateways import StreamFrame
from tests.support.servers.brokers import Nats, Redis
from tests.support.servers.private_servers import Postgres, wait_until_async
from tests.support.waits import LAST_RESORT

SERVERS: Final = {"postgres": Postgres, "redis": Redis, "nats": Nats}
Server = Postgres | Redis | Nats

#: answers that the load has to get before, in and after an outage
MIN_ANSWERS: Final = 30 if NIGHTLY else 10
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

    def __init__(self, gateway: GuardedGateway) -> None:
        self._gateway = gateway
        self._is_stopping = False
        self._changed = asyncio.Event()
        #: what was answered, by what was written: the id of an event, or the number of a message
        self.pushed_ids: dict[str, str] = {}
        self.posted_seqs: dict[str, int] = {}

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While entered; leaving waits for what is under way."""
        async with asyncio.TaskGroup() as group:
            for number in range(4):
                group.create_task(self._write(f"push-{number}", self._push))
                group.create_task(self._write(f"post-{number}", self._post))
            try:
                yield
            finally:
                self._is_stopping = True

    async def wait_for_answers(self) -> None:
        """Return when each kind of writing was answered some more times."""
        pushed_target, posted_target = len(self.pushed_ids) + MIN_ANSWERS, len(self.posted_seqs) + MIN_ANSWERS
        async with asyncio.timeout(LAST_RESORT):
            while len(self.pushed_ids) < pushed_target or len(self.posted_seqs) < posted_target:
                self._changed.clear()
                await self._changed.wait()

    async def _write(self, name: str, write: Callable[[Caller, str], Awaitable[bool]]) -> None:
        async with Caller(self._gateway.port, self._gateway.admin_key) as caller:
            count = 0
            while not self._is_stopping:
                count += 1
                # A gateway that answers "not now" is asked again.
                await wait_until_async(partial(write, caller, f"{name}-{count}"), "the write was accepted")
                self._changed.set()
                await asyncio.sleep(0.01)  # the pace of the load: nothing is waited for

    async def _push(self, caller: Caller, text: str) -> bool:
        status, answer = await caller.post("/api/inbox", {"to": "ana", "content": text}, key=text)
        if status == 201:
            self.pushed_ids[text] = answer["recipients"][0]["eventId"]
        assert status in (201, 503), answer
        return status == 201

    async def _post(self, caller: Caller, text: str) -> bool:
        body = {"sender": "husam", "content": text}
        status, answer = await caller.post(f"/api/spaces/{SPACE}/messages", body, key=text)
        if status == 201:
            self.posted_seqs[text] = answer["seq"]
        assert status in (201, 503), answer
        return status == 201


class StreamObserver:
    """Somebody who watches the space and an inbox at one gateway, on one connection."""

    def __init__(self, gateway: GuardedGateway) -> None:
        self._gateway = gateway
        self._changed = asyncio.Event()
        self.connected_event = asyncio.Event()
        self.messages: list[dict[str, Any]] = []
        self.items: list[dict[str, Any]] = []

    async def watch(self) -> None:
        path = f"/api/stream?space={SPACE}&inbox=ana"
        async with Watcher(self._gateway.port, self._gateway.admin_key, path) as watcher:
            async for frame in watcher.read():
                self._record(frame)
        raise AssertionError("the stream has ended")

    def _record(self, frame: StreamFrame) -> None:
        match frame.event:
            case "connected":
                self.connected_event.set()
            case "space.message":
                self.messages.append(frame.data)
            case "inbox.item":
                self.items.append(frame.data)
            case _:
                raise AssertionError(frame)
        self._changed.set()

    async def wait_for(self, messages: int, items: int) -> None:
        try:
            async with asyncio.timeout(LAST_RESORT):
                while len(self.messages) < messages or len(self.items) < items:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            summary = f"{len(self.messages)} of {messages} messages, {len(self.items)} of {items} items"
            raise AssertionError(f"{summary}: {self._gateway.stderr}") from None


class OutageScenario:
    def __init__(self, gateways: tuple[GuardedGateway, GuardedGateway], get_server: Callable[[str], Server]) -> None:
        self._get_server = get_server
        self._gateways = gateways
        self.load = Load(gateways[0])
        self.observers = [StreamObserver(gateway) for gateway in gateways]

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While entered, callers write and watchers read; leaving waits until both have everything."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(observer.watch()) for observer in self.observers]
            for observer in self.observers:
                await observer.connected_event.wait()
            async with self.load.run():
                await self.load.wait_for_answers()
                yield
            await self._wait_until_observed()
            for task in tasks:
                task.cancel()

    async def cause_outage(self, outage: str) -> None:
        """Let a server go away, for as long as it takes that the gateways notice, and come back."""
        action, _, kind = outage.partition(" ")
        server = self._get_server(kind)
        if action == "kill":
            server.kill()
            await self._wait_for_health(is_healthy=False)
            if kind != "postgres":
                await self.load.wait_for_answers()
                await self._wait_until_observed()
            await asyncio.to_thread(server.restart)
        else:
            server.pause()
            try:
                async with asyncio.TaskGroup() as group:
                    # A broker is given some seconds to answer, so by day it goes on before that is noticed.
                    if kind == "postgres" or NIGHTLY:
                        group.create_task(self._wait_for_health(is_healthy=False))
                    if kind != "postgres":
                        group.create_task(self.load.wait_for_answers())
            finally:
                server.resume()
        await self._wait_for_health(is_healthy=True)
        await self.load.wait_for_answers()

    async def _wait_until_observed(self) -> None:
        """Return when both watchers have seen as much as was answered until now."""
        messages, items = len(self.load.posted_seqs), len(self.load.pushed_ids) + len(self.load.posted_seqs)
        for observer in self.observers:
            await observer.wait_for(messages, items)

    async def _wait_for_health(self, *, is_healthy: bool) -> None:
        """Return when both gateways say that they are well, or that they are not."""
        await asyncio.gather(*(wait_for_health(gateway, is_healthy=is_healthy) for gateway in self._gateways))


async def wait_for_health(gateway: GuardedGateway, *, is_healthy: bool) -> None:
    async with Caller(gateway.port, gateway.admin_key) as caller:

        async def has_expected_health() -> bool:
            _, document = await caller.get("/health")
            is_ok: bool = document["status"] == "ok"
            return is_ok is is_healthy

        await wait_until_async(has_expected_health, f"the health is as expected ({is_healthy=})")


@pytest.mark.parametrize("transport", OUTAGES)
async def test_outages_under_load(transport: str, server: Callable[[str], Server], tmp_path: Path) -> None:
    postgres = server("postgres")
    assert isinstance(postgres, Postgres)
    url = "postgres:" if transport == "postgres" else server(transport).url
    with postgres.create_database() as store:
        create_crew_and_space(store)
        first_gateway, second_gateway = (
            GuardedGateway(tmp_path / name, store, transport=url, interval="1s") for name in ("one", "two")
        )
        with run_gateways(first_gateway, second_gateway):
            scenario = OutageScenario((first_gateway, second_gateway), server)
            async with scenario.run():
                for outage in OUTAGES[transport]:
                    await scenario.cause_outage(outage)
        check_results(store, scenario)


def check_results(url: str, scenario: OutageScenario) -> None:
    """What is there was answered, and what was answered is there, once; and so the watchers saw it."""
    load = scenario.load
    with closing(open_store(url)) as store:
        messages, items = read_all(store)
        [account] = store.read_sync(account_actions.list_accounts, "ana")
    assert account.is_balanced
    assert account.accepted == len(items)
    assert {message.content: message.seq for message in messages} == load.posted_seqs
    assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
    stored_ids = {item.event.content: item.event.id for item in items if item.event.content.startswith("push")}
    assert stored_ids == load.pushed_ids
    assert len(items) == len(load.pushed_ids) + len(load.posted_seqs)
    for observer in scenario.observers:
        assert [(frame["seq"], frame["content"]) for frame in observer.messages] == [
            (message.seq, message.content) for message in messages
        ]
        seen_ids = [frame["eventId"] for frame in observer.items]
        assert len(set(seen_ids)) == len(seen_ids)
        assert set(seen_ids) == {item.event.id for item in items}
        check_order([frame["content"] for frame in observer.items])


def read_all(store: Store) -> tuple[list[Message], list[Item]]:
    messages: list[Message] = []
    while page := store.read_sync(spaces.read, SPACE, after_seq=len(messages), limit=1_000):
        messages += page
    items: list[Item] = []
    while page_items := store.read_sync(
        inbox.list_page, "ana", after=items[-1].event.arrival if items else 0, limit=1_000
    ):
        items += page_items
    return messages, items


def check_order(texts: list[str]) -> None:
    """Each caller waited for an answer before it went on, so its own come in their order."""
    last: dict[str, int] = defaultdict(int)
    for text in texts:
        writer, _, number = text.rpartition("-")
        assert int(number) == last[writer] + 1, text
        last[writer] = int(number)
