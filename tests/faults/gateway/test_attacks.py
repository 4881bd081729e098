"""
Callers without a credential that want to keep others out: heads without an end, half requests by the thousand, bodies
that nobody asked for. Each gets its status or is closed, and a caller with a key is served all the time.

Everything here goes over real sockets: the limits are in a subclass of uvicorn's protocol, and an upgrade that changes
what it relies on fails here.
"""

import json
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.policy import Policy
from gatepost.gateway.http_limits import ConnectionLimits
from tests.faults.gateway.guarded_gateway import GuardedGateway, create_crew_and_space, run_gateways
from tests.faults.gateway.raw_connections import LoopClock, RawConnection, connect, count_connections, push_content
from tests.support.gateways.local_gateways import GatewayThread, create_entities, serve_gateway
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT

HEAD_LIMIT: Final = 64 * 1024
MIB: Final = 1024 * 1024
#: seconds that a head or a window of a body may take, where a test moves the clock: longer than the test takes
TIME_LIMIT: Final = 36_000


@pytest.fixture
def connections() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/office.db"


@pytest.fixture
def server(url: str) -> Iterator[GatewayThread]:
    with serve_gateway(url) as gateway_thread:
        create_entities(gateway_thread.gateway.store)
        yield gateway_thread


@pytest.fixture
def timed_server(url: str) -> Iterator[GatewayThread]:
    """A gateway that waits long, by a clock that a test can move."""
    with serve_gateway(url, connections=ConnectionLimits(head_time=TIME_LIMIT, body_time=TIME_LIMIT)) as gateway_thread:
        create_entities(gateway_thread.gateway.store)
        yield gateway_thread


@pytest.fixture
def clock(timed_server: GatewayThread) -> LoopClock:
    return LoopClock(timed_server)


@pytest.mark.parametrize(
    ("part", "limit"),
    [(b"y" * 1_024, "65536 bytes"), (b"y: y\r\n" * 170, "256 headers"), (b"\r\n" * 512, "65536 bytes")],
    ids=["one header", "many headers", "empty lines"],
)
def test_a_head_without_an_end_gets_431(part: bytes, limit: str, server: GatewayThread, connections: ExitStack) -> None:
    connection = connect(connections, server)
    connection.send(b"" if part.startswith(b"\r") else b"GET /health HTTP/1.1\r\nx: x")
    for _ in range(128):
        connection.send(part)
    status, problem = connection.read_answer()
    assert (status, problem["type"]) == (431, "urn:gatepost:problem:head-too-large")
    assert problem["detail"] == f"the request head is over the limit of {limit}"
    assert connection.has_ended()
    assert push_content(connect(connections, server), server.gateway.admin_key) == 201


@pytest.mark.parametrize(("size", "status"), [(HEAD_LIMIT, 200), (HEAD_LIMIT + 1, 431)])
@pytest.mark.parametrize("before", [0, 1], ids=["first request", "second request"])
def test_a_head_may_have_64_kib(
    size: int, status: int, before: int, server: GatewayThread, connections: ExitStack
) -> None:
    start, end = b"GET /health HTTP/1.1\r\nhost: gateway\r\nx: ", b"\r\n\r\n"
    connection = connect(connections, server)
    for _ in range(before):
        assert connection.send_request("GET /health").read_status() == 200
    connection.send(start + b"x" * (size - len(start) - len(end)) + end)
    assert connection.read_status() == status


@pytest.mark.parametrize(("count", "status"), [(256, 200), (257, 431)])
def test_a_head_may_have_256_headers(count: int, status: int, server: GatewayThread, connections: ExitStack) -> None:
    connection = connect(connections, server).send(b"GET /health HTTP/1.1\r\n" + b"x: x\r\n" * count + b"\r\n")
    assert connection.read_status() == status


def test_what_is_not_http_gets_400(server: GatewayThread, connections: ExitStack) -> None:
    connection = connect(connections, server).send("GARBAGE\r\n\r\n")
    status, problem = connection.read_answer()
    assert (status, problem["detail"]) == (400, "this is not a request of HTTP/1.1")
    assert connection.has_ended()
    other_connection = connect(connections, server).send_request(
        "GET /health", "Connection: upgrade", "Upgrade: websocket"
    )
    assert other_connection.read_status() == 200


@pytest.mark.parametrize(
    ("begin", "part"),
    [(b"1;", b"x" * 1_024), (b"1\r\n{\r\n0\r\n", b"y: y\r\n" * 170)],
    ids=["chunk extension", "trailers"],
)
def test_a_body_that_only_pretends_to_go_on_is_refused(
    begin: bytes, part: bytes, server: GatewayThread, connections: ExitStack
) -> None:
    connection = connect(connections, server).send_request(
        "POST /api/inbox", "Transfer-Encoding: chunked", key=server.gateway.admin_key
    )
    connection.send(begin)
    for _ in range(512):
        connection.send(part)
    assert connection.read_status() == 431
    assert connection.has_ended()


def test_requests_that_pile_up_on_one_connection_close_it(server: GatewayThread, connections: ExitStack) -> None:
    patient_connection, greedy_connection = connect(connections, server), connect(connections, server)
    request = "GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n"
    patient_connection.send(request * 16)
    assert [patient_connection.read_status() for _ in range(16)] == [200] * 16
    greedy_connection.send_request("GET /api/spaces/q4-report/stream", key=server.gateway.admin_key)
    assert greedy_connection.read_status() == 200
    greedy_connection.send(request * 17)
    wait_until(lambda: count_connections(server) == 1, "the connection is closed")
    assert push_content(patient_connection, server.gateway.admin_key) == 201


def test_a_head_that_is_not_whole_in_time_gets_408(
    timed_server: GatewayThread, clock: LoopClock, connections: ExitStack
) -> None:
    silent_connection, half_connection, steady_connection = (connect(connections, timed_server) for _ in range(3))
    half_connection.send("GET /health HTTP/1.1\r\nhost:")
    steady_connection.send("GET /health HTTP/1.1\r\n")
    clock.advance(TIME_LIMIT - 100)
    last_connection = connect(connections, timed_server)
    steady_connection.send("x: x\r\n")  # which gains no time
    clock.advance(200)
    for connection in (silent_connection, half_connection, steady_connection):
        status, problem = connection.read_answer()
        assert (status, problem["type"]) == (408, "urn:gatepost:problem:request-timeout")
    assert last_connection.read_arrived() == b""
    clock.advance(TIME_LIMIT - 100)
    assert last_connection.read_status() == 408
    wait_until(lambda: count_connections(timed_server) == 0, "all are closed")


def test_the_next_head_on_a_connection_has_its_time_too(
    timed_server: GatewayThread, clock: LoopClock, connections: ExitStack
) -> None:
    connection = connect(connections, timed_server).send_request("GET /health")
    assert connection.read_status() == 200
    connection.send("GET /health HTTP/1.1\r\n")
    clock.advance(TIME_LIMIT - 100)
    assert connection.read_arrived() == b""
    clock.advance(200)
    assert connection.read_status() == 408
    assert connection.has_ended()


@pytest.mark.parametrize("length", ["Content-Length: 100000", "Transfer-Encoding: chunked"])
def test_a_body_that_hardly_comes_gets_408(
    length: str, timed_server: GatewayThread, clock: LoopClock, connections: ExitStack
) -> None:
    connection = connect(connections, timed_server).send_request(
        "POST /api/inbox", length, key=timed_server.gateway.admin_key
    )
    connection.send("5\r\n{    \r\n" if "chunked" in length else "{    ")
    clock.advance(TIME_LIMIT + 100)
    status, problem = connection.read_answer()
    assert (status, problem["type"]) == (408, "urn:gatepost:problem:request-timeout")
    assert problem["detail"] == f"less than 4096 bytes of the request body arrived within {TIME_LIMIT} s"
    assert connection.has_ended()


def test_what_is_being_answered_has_no_deadline(
    timed_server: GatewayThread, clock: LoopClock, connections: ExitStack
) -> None:
    """A stream goes on while others that came later are refused, also one that has begun to ask for more."""
    streams = [
        connect(connections, timed_server).send_request(
            "GET /api/spaces/q4-report/stream", key=timed_server.gateway.admin_key
        )
        for _ in range(2)
    ]
    assert [stream.read_status() for stream in streams] == [200, 200]
    streams[1].send("GET /health HTTP/1.1\r\n")
    for _ in range(2):
        silent_connection = connect(connections, timed_server)
        clock.advance(TIME_LIMIT + 100)
        assert silent_connection.read_status() == 408
    body = json.dumps({"sender": "husam", "content": "still there?"})
    poster_connection = connect(connections, timed_server)
    poster_connection.send(
        f"POST /api/spaces/q4-report/messages HTTP/1.1\r\nhost: gateway\r\n"
        f"x-secret-key: {timed_server.gateway.admin_key}\r\n"
        f"content-length: {len(body)}\r\n\r\n{body}"
    )
    assert poster_connection.read_status() == 201
    for stream in streams:
        stream.read_until(b"still there?")


def test_when_full_the_oldest_without_a_head_is_closed(url: str, connections: ExitStack) -> None:
    with serve_gateway(url, connections=ConnectionLimits(connections=10)) as server:
        create_entities(server.gateway.store)
        key = server.gateway.admin_key
        stream = connect(connections, server).send_request("GET /api/spaces/q4-report/stream", key=key)
        assert stream.read_status() == 200
        kept_connection = connect(connections, server)
        assert push_content(kept_connection, key) == 201
        half_connections: list[RawConnection] = []
        for _ in range(8):
            half_connections.append(connect(connections, server).send("GET /health HTTP/1.1\r\n"))
            wait_until(lambda: count_connections(server) == 2 + len(half_connections), "the gateway has it")
        for _ in range(3):
            assert push_content(connect(connections, server), key) == 201
        assert [half_connection.has_ended() for half_connection in half_connections[:3]] == [True] * 3
        assert [half_connection.read_arrived() for half_connection in half_connections[3:]] == [b""] * 5
        for half_connection in half_connections[3:]:
            half_connection.send("host: gateway\r\n\r\n")
        assert [half_connection.read_status() for half_connection in half_connections[3:]] == [200] * 5
        assert push_content(kept_connection, key) == 201
        body = json.dumps({"sender": "husam", "content": "still there?"})
        kept_connection.send_request(
            "POST /api/spaces/q4-report/messages", f"Content-Length: {len(body)}", key=key
        ).send(body)
        assert kept_connection.read_status() == 201
        stream.read_until(b"still there?")


def test_when_full_those_that_were_refused_make_room(
    url: str, connections: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost.gateway.http_exchange._DISCARD_TIME", 2 * LAST_RESORT)
    with serve_gateway(url, connections=ConnectionLimits(connections=5)) as server:
        create_entities(server.gateway.store)
        refused_connections = [
            connect(connections, server).send_request("POST /api/inbox", "Content-Length: 1000") for _ in range(5)
        ]
        assert [connection.read_status() for connection in refused_connections] == [401] * 5
        assert count_connections(server) == 5
        assert push_content(connect(connections, server), server.gateway.admin_key) == 201
        assert refused_connections[0].has_ended()
        assert [connection.read_arrived() for connection in refused_connections[2:]] == [b""] * 3


def test_half_requests_by_the_thousand_lock_nobody_out(tmp_path: Path, connections: ExitStack) -> None:
    """As many files as `ulimit -n 1024` allows, and more half requests than that."""
    url = f"sqlite:///{tmp_path}/office.db"
    create_crew_and_space(url)
    with run_gateways(gateway := GuardedGateway(tmp_path / "home", url, max_files=1024)):
        kept_connection = connect(connections, gateway)
        body = json.dumps({"to": "ana", "content": "hello"})

        def push_once(connection: RawConnection) -> int:
            return (
                connection.send_request("POST /api/inbox", f"Content-Length: {len(body)}", key=gateway.admin_key)
                .send(body)
                .read_status()
            )

        assert push_once(kept_connection) == 201
        for number in range(1_100):
            connect(connections, gateway).send("POST /api/inbox HTTP/1.1\r\nhost: gateway\r\n")
            if number % 100 == 0:
                assert push_once(kept_connection) == 201
                assert push_once(connect(connections, gateway)) == 201
        assert push_once(connect(connections, gateway)) == 201
        assert gateway.stderr.count("all connections are in use") == 1
        assert "limit=824" in gateway.stderr
        gateway.send_signal(signal.SIGTERM)
        assert gateway.wait_for_exit() == 0


def test_a_stop_does_not_wait_for_half_requests(tmp_path: Path, connections: ExitStack) -> None:
    url = f"sqlite:///{tmp_path}/office.db"
    create_crew_and_space(url)
    with run_gateways(gateway := GuardedGateway(tmp_path / "home", url)):
        half_connections = [connect(connections, gateway) for _ in range(4)]
        half_connections[0].send_request(
            "POST /api/inbox", "Content-Length: 1000", "Expect: 100-continue", key=gateway.admin_key
        )
        assert half_connections[0].read_status() == 100
        half_connections[1].send_request("GET /health")
        assert half_connections[1].read_status() == 200
        half_connections[2].send("GET /health HTTP/1.1\r\n")
        half_connections[0].send("{")
        gateway.send_signal(signal.SIGTERM)
        assert [half_connection.has_ended() for half_connection in half_connections] == [True] * 4
        assert gateway.wait_for_exit() == 0
        assert "timeout graceful shutdown exceeded" not in gateway.stderr


LENGTHS: Final = (f"Content-Length: {32 * MIB}", "Transfer-Encoding: chunked")
#: headers of callers without a credential
STRANGERS: Final = ((), ("x-secret-key: wrong",), ("x-public-key: pk", "Authorization: Bearer x"))


def send_huge_body(server: GatewayThread, length: str, headers: tuple[str, ...]) -> tuple[int, bool]:
    """Return the status of the answer, and whether the gateway closed the connection after it."""
    with ExitStack() as stack:
        connection = connect(stack, server).send_request("POST /api/inbox/batch", length, *headers)
        for _ in range(32):
            connection.send(b"100000\r\n" + b" " * MIB + b"\r\n" if "chunked" in length else b" " * MIB)
        return connection.read_status(), connection.has_ended()


def test_nothing_is_read_of_a_body_without_a_credential(server: GatewayThread, connections: ExitStack) -> None:
    for length, headers in product(LENGTHS, STRANGERS):
        for path, status in (("/api/inbox", 401), ("/api/inbox/batch", 401), ("/api/spaces", 401), ("/nowhere", 404)):
            connection = connect(connections, server)
            connection.send_request(f"POST {path}", length, "Expect: 100-continue", *headers)
            assert connection.read_status() == status, (path, length, headers)  # and not 100: the body was never sent
            connection.close()
    # At the same time: each of them is listened to for a second before it is closed.
    with ThreadPoolExecutor(len(LENGTHS) * len(STRANGERS)) as threads:
        outcomes = {
            (length, headers): threads.submit(send_huge_body, server, length, headers)
            for length, headers in product(LENGTHS, STRANGERS)
        }
    assert {case: outcome.result() for case, outcome in outcomes.items()} == dict.fromkeys(outcomes, (401, True))


def test_a_refusal_closes_the_connection(server: GatewayThread, connections: ExitStack) -> None:
    for method in ("GET", "POST"):
        connection = connect(connections, server).send_request(
            f"{method} /api/spaces", "Content-Length: 0", key="wrong"
        )
        assert connection.read_status() == 401
        assert connection.has_ended()


def test_a_body_that_is_too_large_by_its_own_words_is_not_read(server: GatewayThread, connections: ExitStack) -> None:
    connection = connect(connections, server)
    connection.send_request(
        "POST /api/inbox", f"Content-Length: {5 * MIB}", "Expect: 100-continue", key=server.gateway.admin_key
    )
    assert connection.read_status() == 413
    connection.close()


def test_a_body_that_comes_after_the_answer_is_discarded_up_to_a_limit(
    server: GatewayThread, connections: ExitStack
) -> None:
    small_connection, large_connection = (
        connect(connections, server).send_request("GET /health", f"Content-Length: {size}")
        for size in (HEAD_LIMIT, HEAD_LIMIT + 1)
    )
    for connection, size in ((small_connection, HEAD_LIMIT), (large_connection, HEAD_LIMIT + 1)):
        assert connection.read_status() == 200
        connection.send(b" " * size)
    assert small_connection.send_request("GET /health").read_status() == 200
    assert large_connection.has_ended()


SECRET: Final = "sixteen-chars-at-least"
SIGNATURE_HEADER: Final = f"x-hub-signature-256: sha256={'0' * 64}"


@pytest.fixture
def hooked_server(server: GatewayThread) -> GatewayThread:
    for scheme in (Scheme.GITHUB, Scheme.HEADER):
        server.gateway.store.run_sync(
            triggers.add, TriggerSpec(name=scheme.value, scheme=scheme, secret=SECRET, target="analyst")
        )
    return server


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/hooks/nowhere", (SIGNATURE_HEADER,), 404),
        ("/hooks/github/x", (SIGNATURE_HEADER,), 404),
        ("/hooks/github", (), 401),
        ("/hooks/github", ("x-hub-signature-256:",), 401),
        ("/hooks/github", (SIGNATURE_HEADER,), 100),
        ("/hooks/header", (), 401),
        ("/hooks/header", ("x-secret-key: wrong",), 401),
        ("/hooks/header", (f"x-secret-key: {SECRET}",), 100),
        ("/hooks/header", (f"x-secret-key: {SECRET}", "x-secret-key: wrong"), 401),
    ],
)
def test_a_webhook_is_read_only_for_a_trigger_and_with_its_proof(
    path: str, headers: tuple[str, ...], status: int, hooked_server: GatewayThread, connections: ExitStack
) -> None:
    connection = connect(connections, hooked_server).send_request(
        f"POST {path}", "Content-Length: 2", "Expect: 100-continue", *headers
    )
    assert connection.read_status() == status
    if status == 100:
        assert connection.send("{}").read_status() == (202 if "header" in path else 401)


@pytest.mark.parametrize(("size", "status"), [(MIB, 100), (MIB + 1, 413)])
def test_a_signed_webhook_may_have_1_mib(size: int, status: int, url: str, connections: ExitStack) -> None:
    with serve_gateway(url, policy=Policy(data=4 * MIB)) as server:
        create_entities(server.gateway.store)
        server.gateway.store.run_sync(
            triggers.add, TriggerSpec(name="github", scheme=Scheme.GITHUB, secret=SECRET, target="analyst")
        )
        connection = connect(connections, server)
        connection.send_request(
            "POST /hooks/github", f"Content-Length: {size}", "Expect: 100-continue", SIGNATURE_HEADER
        )
        assert connection.read_status() == status


def test_all_signed_webhooks_together_have_a_limit(
    hooked_server: GatewayThread, connections: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost.gateway.webhook_endpoints._MAX_ALL_UNVERIFIED", 10_000)

    def deliver() -> int:
        connection = connect(connections, hooked_server).send_request(
            "POST /hooks/github", "Content-Length: 5000", SIGNATURE_HEADER
        )
        return connection.send(b" " * 5_000).read_status()

    assert deliver() == 401
    half_connection = connect(connections, hooked_server).send_request(
        "POST /hooks/github", "Content-Length: 9000", "Expect: 100-continue", SIGNATURE_HEADER
    )
    assert half_connection.read_status() == 100  # it is being read before the next one comes
    half_connection.send(b" " * 8_000)
    assert deliver() == 503
    assert push_content(connect(connections, hooked_server), hooked_server.gateway.admin_key) == 201
    half_connection.close()
    wait_until(lambda: deliver() == 401, "it is let go")


def test_pipelined_requests_are_answered_as_far_as_they_are_accepted(
    server: GatewayThread, connections: ExitStack
) -> None:
    connection = connect(connections, server)
    connection.send("GET /health HTTP/1.1\r\nhost: gateway\r\n\r\n" * 40)
    accepted = 1 + ConnectionLimits().pipelined
    assert [connection.read_status() for _ in range(accepted)] == [200] * accepted
    assert connection.has_ended()
