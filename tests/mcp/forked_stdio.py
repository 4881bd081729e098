"""
A transport of the MCP SDK to `gatepost mcp` as a fork.

The SDK starts an interpreter, which imports the SDK: ten times the work of the calls that a test makes. A fork server
has imported it already. What the SDK does itself is in `tests/mcp/test_tools.py` and in `tests/programs/mcp`.
"""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from math import inf
from typing import Any, Final

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from tests.support.processes.fork_server import MCP_MODULES, ForkedProcess
from tests.support.waits import LAST_RESORT

#: bytes of a message
_MAX_LINE_LENGTH: Final = 16 * 1024 * 1024


@asynccontextmanager
async def open_forked_stdio(command: Mapping[str, Any], sent_lines: list[str]) -> AsyncIterator[TransportStreams]:
    """Run a server until the client leaves, which ends it. `sent_lines` gets each message when it is written."""
    process = ForkedProcess(
        [command["command"], *command["args"]],
        extra_modules=MCP_MODULES,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=command["env"],
    )
    stdin, stdout = process.stdin, process.stdout
    assert stdin is not None
    assert stdout is not None
    lines = asyncio.StreamReader(_MAX_LINE_LENGTH)
    pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), stdout)
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](inf)
    outgoing, written = anyio.create_memory_object_stream[SessionMessage](inf)

    async def read_lines() -> None:
        async with incoming:
            while line := await lines.readline():
                incoming.send_nowait(SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False)))

    async def write_lines() -> None:
        async for message in written:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            stdin.write(f"{line}\n".encode())
            stdin.flush()
            sent_lines.append(line)

    try:
        async with received, outgoing, written, asyncio.TaskGroup() as tasks:
            reader, writer = tasks.create_task(read_lines()), tasks.create_task(write_lines())
            try:
                yield received, outgoing
            finally:
                writer.cancel()
                stdin.close()
                with anyio.CancelScope(shield=True):
                    assert await asyncio.to_thread(process.wait, LAST_RESORT) == 0
                    await reader
    finally:
        pipe.close()
