"""A claim that waits for an item, and loops over the items of an inbox, with every client."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, aclosing
from typing import Any

import pytest

from gatepost.client import Client, LocalClient, SyncClient
from gatepost.core.ports import Store
from gatepost.errors import Invalid
from gatepost.gateway import waiting_requests
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import HttpExchange
from gatepost.inbox.event import ItemState
from gatepost.inbox.item_api import BatchView, ClaimBatch, DrainInbox, ListInbox
from gatepost.inbox.push.api import PushEvent
from gatepost.operations.operation import Request
from tests.support.gateways.local_gateways import GatewayThread
from tests.support.waits import LAST_RESORT

REQUESTS = pytest.mark.parametrize(
    "waiting_request",
    [ClaimBatch(name="analyst", owner="me", wait=50), DrainInbox(name="analyst", wait=50)],
    ids=["claim", "drain"],
)


class WaitingWatch:
    """Says when a request that waits has found nothing, and when it waits no longer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._found_nothing, self._ended = threading.Event(), threading.Event()
        original = waiting_requests.wait_for_answer

        async def wait_for_answer(
            state: GatewayState, exchange: HttpExchange, request: Request[Any], ask: Callable[[], Awaitable[Any]]
        ) -> Any:
            async def ask_and_tell() -> Any:
                answer = await ask()
                self._found_nothing.set()
                return answer

            try:
                return await original(state, exchange, request, ask_and_tell)
            finally:
                self._ended.set()

        monkeypatch.setattr(waiting_requests, "wait_for_answer", wait_for_answer)

    async def until_empty(self) -> None:
        assert await asyncio.to_thread(self._found_nothing.wait, LAST_RESORT)

    async def until_ended(self) -> None:
        assert await asyncio.to_thread(self._ended.wait, LAST_RESORT)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> WaitingWatch:
    return WaitingWatch(monkeypatch)


@pytest.fixture
def store(gateway_thread: GatewayThread) -> Store:
    return gateway_thread.gateway.store


@pytest.fixture
async def client(gateway_thread: GatewayThread) -> AsyncIterator[Client]:
    async with Client(gateway_thread.base_url, key=gateway_thread.gateway.admin_key) as client:
        yield client


@pytest.fixture(params=["http", "store"])
def sync_client(
    request: pytest.FixtureRequest, gateway_thread: GatewayThread, store: Store
) -> Iterator[SyncClient | LocalClient]:
    with ExitStack() as stack:
        yield (
            LocalClient(store)
            if request.param == "store"
            else stack.enter_context(SyncClient(gateway_thread.base_url, key=gateway_thread.gateway.admin_key))
        )


async def push(client: Client, *contents: str, to: str = "analyst") -> None:
    for content in contents:
        await client.send(PushEvent(to=to, content=content))


async def list_states(client: Client) -> dict[str, str]:
    items = [item async for item in client.list_all(ListInbox(name="analyst"))]
    return {item.content: item.state for item in items}


def get_contents(batch: BatchView) -> list[str]:
    return [item.content for item in batch.items]


@REQUESTS
@pytest.mark.parametrize("address", ["analyst", "*"])
async def test_a_request_waits_for_an_item(
    client: Client, watch: WaitingWatch, waiting_request: Request[BatchView], address: str
) -> None:
    task = asyncio.create_task(client.send(waiting_request))
    await watch.until_empty()
    await push(client, "tea", to=address)
    assert get_contents(await task) == ["tea"]


@REQUESTS
async def test_what_is_there_is_answered_at_once(client: Client, waiting_request: Request[BatchView]) -> None:
    await push(client, "tea")
    assert get_contents(await client.send(waiting_request)) == ["tea"]


@pytest.mark.parametrize("kind", [ClaimBatch, DrainInbox])
async def test_a_short_wait_ends_with_nothing(client: Client, kind: type[ClaimBatch | DrainInbox]) -> None:
    owner = {"owner": "me"} if kind is ClaimBatch else {}
    batch = await client.send(kind(name="analyst", wait=0.01, **owner))  # type: ignore[arg-type]
    assert (batch.claim, batch.items) == (None, [])


@pytest.mark.parametrize("wait", [-1, 51])
async def test_a_wait_has_a_limit(client: Client, wait: float) -> None:
    with pytest.raises(Invalid, match="wait"):
        await client.send(DrainInbox(name="analyst", wait=wait))


async def test_nothing_is_claimed_for_a_caller_that_has_left(
    client: Client, gateway_thread: GatewayThread, watch: WaitingWatch
) -> None:
    body = b'{"owner": "me", "wait": 50}'
    with socket.create_connection(("127.0.0.1", gateway_thread.port)) as connection:
        connection.sendall(
            b"POST /api/inbox/analyst/claim HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
            + f"x-secret-key: {gateway_thread.gateway.admin_key}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            + body
        )
        await watch.until_empty()
    await watch.until_ended()
    await push(client, "tea")
    assert await list_states(client) == {"tea": ItemState.PENDING}


async def test_a_gateway_that_stops_lets_waiting_requests_go(
    client: Client, gateway_thread: GatewayThread, watch: WaitingWatch
) -> None:
    task = asyncio.create_task(client.send(ClaimBatch(name="analyst", owner="me", wait=50)))
    await watch.until_empty()
    await asyncio.to_thread(gateway_thread.stop)
    assert (await task).claim is None


async def test_a_loop_gets_each_item_and_waits_for_more(client: Client, watch: WaitingWatch) -> None:
    await push(client, "tea", "cake")
    worked_on = []

    async def work() -> None:
        async for item in client.work("analyst"):
            worked_on.append(item.content)
            if item.content == "last":
                return

    async with asyncio.timeout(LAST_RESORT):
        task = asyncio.create_task(work())
        await watch.until_empty()
        await push(client, "pie", "last")
        await task
    assert worked_on == ["tea", "cake", "pie", "last"]
    states = await list_states(client)
    assert [states[content] for content in ("tea", "cake", "pie")] == [ItemState.DELIVERED] * 3


async def test_an_item_whose_body_raises_is_released(client: Client) -> None:
    await push(client, "tea", "cake")

    async def work() -> None:
        async with aclosing(client.work("analyst")) as items:
            async for item in items:
                assert (await list_states(client))[item.content] == ItemState.CLAIMED
                if item.content == "cake":
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await work()
    assert await list_states(client) == {"tea": ItemState.DELIVERED, "cake": ItemState.PENDING}


async def test_a_client_that_is_closed_releases_what_a_loop_has_left(
    client: Client, gateway_thread: GatewayThread
) -> None:
    await push(client, "tea")
    async with Client(gateway_thread.base_url, key=gateway_thread.gateway.admin_key) as other_client:
        loop = other_client.work("analyst")
        assert (await anext(loop)).content == "tea"
    assert await list_states(client) == {"tea": ItemState.PENDING}


async def test_two_loops_share_an_inbox(client: Client) -> None:
    await push(client, *(f"item {number}" for number in range(6)))
    worked_on: list[str] = []
    is_done = asyncio.Event()

    async def work() -> None:
        async for item in client.work("analyst"):
            worked_on.append(item.content)
            if len(worked_on) == 6:
                is_done.set()

    async with asyncio.timeout(LAST_RESORT):
        tasks = [asyncio.create_task(work()) for _ in range(2)]
        await is_done.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(worked_on) == [f"item {number}" for number in range(6)]


def test_a_loop_without_an_event_loop(sync_client: SyncClient | LocalClient) -> None:
    for content in ("tea", "cake"):
        sync_client.send(PushEvent(to="analyst", content=content))

    def work() -> None:
        for item in sync_client.work("analyst"):
            if item.content == "cake":
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    states = {item.content: item.state for item in sync_client.list_all(ListInbox(name="analyst"))}
    assert states == {"tea": ItemState.DELIVERED, "cake": ItemState.PENDING}
