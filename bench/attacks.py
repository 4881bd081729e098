"""
A caller with a key beside callers without one that want to keep it out.

The caller pushes over one connection, one push after the other, and its figure is the 99th percentile of their times.
The floor is the same without an attack, in turns. An attack is a process of its own. It has one connection, on which it
sends as fast as it can, and which it opens again as soon as it is closed; or as many half requests as it says. The
memory of the gateway under all of these attacks is compared with what it was before the first.
"""

import asyncio
import json
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Final

import psutil

from bench import _office
from bench._gateway import Gateway, running
from bench._http import callers
from bench._measure import FULL, Effort, Measured, Spread, in_turns
from bench._process import Elsewhere, Line, runner
from bench._table import Row, Target, Unit, at_most, millis

_MIB: Final = 1024 * 1024
_POST: Final = b"POST /api/inbox/batch HTTP/1.1\r\nhost: x\r\ncontent-length: 33554432\r\n"

#: what an attack sends at the beginning of a connection, and then again and again
ATTACKS: Final = {
    "a header without an end": (b"GET / HTTP/1.1\r\nx: ", b"x" * 65_536),
    "headers without an end": (b"GET / HTTP/1.1\r\n", b"x: x\r\n" * 10_000),
    "bodies of 32 MiB without a key": (_POST + b"\r\n", b" " * _MIB),
}
HALVES: Final = "half requests"

megabytes: Final = Unit(" MB", 1, 1)


def main(effort: Effort = FULL) -> Iterator[Row]:
    with running() as gateway, runner() as loop:
        turn = _Turn(loop, gateway, effort)
        quiet = turn()
        before = turn.memory
        assert quiet > 0
        for name in (*ATTACKS, HALVES):
            count = f"{effort.halves:,} " if name == HALVES else ""
            with Elsewhere(_attack, gateway.port, name, effort.halves) as attack:
                yield Row(
                    claim=f"99th percentile of a push beside {count}{name}, SQLite FULL",
                    floor="the same without them",
                    measured=in_turns(turn, turn.beside(attack), effort.fewer),
                    unit=millis,
                    target=at_most(3.0),
                )
        yield Row(
            claim="memory of the gateway under all of these attacks",
            floor="before the first",
            measured=Measured(Spread((before,)), Spread((turn.memory,)), Spread((turn.memory - before,))),
            unit=megabytes,
            target=Target("at most +100 MB", lambda found: found <= 100),
        )


class _Turn:
    """Pushes one after the other, and looks at the memory of the gateway."""

    def __init__(self, loop: asyncio.Runner, gateway: Gateway, effort: Effort) -> None:
        self._loop = loop
        self._gateway = gateway
        self._process = psutil.Process(gateway.pid)
        self._count = min(effort.pushes, 1_000)
        #: the most that the gateway had at the end of a turn, in MB
        self.memory = 0.0

    def __call__(self) -> float:
        """Return the 99th percentile."""
        requests = [self._gateway.request("POST", "/api/inbox", _body(number)) for number in range(self._count)]
        times = sorted(self._loop.run(_push(self._gateway.port, requests)))
        self.memory = max(self.memory, self._process.memory_info().rss / 1e6)
        return times[len(times) * 99 // 100]

    def beside(self, attack: Elsewhere) -> Callable[[], float]:
        """The same turn while an attack goes on."""

        def measure() -> float:
            attack.tell("begin")
            attack.receive()
            figure = self()
            attack.tell("end")
            attack.receive()
            return figure

        return measure


async def _push(port: int, requests: Sequence[bytes]) -> list[float]:
    [caller] = await callers(port, 1)
    times = []
    for request in requests:
        began = time.perf_counter()
        await caller.ask([request])
        times.append(time.perf_counter() - began)
    await caller.close()
    return times


def _body(number: int) -> bytes:
    wish = _office.wish(number)
    return json.dumps({"to": wish.to, "content": wish.content, "dedupKey": wish.key}).encode()


async def _attack(line: Line, port: int, name: str, halves: int) -> None:
    """Attack from `begin` to `end`, and say when it has begun and when all its connections are closed."""
    while True:
        await line.next()
        made = asyncio.Semaphore(0)
        if name == HALVES:
            tasks = [asyncio.create_task(_hold(port, made)) for _ in range(halves)]
        else:
            tasks = [asyncio.create_task(_flood(port, *ATTACKS[name], made))]
        for _ in tasks:
            await made.acquire()
        line.tell(None)
        await line.next()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        line.tell(None)


async def _flood(port: int, begin: bytes, part: bytes, made: asyncio.Semaphore) -> None:
    """Send until the other end closes the connection, and then again."""
    loop = asyncio.get_running_loop()
    while True:
        with socket.socket() as wire, suppress(OSError):
            wire.setblocking(False)
            await loop.sock_connect(wire, ("127.0.0.1", port))
            await loop.sock_sendall(wire, begin)
            made.release()
            while True:
                await loop.sock_sendall(wire, part)


async def _hold(port: int, made: asyncio.Semaphore) -> None:
    """Send half a request and wait until the other end closes the connection, and then again."""
    loop = asyncio.get_running_loop()
    while True:
        with socket.socket() as wire, suppress(OSError):
            wire.setblocking(False)
            await loop.sock_connect(wire, ("127.0.0.1", port))
            await loop.sock_sendall(wire, _POST)
            made.release()
            while await loop.sock_recv(wire, 65_536):
                pass
