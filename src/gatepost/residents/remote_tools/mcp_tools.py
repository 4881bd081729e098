"""
MCP servers as sources of tools.

Each connection has a task that opens and closes it, for two reasons: the task that entered the scopes of the client
must exit them, and a server that disconnects must not cancel a task that waits for something else. Callers wait for the
connection and use it from their own tasks.

The tools of a server are cached for some minutes, so most cycles connect only to the servers whose tools they use. That
a server could not be asked is cached too, for a shorter time, so that not every cycle waits for it.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO

import httpx2

from gatepost.core.json_limits import Json
from gatepost.errors import GatepostError, Unavailable
from gatepost.residents.agent_config import ToolServer
from gatepost.residents.model_port import ToolResult, ToolSpec
from gatepost.residents.remote_tools import request_templates
from gatepost.residents.remote_tools.ssrf import GuardedTransport

if TYPE_CHECKING:
    from mcp import Client

#: in seconds
_CONNECT_TIMEOUT: Final = 20.0
_CALL_TIMEOUT: Final = 60.0
_CLOSE_TIMEOUT: Final = 10.0
_LISTING_TTL: Final = 300.0
_FAILURE_TTL: Final = 60.0
#: cached listings, and tools of one server
_MAX_LISTINGS: Final = 1_000
_MAX_TOOLS: Final = 200
#: characters of a result, and of an error
_MAX_RESULT_CHARS: Final = 256 * 1024
_MAX_ERROR_CHARS: Final = 2_000

_ServerKey = tuple[Any, ...]


class McpServers:
    def __init__(self, *, environ: Mapping[str, str], allow_private: bool = False) -> None:
        self._environ = environ
        self._allow_private = allow_private
        #: when the entry expires, and the tools of the server or why it could not be asked
        self._listings: dict[_ServerKey, tuple[float, Sequence[ToolSpec] | Unavailable]] = {}
        self._closing_tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open_session(self) -> AsyncIterator["_OpenServers"]:
        session = _OpenServers(self)
        try:
            yield session
        finally:
            tasks = session.close()
            self._closing_tasks.update(tasks)
            for task in tasks:
                task.add_done_callback(self._closing_tasks.discard)
            if tasks:
                _, unfinished_tasks = await asyncio.wait(tasks, timeout=_CLOSE_TIMEOUT)
                for task in unfinished_tasks:
                    task.cancel()

    def get_listing(self, server: ToolServer) -> Sequence[ToolSpec] | None:
        expires_at, listing = self._listings.get(_make_key(server), (0.0, ()))
        if expires_at < time.monotonic():
            return None
        if isinstance(listing, Unavailable):
            raise Unavailable(listing.message)
        return listing

    def store_listing(self, server: ToolServer, listing: Sequence[ToolSpec] | Unavailable) -> None:
        while len(self._listings) >= _MAX_LISTINGS:
            self._listings.pop(next(iter(self._listings)))
        ttl = _FAILURE_TTL if isinstance(listing, Unavailable) else _LISTING_TTL
        self._listings[_make_key(server)] = (time.monotonic() + ttl, listing)

    def collect_secrets(self, server: ToolServer) -> list[str]:
        return request_templates.collect_secrets({**server.env, **server.headers}, self._environ)

    @asynccontextmanager
    async def connect(self, server: ToolServer) -> AsyncIterator["Client"]:
        try:
            from mcp import Client, StdioServerParameters
            from mcp.client.stdio import stdio_client
            from mcp.client.streamable_http import streamable_http_client
        except ImportError:
            raise Unavailable("MCP servers need the package mcp", hint="pip install 'gatepost[mcp]'") from None
        async with AsyncExitStack() as stack:
            if server.url is not None:
                http_client = await stack.enter_async_context(
                    httpx2.AsyncClient(
                        transport=GuardedTransport(allow_private=self._allow_private),
                        headers=request_templates.fill_environment(server.headers, self._environ),
                        timeout=httpx2.Timeout(_CALL_TIMEOUT, connect=_CONNECT_TIMEOUT),
                        trust_env=False,
                    )
                )
                transport = streamable_http_client(server.url, http_client=http_client)
            else:
                command, *arguments = server.command
                env = request_templates.fill_environment(server.env, self._environ)
                devnull: TextIO = stack.enter_context(open(os.devnull, "w"))  # noqa: ASYNC230, PTH123, SIM115 (/dev/null does not block)
                transport = stdio_client(
                    StdioServerParameters(command=command, args=arguments, env=env), errlog=devnull
                )
            yield await stack.enter_async_context(Client(transport, cache=None))


class _OpenServers:
    """The connections of one agent for the length of a cycle."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers
        self._connections: dict[_ServerKey, _Connection] = {}

    async def list_tools(self, server: ToolServer) -> Sequence[ToolSpec]:
        listing = self._servers.get_listing(server)
        if listing is None:
            try:
                listing = await self._fetch_tools(server)
            except Unavailable as error:
                self._servers.store_listing(server, error)
                raise
            self._servers.store_listing(server, listing)
        return listing

    async def _fetch_tools(self, server: ToolServer) -> Sequence[ToolSpec]:
        try:
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                return await _list_tools(await self._get_client(server))
        except TimeoutError:
            raise Unavailable(f"the MCP server {server.name!r} does not answer") from None
        except Exception as error:  # noqa: BLE001 (a server may fail in any way)
            raise Unavailable(f"the MCP server {server.name!r} failed: {self._describe_error(server, error)}") from None

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Json]) -> ToolResult:
        try:
            async with asyncio.timeout(_CALL_TIMEOUT):
                client = await self._get_client(server)
                result = await client.call_tool(tool, dict(arguments))
        except TimeoutError:
            return _build_failure(f"the MCP server {server.name!r} did not answer within {_CALL_TIMEOUT:.0f} seconds")
        except Exception as error:  # noqa: BLE001 (a server may fail in any way)
            self._connections.pop(_make_key(server)).close()
            return _build_failure(f"the MCP server {server.name!r} failed: {self._describe_error(server, error)}")
        return _build_result(result, self._servers.collect_secrets(server))

    def close(self) -> list["asyncio.Task[None]"]:
        return [connection.close() for connection in self._connections.values()]

    async def _get_client(self, server: ToolServer) -> "Client":
        key = _make_key(server)
        if key not in self._connections:
            self._connections[key] = _Connection(self._servers, server)
        return await self._connections[key].client()

    def _describe_error(self, server: ToolServer, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        text = error.message if isinstance(error, GatepostError) else str(error) or type(error).__name__
        return request_templates.redact_text(text, self._servers.collect_secrets(server))[:_MAX_ERROR_CHARS]


class _Connection:
    def __init__(self, servers: McpServers, server: ToolServer) -> None:
        self._client_future: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._close_requested = asyncio.Event()
        self._task = asyncio.create_task(self._run(servers, server))

    async def client(self) -> "Client":
        return await asyncio.shield(self._client_future)

    def close(self) -> "asyncio.Task[None]":
        self._close_requested.set()
        if not self._client_future.done():
            self._task.cancel()
        return self._task

    async def _run(self, servers: McpServers, server: ToolServer) -> None:
        try:
            async with servers.connect(server) as client:
                self._client_future.set_result(client)
                await self._close_requested.wait()
        except BaseException as error:  # noqa: BLE001 (callers get it from the future; nobody awaits this task)
            if not self._client_future.done():
                self._client_future.set_exception(
                    error if isinstance(error, Exception) else Unavailable("it was closed")
                )
                self._client_future.exception()  # marks it as retrieved: perhaps nobody waits


async def _list_tools(client: "Client") -> list[ToolSpec]:
    specs: list[ToolSpec] = []
    cursor: str | None = None
    while len(specs) < _MAX_TOOLS:
        page = await client.list_tools(cursor=cursor)
        specs += [ToolSpec(tool.name, tool.description or tool.title or "", tool.input_schema) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            break
    return specs[:_MAX_TOOLS]


def _build_result(result: Any, secrets: Sequence[str]) -> ToolResult:
    text = "\n".join(_format_block(block) for block in result.content)
    if result.is_error:
        return _build_failure(
            request_templates.redact_text(text, secrets)[:_MAX_ERROR_CHARS] or "the tool failed and did not say why"
        )
    value = request_templates.redact_value(
        result.structured_content if result.structured_content is not None else text, secrets
    )
    if len(json.dumps(value, ensure_ascii=False)) > _MAX_RESULT_CHARS:
        return _build_failure(f"the answer is over {_MAX_RESULT_CHARS // 1024} KB")
    return ToolResult(value)


def _format_block(block: Any) -> str:
    """Return the text of a block; of an image or a sound, its type."""
    text = getattr(block, "text", None)
    return text if isinstance(text, str) else f"({block.type}: not shown)"


def _build_failure(error: str) -> ToolResult:
    return ToolResult({"success": False, "error": error}, ok=False)


def _make_key(server: ToolServer) -> _ServerKey:
    """Return what identifies a server; its name does not matter."""
    return server.url, tuple(sorted(server.headers.items())), server.command, tuple(sorted(server.env.items()))
