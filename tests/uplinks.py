"""
What lies between a client and a gateway in the tests: a real gateway as a process of its own (`Running`), and a wire
that loses what it is told to lose (`Wire`).
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.forking import ForkedProcess

PROGRAM = [sys.executable, "-m", "gatepost.cli.main"]


class Running:
    """`gatepost up`, which can be killed and started again where it was."""

    def __init__(self, home: Path, **environ: str) -> None:
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        self._environ |= {"GATEPOST_HOME": str(home), "NO_COLOR": "1"} | environ
        self.home = home
        self.url = ""
        self.start()

    @property
    def key(self) -> str:
        return (self.home / "admin.key").read_text().strip()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        port = str(urlsplit(self.url).port) if self.url else "0"
        self.process = ForkedProcess(
            [*PROGRAM, "up", "--port", port],
            env=self._environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http://"), "the gateway does not start"

    def kill(self) -> None:
        """End it at once, whatever it is doing."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Let it finish what it has accepted."""
        self._end(signal.SIGINT)

    def _end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def running(home: Path, **environ: str) -> Iterator[Running]:
    gateway = Running(home, **environ)
    try:
        yield gateway
    finally:
        if gateway.process.poll() is None:
            gateway.kill()


class Fate(Enum):
    PASSES = auto()
    #: the gateway never gets it, and the caller is cut off
    LOST = auto()
    #: the gateway does it, and the caller is cut off before it hears of that
    UNANSWERED = auto()
    #: what stands before the gateway answers: not now, ask again in a second
    NOT_NOW = auto()


class Wire:
    """Each connection carries one request, which meets the next fate; when there is none, it passes."""

    def __init__(self, url: str, *fates: Fate) -> None:
        parts = urlsplit(url)
        self._gateway = (parts.hostname, parts.port)
        self.fates = deque(fates)
        self.requests = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.cut()

    def cut(self) -> None:
        """Cut every connection that there is."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._one(await _request(reader), writer)
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _one(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        self.requests += 1
        fate = self.fates.popleft() if self.fates else Fate.PASSES
        if fate is Fate.LOST:
            return
        if fate is Fate.NOT_NOW:
            writer.write(b"HTTP/1.1 503 Not now\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        answers, gateway = await asyncio.open_connection(*self._gateway)
        self._writers.add(gateway)
        try:
            gateway.write(request)
            while said := await answers.read(65_536):
                if fate is Fate.UNANSWERED:
                    return
                writer.write(said)
                await writer.drain()
        finally:
            self._writers.discard(gateway)
            gateway.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    """A request, which is to be the last of its connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n")[:-2] if not line.lower().startswith(b"connection:")]
    size = next((int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0)
    return b"\r\n".join([*lines, b"connection: close", b"", b""]) + await reader.readexactly(size)
