"""
A client on a bad line: what is lost is tried again, what was done is not done again, and a stream goes on where it was.
"""

import asyncio
import random
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import pytest

from gatepost import app, settings
from gatepost.actions import directory, inbox, spaces
from gatepost.actions.directory import EntitySpec
from gatepost.client import Client
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Push
from gatepost.errors import Conflict, Unavailable
from gatepost.ports import Store
from tests.gateway_process import GatewayProcess, LossyProxy, RequestOutcome, run_gateway_process
from tests.gateways import GatewayThread

T = TypeVar("T")

#: what can become of a request before one passes
FATES = [
    [RequestOutcome.LOST],
    [RequestOutcome.UNANSWERED],
    [RequestOutcome.UNANSWERED, RequestOutcome.LOST, RequestOutcome.UNANSWERED],
]


@pytest.fixture
def store(gateway_thread: GatewayThread) -> Store:
    return gateway_thread.gateway.store


@pytest.fixture
async def proxy(gateway_thread: GatewayThread) -> AsyncIterator[LossyProxy]:
    async with LossyProxy(gateway_thread.base_url) as proxy:
        yield proxy


@pytest.fixture
async def client(gateway_thread: GatewayThread, proxy: LossyProxy) -> AsyncIterator[Client]:
    async with Client(proxy.url, key=gateway_thread.gateway.admin_key) as client:
        yield client


@pytest.mark.parametrize("fates", FATES, ids=str)
async def test_writes_are_done_once(
    client: Client, proxy: LossyProxy, store: Store, fates: list[RequestOutcome]
) -> None:
    proxy.outcomes.extend(fates)
    push_result = await client.push(Push(to="analyst", source="tests", content="precious"))
    assert [delivery.duplicate for delivery in push_result.deliveries] == [False]
    proxy.outcomes.extend(fates)
    [outcome] = await client.push_all([Push(to="analyst", source="tests", content="precious")])
    assert [delivery.duplicate for delivery in outcome.deliveries] == [False]  # type: ignore[union-attr]
    proxy.outcomes.extend(fates)
    message = await client.post("q4-report", "said", sender="husam")
    proxy.outcomes.extend(fates)
    await client.register("quinn", EntityKind.AGENT)
    proxy.outcomes.extend(fates)
    event = await client.trigger("designer", "jira", {"issue": 1})
    assert proxy.request_count == 5 * (len(fates) + 1)
    contents = [item.event.content for item in store.query(inbox.page, "analyst")]
    assert contents == ["precious", "precious", "said"]
    assert store.query(spaces.read, "q4-report") == [message]
    assert [item.event.id for item in store.query(inbox.page, "designer")] == [event]


async def test_an_ack_is_done_once(client: Client, proxy: LossyProxy) -> None:
    await client.push(Push(to="analyst", source="tests", content="precious"))
    batch = await client.claim("analyst", owner="s-1")
    assert batch.claim is not None
    proxy.outcomes.extend([RequestOutcome.UNANSWERED, RequestOutcome.LOST])
    assert await client.ack(batch.claim) == 1
    with pytest.raises(Conflict):
        await client.ack(batch.claim)


@pytest.mark.parametrize("fate", [RequestOutcome.UNANSWERED, RequestOutcome.LOST, RequestOutcome.NOT_NOW])
async def test_a_claim_is_not_repeated_once_it_was_sent(
    client: Client, proxy: LossyProxy, store: Store, fate: RequestOutcome
) -> None:
    await client.push(Push(to="analyst", source="tests", content="precious"))
    proxy.outcomes.append(fate)
    before = proxy.request_count
    with pytest.raises(Unavailable):
        await client.claim("analyst", owner="s-1")
    assert proxy.request_count == before + 1
    [item] = store.query(inbox.page, "analyst")
    assert item.state is (ItemState.CLAIMED if fate is RequestOutcome.UNANSWERED else ItemState.PENDING)


async def test_the_gateway_is_left_alone_as_long_as_it_asks(client: Client, proxy: LossyProxy) -> None:
    proxy.outcomes.extend([RequestOutcome.NOT_NOW, RequestOutcome.NOT_NOW])
    started_at = time.monotonic()
    await client.health()
    assert time.monotonic() - started_at >= 2


async def test_patience_ends(gateway_thread: GatewayThread, proxy: LossyProxy) -> None:
    async with Client(proxy.url, key=gateway_thread.gateway.admin_key, patience=0.5) as client:
        proxy.outcomes.append(RequestOutcome.NOT_NOW)
        with pytest.raises(Unavailable, match="the gateway answered 503"):
            await client.health()
        proxy.outcomes.extend([RequestOutcome.LOST] * 100)
        with pytest.raises(Unavailable, match="the gateway cannot be reached"):
            await client.health()


async def test_nobody_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with Client(f"http://127.0.0.1:{port}", key="sk_", patience=0.2) as client:
        with pytest.raises(Unavailable, match="the gateway cannot be reached") as error_info:
            await client.claim("analyst", owner="s")
        assert error_info.value.hint == "`gatepost up` starts one"
        with pytest.raises(Unavailable):
            await anext(client.watch_inbox("analyst"))


async def test_a_stream_that_is_cut_again_and_again_misses_and_repeats_nothing(
    gateway_thread: GatewayThread, client: Client, proxy: LossyProxy
) -> None:
    total = 60
    rng = random.Random(5)
    ready = asyncio.Event()

    async def write(direct: Client) -> None:
        for number in range(total):
            await direct.post("q4-report", str(number), sender="husam")
            if rng.random() < 0.3:
                proxy.abort_connections()

    async with (
        Client(gateway_thread.base_url, key=gateway_thread.gateway.admin_key) as direct,
        aclosing(client.watch_space("q4-report", ready=ready.set)) as messages,
        aclosing(client.watch_inbox("analyst", after="0-0")) as items,
        asyncio.TaskGroup() as group,
    ):
        message_task = group.create_task(_read_first(messages, total))
        item_task = group.create_task(_read_first(items, total))
        await ready.wait()
        group.create_task(write(direct))
        assert [message.seq for message in await message_task] == list(range(1, total + 1))
        assert [item.event.content for item in await item_task] == [str(number) for number in range(total)]
    assert proxy.request_count > 5


async def _read_first(results: AsyncIterator[T], count: int) -> list[T]:
    return [await anext(results) for _ in range(count)]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[GatewayProcess]:
    """A real gateway in a process of its own."""
    home = tmp_path / "home"
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(home)})) as store:
        store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        for name in ("analyst", "designer"):
            store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        store.call(spaces.create, name="Q4 report", members=["husam", "analyst"])
    with run_gateway_process(home) as process:
        yield process


async def test_killed_and_started_again_under_load_everything_is_done_once(process: GatewayProcess) -> None:
    """Writers go on through kills and restarts; readers see each thing once, in order, across all of them."""
    events_per_writer, writers, rounds = 30, 4, 2
    ready, progress = asyncio.Event(), asyncio.Semaphore(0)

    async def write(client: Client, number: int) -> None:
        for count in range(events_per_writer):
            push_result = await client.push(Push(to="designer", source="tests", content=f"{number}-{count}"))
            assert not push_result.deliveries[0].duplicate
            await client.post("q4-report", f"{number}-{count}", sender="husam")
            progress.release()

    async def restart_gateway() -> None:
        for method_name in ("kill", "stop")[:rounds]:
            for _ in range(events_per_writer * writers // (rounds + 1)):
                await progress.acquire()
            await asyncio.to_thread(getattr(process, method_name))
            await asyncio.to_thread(process.start)

    total = events_per_writer * writers
    async with Client(process.url, key=process.admin_key, patience=60) as client:
        async with (
            aclosing(client.watch_space("q4-report", ready=ready.set)) as message_stream,
            aclosing(client.watch_inbox("designer", after="0-0")) as item_stream,
            asyncio.TaskGroup() as group,
        ):
            message_task = group.create_task(_read_first(message_stream, total))
            item_task = group.create_task(_read_first(item_stream, total))
            await ready.wait()
            for number in range(writers):
                group.create_task(write(client, number))
            group.create_task(restart_gateway())
            messages, items_read = await message_task, await item_task
        expected = sorted(f"{number}-{count}" for number in range(writers) for count in range(events_per_writer))
        assert [message.seq for message in messages] == list(range(1, total + 1))
        assert sorted(message.content for message in messages) == expected
        assert sorted(item.event.content for item in items_read) == expected
        assert (await client.account("designer")).accepted == total
