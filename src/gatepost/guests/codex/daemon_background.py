"""
A client of Codex's daemon, in which the threads of a user's terminals run. Its socket speaks JSON-RPC over WebSocket
(RFC 6455), of which this is as much as is needed: one request at a time, in text frames.

    {"id": 1, "method": "thread/loaded/list", "params": {}}
    {"id": 1, "result": {"data": ["0199..."], "nextCursor": null}}

Whatever else the daemon sends meanwhile is for others, and is skipped.
"""

import asyncio
import base64
import json
import os
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple

from gatepost import paths
from gatepost.errors import Unavailable

#: where the socket is in the folder of Codex
SOCKET: Final = Path("app-server-control/app-server-control.sock")
#: seconds for the connection, and for each answer
_TIMEOUT: Final = 5.0
#: bytes of a message; a thread is read without its turns
_MAX_LENGTH: Final = 4 * 1024 * 1024
_CONTINUATION, _TEXT, _CLOSE, _PING, _PONG = 0, 1, 8, 9, 10
_FINAL_BIT: Final = 0x80


class LoadedThread(NamedTuple):
    """A thread that runs in the daemon now."""

    id: str
    cwd: str
    #: whether no turn runs in it
    is_idle: bool
    #: when it was prompted last; if it never was, when it began: seconds since 1970
    used_at: float


class CodexDaemon:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = count(1)

    async def list_threads(self) -> list[str]:
        """Return the ids of the threads that are loaded."""
        ids: list[str] = []
        cursor = None
        while True:
            page = await self._request("thread/loaded/list", {"cursor": cursor})
            ids += [id for id in page.get("data", ()) if isinstance(id, str)]
            cursor = page.get("nextCursor")
            if not cursor:
                return ids

    async def read_thread(self, id: str) -> LoadedThread | None:
        """Return a thread; None if it is not loaded any more, or none of a person: of a helper, or for a title."""
        thread = (await self._request("thread/read", {"threadId": id})).get("thread")
        if not isinstance(thread, dict) or thread.get("parentThreadId") or thread.get("ephemeral"):
            return None
        status = thread.get("status")
        kind = status.get("type") if isinstance(status, dict) else None
        prompted_at = thread.get("recencyAt") if thread.get("preview") else None  # else it is the present time
        used_at = prompted_at if isinstance(prompted_at, int | float) else _read_beginning(id)
        cwd = str(thread.get("cwd") or "")
        return None if kind == "notLoaded" else LoadedThread(id, cwd, kind == "idle", used_at)

    async def start_turn(self, id: str, text: str) -> None:
        """Start a turn in a thread with a prompt."""
        await self._request("turn/start", {"threadId": id, "input": [{"type": "text", "text": text}]})

    async def introduce(self) -> None:
        """Say who is connected; the daemon answers nobody else."""
        client = {"name": "gatepost", "title": "Gatepost", "version": version("gatepost")}
        await self._request("initialize", {"clientInfo": client})
        await self._send(_TEXT, json.dumps({"method": "initialized"}).encode())

    async def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self._numbers)
        await self._send(_TEXT, json.dumps({"id": number, "method": method, "params": params}).encode())
        async with asyncio.timeout(_TIMEOUT):
            while True:
                document = json.loads(await self._receive())
                if isinstance(document, dict) and document.get("id") == number and "method" not in document:
                    break
        if (error := document.get("error")) is not None:
            reason = error.get("message") if isinstance(error, dict) else error
            raise Unavailable(f"Codex refuses {method}: {reason}")
        result = document.get("result")
        return result if isinstance(result, dict) else {}

    async def _send(self, kind: int, payload: bytes) -> None:
        """Send a frame. What a client sends is masked."""
        size, mask = len(payload), os.urandom(4)
        if size < 126:
            length = bytes([0x80 | size])
        elif size < 65_536:
            length = bytes([0x80 | 126]) + struct.pack("!H", size)
        else:
            length = bytes([0x80 | 127]) + struct.pack("!Q", size)
        masked = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
        self._writer.write(bytes([_FINAL_BIT | kind]) + length + mask + masked)
        await self._writer.drain()

    async def _receive(self) -> bytes:
        """Return the next message."""
        message = b""
        while True:
            first, second = await self._reader.readexactly(2)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8))
            if size + len(message) > _MAX_LENGTH:
                raise Unavailable("Codex sends a message that is too long")
            payload = await self._reader.readexactly(size)
            match first & 0x0F:
                case kind if kind in (_CONTINUATION, _TEXT):
                    message += payload
                    if first & _FINAL_BIT:
                        return message
                case kind if kind == _PING:
                    await self._send(_PONG, payload)
                case kind if kind == _CLOSE:
                    raise ConnectionError("it closed the connection")


def _read_beginning(id: str) -> float:
    """Return the time in the id of a thread, which is a UUID of version 7."""
    return int(id.replace("-", "")[:12], 16) / 1_000


def _find_socket(codex_home: Path) -> str:
    """Return the path of the socket; Codex may have a link to a shorter one there."""
    return os.path.realpath(codex_home / SOCKET)


@asynccontextmanager
async def connect(codex_home: Path) -> AsyncIterator[CodexDaemon]:
    """Connect to the daemon of a folder of Codex; raise Unavailable if none answers, or if it cannot be trusted."""
    path = _find_socket(codex_home)
    writer: asyncio.StreamWriter | None = None
    try:
        paths.check_socket(path, reference=str(codex_home))
        async with asyncio.timeout(_TIMEOUT):
            reader, writer = await asyncio.open_unix_connection(path, limit=_MAX_LENGTH)
            key = base64.b64encode(os.urandom(16)).decode()
            lines = ("GET / HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket")
            keys = (f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13")
            writer.write("\r\n".join((*lines, *keys, "", "")).encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            if b" 101 " not in answer.split(b"\r\n", 1)[0]:
                raise Unavailable("Codex refuses the connection")
        daemon = CodexDaemon(reader, writer)
        await daemon.introduce()
        yield daemon
    except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise Unavailable(f"the daemon of Codex in {str(codex_home)!r} does not answer: {error}") from None
    finally:
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
