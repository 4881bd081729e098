"""
A caller with a key, beside others that try to block it.

The caller pushes over one connection, one push after the other. Its figure is the 99th percentile of the times. The
floor is the same without an attack, in turns. An attack is a process of its own. It either has one connection, on which
it sends as fast as it can and which it opens again when it is closed, or it holds a number of incomplete requests; or
it has a key, and sends one large body after the other, which is decoded whole and refused at its last field. The memory
of the gateway under all attacks is compared with its memory before the first one.
"""

import asyncio
import json
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import psutil

from bench.support import fixtures
from bench.support.gateway import Gateway, run_gateway
from bench.support.http_callers import open_callers
from bench.support.measurement import FULL, Effort, Measurement, Spread, measure_in_turns
from bench.support.processes import ChildProcess, ParentPipe, create_runner
from bench.support.table import Row, Target, Unit, at_most, millis

_MIB: Final = 1024 * 1024
_POST_HEAD: Final = b"POST /api/inbox/batch HTTP/1.1\r\nhost: x\r\ncontent-length: 33554432\r\n"

#: what an attack sends at the beginning of a connection, and then again and again
ATTACKS: Final = {
    "a header without an end": (b"GET / HTTP/1.1\r\nx: ", b"x" * 65_536),
    "headers without an end": (b"GET / HTTP/1.1\r\n", b"x: x\r\n" * 10_000),
    "bodies of 32 MiB without a key": (_POST_HEAD + b"\r\n", b" " * _MIB),
}
HALF_REQUESTS: Final = "half requests"
LARGE_BODIES: Final = "bodies of 8 MiB that are decoded and refused"
#: as large as a body may be, and with nearly as many values
_LARGE_PUSH: Final = b'{"to": "agent-0", "data": [%b "%b"], "priority": "none"}' % (b"[]," * 90, b"x" * 8_000)
_LARGE_BODY: Final = b'{"pushes": [%b]}' % b",".join([_LARGE_PUSH] * 1_000)

megabytes: Final = Unit(" MB", 1, 1)


def main(effort: Effort = FULL) -> Iterator[Row]:
    with run_gateway() as gateway, create_runner() as loop:
        turn = _PushTurn(loop, gateway, effort)
        baseline = turn()
        old_memory = turn.peak_memory
        assert baseline > 0
        large_request = gateway.request("POST", "/api/inbox/batch", _LARGE_BODY)
        for name in (*ATTACKS, HALF_REQUESTS, LARGE_BODIES):
            count = f"{effort.half_requests:,} " if name == HALF_REQUESTS else ""
            with ChildProcess(_attack, gateway.port, name, effort.half_requests, large_request) as attack:
                yield Row(
                    claim=f"99th percentile of a push beside {count}{name}, SQLite FULL",
                    door="`POST /api/inbox`",
                    floor="the same without them",
                    measurement=measure_in_turns(turn, turn.measure_during(attack), effort.untargeted_rounds),
                    unit=millis,
                    target=at_most(3.0),
                )
        yield Row(
            claim="memory of the gateway under all of these attacks",
            door="`gatepost up`",
            floor="before the first",
            measurement=Measurement(
                Spread((old_memory,)), Spread((turn.peak_memory,)), Spread((turn.peak_memory - old_memory,))
            ),
            unit=megabytes,
            target=Target("at most +100 MB", lambda difference: difference <= 100),
        )


class _PushTurn:
    """Pushes one after the other, and looks at the memory of the gateway."""

    def __init__(self, loop: asyncio.Runner, gateway: Gateway, effort: Effort) -> None:
        self._loop = loop
        self._gateway = gateway
        self._process = psutil.Process(gateway.pid)
        self._count = min(effort.pushes, 1_000)
        #: the most that the gateway had at the end of a turn, in MB
        self.peak_memory = 0.0

    def __call__(self) -> float:
        """Return the 99th percentile."""
        requests = [self._gateway.request("POST", "/api/inbox", _build_body(number)) for number in range(self._count)]
        times = sorted(self._loop.run(_push(self._gateway.port, requests)))
        self.peak_memory = max(self.peak_memory, self._process.memory_info().rss / 1e6)
        return times[len(times) * 99 // 100]

    def measure_during(self, attack: ChildProcess) -> Callable[[], float]:
        """The same turn while an attack goes on."""

        def measure() -> float:
            attack.send("begin")
            attack.receive()
            figure = self()
            attack.send("end")
            attack.receive()
            return figure

        return measure


async def _push(port: int, requests: Sequence[bytes]) -> list[float]:
    [caller] = await open_callers(port, 1)
    times = []
    for request in requests:
        start = time.perf_counter()
        await caller.send_requests([request])
        times.append(time.perf_counter() - start)
    await caller.close()
    return times


def _build_body(number: int) -> bytes:
    push = fixtures.build_push(number)
    return json.dumps({"to": push.to, "content": push.content, "dedupKey": push.dedup_key}).encode()


async def _attack(pipe: ParentPipe, port: int, name: str, half_requests: int, large_request: bytes) -> None:
    """Attack from `begin` to `end`, and say when it has begun and when all its connections are closed."""
    while True:
        await pipe.receive()
        ready = asyncio.Semaphore(0)
        if name == HALF_REQUESTS:
            tasks = [asyncio.create_task(_hold_half_request(port, ready)) for _ in range(half_requests)]
        elif name == LARGE_BODIES:
            tasks = [asyncio.create_task(_send_large_bodies(port, large_request, ready))]
        else:
            tasks = [asyncio.create_task(_flood(port, *ATTACKS[name], ready))]
        for _ in tasks:
            await ready.acquire()
        pipe.send(None)
        await pipe.receive()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        pipe.send(None)


async def _flood(port: int, begin: bytes, part: bytes, ready: asyncio.Semaphore) -> None:
    """Send until the other end closes the connection, and then again."""
    loop = asyncio.get_running_loop()
    while True:
        with socket.socket() as connection, suppress(OSError):
            connection.setblocking(False)
            await loop.sock_connect(connection, ("127.0.0.1", port))
            await loop.sock_sendall(connection, begin)
            ready.release()
            while True:
                await loop.sock_sendall(connection, part)
        await asyncio.sleep(0)  # a connection that is refused waits for nothing, and the pipe must be read


async def _hold_half_request(port: int, ready: asyncio.Semaphore) -> None:
    """Send half a request and wait until the other end closes the connection, and then again."""
    loop = asyncio.get_running_loop()
    while True:
        with socket.socket() as connection, suppress(OSError):
            connection.setblocking(False)
            await loop.sock_connect(connection, ("127.0.0.1", port))
            await loop.sock_sendall(connection, _POST_HEAD)
            ready.release()
            while await loop.sock_recv(connection, 65_536):
                pass
        await asyncio.sleep(0)


async def _send_large_bodies(port: int, request: bytes, ready: asyncio.Semaphore) -> None:
    """Send the request again and again, each time when the one before was answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        while True:
            writer.write(request)
            ready.release()
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200")
            [length] = re.findall(rb"content-length: (\d+)", head)
            await reader.readexactly(int(length))
    finally:
        writer.close()
