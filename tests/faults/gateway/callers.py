"""
Callers that keep a connection open and say no more than HTTP needs, so that what is measured is the gateway; and
watchers, who read a live stream.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any, Self

from tests.support.gateways.local_gateways import StreamFrame, parse_frame
from tests.support.waits import LAST_RESORT


class ConnectionLost(Exception):
    """The connection ended before the answer was there: nobody knows what became of the request."""


class Caller:
    """One connection, one request at a time; after `ConnectionLost` the next request connects anew."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._key = key
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> tuple[int, Any]:
        return await self._request(
            f"GET {path} HTTP/1.1\r\nhost: gateway\r\nx-secret-key: {self._key}\r\n\r\n".encode()
        )

    async def post(self, path: str, body: Any, *, key: str | None = None) -> tuple[int, Any]:
        """The status and the document of the answer; `key` is for idempotency."""
        text = json.dumps(body)
        idempotency_header = f"idempotency-key: {key}\r\n" if key else ""
        return await self._request(
            f"POST {path} HTTP/1.1\r\nhost: gateway\r\nx-secret-key: {self._key}\r\n{idempotency_header}"
            f"content-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n{text}".encode()
        )

    async def _request(self, request: bytes) -> tuple[int, Any]:
        try:
            async with asyncio.timeout(LAST_RESORT):
                if self._connection is None:
                    self._connection = await asyncio.open_connection("127.0.0.1", self._port)
                reader, writer = self._connection
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                lower_head = head.lower()
                start = lower_head.index(b"content-length: ") + 16
                body = await reader.readexactly(int(head[start : head.index(b"\r", start)]))
        except (OSError, asyncio.IncompleteReadError) as error:
            await self.close()
            raise ConnectionLost from error
        if b"connection: close" in lower_head:
            await self.close()
        return int(head[9:12]), json.loads(body)

    async def close(self) -> None:
        if self._connection is not None:
            _, writer = self._connection
            self._connection = None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Watcher:
    """Reads a stream on one connection, to its end."""

    def __init__(self, port: int, key: str, path: str) -> None:
        self._port = port
        self._path = path
        self._headers: Mapping[str, str] = {"host": "gateway", "x-secret-key": key}
        self._writer: asyncio.StreamWriter | None = None

    async def read(self, last_event_id: str | None = None) -> AsyncIterator[StreamFrame]:
        """Everything from now on, or from where the reader was."""
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)
        headers = {**self._headers, **({"last-event-id": last_event_id} if last_event_id is not None else {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._writer.write(f"GET {self._path} HTTP/1.1\r\n{lines}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        buffer = b""
        while size := int(await reader.readline(), 16):
            buffer += (await reader.readexactly(size + 2))[:-2]
            *frames, buffer = buffer.split(b"\n\n")
            for frame in frames:
                if not frame.startswith(b":"):
                    yield parse_frame(frame.decode())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()
            with suppress(OSError):
                await self._writer.wait_closed()
