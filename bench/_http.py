"""
Callers that cost little: they write requests that were made before, and read of an answer only where it ends. A library
would take longer over a request than the gateway does.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import Final, cast

_LENGTH: Final = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Caller(asyncio.Protocol):
    """A connection that is kept: one request, its answer, the next."""

    def __init__(self) -> None:
        self._read = b""
        self._left: Iterator[bytes] = iter(())
        self._answered: asyncio.Future[None] | None = None
        self._gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one by its shape alone

    async def ask(self, requests: Sequence[bytes]) -> None:
        """Send these one after the other; each must be answered with 201."""
        self._left = iter(requests)
        self._answered = answered = asyncio.get_running_loop().create_future()
        self._next()
        await answered

    async def close(self) -> None:
        """Hang up, and wait until that is done: a loop that is closed before would wait for it in vain."""
        self._transport.close()
        await self._gone.wait()

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, ended, body = self._read.partition(b"\r\n\r\n")
        length = _LENGTH.search(head + b"\r\n")
        if not ended or length is None or len(body) < int(length[1]):
            return
        if not head.startswith(b"HTTP/1.1 201"):
            self._end(AssertionError(self._read))
            return
        self._read = b""
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone.set()
        self._end(exc or ConnectionError("the gateway hung up"))

    def _next(self) -> None:
        request = next(self._left, None)
        if request is not None:
            self._transport.write(request)
        elif self._answered is not None:
            self._answered.set_result(None)
            self._answered = None

    def _end(self, error: Exception) -> None:
        if self._answered is not None:
            self._answered.set_exception(error)
            self._answered = None


async def callers(port: int, count: int) -> list[Caller]:
    loop = asyncio.get_running_loop()
    return [(await loop.create_connection(Caller, "127.0.0.1", port))[1] for _ in range(count)]


async def hang_up(connections: Sequence[Caller]) -> None:
    for connection in connections:
        await connection.close()
