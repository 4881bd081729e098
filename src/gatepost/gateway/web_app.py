"""The web application of a gateway: finds the operation of a request, has it answered, and counts the answer."""

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cached_property
from typing import Final, Generic, TypeVar
from urllib.parse import unquote

from gatepost.errors import NotFound, quote_value
from gatepost.executor import load_operations
from gatepost.gateway import health_checks, settings_view, sign_in_endpoint, webhook_endpoints  # noqa: F401 (handlers)
from gatepost.gateway.dispatch import Dispatcher, answer_errors
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import JSON, Headers, HttpExchange, Receive, Scope, Send, encode
from gatepost.gateway.mcp_endpoint import McpEndpoint
from gatepost.gateway.openapi import DOCS_POLICY, build_docs_page, build_openapi
from gatepost.gateway.page_files import PageEndpoint, is_page_visit
from gatepost.gateway.streams import watch_endpoints  # noqa: F401 (handlers)
from gatepost.gateway.streams.frames import ChatPresence, GateFrames
from gatepost.operations.access import Caller
from gatepost.operations.operation import Operation
from gatepost.operations.problems import MethodNotAllowed
from gatepost.residents.background import run_replay as replay
from gatepost.residents.runs.api import ReplayRun, ReplayView

T = TypeVar("T")

_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_OPENAPI: Final = "/api/openapi.json"
_DOCS: Final = "/api/docs"
_MCP: Final = "/mcp"
#: the template of everything that is not an operation
_PAGE: Final = "/"


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
        self._mcp_endpoint = McpEndpoint(state, self._dispatcher)
        self._router.add("POST", _MCP, _MCP)
        self._page_endpoint = PageEndpoint(state.page_folder)

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
        is_page = is_page_visit(exchange) or not self._router.has_root(exchange.path)
        if is_page and (page_file := await self._page_endpoint.find(exchange)):
            exchange.template = _PAGE
            await self._page_endpoint.answer(exchange, page_file, self.state.hosts)
            return
        target, path = self._router.find(exchange.method, exchange.path)
        if target == _MCP:
            exchange.template = _MCP
            await self._mcp_endpoint.answer(exchange)
        elif isinstance(target, str):
            exchange.template = target
            await exchange.answer(200, *self._pages[target])
        else:
            exchange.template = target.path
            await self._dispatcher.answer(exchange, target, path)

    def _count(self, exchange: HttpExchange, seconds: float) -> None:
        """Count an answer by the endpoint's template, never by the path: paths have names in them."""
        method = exchange.method if exchange.method in _METHODS else "OTHER"
        if exchange.status == 503 and self.state.store.failure is not None:
            self.state.meters.log_once(self.state.store.failure)
        self.state.meters.count_answer(exchange.template, method, exchange.status, seconds)

    @cached_property
    def _pages(self) -> dict[str, tuple[bytes, str, Headers]]:
        """The descriptions of all operations by their path, with their media type and headers."""
        openapi = build_openapi(load_operations(), self.state.version)
        return {
            _OPENAPI: (encode(openapi), JSON, ()),
            _DOCS: (
                build_docs_page(openapi).encode(),
                "text/html; charset=utf-8",
                [("content-security-policy", DOCS_POLICY)],
            ),
        }

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """While entered, streams and credentials follow what is signalled."""
        bus, frames = self.state.signal_bus, GateFrames(self.state.store, self.state.live_streams)
        presence = ChatPresence(self.state.live_streams)
        with (
            bus.subscribe(self.state.live_streams.on_signal, "streams"),
            bus.subscribe(self.state.authenticator.on_signal, "authenticator"),
            bus.subscribe(frames.on_signal, "gate frames"),
            bus.subscribe(presence.on_signal, "chat presence"),
        ):
            async with frames.run(), self._mcp_endpoint.run():
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


class _Node(Generic[T]):
    __slots__ = ("children", "parameter", "targets")

    def __init__(self) -> None:
        self.children: dict[str, _Node[T]] = {}
        self.parameter: _Node[T] | None = None
        #: by method: the names of the parameters, and what was added
        self.targets: dict[str, tuple[tuple[str, ...], T]] = {}


class Router(Generic[T]):
    """
    A tree of endpoints: a path is found segment by segment, however many there are. Segments are split before they
    are unquoted: a `%2F` is part of a name, not the end of a segment.

    A segment that is written out is tried before one that is a parameter, and the method decides among all that fit:
    `POST /api/inbox/batch` and `GET /api/inbox/{name}` are two endpoints, and an inbox may be called `batch`.
    """

    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, method: str, path: str, target: T) -> None:
        node, names = self._root, []
        for segment in path.split("/")[1:]:
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.children.setdefault(segment, _Node())
        node.targets[method] = (tuple(names), target)

    def has_root(self, path: str) -> bool:
        """Return True if paths that begin like this one were added, whether or not this one was."""
        return unquote(path.split("/", 2)[1]) in self._root.children if path.startswith("/") else True

    def find(self, method: str, path: str) -> tuple[T, dict[str, str]]:
        """Return what was added for a quoted path, and its parameters; raise NotFound or MethodNotAllowed."""
        methods: list[str] = []
        for node, values in _walk(self._root, [unquote(segment) for segment in path.split("/")[1:]], 0, ()):
            if method in node.targets:
                names, target = node.targets[method]
                return target, dict(zip(names, values, strict=True))
            methods += node.targets
        if methods:
            raise MethodNotAllowed(method, sorted(set(methods)))
        raise NotFound(f"there is nothing at {quote_value(path, 200)}", hint="GET /api/docs lists what there is")


def _walk(
    node: _Node[T], segments: list[str], position: int, values: tuple[str, ...]
) -> Iterator[tuple[_Node[T], tuple[str, ...]]]:
    if position == len(segments):
        if node.targets:
            yield node, values
        return
    segment = segments[position]
    child = node.children.get(segment)
    if child is not None:
        yield from _walk(child, segments, position + 1, values)
    if node.parameter is not None and segment:
        yield from _walk(node.parameter, segments, position + 1, (*values, segment))


@ReplayRun.gateway_handler
async def replay_run(state: GatewayState, request: ReplayRun, _: Caller) -> ReplayView:
    return await replay.answer_request(state.store, request, state.open_model)
