"""
What lies between a client and a gateway in the tests: a real gateway as a process of its own (`GatewayProcess`), and a
proxy that loses what it is told to lose (`LossyProxy`).
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

from tests.support.processes.fork_server import ForkedProcess
from tests.support.waits import LAST_RESORT

GATEPOST_COMMAND = [sys.executable, "-m", "gatepost.cli.main"]


class GatewayProcess:
    """`gatepost up`, which can be killed and started again where it was."""

    def __init__(self, home: Path, log: Path | None = None, /, **environ: str) -> None:
        self._log = log
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        self._environ |= {"GATEPOST_HOME": str(home), "NO_COLOR": "1"} | environ
        self.home = home
        self.url = ""
        self.start()

    @property
    def admin_key(self) -> str:
        return (self.home / "admin.key").read_text().strip()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        port = str(urlsplit(self.url).port) if self.url else "0"
        with (self._log or Path(os.devnull)).open("ab") as log:
            self.process = ForkedProcess(
                [*GATEPOST_COMMAND, "up", "--port", port],
                env=self._environ,
                stdout=subprocess.PIPE,
                stderr=log,
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

    def _end(self, signal_number: signal.Signals) -> None:
        self.process.send_signal(signal_number)
        self.process.wait(LAST_RESORT)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def run_gateway_process(home: Path, log: Path | None = None, /, **environ: str) -> Iterator[GatewayProcess]:
    process = GatewayProcess(home, log, **environ)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.kill()


class RequestOutcome(Enum):
    PASSES = auto()
    #: the gateway never gets it, and the caller is cut off
    LOST = auto()
    #: the gateway does it, and the caller is cut off before it hears of that
    UNANSWERED = auto()
    #: what stands before the gateway answers: not now, ask again in a second
    NOT_NOW = auto()


class LossyProxy:
    """Each connection carries one request, which meets the next fate; when there is none, it passes."""

    def __init__(self, url: str, *outcomes: RequestOutcome) -> None:
        parts = urlsplit(url)
        self._gateway_address = (parts.hostname, parts.port)
        self.outcomes = deque(outcomes)
        self.request_count = 0
        self._request_came = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self.abort_connections()

    def abort_connections(self) -> None:
        """Cut every connection that there is."""
        for writer in self._writers:
            writer.transport.abort()

    async def wait_for_requests(self, count: int) -> None:
        """Return when there were as many requests since the start."""
        async with self._request_came:
            await self._request_came.wait_for(lambda: self.request_count >= count)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._forward(await _read_request(reader), writer)
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _forward(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        async with self._request_came:
            self.request_count += 1
            self._request_came.notify_all()
        outcome = self.outcomes.popleft() if self.outcomes else RequestOutcome.PASSES
        if outcome is RequestOutcome.LOST:
            return
        if outcome is RequestOutcome.NOT_NOW:
            writer.write(b"HTTP/1.1 503 Not now\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
            return
        gateway_reader, gateway_writer = await asyncio.open_connection(*self._gateway_address)
        self._writers.add(gateway_writer)
        try:
            gateway_writer.write(request)
            while data := await gateway_reader.read(65_536):
                if outcome is RequestOutcome.UNANSWERED:
                    return
                writer.write(data)
                await writer.drain()
        finally:
            self._writers.discard(gateway_writer)
            gateway_writer.close()


async def _read_request(reader: asyncio.StreamReader) -> bytes:
    """A request, which is to be the last of its connection."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n")[:-2] if not line.lower().startswith(b"connection:")]
    body_length = next((int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length:")), 0)
    return b"\r\n".join([*lines, b"connection: close", b"", b""]) + await reader.readexactly(body_length)
