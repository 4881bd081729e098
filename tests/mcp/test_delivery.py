"""
What is drained arrives or comes again: a request that is cancelled, a caller that leaves, and a server that is killed
lose nothing.
"""

import asyncio
import json
import signal
import socket
import threading
from functools import partial
from typing import Any

import anyio
import pytest
from mcp.types import PARSE_ERROR
from starlette.types import Message

from gatepost.client import LocalClient
from gatepost.errors import Unavailable
from gatepost.gateway.http_exchange import HttpExchange
from gatepost.gateway.streams.limits import StreamLimits
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState, Push
from gatepost.inbox.item_api import ClaimBatch
from gatepost.inbox.push import actions as push
from gatepost.mcp.server_port import BatchDelivery, Peer
from gatepost.operations.access import Caller, CallerKind
from gatepost.operations.operation import Request
from tests.mcp.mcp_setup import MODES, TRANSPORTS, McpSetup, ToolCaller
from tests.mcp.stdio_server import META, StdioServer, wait_until

#: more than a pipe, or a socket, takes at once: an answer with it waits for its reader
LARGE = "x" * 250_000


def push_item(setup: McpSetup, content: str = "hello") -> None:
    setup.store.run_sync(push.push_event, Push(to="analyst", source="test", content=content))


def list_states(setup: McpSetup) -> list[ItemState]:
    return [item.state for item in setup.store.read_sync(inbox.list_page, "analyst", limit=100)]


@pytest.mark.parametrize("revision", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_drain_that_waits_is_woken_by_a_push(setup: McpSetup, transport: str, revision: str) -> None:
    async with setup.open_client(transport, revision) as client, asyncio.TaskGroup() as tasks:
        tools = ToolCaller(client)
        assert (await tools.call("drain_inbox"))["items"] == []
        drain = tasks.create_task(tools.call("drain_inbox", wait=50))
        push_item(setup)
        [item] = (await drain)["items"]
        assert item["content"] == "hello"
    await wait_until(lambda: list_states(setup) == [ItemState.DELIVERED])


async def test_waits_count_as_streams_of_their_caller(setup: McpSetup) -> None:
    """Each of them takes memory, and a part of every signal."""
    gateway = setup.gateway_thread.gateway
    limits = StreamLimits(2)
    object.__setattr__(gateway.app_state, "stream_limits", limits)
    async with setup.open_client("http") as client, asyncio.TaskGroup() as tasks:
        tools = ToolCaller(client)
        drains = [tasks.create_task(tools.call("drain_inbox", wait=50)) for _ in range(2)]
        await wait_until(lambda: sum(limits._counts.values()) == 2)
        refusal = await client.call_tool("list_decisions", {"wait": 50})
        assert refusal.is_error
        assert "reads 2 streams, waits included" in str(refusal.content)
        assert (await tools.call("list_decisions"))["items"] == [], "what does not wait is answered"
        for _ in drains:
            push_item(setup)
            await asyncio.wait(drains, return_when=asyncio.FIRST_COMPLETED)
            drains = [drain for drain in drains if not drain.done()]
    assert not limits._counts


def is_drain_sent(setup: McpSetup) -> bool:
    """Return True if a drain has begun at the gateway, or was the last message to a server on stdio."""
    return setup.has_http_call() or any("drain_inbox" in line for line in setup.sent_lines[-1:])


@pytest.mark.parametrize("revision", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_cancelled_drain_takes_nothing(setup: McpSetup, transport: str, revision: str) -> None:
    async with setup.open_client(transport, revision) as client:
        tools = ToolCaller(client)
        await tools.call("list_agents")
        await wait_until(lambda: not setup.list_http_requests())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(tools.call, "drain_inbox", wait=50))
            await wait_until(lambda: is_drain_sent(setup))
            await tools.call("list_agents")  # on stdio, messages are read in their order
            tasks.cancel_scope.cancel()
        await tools.call("list_agents")
        await wait_until(lambda: not setup.list_http_requests())
        push_item(setup)
        [item] = await tools.drain()
        assert item["content"] == "hello"


@pytest.mark.parametrize("revision", MODES)
async def test_a_drain_that_waits_long_is_kept_alive_and_delivers(
    setup: McpSetup, revision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After some silence the answer is a stream, with comments before its one message."""
    monkeypatch.setattr("mcp.server._streamable_http_modern._SSE_PING_INTERVAL", 0.05)
    monkeypatch.setattr("sse_starlette.sse.EventSourceResponse.DEFAULT_PING_INTERVAL", 0.05)
    comment_sent, send = threading.Event(), HttpExchange.send

    async def watch(exchange: HttpExchange, message: Message) -> None:
        await send(exchange, message)
        if message.get("body", b"").startswith(b":"):
            comment_sent.set()

    monkeypatch.setattr(HttpExchange, "send", watch)
    async with setup.open_client("http", revision) as client, asyncio.TaskGroup() as tasks:
        tools = ToolCaller(client)
        await tools.call("list_agents")
        drain = tasks.create_task(tools.call("drain_inbox", wait=50))
        await wait_until(comment_sent.is_set)
        push_item(setup)
        [item] = (await drain)["items"]
        assert item["content"] == "hello"
    await wait_until(lambda: list_states(setup) == [ItemState.DELIVERED])


async def test_a_batch_for_a_caller_that_has_left_is_pending_again(setup: McpSetup) -> None:
    """The caller leaves while the answer is on its way: it is larger than what the kernel takes off the gateway."""
    push_item(setup, LARGE)
    key = setup.gateway_thread.gateway.create_key("agent", "analyst")
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "drain_inbox", "_meta": META},
        }
    ).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-secret-key: {key}\r\n"
        "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n"
        "mcp-method: tools/call\r\nmcp-name: drain_inbox\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", setup.gateway_thread.port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(head.encode() + body)
        assert connection.recv(64).startswith(b"HTTP/1.1 200")
    await wait_until(lambda: set(list_states(setup)) == {ItemState.PENDING})


@pytest.mark.parametrize(("is_sent", "state"), [(True, ItemState.DELIVERED), (False, ItemState.PENDING)])
async def test_a_batch_whose_gateway_stops_meanwhile_is_ended_by_the_next_try(
    setup: McpSetup, is_sent: bool, state: ItemState
) -> None:
    push_item(setup)
    caller = Caller(CallerKind.ENTITY, "analyst")
    client = LocalClient(setup.store, caller)
    outcomes = [Unavailable("the gateway has stopped"), None]

    async def send(request: Request[Any]) -> Any:
        if (error := outcomes.pop(0)) is not None:
            raise error
        return client.send(request)

    batch = client.send(ClaimBatch(name="analyst", owner="test"))
    peer = Peer(name="analyst", caller=caller, send=send)
    await BatchDelivery(peer, batch).end(is_sent=is_sent)
    assert (list_states(setup), outcomes) == ([state], [])


class TestStdio:
    async def test_a_server_that_is_killed_before_it_has_written_loses_nothing(self, setup: McpSetup) -> None:
        push_item(setup, LARGE)
        with StdioServer(setup) as server:
            server.call(1, "drain_inbox")
            await wait_until(lambda: ItemState.CLAIMED in list_states(setup))
        assert ItemState.DELIVERED not in list_states(setup)

    async def test_a_host_that_is_gone_gets_nothing(self, setup: McpSetup) -> None:
        push_item(setup, LARGE)
        with StdioServer(setup) as server:
            server.call(1, "drain_inbox")
            await wait_until(lambda: ItemState.CLAIMED in list_states(setup))
            server.stdout.close()
            await wait_until(lambda: set(list_states(setup)) == {ItemState.PENDING})

    async def test_a_signal_ends_it_and_releases_what_is_not_written(self, setup: McpSetup) -> None:
        with StdioServer(setup) as server:
            server.call(1, "list_agents")
            assert server.read()["result"]["structuredContent"]["items"]
            server.call(2, "drain_inbox", wait=50)
            server.end(signal.SIGTERM)
            assert server.process.returncode == 0

    async def test_what_is_no_message_is_no_end(self, setup: McpSetup) -> None:
        with StdioServer(setup) as server:
            for line in (b"", b"{}", b"[1]", b"\xff\xfe", b'{"jsonrpc": "2.0", "id": 7}'):
                server.send_line(line)
            server.call(1, "list_agents")
            answers = [server.read()]
            while answers[-1].get("id") != 1:
                answers.append(server.read())
            assert answers[-1]["result"]["structuredContent"]["items"]

    @pytest.mark.parametrize("payload", [b'"half: \\ud83d"', b'"no UTF-8: \xff"', b"[" * 300 + b"]" * 300])
    async def test_a_request_that_cannot_be_read_gets_an_answer(self, setup: McpSetup, payload: bytes) -> None:
        arguments = b'{"to_agent": "designer", "payload": %b}' % payload
        params = b'{"name": "send_message", "arguments": %b}' % arguments
        with StdioServer(setup) as server:
            server.send_line(b'{"method": "tools/call", "params": %b, "jsonrpc": "2.0", "id": 7}' % params)
            answer = server.read()
            assert (answer["id"], answer["error"]["code"]) == (7, PARSE_ERROR)
            assert answer["error"]["message"].startswith("the request cannot be read (Invalid JSON: ")
            server.call(8, "list_agents")
            assert server.read()["id"] == 8
