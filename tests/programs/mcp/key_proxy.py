"""A proxy that adds a key to each request, for a client that can send none."""

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit


class KeyProxy:
    """Each connection carries one request. Its headers pass as they are, the name of the host too."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self._gateway_address = (parts.hostname, parts.port)
        self._key = key
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                head = await reader.readuntil(b"\r\n\r\n")
                gateway_reader, gateway_writer = await asyncio.open_connection(*self._gateway_address)
                try:
                    gateway_writer.write(self._add_key(head))
                    await _copy_both(reader, gateway_writer, gateway_reader, writer)
                finally:
                    gateway_writer.close()
        finally:
            self._tasks.discard(task)
            writer.close()

    def _add_key(self, head: bytes) -> bytes:
        lines = [line for line in head.split(b"\r\n")[:-2] if not line.lower().startswith(b"connection:")]
        return b"\r\n".join([*lines, b"connection: close", f"x-secret-key: {self._key}".encode(), b"", b""])


async def _copy_both(
    reader: asyncio.StreamReader,
    gateway_writer: asyncio.StreamWriter,
    gateway_reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Copy until one side ends: if the caller leaves, the gateway should know."""
    copies = [
        asyncio.create_task(_copy(reader, gateway_writer)),
        asyncio.create_task(_copy(gateway_reader, writer)),
    ]
    try:
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for copy in copies:
            copy.cancel()
        await asyncio.gather(*copies, return_exceptions=True)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
