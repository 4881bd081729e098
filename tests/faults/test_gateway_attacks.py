"""
Callers without a credential that want to keep others out: heads without an end, half requests by the thousand, bodies
that nobody asked for. Each gets its status or is closed, and a caller with a key is served all the time.

Everything here goes over real sockets: the limits are in a subclass of uvicorn's protocol, and an upgrade that changes
what it relies on fails here.
"""

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any, Final, Self

import pytest

from gatepost.actions import triggers
from gatepost.actions.triggers import TriggerSpec
from gatepost.core.limits import Limits
from gatepost.core.webhook import Scheme
from gatepost.gateway.connections import ConnectionLimits
from tests.faults.houses import House, housed
from tests.faults.houses import furnish as furnish_house
from tests.gateways import PATIENCE, Served, furnish, served
from tests.servers import until

LIMIT: Final = 64 * 1024
MIB: Final = 1024 * 1024
#: seconds that a head or a window of a body may take, where a test waits until it is over
SHORT: Final = 0.2


class Wire:
    """A connection, byte by byte."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._read = b""

    def send(self, data: bytes | str) -> Self:
        """Send as much as the other end takes: it may have closed the connection."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._socket.sendall(data.encode() if isinstance(data, str) else data)
        return self

    def ask(self, line: str, *headers: str, key: str | None = None) -> Self:
        lines = [f"{line} HTTP/1.1", "Host: gateway", *headers, *([f"x-secret-key: {key}"] if key else [])]
        return self.send("\r\n".join((*lines, "", "")))

    def answer(self) -> tuple[int, Any]:
        """The status of the next answer, and its document."""
        head = self.until(b"\r\n\r\n").lower()
        size = int(head.partition(b"content-length: ")[2].split(b"\r\n")[0] or b"0")
        while len(self._read) < size:
            self._fill()
        body, self._read = self._read[:size], self._read[size:]
        return int(head.split()[1]), json.loads(body) if body else None

    def status(self) -> int:
        return self.answer()[0]

    def has_ended(self) -> bool:
        """Wait until the other end closes the connection; return whether it did so without another word."""
        try:
            return self._read + self._socket.recv(65_536) == b""
        except ConnectionResetError:
            return True

    def arrived(self) -> bytes:
        """What is here already."""
        self._socket.setblocking(False)
        try:
            return self._read + self._socket.recv(65_536)
        except BlockingIOError:
            return self._read
        finally:
            self._socket.settimeout(PATIENCE)

    def until(self, mark: bytes) -> bytes:
        """What comes up to a mark, which is taken too."""
        while mark not in self._read:
            self._fill()
        found, _, self._read = self._read.partition(mark)
        return found

    def _fill(self) -> None:
        more = self._socket.recv(65_536)
        if not more:
            raise EOFError(self._read[-200:])
        self._read += more

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def wires() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connect(wires: ExitStack, server: Served | House) -> Wire:
    return wires.enter_context(closing(Wire(server.port)))


def connection_count(server: Served) -> int:
    assert server.uvicorn is not None
    return len(server.uvicorn.server_state.connections)


def push(wire: Wire, key: str, content: str = "hello") -> int:
    body = json.dumps({"to": "analyst", "content": content})
    return wire.ask("POST /api/inbox", f"Content-Length: {len(body)}", key=key).send(body).status()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/office.db"


@pytest.fixture
def server(url: str) -> Iterator[Served]:
    with served(url) as made:
        furnish(made.gateway.store)
        yield made


@pytest.fixture
def hasty(url: str) -> Iterator[Served]:
    """A gateway that waits for a moment only."""
    with served(url, connections=ConnectionLimits(head_time=SHORT, body_time=SHORT)) as made:
        furnish(made.gateway.store)
        yield made


@pytest.mark.parametrize(
    ("part", "limit"),
    [(b"y" * 1_024, "65536 bytes"), (b"y: y\r\n" * 170, "256 headers"), (b"\r\n" * 512, "65536 bytes")],
    ids=["one header", "many headers", "empty lines"],
)
def test_a_head_without_an_end_gets_431(part: bytes, limit: str, server: Served, wires: ExitStack) -> None:
    wire = connect(wires, server)
    wire.send(b"" if part.startswith(b"\r") else b"GET /health HTTP/1.1\r\nx: x")
    for _ in range(128):
        wire.send(part)
    status, problem = wire.answer()
    assert (status, problem["type"]) == (431, "urn:gatepost:problem:head-too-large")
    assert problem["detail"] == f"the request head is over the limit of {limit}"
    assert wire.has_ended()
    assert push(connect(wires, server), server.gateway.admin) == 201


@pytest.mark.parametrize(("size", "status"), [(LIMIT, 200), (LIMIT + 1, 431)])
@pytest.mark.parametrize("before", [0, 1], ids=["first request", "second request"])
def test_a_head_may_have_64_kib(size: int, status: int, before: int, server: Served, wires: ExitStack) -> None:
    start, end = b"GET /health HTTP/1.1\r\nhost: gateway\r\nx: ", b"\r\n\r\n"
    wire = connect(wires, server)
    for _ in range(before):
        assert wire.ask("GET /health").status() == 200
    wire.send(start + b"x" * (size - len(start) - len(end)) + end)
    assert wire.status() == status


@pytest.mark.parametrize(("count", "status"), [(256, 200), (257, 431)])
def test_a_head_may_have_256_headers(count: int, status: int, server: Served, wires: ExitStack) -> None:
    wire = connect(wires, server).send(b"GET /health HTTP/1.1\r\n" + b"x: x\r\n" * count + b"\r\n")
    assert wire.status() == status


def test_what_is_not_http_gets_400(server: Served, wires: ExitStack) -> None:
    wire = connect(wires, server).send("GARBAGE\r\n\r\n")
    status, problem = wire.answer()
    assert (status, problem["detail"]) == (400, "this is not a request of HTTP/1.1")
    assert wire.has_ended()
    other = connect(wires, server).ask("GET /health", "Connection: upgrade", "Upgrade: websocket")
    assert other.status() == 200


@pytest.mark.parametrize(
    ("begin", "part"),
    [(b"1;", b"x" * 1_024), (b"1\r\n{\r\n0\r\n", b"y: y\r\n" * 170)],
    ids=["chunk extension", "trailers"],
)
def test_a_body_that_only_pretends_to_go_on_is_refused(
    begin: bytes, part: bytes, server: Served, wires: ExitStack
) -> None:
    wire = connect(wires, server).ask("POST /api/inbox", "Transfer-Encoding: chunked", key=server.gateway.admin)
    wire.send(begin)
    for _ in range(512):
        wire.send(part)
    assert wire.status() == 431
    assert wire.has_ended()


def test_requests_that_pile_up_on_one_connection_close_it(server: Served, wires: ExitStack) -> None:
    few, many = connect(wires, server), connect(wires, server)
    request = "GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n"
    few.send(request * 16)
    assert [few.status() for _ in range(16)] == [200] * 16
    many.ask("GET /api/spaces/q4-report/stream", key=server.gateway.admin)
    assert many.status() == 200
    many.send(request * 17)
    until(lambda: connection_count(server) == 1, "the connection is closed")
    assert push(few, server.gateway.admin) == 201


def test_a_head_that_is_not_whole_in_time_gets_408(hasty: Served, wires: ExitStack) -> None:
    silent, half, steady = (connect(wires, hasty) for _ in range(3))
    half.send("GET /health HTTP/1.1\r\nhost:")
    steady.send("GET /health HTTP/1.1\r\n")
    until(lambda: connection_count(hasty) == 3, "the gateway has them")
    last = connect(wires, hasty)
    steady.send("x: x\r\n")  # which gains no time: it is refused before the last one
    status, problem = last.answer()
    assert (status, problem["type"]) == (408, "urn:gatepost:problem:request-timeout")
    for wire in (silent, half, steady):
        assert wire.arrived().startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    until(lambda: connection_count(hasty) == 0, "all are closed")


def test_the_next_head_on_a_connection_has_its_time_too(hasty: Served, wires: ExitStack) -> None:
    wire = connect(wires, hasty).ask("GET /health")
    assert wire.status() == 200
    assert wire.send("GET /health HTTP/1.1\r\n").status() == 408
    assert wire.has_ended()


@pytest.mark.parametrize("length", ["Content-Length: 100000", "Transfer-Encoding: chunked"])
def test_a_body_that_hardly_comes_gets_408(length: str, hasty: Served, wires: ExitStack) -> None:
    wire = connect(wires, hasty).ask("POST /api/inbox", length, key=hasty.gateway.admin)
    wire.send("5\r\n{    \r\n" if "chunked" in length else "{    ")
    status, problem = wire.answer()
    assert (status, problem["type"]) == (408, "urn:gatepost:problem:request-timeout")
    assert problem["detail"] == "less than 4096 bytes of the request body arrived within 0.2 s"
    assert wire.has_ended()


def test_what_is_being_answered_has_no_deadline(hasty: Served, wires: ExitStack) -> None:
    """A stream goes on while others that came later are refused, also one that has begun to ask for more."""
    streams = [connect(wires, hasty).ask("GET /api/spaces/q4-report/stream", key=hasty.gateway.admin) for _ in range(2)]
    assert [stream.status() for stream in streams] == [200, 200]
    streams[1].send("GET /health HTTP/1.1\r\n")
    for _ in range(2):
        assert connect(wires, hasty).status() == 408
    body = json.dumps({"sender": "husam", "content": "still there?"})
    poster = connect(wires, hasty)
    poster.send(
        f"POST /api/spaces/q4-report/messages HTTP/1.1\r\nhost: gateway\r\nx-secret-key: {hasty.gateway.admin}\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}"
    )
    assert poster.status() == 201
    for stream in streams:
        stream.until(b"still there?")


def test_when_full_the_oldest_without_a_head_is_closed(url: str, wires: ExitStack) -> None:
    with served(url, connections=ConnectionLimits(connections=10)) as server:
        furnish(server.gateway.store)
        key = server.gateway.admin
        stream = connect(wires, server).ask("GET /api/spaces/q4-report/stream", key=key)
        assert stream.status() == 200
        kept = connect(wires, server)
        assert push(kept, key) == 201
        halves: list[Wire] = []
        for _ in range(8):
            halves.append(connect(wires, server).send("GET /health HTTP/1.1\r\n"))
            until(lambda: connection_count(server) == 2 + len(halves), "the gateway has it")
        for _ in range(3):
            assert push(connect(wires, server), key) == 201
        assert [half.has_ended() for half in halves[:3]] == [True] * 3
        assert [half.arrived() for half in halves[3:]] == [b""] * 5
        for half in halves[3:]:
            half.send("host: gateway\r\n\r\n")
        assert [half.status() for half in halves[3:]] == [200] * 5
        assert push(kept, key) == 201
        body = json.dumps({"sender": "husam", "content": "still there?"})
        kept.ask("POST /api/spaces/q4-report/messages", f"Content-Length: {len(body)}", key=key).send(body)
        assert kept.status() == 201
        stream.until(b"still there?")


def test_when_full_those_that_were_refused_make_room(
    url: str, wires: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost.gateway.middleware._DISCARD_TIME", 2 * PATIENCE)
    with served(url, connections=ConnectionLimits(connections=5)) as server:
        furnish(server.gateway.store)
        refused = [connect(wires, server).ask("POST /api/inbox", "Content-Length: 1000") for _ in range(5)]
        assert [wire.status() for wire in refused] == [401] * 5
        assert connection_count(server) == 5
        assert push(connect(wires, server), server.gateway.admin) == 201
        assert refused[0].has_ended()
        assert [wire.arrived() for wire in refused[2:]] == [b""] * 3


def test_half_requests_by_the_thousand_lock_nobody_out(tmp_path: Path, wires: ExitStack) -> None:
    """As many files as `ulimit -n 1024` allows, and more half requests than that."""
    url = f"sqlite:///{tmp_path}/office.db"
    furnish_house(url)
    with housed(house := House(tmp_path / "home", url, files=1024)):
        kept = connect(wires, house)
        body = json.dumps({"to": "ana", "content": "hello"})

        def ask(wire: Wire) -> int:
            return wire.ask("POST /api/inbox", f"Content-Length: {len(body)}", key=house.key).send(body).status()

        assert ask(kept) == 201
        for number in range(1_100):
            connect(wires, house).send("POST /api/inbox HTTP/1.1\r\nhost: gateway\r\n")
            if number % 100 == 0:
                assert ask(kept) == 201
                assert ask(connect(wires, house)) == 201
        assert ask(connect(wires, house)) == 201
        assert house.said.count("all connections are in use") == 1
        assert "limit=824" in house.said
        house.signal(signal.SIGTERM)
        assert house.ended() == 0


def test_a_stop_does_not_wait_for_half_requests(tmp_path: Path, wires: ExitStack) -> None:
    url = f"sqlite:///{tmp_path}/office.db"
    furnish_house(url)
    with housed(house := House(tmp_path / "home", url)):
        halves = [connect(wires, house) for _ in range(4)]
        halves[0].ask("POST /api/inbox", "Content-Length: 1000", "Expect: 100-continue", key=house.key)
        assert halves[0].status() == 100
        halves[1].ask("GET /health")
        assert halves[1].status() == 200
        halves[2].send("GET /health HTTP/1.1\r\n")
        halves[0].send("{")
        house.signal(signal.SIGTERM)
        assert [half.has_ended() for half in halves] == [True] * 4
        assert house.ended() == 0
        assert "timeout graceful shutdown exceeded" not in house.said


@pytest.mark.parametrize("length", [f"Content-Length: {32 * MIB}", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("headers", [(), ("x-secret-key: wrong",), ("x-public-key: pk", "Authorization: Bearer x")])
def test_nothing_is_read_of_a_body_without_a_credential(
    length: str, headers: tuple[str, ...], server: Served, wires: ExitStack
) -> None:
    for path in ("/api/inbox", "/api/inbox/batch", "/api/spaces", "/nowhere"):
        wire = connect(wires, server).ask(f"POST {path}", length, "Expect: 100-continue", *headers)
        assert wire.status() == 401  # and not 100: the body was never sent
        wire.close()
    huge = connect(wires, server).ask("POST /api/inbox/batch", length, *headers)
    for _ in range(32):
        huge.send(b"100000\r\n" + b" " * MIB + b"\r\n" if "chunked" in length else b" " * MIB)
    assert huge.status() == 401
    assert huge.has_ended()


def test_a_refusal_closes_the_connection(server: Served, wires: ExitStack) -> None:
    for method in ("GET", "POST"):
        wire = connect(wires, server).ask(f"{method} /api/spaces", "Content-Length: 0", key="wrong")
        assert wire.status() == 401
        assert wire.has_ended()


def test_a_body_that_is_too_large_by_its_own_words_is_not_read(server: Served, wires: ExitStack) -> None:
    wire = connect(wires, server)
    wire.ask("POST /api/inbox", f"Content-Length: {5 * MIB}", "Expect: 100-continue", key=server.gateway.admin)
    assert wire.status() == 413
    wire.close()


def test_a_body_that_comes_after_the_answer_is_discarded_up_to_a_limit(server: Served, wires: ExitStack) -> None:
    small, large = (connect(wires, server).ask("GET /health", f"Content-Length: {size}") for size in (LIMIT, LIMIT + 1))
    for wire, size in ((small, LIMIT), (large, LIMIT + 1)):
        assert wire.status() == 200
        wire.send(b" " * size)
    assert small.ask("GET /health").status() == 200
    assert large.has_ended()


SECRET: Final = "sixteen-chars-at-least"
SIGNED: Final = f"x-hub-signature-256: sha256={'0' * 64}"


@pytest.fixture
def hooked(server: Served) -> Served:
    for scheme in (Scheme.GITHUB, Scheme.HEADER):
        server.gateway.store.call(
            triggers.add, TriggerSpec(name=scheme.value, scheme=scheme, secret=SECRET, target="analyst")
        )
    return server


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/hooks/nowhere", (SIGNED,), 404),
        ("/hooks/github/x", (SIGNED,), 404),
        ("/hooks/github", (), 401),
        ("/hooks/github", ("x-hub-signature-256:",), 401),
        ("/hooks/github", (SIGNED,), 100),
        ("/hooks/header", (), 401),
        ("/hooks/header", ("x-secret-key: wrong",), 401),
        ("/hooks/header", (f"x-secret-key: {SECRET}",), 100),
    ],
)
def test_a_webhook_is_read_only_for_a_trigger_and_with_its_proof(
    path: str, headers: tuple[str, ...], status: int, hooked: Served, wires: ExitStack
) -> None:
    wire = connect(wires, hooked).ask(f"POST {path}", "Content-Length: 2", "Expect: 100-continue", *headers)
    assert wire.status() == status
    if status == 100:
        assert wire.send("{}").status() == (202 if "header" in path else 401)


@pytest.mark.parametrize(("size", "status"), [(MIB, 100), (MIB + 1, 413)])
def test_a_signed_webhook_may_have_1_mib(size: int, status: int, url: str, wires: ExitStack) -> None:
    with served(url, limits=Limits(data=4 * MIB)) as server:
        furnish(server.gateway.store)
        server.gateway.store.call(
            triggers.add, TriggerSpec(name="github", scheme=Scheme.GITHUB, secret=SECRET, target="analyst")
        )
        wire = connect(wires, server)
        wire.ask("POST /hooks/github", f"Content-Length: {size}", "Expect: 100-continue", SIGNED)
        assert wire.status() == status


def test_all_signed_webhooks_together_have_a_limit(
    hooked: Served, wires: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost.gateway.middleware._MAX_UNVERIFIED", 10_000)

    def deliver() -> int:
        wire = connect(wires, hooked).ask("POST /hooks/github", "Content-Length: 5000", SIGNED)
        return wire.send(b" " * 5_000).status()

    assert deliver() == 401
    half = connect(wires, hooked).ask("POST /hooks/github", "Content-Length: 9000", "Expect: 100-continue", SIGNED)
    assert half.status() == 100  # it is being read before the next one comes
    half.send(b" " * 8_000)
    assert deliver() == 503
    assert push(connect(wires, hooked), hooked.gateway.admin) == 201
    half.close()
    until(lambda: deliver() == 401, "it is let go")
