"""
A wire to PostgreSQL that can be cut where it hurts most: at COMMIT, before the server hears of it, or after it has done
it and before the client hears of that.

Every client has a thread for each direction. What the client says is taken apart into messages, so that COMMIT is
recognised whether it is sent as text or as a prepared statement.
"""

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit


class Cut(Enum):
    NOT = auto()
    #: the server never hears of it, and rolls back
    BEFORE = auto()
    #: the server has committed, and the client never hears of it
    AFTER = auto()


class Proxy:
    def __init__(self, url: str, at_commit: Callable[[], Cut] = lambda: Cut.NOT) -> None:
        """Listen for clients of this server; `at_commit` is asked at each COMMIT what to do with it."""
        parts = urlsplit(url)
        assert parts.port is not None
        self._server = ("127.0.0.1", parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable&gssencmode=disable"
        self.at_commit = at_commit
        self.cuts: Counter[Cut] = Counter()
        self._wires: list[_Wire] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_all(self) -> None:
        for wire in self._wires:
            wire.cut()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # closing alone does not wake whoever waits in accept
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut_all()
        for wire in self._wires:
            wire.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._server)
            except OSError:
                client.close()
                continue
            self._wires.append(_Wire(self, client, server))


class _Wire:
    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._swallow = False
        #: held while it is decided about a COMMIT: until then the client hears nothing from a server that is gone
        self._deciding = threading.Lock()
        self._answered = threading.Event()
        self._commits: set[bytes] = set()
        self._threads = [
            threading.Thread(target=self._run, args=(direction,), daemon=True) for direction in (self._up, self._down)
        ]
        for thread in self._threads:
            thread.start()

    def cut(self) -> None:
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()
        self._client.close()
        self._server.close()

    def _run(self, direction: Callable[[], None]) -> None:
        try:
            with suppress(OSError, EOFError):
                direction()
        finally:
            self._answered.set()
            with self._deciding:
                self.cut()

    def _up(self) -> None:
        """From the client to the server, a message at a time."""
        self._server.sendall(self._startup())
        while True:
            head = _exactly(self._client, 5)
            body = _exactly(self._client, struct.unpack("!I", head[1:])[0] - 4)
            with self._deciding:
                cut = self._proxy.at_commit() if self._is_commit(head[:1], body) else Cut.NOT
                self._swallow = cut is not Cut.NOT
            self._proxy.cuts[cut] += 1
            if cut is Cut.BEFORE:
                return
            self._server.sendall(head + body)
            if cut is Cut.AFTER:
                if head[:1] == b"B":  # of a prepared statement: what follows makes the server do it
                    self._server.sendall(self._until_sync())
                self._answered.wait()
                return

    def _startup(self) -> bytes:
        """The first message has no type."""
        head = _exactly(self._client, 4)
        return head + _exactly(self._client, struct.unpack("!I", head)[0] - 4)

    def _until_sync(self) -> bytes:
        said = b""
        while True:
            head = _exactly(self._client, 5)
            said += head + _exactly(self._client, struct.unpack("!I", head[1:])[0] - 4)
            if head[:1] == b"S":
                return said

    def _is_commit(self, kind: bytes, body: bytes) -> bool:
        match kind:
            case b"Q":
                return body.rstrip(b"\0") == b"COMMIT"
            case b"P":
                name, query, _ = body.split(b"\0", 2)
                if query == b"COMMIT":
                    self._commits.add(name)
                return False
            case b"B":
                _, name, _ = body.split(b"\0", 2)
                return name in self._commits
            case _:
                return False

    def _down(self) -> None:
        """From the server to the client, as it comes."""
        while said := self._server.recv(65_536):
            with self._deciding:
                swallow = self._swallow
            if swallow:
                self._answered.set()
            else:
                self._client.sendall(said)


def _exactly(end: socket.socket, count: int) -> bytes:
    said = b""
    while len(said) < count:
        more = end.recv(count - len(said))
        if not more:
            raise EOFError
        said += more
    return said
