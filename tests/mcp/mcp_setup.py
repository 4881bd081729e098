"""A home with a store, and clients of the MCP SDK that reach it: on stdio or over HTTP, in either revision."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

import httpx2
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ListToolsResult, TextContent

from gatepost.core.ports import Store
from tests.mcp.forked_stdio import open_forked_stdio
from tests.support.gateways.local_gateways import GatewayThread, create_entities, serve_gateway
from tests.support.waits import LAST_RESORT

TRANSPORTS: Final = ("stdio", "http")
#: how a client connects, by the revision that it speaks then
MODES: Final = {"2026-07-28": "auto", "2025-11-25": "legacy"}
COMMAND: Final = [sys.executable, "-m", "gatepost.cli.main", "mcp"]


@dataclass(frozen=True)
class McpSetup:
    home: Path
    gateway_thread: GatewayThread
    #: what the clients have written to servers on stdio, in order
    sent_lines: list[str] = field(default_factory=list)

    @property
    def store(self) -> Store:
        return self.gateway_thread.gateway.store

    def list_http_requests(self) -> list[Any]:
        """The requests over HTTP that are being answered."""
        app = self.gateway_thread.gateway.app._mcp_endpoint._app
        return list(app._host.exchanges) if app is not None else []

    def has_http_call(self) -> bool:
        """Return True if a tool has begun to answer a request over HTTP."""
        return any(exchange.id is not None for exchange in self.list_http_requests())

    def open_client(
        self, transport: str, revision: str = "2026-07-28", name: str = "analyst", **options: Any
    ) -> AbstractAsyncContextManager[Client]:
        """A client that is an agent. The transport `process` is stdio, to a process that the SDK starts."""
        if transport != "http":
            return self.open_stdio("--as", name, revision=revision, is_forked=transport == "stdio", **options)
        key = self.gateway_thread.gateway.create_key("agent", name)
        return self.open_http({"authorization": f"Bearer {key}"}, revision=revision, **options)

    def open_stdio(
        self,
        *arguments: str,
        revision: str = "2026-07-28",
        environ: dict[str, str] | None = None,
        is_forked: bool = True,
        **options: Any,
    ) -> Client:
        """A client of `gatepost mcp`, which works on the store: no gateway runs in this home."""
        command = self.build_command(*arguments, environ=environ)
        server = open_forked_stdio(command, self.sent_lines) if is_forked else StdioServerParameters(**command)
        return Client(server, mode=MODES[revision], read_timeout_seconds=LAST_RESORT, **options)

    def build_command(self, *arguments: str, environ: dict[str, str] | None = None) -> dict[str, Any]:
        return build_command(self.home, *arguments, environ=environ)

    def open_http(self, headers: dict[str, str], **options: Any) -> AbstractAsyncContextManager[Client]:
        return open_http(self.gateway_thread.base_url, headers, **options)


def build_command(home: Path, *arguments: str, environ: dict[str, str] | None = None) -> dict[str, Any]:
    """What a client needs to start `gatepost mcp` in a home."""
    names = ("GATEPOST_", "CLAUDE", "CODEX_", "GEMINI_")
    env = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    env |= {"GATEPOST_HOME": str(home)} | (environ or {})
    return {"command": COMMAND[0], "args": [*COMMAND[1:], *arguments], "env": env}


@asynccontextmanager
async def open_http(
    base_url: str, headers: dict[str, str], *, revision: str = "2026-07-28", **options: Any
) -> AsyncIterator[Client]:
    """A client of a gateway."""
    async with httpx2.AsyncClient(headers=headers, timeout=LAST_RESORT) as http_client:
        transport = streamable_http_client(f"{base_url}/mcp", http_client=http_client)
        async with Client(transport, mode=MODES[revision], read_timeout_seconds=LAST_RESORT, **options) as client:
            assert client.protocol_version == revision
            yield client


@contextmanager
def open_mcp_setup(home: Path) -> Iterator[McpSetup]:
    """Husam and three agents, with a gateway over HTTP; commands in this home find none, and use the same store."""
    with serve_gateway(f"sqlite:///{home}/gatepost.db") as gateway_thread:
        create_entities(gateway_thread.gateway.store)
        yield McpSetup(home, gateway_thread)


class ToolClient(Protocol):
    """What calls tools: the client of an SDK."""

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, /) -> CallToolResult: ...

    async def list_tools(self) -> ListToolsResult: ...


class ToolCaller:
    """Calls tools, checks every answer against its schema, and remembers which tools were called."""

    def __init__(self, client: ToolClient) -> None:
        self._client = client
        self.called: set[str] = set()
        self._schemas: dict[str, Any] = {}

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """Return the structured answer of a tool that succeeds."""
        result = await self._client.call_tool(name, arguments)
        assert not result.is_error, get_text(result)
        self._schemas = self._schemas or {
            tool.name: tool.output_schema for tool in (await self._client.list_tools()).tools
        }
        Draft202012Validator(self._schemas[name]).validate(result.structured_content)
        assert get_text(result)
        self.called.add(name)
        return result.structured_content

    async def drain(self) -> list[Any]:
        """Return the next items of the inbox; a tool waits for less than a minute."""
        while not (items := (await self.call("drain_inbox", wait=50))["items"]):
            pass
        return list(items)

    async def refuse(self, name: str, /, **arguments: Any) -> str:
        """Return the sentence of a tool that refuses."""
        result = await self._client.call_tool(name, arguments)
        assert result.is_error, result
        assert result.structured_content is None
        return get_text(result)


def get_text(result: CallToolResult) -> str:
    """The one block of text of an answer."""
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text
