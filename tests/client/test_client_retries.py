"""
A client on a bad line: what is lost is tried again, what was done is not done again, and a stream goes on where it was.
"""

import asyncio
import random
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gatepost import app, settings
from gatepost.client import Client, async_client as http_client
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.directory.entity_api import RegisterEntity
from gatepost.errors import Conflict, Unavailable
from gatepost.gateway.health_api import ShowHealth
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState
from gatepost.inbox.item_api import AckClaim, ClaimBatch, ShowAccount, WatchInbox
from gatepost.inbox.push.api import PushEvent, PushEvents, TriggerAgent
from gatepost.spaces import actions as spaces
from gatepost.spaces.api import MessageView, PostMessage, WatchSpace
from tests.support.gateways.gateway_process import GatewayProcess, LossyProxy, RequestOutcome, run_gateway_process
from tests.support.gateways.local_gateways import GatewayThread
from tests.support.waits import LAST_RESORT

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
    push_result = await client.send(PushEvent(to="analyst", content="precious"))
    assert [recipient.duplicate for recipient in push_result.recipients] == [False]
    proxy.outcomes.extend(fates)
    broadcast = await client.send(PushEvent(to="*", content="precious"))
    assert broadcast.duplicate is False
    proxy.outcomes.extend(fates)
    message = await client.send(PostMessage(id="q4-report", content="said", sender="husam"))
    proxy.outcomes.extend(fates)
    await client.send(RegisterEntity(name="quinn", kind=EntityKind.AGENT))
    proxy.outcomes.extend(fates)
    call = await client.send(TriggerAgent(name="designer", service_name="jira", payload={"issue": 1}))
    assert not call.duplicate
    assert proxy.request_count == 5 * (len(fates) + 1)
    contents = [item.event.content for item in store.read_sync(inbox.list_page, "analyst")]
    assert contents == ["precious", "precious", "said"]
    assert [MessageView.of(stored) for stored in store.read_sync(spaces.read, "q4-report")] == [message]
    assert [item.event.id for item in store.read_sync(inbox.list_page, "designer")] == [
        broadcast.event_id,
        call.event_id,
    ]


async def test_an_ack_is_done_once(client: Client, proxy: LossyProxy) -> None:
    await client.send(PushEvent(to="analyst", content="precious"))
    claim = (await client.send(ClaimBatch(name="analyst", owner="s-1"))).claim
    assert claim is not None
    ack = AckClaim(name="analyst", claim_id=claim.claim_id, owner=claim.owner, fence=claim.fence)
    proxy.outcomes.extend([RequestOutcome.UNANSWERED, RequestOutcome.LOST])
    assert (await client.send(ack)).delivered == 1
    with pytest.raises(Conflict):
        await client.send(ack)


async def test_a_batch_is_repeated_only_if_every_push_has_a_key(
    client: Client, proxy: LossyProxy, store: Store
) -> None:
    proxy.outcomes.append(RequestOutcome.UNANSWERED)
    keyed_pushes = [PushEvent(to="analyst", content=key, dedup_key=key) for key in ("one", "two")]
    outcomes = await client.send(PushEvents.of(keyed_pushes))
    assert len(outcomes.items) == 2
    assert [item.event.content for item in store.read_sync(inbox.list_page, "analyst")] == ["one", "two"]
    proxy.outcomes.append(RequestOutcome.UNANSWERED)
    with pytest.raises(Unavailable):
        await client.send(PushEvents.of([*keyed_pushes, PushEvent(to="analyst", content="three")]))
    assert [item.event.content for item in store.read_sync(inbox.list_page, "analyst")] == ["one", "two", "three"]


@pytest.mark.parametrize("fate", [RequestOutcome.UNANSWERED, RequestOutcome.LOST, RequestOutcome.NOT_NOW])
async def test_a_claim_is_not_repeated_once_it_was_sent(
    client: Client, proxy: LossyProxy, store: Store, fate: RequestOutcome
) -> None:
    await client.send(PushEvent(to="analyst", content="precious"))
    proxy.outcomes.append(fate)
    before = proxy.request_count
    with pytest.raises(Unavailable):
        await client.send(ClaimBatch(name="analyst", owner="s-1"))
    assert proxy.request_count == before + 1
    [item] = store.read_sync(inbox.list_page, "analyst")
    assert item.state is (ItemState.CLAIMED if fate is RequestOutcome.UNANSWERED else ItemState.PENDING)


class RecordedPauses:
    """Stands for `asyncio` in the client: its pauses are recorded, and are over at once."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def test_the_gateway_is_left_alone_as_long_as_it_asks(
    client: Client, proxy: LossyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses = RecordedPauses()
    monkeypatch.setattr(http_client, "asyncio", pauses)
    proxy.outcomes.extend([RequestOutcome.NOT_NOW, RequestOutcome.NOT_NOW])
    await client.send(ShowHealth())
    assert len(pauses.seconds) == 2
    assert min(pauses.seconds) >= 1, "it has asked for a second"


async def test_it_gives_up_when_the_time_is_over(gateway_thread: GatewayThread, proxy: LossyProxy) -> None:
    async with Client(proxy.url, key=gateway_thread.gateway.admin_key, retry_time=0.5) as client:
        proxy.outcomes.append(RequestOutcome.NOT_NOW)
        with pytest.raises(Unavailable, match="the gateway answered 503"):
            await client.send(ShowHealth())
        proxy.outcomes.extend([RequestOutcome.LOST] * 100)
        with pytest.raises(Unavailable, match="the gateway cannot be reached"):
            await client.send(ShowHealth())


async def test_nobody_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with Client(f"http://127.0.0.1:{port}", key="sk_", retry_time=0.2) as client:
        with pytest.raises(Unavailable, match="the gateway cannot be reached") as error_info:
            await client.send(ClaimBatch(name="analyst", owner="s"))
        assert error_info.value.hint == "`gatepost up` starts one"
        with pytest.raises(Unavailable):
            await anext(client.stream(WatchInbox(name="analyst")))


async def test_a_stream_that_is_cut_again_and_again_misses_and_repeats_nothing(
    gateway_thread: GatewayThread, client: Client, proxy: LossyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "asyncio", RecordedPauses())
    total = 60
    rng = random.Random(5)
    ready = asyncio.Event()

    async def write(direct: Client) -> None:
        """Cut both streams again when both have come back; messages come meanwhile, too."""
        request_count = 2
        for number in range(total):
            await direct.send(PostMessage(id="q4-report", content=str(number), sender="husam"))
            if rng.random() < 0.3:
                await proxy.wait_for_requests(request_count)
                proxy.abort_connections()
                request_count += 2

    async with (
        Client(gateway_thread.base_url, key=gateway_thread.gateway.admin_key) as direct,
        aclosing(client.stream(WatchSpace(id="q4-report"), on_connect=ready.set)) as messages,
        aclosing(client.stream(WatchInbox(name="analyst", after="0-0"))) as items,
        asyncio.TaskGroup() as group,
    ):
        message_task = group.create_task(_read_first(messages, total))
        item_task = group.create_task(_read_first(items, total))
        await ready.wait()
        group.create_task(write(direct))
        assert [message.seq for message in await message_task] == list(range(1, total + 1))
        assert [item.content for item in await item_task] == [str(number) for number in range(total)]
    assert proxy.request_count > 5


async def _read_first(results: AsyncIterator[T], count: int) -> list[T]:
    return [await anext(results) for _ in range(count)]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[GatewayProcess]:
    """A real gateway in a process of its own."""
    home = tmp_path / "home"
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(home)})) as store:
        store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        for name in ("analyst", "designer"):
            store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        store.run_sync(spaces.create, name="Q4 report", members=["husam", "analyst"])
    with run_gateway_process(home) as process:
        yield process


async def test_killed_and_started_again_under_load_everything_is_done_once(process: GatewayProcess) -> None:
    """Writers go on through kills and restarts; readers see each thing once, in order, across all of them."""
    events_per_writer, writers, rounds = 30, 4, 2
    ready, progress = asyncio.Event(), asyncio.Semaphore(0)

    async def write(client: Client, number: int) -> None:
        for count in range(events_per_writer):
            push_result = await client.send(PushEvent(to="designer", content=f"{number}-{count}"))
            assert not push_result.recipients[0].duplicate
            await client.send(PostMessage(id="q4-report", content=f"{number}-{count}", sender="husam"))
            progress.release()

    async def restart_gateway() -> None:
        for method_name in ("kill", "stop")[:rounds]:
            for _ in range(events_per_writer * writers // (rounds + 1)):
                await progress.acquire()
            await asyncio.to_thread(getattr(process, method_name))
            await asyncio.to_thread(process.start)

    total = events_per_writer * writers
    async with Client(process.url, key=process.admin_key, retry_time=LAST_RESORT) as client:
        async with (
            aclosing(client.stream(WatchSpace(id="q4-report"), on_connect=ready.set)) as message_stream,
            aclosing(client.stream(WatchInbox(name="designer", after="0-0"))) as item_stream,
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
        assert sorted(item.content for item in items_read) == expected
        assert (await client.send(ShowAccount(name="designer"))).accepted == total
