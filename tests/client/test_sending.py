"""
Both clients over HTTP send any request: each write is done once on a bad line, a request that must not be repeated is
not, lists come page by page, and streams go on where they were.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gatepost import errors
from gatepost.channels.triggers.api import ShowTrigger
from gatepost.client import Client, SyncClient
from gatepost.core.ports import Store
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import RegisterEntity
from gatepost.directory.key_api import CreateKey, ListKeys, RevokeKey
from gatepost.errors import GatepostError, Invalid, NotFound, Unauthorized, Unavailable
from gatepost.gates.decision_api import AnswerDecision, AskDecision, ShowDecision
from gatepost.gates.gate_api import AddGate, ShowGate
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Push
from gatepost.inbox.event_api import ShowEvent
from gatepost.inbox.item_api import ClaimBatch, ListInbox, PeekInbox
from gatepost.inbox.push import actions as push
from gatepost.inbox.push.api import PushEvent
from gatepost.operations.operation import Request
from gatepost.plans.api import CreatePlan, ShowPlan
from gatepost.spaces.api import PostMessage, ReadMessages, ShowSpace, WatchSpace
from tests.support.collected_failures import CollectedFailures
from tests.support.gateways.gateway_process import LossyProxy, RequestOutcome
from tests.support.gateways.local_gateways import GatewayThread

Send = Callable[[Request[Any]], Awaitable[Any]]

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


@pytest.fixture(params=["Client", "SyncClient"])
async def send(request: pytest.FixtureRequest, gateway_thread: GatewayThread, proxy: LossyProxy) -> AsyncIterator[Send]:
    key = gateway_thread.gateway.admin_key
    if request.param == "Client":
        async with Client(proxy.url, key=key) as client:
            yield client.send
    else:
        with SyncClient(proxy.url, key=key) as sync_client:
            yield lambda request: asyncio.to_thread(sync_client.send, request)


@pytest.mark.parametrize("fates", FATES, ids=str)
async def test_a_write_is_done_once(send: Send, proxy: LossyProxy, store: Store, fates: list[RequestOutcome]) -> None:
    for request in (
        PushEvent(to="analyst", content="precious"),
        PushEvent(to="analyst", content="with a key", dedup_key="k-1"),
        PostMessage(id="q4-report", content="said", sender="husam"),
    ):
        proxy.outcomes.extend(fates)
        await send(request)
    contents = [item.event.content for item in store.read_sync(inbox.list_page, "analyst")]
    assert contents == ["precious", "with a key", "said"]
    assert proxy.request_count == 3 * (len(fates) + 1)


async def test_what_must_not_be_repeated_is_not(send: Send, proxy: LossyProxy, store: Store) -> None:
    store.run_sync(push.push_event, Push(to="analyst", source="tests", content="hello"))
    for request in (ClaimBatch(name="analyst", owner="s-1"), CreateKey(name="laptop")):
        proxy.outcomes.append(RequestOutcome.UNANSWERED)
        count = proxy.request_count
        with pytest.raises(Unavailable, match="the gateway cannot be reached"):
            await send(request)
        assert proxy.request_count == count + 1


async def test_errors_are_those_of_the_gateway(send: Send) -> None:
    with pytest.raises(NotFound, match="there is no space 'nowhere'"):
        await send(ShowSpace(id="nowhere"))
    with pytest.raises(Invalid, match="limit: 0 is less than 1"):
        await send(ReadMessages(id="q4-report", limit=0))
    with pytest.raises(Invalid, match="id: '' is not a name or an id"):
        await send(ShowSpace(id=""))


ZEROS = "0" * 32
FAILING_REQUESTS: list[tuple[Request[Any], type[GatepostError]]] = [
    (PeekInbox(name="two words"), errors.Invalid),
    (PeekInbox(name="team:web"), errors.Invalid),
    (PeekInbox(name="nobody"), errors.UnknownAddress),
    (ShowEvent(id="evt_1"), errors.Invalid),
    (ShowEvent(id=f"evt_{ZEROS}"), errors.NotFound),
    (ClaimBatch(name="husam", owner="x"), errors.Refused),
    (ClaimBatch(name="analyst", owner=""), errors.Invalid),
    (RegisterEntity(name="analyst", kind=EntityKind.AGENT), errors.Conflict),
    (RegisterEntity(name="An", kind=EntityKind.AGENT), errors.Invalid),
    (ShowSpace(id="nowhere"), errors.NotFound),
    (ShowSpace(id="../x"), errors.Invalid),
    (PostMessage(id="q4-report", content="x", sender="designer"), errors.Refused),
    (PostMessage(id="q4-report", content="\ud800", sender="husam"), errors.Invalid),
    (PostMessage(id="q4-report", content="x" * 280_000, sender="husam"), errors.TooLarge),
    (CreatePlan(owner="analyst", name="x"), errors.Invalid),
    (ShowPlan(id=f"plan_{ZEROS}"), errors.NotFound),
    (AddGate(name=" ", owner="analyst"), errors.Invalid),
    (AddGate(name="x", owner="analyst", made_by="designer"), errors.Refused),
    (ShowGate(id=f"gate_{ZEROS}"), errors.NotFound),
    (AskDecision(question="?", free_text=True), errors.Invalid),
    (AskDecision(question="?", free_text=True, of=("nobody",), asker="analyst"), errors.UnknownAddress),
    (AnswerDecision(id=f"dec_{ZEROS}", option="x"), errors.NotFound),
    (ShowDecision(id=f"gate_{ZEROS}"), errors.Invalid),
    (RevokeKey(id="sk_"), errors.Invalid),
    (RevokeKey(id="key_a b"), errors.NotFound),
    (ShowTrigger(name="no-such-thing"), errors.NotFound),
    (ShowTrigger(name="no such/thing"), errors.Invalid),
]


async def test_errors_come_back_as_what_they_were(send: Send) -> None:
    with CollectedFailures() as failures:
        for request, kind in FAILING_REQUESTS:
            with failures.check(repr(request)[:100]):
                with pytest.raises(GatepostError) as error_info:
                    await send(request)
                assert error_info.type is kind


async def test_a_hint_comes_along(send: Send) -> None:
    with pytest.raises(errors.UnknownAddress) as error_info:
        await send(PushEvent(to="analist", content="x"))
    assert (error_info.value.message, error_info.value.hint) == (
        "there is no entity 'analist'",
        "did you mean 'analyst'?",
    )


async def test_idempotency_keys(gateway_thread: GatewayThread) -> None:
    post = PostMessage(id="q4-report", content="one", sender="husam")
    async with Client(gateway_thread.base_url, key=gateway_thread.gateway.admin_key) as client:
        with pytest.raises(errors.Invalid, match="is not an idempotency key"):
            await client.send(post, key="\n")
        assert await client.send(post, key="k") == await client.send(post, key="k")
        with pytest.raises(errors.Reused):
            await client.send(replace(post, content="two"), key="k")


async def test_a_strange_id_stays_in_its_segment(send: Send) -> None:
    with CollectedFailures() as failures:
        for id in ("a b", "a/b", "..", ".", "ü", "%2F", "a?b=c", "a#b"):
            with failures.check(id), pytest.raises((NotFound, Invalid)):
                await send(ShowSpace(id=id))


async def test_a_connection_that_was_closed_is_opened_again(gateway_thread: GatewayThread) -> None:
    with SyncClient(gateway_thread.base_url, key=gateway_thread.gateway.admin_key) as client:
        await asyncio.to_thread(client.send, ShowSpace(id="q4-report"))
        connection = client._connection
        assert connection is not None
        connection._socket.shutdown(2)
        space = await asyncio.to_thread(client.send, ShowSpace(id="q4-report"))
        assert (space.id, client._connection is connection) == ("q4-report", False)


async def test_a_wrong_key_is_unauthorized(gateway_thread: GatewayThread) -> None:
    with SyncClient(gateway_thread.base_url, key="sk_wrong") as client, pytest.raises(Unauthorized):
        await asyncio.to_thread(client.send, ShowSpace(id="q4-report"))


@pytest.mark.parametrize("url", ["", "localhost:4283", "ftp://localhost", "http://"])
def test_a_wrong_url_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="is not the URL of a gateway"):
        SyncClient(url)


async def test_lists_come_page_by_page(gateway_thread: GatewayThread, store: Store) -> None:
    for start in range(0, 1_100, 100):
        store.run_sync(push.push_all, [Push(to="analyst", source="tests", content=str(start + n)) for n in range(100)])
    key = gateway_thread.gateway.admin_key
    async with Client(gateway_thread.base_url, key=key) as client:
        items = [item async for item in client.list_all(ListInbox(name="analyst"))]
        assert [item.content for item in items] == [str(number) for number in range(1_100)]
        assert len([item async for item in client.list_all(ListInbox(name="analyst"), limit=501)]) == 501
    with SyncClient(gateway_thread.base_url, key=key) as sync_client:
        sync_items = await asyncio.to_thread(lambda: list(sync_client.list_all(ListInbox(name="analyst"))))
        assert sync_items == items
        assert await asyncio.to_thread(lambda: list(sync_client.list_all(ListKeys(), limit=1))) != []


async def test_a_stream_goes_on_where_it_was(gateway_thread: GatewayThread, proxy: LossyProxy, store: Store) -> None:
    key = gateway_thread.gateway.admin_key
    with SyncClient(proxy.url, key=key) as client, SyncClient(gateway_thread.base_url, key=key) as poster:
        connections: list[str] = []
        loop = asyncio.get_running_loop()

        def watch() -> list[str]:
            contents = []
            for message in client.stream(WatchSpace(id="q4-report"), on_connect=lambda: post(str(len(connections)))):
                contents.append(message.content)
                if len(contents) == 3:
                    return contents
                loop.call_soon_threadsafe(proxy.abort_connections)
            raise AssertionError("a stream ended")

        def post(content: str) -> None:
            connections.append(content)
            poster.send(PostMessage(id="q4-report", content=content, sender="husam"))

        assert await asyncio.to_thread(watch) == ["0", "1", "2"]
