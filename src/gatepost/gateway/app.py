"""The web application of a gateway: finds the operation of a request, has it answered, and counts the answer."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from typing import Any, Final

import structlog
from starlette.types import Receive, Scope, Send

from gatepost.api.openapi import build_docs_page, build_openapi
from gatepost.api.operation import Operation
from gatepost.gateway import health, residents, watch, webhooks  # noqa: F401 (they register handlers)
from gatepost.gateway.dispatch import Dispatcher, answer_errors
from gatepost.gateway.http import HttpExchange, encode
from gatepost.gateway.router import Router
from gatepost.gateway.state import GatewayState
from gatepost.handlers.executor import load_operations
from gatepost.runtime.live import GateFrames

log = structlog.get_logger("gatepost.http")

_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_OPENAPI: Final = "/api/openapi.json"
_DOCS: Final = "/api/docs"


class GatewayApp:
    """An ASGI application on a store and signals that are open."""

    def __init__(self, state: GatewayState) -> None:
        self.state = state
        self._dispatcher = Dispatcher(state)
        self._router: Router[Operation | str] = Router()
        for operation in load_operations():
            self._router.add(operation.method, operation.path, operation)
        for path in (_OPENAPI, _DOCS):
            self._router.add("GET", path, path)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange, began = HttpExchange(scope, receive, send), time.perf_counter()
        try:
            await answer_errors(exchange, self._find_and_answer(exchange))
        finally:
            self._count(exchange, time.perf_counter() - began)

    async def _find_and_answer(self, exchange: HttpExchange) -> None:
        target, path = self._router.find(exchange.method, exchange.path)
        if isinstance(target, str):
            exchange.template = target
            await self._answer_page(exchange, target)
        else:
            exchange.template = target.path
            await self._dispatcher.answer(exchange, target, path)

    async def _answer_page(self, exchange: HttpExchange, path: str) -> None:
        if path == _OPENAPI:
            await exchange.answer(200, self._encoded_openapi)
        else:
            await exchange.answer(200, self._docs_page, "text/html; charset=utf-8")

    def _count(self, exchange: HttpExchange, seconds: float) -> None:
        """Count and log an answer by the route's template, never by the path: paths have names in them."""
        method = exchange.method if exchange.method in _METHODS else "OTHER"
        self.state.meters.requests.labels(exchange.template, method, exchange.status).inc()
        self.state.meters.seconds.labels(exchange.template).observe(seconds)
        log.debug(
            "answered", route=exchange.template, method=method, status=exchange.status, ms=round(seconds * 1000, 2)
        )

    @cached_property
    def _openapi(self) -> dict[str, Any]:
        return build_openapi(load_operations(), self.state.version)

    @cached_property
    def _encoded_openapi(self) -> bytes:
        return encode(self._openapi)

    @cached_property
    def _docs_page(self) -> bytes:
        return build_docs_page(self._openapi).encode()

    def openapi(self) -> dict[str, Any]:
        """Return the description of all operations."""
        return self._openapi

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """While entered, streams and credentials follow what is signalled."""
        bus, frames = self.state.signal_bus, GateFrames(self.state.store, self.state.live_streams)
        with bus.subscribe(self.state.live_streams.on_signal), bus.subscribe(self.state.authenticator.on_signal):
            async with frames.run():
                with bus.subscribe(frames.on_signal):
                    yield
        await self.state.live_streams.close()

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            await receive()
            try:
                await stack.enter_async_context(self.lifespan())
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": repr(error)})
                raise
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})
