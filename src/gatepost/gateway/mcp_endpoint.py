"""
`POST /mcp`: the MCP server of a gateway, with the credentials of all other requests.

    Host and Origin (421, 403)  ->  credential (401, 403)  ->  body (413)  ->  the server (`gatepost.mcp`)

The caller is read from every request. The SDK takes half a second to import, and is an extra: it is imported with the
first request, in a thread, while the gateway answers others.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from gatepost.core.signals import EVERY_INBOX, Frame, Topic, TransportMessage
from gatepost.directory.entity_actions import ADMINISTRATOR
from gatepost.errors import NotFound, Unauthorized
from gatepost.gateway import browser_checks as browsers
from gatepost.gateway.authentication import CACHE_TIME
from gatepost.gateway.dispatch import Dispatcher
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import HttpExchange
from gatepost.operations.access import Caller
from gatepost.operations.operation import MAX_BODY, Request

if TYPE_CHECKING:
    from gatepost.mcp.http_server import McpApp
    from gatepost.mcp.server_port import Peer

_INSTALL_HINT: Final = "pip install 'gatepost[mcp]', and start the gateway again"


class McpEndpoint:
    def __init__(self, state: GatewayState, dispatcher: Dispatcher) -> None:
        self._state = state
        self._dispatcher = dispatcher
        self._tasks: asyncio.TaskGroup | None = None
        self._app: McpApp | None = None
        self._lock = asyncio.Lock()
        self._listeners: list[Callable[[Topic], None]] = []
        self._end = asyncio.Event()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While entered, requests are answered, and listeners follow what is signalled."""
        with self._state.signal_bus.subscribe(self._on_signal, "mcp"):
            self._state.live_streams.end_handlers.append(self._stop)
            async with asyncio.TaskGroup() as self._tasks:
                try:
                    yield
                finally:
                    self._stop()
                    self._end.set()

    async def answer(self, exchange: HttpExchange) -> None:
        browsers.check_host(exchange, self._state.hosts)
        browsers.check_origin_name(exchange, self._state.hosts)
        caller = await self._state.authenticator.authenticate(exchange.headers)
        app = await self._open()
        async with self._state.large_bodies.admit(exchange, caller, MAX_BODY):
            began = time.monotonic()
            body = await exchange.read_body(MAX_BODY)
            if time.monotonic() - began > CACHE_TIME:
                caller = await self._state.authenticator.authenticate(exchange.headers)
            await app.answer(exchange.scope, body, exchange.receive, exchange.send, self._build_peer(exchange, caller))

    async def _open(self) -> "McpApp":
        if find_spec("mcp") is None:
            raise NotFound("the MCP server is not installed here", hint=_INSTALL_HINT)
        async with self._lock:
            self._app = self._app or await self._start()
        return self._app

    async def _start(self) -> "McpApp":
        app: McpApp = await asyncio.to_thread(_import_app, self.subscribe, self._state.version)
        is_ready = asyncio.Event()

        async def serve() -> None:
            async with app.run():
                is_ready.set()
                await self._end.wait()

        assert self._tasks is not None
        self._tasks.create_task(serve(), name="mcp")
        await is_ready.wait()
        return app

    def _stop(self) -> None:
        """Let every request that waits or listens come to its end."""
        if self._app is not None:
            self._app.stop()
        for listener in tuple(self._listeners):
            listener(EVERY_INBOX)

    def _build_peer(self, exchange: HttpExchange, caller: Caller) -> "Peer":
        from gatepost.mcp.server_port import Peer

        async def send(request: Request[Any]) -> Any:
            return await self._dispatcher.run(request.operation.access.bind(request, caller), caller)

        async def verify() -> None:
            if await self._state.authenticator.authenticate(exchange.headers) != caller:
                raise Unauthorized("the credential is no longer valid")

        return Peer(
            name=caller.name or ADMINISTRATOR,
            caller=caller,
            send=send,
            verify=verify,
            reserve_wait=partial(self._state.stream_limits.reserve, caller),
        )

    @contextmanager
    def subscribe(self, listener: Callable[[Topic], None]) -> Iterator[None]:
        """While entered, call the listener with the topic of each signal."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _on_signal(self, signal: TransportMessage) -> None:
        if not isinstance(signal, Frame):
            for listener in tuple(self._listeners):
                listener(signal.topic)


def _import_app(subscribe: Any, version: str) -> "McpApp":
    from gatepost.mcp.http_server import McpApp

    return McpApp(subscribe, version)
