"""Connections to a gateway byte by byte, and the clock that its deadlines go by."""

import json
import socket
from contextlib import ExitStack, closing, suppress
from typing import Any, Self

from tests.faults.gateway.guarded_gateway import GuardedGateway
from tests.support.gateways.local_gateways import GatewayThread
from tests.support.waits import LAST_RESORT


class RawConnection:
    """A connection, byte by byte."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LAST_RESORT)
        self._buffer = b""

    def send(self, data: bytes | str) -> Self:
        """Send as much as the other end takes: it may have closed the connection."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data.encode() if isinstance(data, str) else data)
        return self

    def send_request(self, line: str, *headers: str, key: str | None = None) -> Self:
        lines = [f"{line} HTTP/1.1", "Host: gateway", *headers, *([f"x-secret-key: {key}"] if key else [])]
        return self.send("\r\n".join((*lines, "", "")))

    def read_answer(self) -> tuple[int, Any]:
        """The status of the next answer, and its document."""
        head = self.read_until(b"\r\n\r\n").lower()
        size = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0] or b"0")
        while len(self._buffer) < size:
            self._fill()
        body, self._buffer = self._buffer[:size], self._buffer[size:]
        return int(head.split()[1]), json.loads(body) if body else None

    def read_status(self) -> int:
        return self.read_answer()[0]

    def has_ended(self) -> bool:
        """Wait until the other end closes the connection; return whether it did so without another word."""
        try:
            return self._buffer + self._socket.recv(65_536) == b""
        except ConnectionResetError:
            return True

    def read_arrived(self) -> bytes:
        """What is here already."""
        self._socket.setblocking(False)
        try:
            return self._buffer + self._socket.recv(65_536)
        except BlockingIOError:
            return self._buffer
        finally:
            self._socket.settimeout(LAST_RESORT)

    def read_until(self, mark: bytes) -> bytes:
        """What comes up to a mark, which is taken too."""
        while mark not in self._buffer:
            self._fill()
        data, _, self._buffer = self._buffer.partition(mark)
        return data

    def _fill(self) -> None:
        chunk = self._socket.recv(65_536)
        if not chunk:
            raise EOFError(self._buffer[-200:])
        self._buffer += chunk

    def close(self) -> None:
        self._socket.close()


def connect(connections: ExitStack, server: GatewayThread | GuardedGateway) -> RawConnection:
    return connections.enter_context(closing(RawConnection(server.port)))


def count_connections(server: GatewayThread) -> int:
    assert server.uvicorn is not None
    return len(server.uvicorn.server_state.connections)


def push_content(connection: RawConnection, key: str, content: str = "hello") -> int:
    body = json.dumps({"to": "analyst", "content": content})
    return connection.send_request("POST /api/inbox", f"Content-Length: {len(body)}", key=key).send(body).read_status()


class LoopClock:
    """The clock of the loop that a gateway runs in. Its timers go by it."""

    def __init__(self, server: GatewayThread) -> None:
        self._server = server
        self._offset = 0.0
        read_time = server.loop.time
        vars(server.loop)["time"] = lambda: read_time() + self._offset

    def advance(self, seconds: float) -> None:
        """Move forward, when everything that was sent until now was read."""
        with closing(RawConnection(self._server.port)) as connection:
            assert connection.send_request("GET /health").read_status() == 200
        self._offset += seconds
        self._server.loop.call_soon_threadsafe(lambda: None)  # it looks at its clock
