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


class CommitCut(Enum):
    NONE = auto()
    #: the server never hears of it, and rolls back
    BEFORE = auto()
    #: the server has committed, and the client never hears of it
    AFTER = auto()


class Proxy:
    def __init__(self, url: str, decide_cut: Callable[[], CommitCut] = lambda: CommitCut.NONE) -> None:
        """Listen for clients of this server; `decide_cut` is asked at each COMMIT what to do with it."""
        parts = urlsplit(url)
        assert parts.port is not None
        self._server = ("127.0.0.1", parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        self.url = f"postgresql://postgres@127.0.0.1:{port}{parts.path}?sslmode=disable&gssencmode=disable"
        self.decide_cut = decide_cut
        self.cut_counts: Counter[CommitCut] = Counter()
        self._connections: list[_ProxyConnection] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_all(self) -> None:
        for connection in self._connections:
            connection.cut()

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
        for connection in self._connections:
            connection.join()

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
            self._connections.append(_ProxyConnection(self, client, server))


class _ProxyConnection:
    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        for connection in (client, server):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._drops_answers = False
        #: held while it is decided about a COMMIT: until then the client hears nothing from a server that is gone
        self._decision_lock = threading.Lock()
        self._answered_event = threading.Event()
        self._commit_statements: set[bytes] = set()
        self._threads = [
            threading.Thread(target=self._run, args=(direction,), daemon=True)
            for direction in (self._forward_to_server, self._forward_to_client)
        ]
        for thread in self._threads:
            thread.start()

    def cut(self) -> None:
        for connection in (self._client, self._server):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

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
            self._answered_event.set()
            with self._decision_lock:
                self.cut()

    def _forward_to_server(self) -> None:
        """From the client to the server, a message at a time."""
        self._server.sendall(self._read_startup())
        while True:
            head = _receive_exactly(self._client, 5)
            body = _receive_exactly(self._client, struct.unpack("!I", head[1:])[0] - 4)
            with self._decision_lock:
                cut = self._proxy.decide_cut() if self._is_commit(head[:1], body) else CommitCut.NONE
                self._drops_answers = cut is not CommitCut.NONE
            self._proxy.cut_counts[cut] += 1
            if cut is CommitCut.BEFORE:
                return
            self._server.sendall(head + body)
            if cut is CommitCut.AFTER:
                if head[:1] == b"B":  # of a prepared statement: what follows makes the server do it
                    self._server.sendall(self._read_until_sync())
                self._answered_event.wait()
                return

    def _read_startup(self) -> bytes:
        """The first message has no type."""
        head = _receive_exactly(self._client, 4)
        return head + _receive_exactly(self._client, struct.unpack("!I", head)[0] - 4)

    def _read_until_sync(self) -> bytes:
        data = b""
        while True:
            head = _receive_exactly(self._client, 5)
            data += head + _receive_exactly(self._client, struct.unpack("!I", head[1:])[0] - 4)
            if head[:1] == b"S":
                return data

    def _is_commit(self, kind: bytes, body: bytes) -> bool:
        match kind:
            case b"Q":
                return body.rstrip(b"\0") == b"COMMIT"
            case b"P":
                name, query, _ = body.split(b"\0", 2)
                self._commit_statements.discard(name)  # the statement without a name is replaced
                if query == b"COMMIT":
                    self._commit_statements.add(name)
                return False
            case b"B":
                _, name, _ = body.split(b"\0", 2)
                return name in self._commit_statements
            case _:
                return False

    def _forward_to_client(self) -> None:
        """From the server to the client, as it comes."""
        while data := self._server.recv(65_536):
            with self._decision_lock:
                drops_answers = self._drops_answers
            if drops_answers:
                self._answered_event.set()
            else:
                self._client.sendall(data)


def _receive_exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data
