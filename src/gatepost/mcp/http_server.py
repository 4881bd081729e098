"""
MCP over HTTP: one exchange for each request, without sessions.

    an answer    all but its end  ->  wait until it is sent  ->  is the caller connected?  ->  its end  ->  ack
                                                                 no: release

A batch that was drained for an answer is acked when the answer was handed over. A server is not told when its caller
leaves, so the end of the answer is held back until the rest has left for the caller and the connection was looked at:
without its end no caller can take the answer for complete.

A caller of the revision 2026-07-28 cancels a request by closing its connection. In the older revision it sends another
request, which names the first by its id. Nothing but their caller connects the two. Two programs with one credential
may use the same id; then both requests are cancelled, and nothing is lost by that.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Final

import anyio
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import CancelledNotification, RequestId
from starlette.requests import Request as HttpRequest
from starlette.types import Message, Receive, Scope, Send

from gatepost.core.signals import Topic
from gatepost.mcp.server import McpServer
from gatepost.mcp.server_port import BatchDelivery, Context, Peer
from gatepost.operations.access import Caller

_SCOPE_KEY: Final = "gatepost.exchange"
#: bytes of an answer that are held back; a frame of a stream ends with as many
_END_LENGTH: Final = 4
_CANCELLED: Final = b'"notifications/cancelled"'

Subscribe = Callable[[Callable[[Topic], None]], AbstractContextManager[None]]


class _Exchange:
    """A request over HTTP, and the batches that its answer carries."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.id: RequestId | None = None
        self.scope = anyio.CancelScope()
        self.deliveries: list[BatchDelivery] = []

    async def end(self, *, is_sent: bool) -> None:
        while self.deliveries:
            await self.deliveries.pop().end(is_sent=is_sent)


class HttpHost:
    """The host of the server of a gateway. `subscribe` brings the signals of the gateway."""

    def __init__(self, subscribe: Subscribe) -> None:
        self.subscribe = subscribe
        self.stopping = anyio.Event()
        self.exchanges: set[_Exchange] = set()

    async def identify(self, context: Context) -> Peer:
        return _get_exchange(context).peer

    def accept_cancel(self, context: Context) -> anyio.CancelScope:
        exchange = _get_exchange(context)
        exchange.id = context.request_id
        return exchange.scope

    async def cancel(self, caller: Caller, id: RequestId) -> None:
        for exchange in [
            candidate for candidate in self.exchanges if candidate.id == id and candidate.peer.caller == caller
        ]:
            exchange.scope.cancel()
            await exchange.end(is_sent=False)

    def hand_over(self, context: Context, delivery: BatchDelivery) -> None:
        _get_exchange(context).deliveries.append(delivery)


def _get_exchange(context: Context) -> _Exchange:
    assert context.request is not None
    exchange: _Exchange = context.request.scope[_SCOPE_KEY]
    return exchange


class McpApp:
    """Answers MCP requests of callers that are known; enter `run` first."""

    def __init__(self, subscribe: Subscribe, version: str) -> None:
        self._host = HttpHost(subscribe)
        server = McpServer(self._host, version, lasts=False).server
        self._manager = StreamableHTTPSessionManager(server, stateless=True)

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While entered, requests are answered."""
        async with self._manager.run():
            yield

    def stop(self) -> None:
        """Let every request that waits or listens come to its end."""
        self._host.stopping.set()

    async def answer(self, scope: Scope, body: bytes, receive: Receive, send: Send, peer: Peer) -> None:
        """Answer a request whose body was read; `receive` says only that the caller has left."""
        if _CANCELLED in body:
            await self._cancel(body, peer)
        exchange = _Exchange(peer)
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_body() -> Message:
            return messages.pop() if messages else await receive()

        async def send_and_ack(message: Message) -> None:
            body: bytes = message.get("body", b"")
            if not exchange.deliveries or not body or body.startswith(b":"):  # a comment keeps a stream alive
                await send(message)
                return
            await send({**message, "body": body[:-_END_LENGTH], "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": True})  # waits while it is unsent
            if await HttpRequest(scope, receive).is_disconnected():
                await exchange.end(is_sent=False)
                return
            with anyio.CancelScope(shield=True):
                await send({**message, "body": body[-_END_LENGTH:]})
                await exchange.end(is_sent=True)

        self._host.exchanges.add(exchange)
        try:
            await self._manager.handle_request({**scope, _SCOPE_KEY: exchange}, receive_body, send_and_ack)
        finally:
            self._host.exchanges.discard(exchange)
            await exchange.end(is_sent=False)

    async def _cancel(self, body: bytes, peer: Peer) -> None:
        """Cancel the request that a notification names; the SDK has no connection on which it could find it."""
        try:
            notification = CancelledNotification.model_validate_json(body)
        except ValueError:
            return  # these are only words of a message
        if notification.params.request_id is not None:
            await self._host.cancel(peer.caller, notification.params.request_id)
