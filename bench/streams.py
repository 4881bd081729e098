"""
1,000 readers of one space on one gateway: from a post until the last of them has it.

Readers are connections that read `GET /api/spaces/{id}/stream`; the message is posted over HTTP, stored (SQLite FULL)
and read back before it goes out. The floor is a bare server in an event loop, in a process of its own: told by the same
request, it writes the same bytes to as many connections of the same readers.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Final, cast

from bench import _office
from bench._gateway import Gateway, running
from bench._http import Caller, callers, hang_up
from bench._measure import FULL, Effort, in_turns
from bench._process import Elsewhere, Line, runner
from bench._table import Row, millis

SPACE: Final = "town-hall"
_MESSAGE: Final = b"event: space.message\n"


def main(effort: Effort = FULL) -> Iterator[Row]:
    with running() as gateway, runner() as loop:
        loop.run(_make_space(gateway))
        with _readers(loop, gateway, effort) as ours:
            frame = ours.room.last if ours() else b""
            assert _MESSAGE in frame
            with (
                Elsewhere(_serve, frame) as bare,
                _readers(loop, Gateway(bare.receive(), gateway.key, ""), effort) as floor,
            ):
                yield Row(
                    claim=f"from a post to the last of {effort.hearers:,} readers of a stream, SQLite FULL",
                    floor="the same bytes from a bare server",
                    measured=in_turns(floor, ours, effort.rounds),
                    unit=millis,
                )


class Room:
    """Those who listen, and how many have not heard yet."""

    def __init__(self) -> None:
        self._missing = 0
        self._all: asyncio.Future[None] | None = None
        #: what was heard last, as it came
        self.last = b""

    def expect(self, count: int) -> "asyncio.Future[None]":
        self._missing = count
        self._all = asyncio.get_running_loop().create_future()
        return self._all

    def heard(self, frame: bytes) -> None:
        self.last = frame
        self._missing -= 1
        if not self._missing and self._all is not None:
            self._all.set_result(None)


class Listener(asyncio.Protocol):
    def __init__(self, room: Room, request: bytes) -> None:
        self._room = room
        self._request = request
        self._read = b""
        self._in = False
        self.gone = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (the shape of a protocol)
        self.gone.set()

    def data_received(self, data: bytes) -> None:
        """Frames end with an empty line; the first says that one is connected."""
        *frames, self._read = (self._read + data).split(b"\n\n")
        for frame in frames:
            if not self._in or _MESSAGE in frame:
                self._in = True
                self._room.heard(frame)


class Readers:
    def __init__(self, loop: asyncio.Runner, gateway: Gateway, effort: Effort) -> None:
        self._loop = loop
        self._gateway = gateway
        self._effort = effort
        self.room = Room()
        self._listeners: list[Listener] = []
        self._poster: list[Caller] = []

    async def come(self) -> None:
        loop, request = asyncio.get_running_loop(), self._gateway.request("GET", f"/api/spaces/{SPACE}/stream")
        self._poster = await callers(self._gateway.port, 1)
        everybody = self.room.expect(self._effort.hearers)
        for _ in range(self._effort.hearers):
            made = await loop.create_connection(lambda: Listener(self.room, request), "127.0.0.1", self._gateway.port)
            self._listeners.append(made[1])
        await everybody

    def __call__(self) -> float:
        return median(self._loop.run(self._post()) for _ in range(self._effort.posts))

    async def _post(self) -> float:
        [poster] = self._poster
        request = self._gateway.request("POST", f"/api/spaces/{SPACE}/messages", _said())
        everybody = self.room.expect(self._effort.hearers)
        began = time.perf_counter()
        answered = asyncio.create_task(poster.ask([request]))
        await everybody
        took = time.perf_counter() - began
        await answered
        return took

    async def leave(self) -> None:
        for listener in self._listeners:
            listener.transport.close()
            await listener.gone.wait()
        await hang_up(self._poster)


@contextmanager
def _readers(loop: asyncio.Runner, gateway: Gateway, effort: Effort) -> Iterator[Readers]:
    readers = Readers(loop, gateway, effort)
    try:
        loop.run(readers.come())
        yield readers
    finally:
        loop.run(readers.leave())


async def _make_space(gateway: Gateway) -> None:
    [caller] = await callers(gateway.port, 1)
    body = json.dumps({"name": SPACE, "members": [_office.name(0)]}).encode()
    await caller.ask([gateway.request("POST", "/api/spaces", body)])
    await caller.close()


def _said() -> bytes:
    return json.dumps({"sender": _office.name(0), "content": _office.CONTENT}).encode()


async def _serve(line: Line, frame: bytes) -> None:
    """The bare server."""
    listeners: list[asyncio.Transport] = []
    server = await asyncio.get_running_loop().create_server(lambda: _Bare(listeners, frame), "127.0.0.1", backlog=2048)
    async with server:
        line.tell(server.sockets[0].getsockname()[1])
        await server.serve_forever()


class _Bare(asyncio.Protocol):
    def __init__(self, listeners: list[asyncio.Transport], frame: bytes) -> None:
        self._listeners = listeners
        self._frame = frame + b"\n\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"GET"):
            self._listeners.append(self._transport)
            self._transport.write(b"connected\n\n")
            return
        for listener in self._listeners:
            listener.write(self._frame)
        self._transport.write(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n")
