"""
1,000 readers of one space on one gateway: the time from a post until the last reader has the message.

Readers are connections that read `GET /api/spaces/{id}/stream`. The message is posted over HTTP, stored (SQLite FULL)
and read back before it is sent. The floor is a minimal server in an event loop, in its own process: the same request
makes it write the same bytes to the same number of connections of the same readers.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Final, cast

from bench.support import fixtures
from bench.support.gateway import Gateway, run_gateway
from bench.support.http_callers import Caller, close_callers, open_callers
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.processes import ChildProcess, ParentPipe, create_runner
from bench.support.table import Row, at_most, millis

SPACE: Final = "town-hall"
_MESSAGE_MARK: Final = b"event: space.message\n"


def main(effort: Effort = FULL) -> Iterator[Row]:
    with run_gateway() as gateway, create_runner() as loop:
        loop.run(make_space(gateway))
        with open_readers(loop, gateway, effort) as ours:
            frame = ours.counter.last_frame if ours() else b""
            assert _MESSAGE_MARK in frame
            with (
                ChildProcess(_run_bare_server, frame) as bare_server,
                open_readers(loop, Gateway(bare_server.receive(), gateway.key, ""), effort) as floor,
            ):
                yield Row(
                    claim=f"from a post to the last of {effort.recipients:,} readers of a stream, SQLite FULL",
                    door="`GET /api/spaces/{id}/stream`",
                    floor="the same bytes from a bare server",
                    measurement=measure_in_turns(floor, ours, effort.rounds),
                    unit=millis,
                    target=at_most(3.0),
                )


class FrameCounter:
    """Those who listen, and how many have not heard yet."""

    def __init__(self) -> None:
        self._missing = 0
        self._all_received: asyncio.Future[None] | None = None
        #: what was heard last, as it came
        self.last_frame = b""

    def expect(self, count: int) -> "asyncio.Future[None]":
        self._missing = count
        self._all_received = asyncio.get_running_loop().create_future()
        return self._all_received

    def count_frame(self, frame: bytes) -> None:
        self.last_frame = frame
        self._missing -= 1
        if not self._missing and self._all_received is not None:
            self._all_received.set_result(None)


class Listener(asyncio.Protocol):
    def __init__(self, counter: FrameCounter, request: bytes) -> None:
        self._counter = counter
        self._request = request
        self._buffer = b""
        self._is_connected = False
        self.closed_event = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 (the shape of a protocol)
        self.closed_event.set()

    def data_received(self, data: bytes) -> None:
        """Frames end with an empty line; the first says that one is connected."""
        *frames, self._buffer = (self._buffer + data).split(b"\n\n")
        for frame in frames:
            if not self._is_connected or _MESSAGE_MARK in frame:
                self._is_connected = True
                self._counter.count_frame(frame)


class Readers:
    def __init__(self, loop: asyncio.Runner, gateway: Gateway, effort: Effort, space: str) -> None:
        self._space = space
        self._loop = loop
        self._gateway = gateway
        self._effort = effort
        self.counter = FrameCounter()
        self._listeners: list[Listener] = []
        self._posters: list[Caller] = []

    async def connect(self) -> None:
        loop, request = asyncio.get_running_loop(), self._gateway.request("GET", f"/api/spaces/{self._space}/stream")
        self._posters = await open_callers(self._gateway.port, 1)
        all_received = self.counter.expect(self._effort.recipients)
        for _ in range(self._effort.recipients):
            connection = await loop.create_connection(
                lambda: Listener(self.counter, request), "127.0.0.1", self._gateway.port
            )
            self._listeners.append(connection[1])
        await all_received

    def __call__(self) -> float:
        return median(self._loop.run(self._post()) for _ in range(self._effort.posts))

    async def _post(self) -> float:
        [poster] = self._posters
        request = self._gateway.request("POST", f"/api/spaces/{self._space}/messages", _build_message())
        all_received = self.counter.expect(self._effort.recipients)
        start = time.perf_counter()
        request_task = asyncio.create_task(poster.send_requests([request]))
        await all_received
        seconds = time.perf_counter() - start
        await request_task
        return seconds

    async def disconnect(self) -> None:
        for listener in self._listeners:
            listener.transport.close()
            await listener.closed_event.wait()
        await close_callers(self._posters)


@contextmanager
def open_readers(loop: asyncio.Runner, gateway: Gateway, effort: Effort, space: str = SPACE) -> Iterator[Readers]:
    readers = Readers(loop, gateway, effort, space)
    try:
        loop.run(readers.connect())
        yield readers
    finally:
        loop.run(readers.disconnect())


async def make_space(gateway: Gateway, space: str = SPACE) -> None:
    [caller] = await open_callers(gateway.port, 1)
    body = json.dumps({"name": space, "members": [fixtures.get_agent_name(0)]}).encode()
    await caller.send_requests([gateway.request("POST", "/api/spaces", body)])
    await caller.close()


def _build_message() -> bytes:
    return json.dumps({"sender": fixtures.get_agent_name(0), "content": fixtures.CONTENT}).encode()


async def _run_bare_server(pipe: ParentPipe, frame: bytes) -> None:
    """The bare server."""
    listeners: list[asyncio.Transport] = []
    server = await asyncio.get_running_loop().create_server(
        lambda: _BareServer(listeners, frame), "127.0.0.1", backlog=2048
    )
    async with server:
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()


class _BareServer(asyncio.Protocol):
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
