"""
MCP servers as sources of tools.

A connection lives in a task of its own, which opens and closes it: the client's scopes must be left by whoever entered
them, and a server that breaks off must not cancel whoever is waiting for something else. Callers wait for the
connection and use it from their own tasks.

What a server offers is remembered for some minutes, so that most cycles connect to those servers only whose tools they
use; and so is, for a shorter while, that it could not be asked, so that not every cycle waits for it.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO

import httpx2

from gatepost.adapters.tools import filling
from gatepost.adapters.tools.guard import Guarded
from gatepost.core.agent import ToolServer
from gatepost.core.event import Json
from gatepost.core.model import ToolResult, ToolSpec
from gatepost.errors import GatepostError, Unavailable

if TYPE_CHECKING:
    from mcp import Client

#: seconds
_CONNECTING: Final = 20.0
_CALLING: Final = 60.0
_CLOSING: Final = 10.0
_REMEMBERED: Final = 300.0
_SPARED: Final = 60.0
#: listings remembered, and tools of one server
_LISTINGS: Final = 1_000
_TOOLS: Final = 200
#: characters of an answer, and of one that is an error
_LARGEST: Final = 256 * 1024
_ERROR: Final = 2_000

_Key = tuple[Any, ...]


class McpServers:
    def __init__(self, *, environ: Mapping[str, str], allow_private: bool = False) -> None:
        self._environ = environ
        self._allow_private = allow_private
        #: until when, and what it offers or why it could not be asked
        self._listings: dict[_Key, tuple[float, Sequence[ToolSpec] | Unavailable]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open_session(self) -> AsyncIterator["_Visit"]:
        visit = _Visit(self)
        try:
            yield visit
        finally:
            tasks = visit.leave()
            self._closing.update(tasks)
            for task in tasks:
                task.add_done_callback(self._closing.discard)
            if tasks:
                _, late = await asyncio.wait(tasks, timeout=_CLOSING)
                for task in late:
                    task.cancel()

    def listed(self, server: ToolServer) -> Sequence[ToolSpec] | None:
        until, found = self._listings.get(_key(server), (0.0, ()))
        if until < time.monotonic():
            return None
        if isinstance(found, Unavailable):
            raise Unavailable(found.message)
        return found

    def remember(self, server: ToolServer, found: Sequence[ToolSpec] | Unavailable) -> None:
        while len(self._listings) >= _LISTINGS:
            self._listings.pop(next(iter(self._listings)))
        length = _SPARED if isinstance(found, Unavailable) else _REMEMBERED
        self._listings[_key(server)] = (time.monotonic() + length, found)

    def secrets(self, server: ToolServer) -> list[str]:
        return filling.secrets({**server.env, **server.headers}, self._environ)

    @asynccontextmanager
    async def connected(self, server: ToolServer) -> AsyncIterator["Client"]:
        try:
            from mcp import Client, StdioServerParameters
            from mcp.client.stdio import stdio_client
            from mcp.client.streamable_http import streamable_http_client
        except ImportError:
            raise Unavailable("MCP servers need the package mcp", hint="pip install 'gatepost[mcp]'") from None
        async with AsyncExitStack() as stack:
            if server.url is not None:
                http = await stack.enter_async_context(
                    httpx2.AsyncClient(
                        transport=Guarded(allow_private=self._allow_private),
                        headers=filling.expanded(server.headers, self._environ),
                        timeout=httpx2.Timeout(_CALLING, connect=_CONNECTING),
                        trust_env=False,
                    )
                )
                transport = streamable_http_client(server.url, http_client=http)
            else:
                command, *rest = server.command
                env = filling.expanded(server.env, self._environ)
                silence: TextIO = stack.enter_context(open(os.devnull, "w"))  # noqa: ASYNC230, PTH123, SIM115 (opens nothing)
                transport = stdio_client(StdioServerParameters(command=command, args=rest, env=env), errlog=silence)
            yield await stack.enter_async_context(Client(transport, cache=None))


class _Visit:
    """The servers of one agent for the length of a cycle."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers
        self._connections: dict[_Key, _Connection] = {}

    async def list_tools(self, server: ToolServer) -> Sequence[ToolSpec]:
        found = self._servers.listed(server)
        if found is None:
            try:
                found = await self._asked(server)
            except Unavailable as error:
                self._servers.remember(server, error)
                raise
            self._servers.remember(server, found)
        return found

    async def _asked(self, server: ToolServer) -> Sequence[ToolSpec]:
        try:
            async with asyncio.timeout(_CONNECTING):
                return await _listed(await self._connection(server))
        except TimeoutError:
            raise Unavailable(f"the MCP server {server.name!r} does not answer") from None
        except Exception as error:  # noqa: BLE001 (whatever a server does is its own affair)
            raise Unavailable(f"the MCP server {server.name!r} failed: {self._said(server, error)}") from None

    async def call(self, server: ToolServer, tool: str, arguments: Mapping[str, Json]) -> ToolResult:
        try:
            async with asyncio.timeout(_CALLING):
                client = await self._connection(server)
                found = await client.call_tool(tool, dict(arguments))
        except TimeoutError:
            return _failed(f"the MCP server {server.name!r} did not answer within {_CALLING:.0f} seconds")
        except Exception as error:  # noqa: BLE001 (whatever a server does is its own affair)
            self._connections.pop(_key(server)).close()
            return _failed(f"the MCP server {server.name!r} failed: {self._said(server, error)}")
        return _answered(found, self._servers.secrets(server))

    def leave(self) -> list["asyncio.Task[None]"]:
        return [connection.close() for connection in self._connections.values()]

    async def _connection(self, server: ToolServer) -> "Client":
        key = _key(server)
        if key not in self._connections:
            self._connections[key] = _Connection(self._servers, server)
        return await self._connections[key].client()

    def _said(self, server: ToolServer, error: BaseException) -> str:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        text = error.message if isinstance(error, GatepostError) else str(error) or type(error).__name__
        return filling.blotted(text, self._servers.secrets(server))[:_ERROR]


class _Connection:
    def __init__(self, servers: McpServers, server: ToolServer) -> None:
        self._open: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._closing = asyncio.Event()
        self._task = asyncio.create_task(self._live(servers, server))

    async def client(self) -> "Client":
        return await asyncio.shield(self._open)

    def close(self) -> "asyncio.Task[None]":
        self._closing.set()
        if not self._open.done():
            self._task.cancel()
        return self._task

    async def _live(self, servers: McpServers, server: ToolServer) -> None:
        try:
            async with servers.connected(server) as client:
                self._open.set_result(client)
                await self._closing.wait()
        except BaseException as error:  # noqa: BLE001 (told to whoever waits; nobody awaits this task for its result)
            if not self._open.done():
                self._open.set_exception(error if isinstance(error, Exception) else Unavailable("it was closed"))
                self._open.exception()  # perhaps nobody waits


async def _listed(client: "Client") -> list[ToolSpec]:
    found: list[ToolSpec] = []
    cursor: str | None = None
    while len(found) < _TOOLS:
        page = await client.list_tools(cursor=cursor)
        found += [ToolSpec(tool.name, tool.description or tool.title or "", tool.input_schema) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            break
    return found[:_TOOLS]


def _answered(found: Any, secrets: Sequence[str]) -> ToolResult:
    text = "\n".join(_text(block) for block in found.content)
    if found.is_error:
        return _failed(filling.blotted(text, secrets)[:_ERROR] or "the tool failed and did not say why")
    value = filling.cleared(found.structured_content if found.structured_content is not None else text, secrets)
    if len(json.dumps(value, ensure_ascii=False)) > _LARGEST:
        return _failed(f"the answer is over {_LARGEST // 1024} KB")
    return ToolResult(value)


def _text(block: Any) -> str:
    """What a block says; of an image or a sound, what it is."""
    text = getattr(block, "text", None)
    return text if isinstance(text, str) else f"({block.type}: not shown)"


def _failed(error: str) -> ToolResult:
    return ToolResult({"success": False, "error": error}, ok=False)


def _key(server: ToolServer) -> _Key:
    """What a server is, whatever it is called."""
    return server.url, tuple(sorted(server.headers.items())), server.command, tuple(sorted(server.env.items()))
