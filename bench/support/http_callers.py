"""
HTTP callers that cost little: they write prepared requests, and find only the end of a response. A library would need
more time for a request than the gateway does.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import Final, cast

_CONTENT_LENGTH: Final = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Caller(asyncio.Protocol):
    """A connection that is kept: one request, its answer, the next."""

    def __init__(self) -> None:
        self._buffer = b""
        self._requests: Iterator[bytes] = iter(())
        self._done_future: asyncio.Future[None] | None = None
        self._closed_event = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one by its shape alone

    async def send_requests(self, requests: Sequence[bytes]) -> None:
        """Send these one after the other; each must be answered with 201."""
        self._requests = iter(requests)
        self._done_future = done_future = asyncio.get_running_loop().create_future()
        self._send_next()
        await done_future

    async def close(self) -> None:
        """Hang up, and wait until that is done: a loop that is closed before would wait for it in vain."""
        self._transport.close()
        await self._closed_event.wait()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        length = _CONTENT_LENGTH.search(head + b"\r\n")
        if not separator or length is None or len(body) < int(length[1]):
            return
        if not head.startswith(b"HTTP/1.1 201"):
            self._fail(AssertionError(self._buffer))
            return
        self._buffer = b""
        self._send_next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed_event.set()
        self._fail(exc or ConnectionError("the gateway hung up"))

    def _send_next(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._transport.write(request)
        elif self._done_future is not None:
            self._done_future.set_result(None)
            self._done_future = None

    def _fail(self, error: Exception) -> None:
        if self._done_future is not None:
            self._done_future.set_exception(error)
            self._done_future = None


async def open_callers(port: int, count: int) -> list[Caller]:
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(Caller, "127.0.0.1", port))[1] for _ in range(count)]


async def close_callers(connections: Sequence[Caller]) -> None:
    for connection in connections:
        await connection.close()
