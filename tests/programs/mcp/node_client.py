"""The MCP clients of npm, each in a process of its own (`drive.mjs`), as a test calls them."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from mcp.types import CallToolResult, ListToolsResult

from tests.programs import cache
from tests.support.waits import LAST_RESORT

#: the revision that each package speaks
REVISIONS: Final = {"client": "2026-07-28", "sdk": "2025-11-25"}
_SCRIPT: Final = Path(__file__).with_name("drive.mjs")
_MAX_LINE_LENGTH: Final = 16 * 1024 * 1024


class ClientError(Exception):
    """What a client raised: the error of the protocol that the server answered, or one of its own."""

    def __init__(self, error: Mapping[str, Any]) -> None:
        super().__init__(error.get("message"))
        self.code = error.get("code")
        self.data = error.get("data")


class NodeClient:
    """A client that is connected. One request at a time."""

    def __init__(self, process: asyncio.subprocess.Process, agreement: Mapping[str, Any]) -> None:
        self._process = process
        self.version: str = agreement["version"]
        self.capabilities: Mapping[str, Any] = agreement["capabilities"]
        self.instructions: str = agreement["instructions"]
        self._updates: asyncio.Queue[str] = asyncio.Queue()

    async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, /) -> CallToolResult:
        return CallToolResult.model_validate(await self.request("callTool", name=name, arguments=arguments or {}))

    async def list_tools(self) -> ListToolsResult:
        return ListToolsResult.model_validate(await self.request("listTools"))

    async def request(self, method: str, **params: Any) -> Any:
        """Call a method of the client, and return its result."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps({'method': method, 'params': params})}\n".encode())
        while True:
            document = await read_document(self._process)
            match document:
                case {"updated": uri}:
                    self._updates.put_nowait(uri)
                case {"error": error}:
                    raise ClientError(error)
                case _:
                    return document.get("result")

    async def wait_for_update(self) -> str:
        """Return the resource of the next notification."""
        if self._updates.empty():
            document = await read_document(self._process)
            self._updates.put_nowait(document["updated"])
        return self._updates.get_nowait()


@asynccontextmanager
async def open_node_client(package: str, server: Mapping[str, Any]) -> AsyncIterator[NodeClient]:
    """Start a client, and connect it to a server: `{"command", "args", "env"}`, or `{"url", "headers"}`."""
    node = cache.find_node()
    assert node is not None
    process = await asyncio.create_subprocess_exec(
        node,
        _SCRIPT,
        cache.find_folder(),
        package,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_MAX_LINE_LENGTH,
    )
    assert process.stdin is not None
    try:
        process.stdin.write(f"{json.dumps(server)}\n".encode())
        yield NodeClient(process, await read_document(process))
        process.stdin.close()
        async with asyncio.timeout(LAST_RESORT):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def read_document(process: asyncio.subprocess.Process) -> Any:
    assert process.stdout is not None
    async with asyncio.timeout(LAST_RESORT):
        line = await process.stdout.readline()
    assert line, "the client has ended; stderr says why"
    return json.loads(line)
