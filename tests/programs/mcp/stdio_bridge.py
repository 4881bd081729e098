"""A bridge to servers on stdio, for a client that knows HTTP only: one server for each session."""

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import Any, Final, Self

_SESSION_HEADER: Final = "mcp-session-id"
_MAX_LINE_LENGTH: Final = 16 * 1024 * 1024

Process = asyncio.subprocess.Process


class StdioBridge:
    """`command` starts a server. `names` are replaced in what is sent to it: fixtures by what there is instead."""

    def __init__(self, command: Mapping[str, Any], names: Mapping[str, str]) -> None:
        self._command = command
        self._names = names
        self._numbers = count(1)
        self._processes: dict[str, Process] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for process in self._processes.values():
            assert process.stdin is not None
            process.stdin.close()
            await process.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                headers = {
                    name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])
                }
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                if head[0].startswith("POST "):
                    await self._forward(body.decode(), headers.get(_SESSION_HEADER), writer)
                else:  # the server says nothing without being asked, and a session ends with the bridge
                    writer.write(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                await writer.drain()
        finally:
            writer.close()

    async def _forward(self, body: str, session: str | None, writer: asyncio.StreamWriter) -> None:
        if session is None:
            session = str(next(self._numbers))
            self._processes[session] = await self._start()
        for name, replacement in self._names.items():
            body = body.replace(name, replacement)
        answer = await _exchange(self._processes[session], json.loads(body))
        status = "200 OK" if answer else "202 Accepted"
        head = f"HTTP/1.1 {status}\r\n{_SESSION_HEADER}: {session}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(answer)}\r\nconnection: close\r\n\r\n".encode() + answer)

    async def _start(self) -> Process:
        return await asyncio.create_subprocess_exec(
            self._command["command"],
            *self._command["args"],
            env={**os.environ, **self._command["env"]},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=_MAX_LINE_LENGTH,
        )


async def _exchange(process: Process, message: Mapping[str, Any]) -> bytes:
    """Send a message to a server, and return its answer; nothing, if it needs none."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    await process.stdin.drain()
    if "id" not in message:
        return b""
    while line := await process.stdout.readline():
        if json.loads(line).get("id") == message["id"]:
            return line
    raise ConnectionError("the server has ended")
