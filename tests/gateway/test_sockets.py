"""Over real sockets: slow readers, callers that hang up, bodies that come in pieces, and many at once."""

import asyncio
import json
import os
import random
import socket
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from gatepost.app import parse_sqlite_path
from gatepost.core.ports import Transport
from gatepost.gateway import http_limits, serve
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState, Push
from gatepost.inbox.push import actions as push
from gatepost.spaces import actions as spaces
from gatepost.transports.postgres_notify import PostgresTransport
from gatepost.transports.socket import SocketTransport
from tests.support.gateways.local_gateways import (
    WAIT_TIMEOUT,
    GatewayThread,
    StreamFrame,
    create_entities,
    parse_frame,
    serve_gateway,
)
from tests.support.servers.private_servers import wait_until

NIGHTLY: Final = bool(os.environ.get("GATEPOST_NIGHTLY"))
SPACE_PATH: Final = "/api/spaces/q4-report"

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


@pytest.fixture
def server(url: str) -> Iterator[GatewayThread]:
    with serve_gateway(url) as server:
        create_entities(server.gateway.store)
        yield server


class RawConnection:
    """A connection to a gateway, byte by byte."""

    def __init__(self, server: GatewayThread, *, buffer_size: int | None = None) -> None:
        self.key = server.gateway.admin_key
        self._socket = socket.socket()
        if buffer_size is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_size)
        self._socket.settimeout(WAIT_TIMEOUT)
        self._socket.connect(("127.0.0.1", server.port))
        self._buffer = b""

    def send_request(self, request_line: str, *headers: str, body: bytes = b"") -> None:
        header_lines = [f"{request_line} HTTP/1.1", "Host: gateway", f"x-secret-key: {self.key}", *headers, "", ""]
        self.send("\r\n".join(header_lines).encode() + body)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read_until(self, mark: bytes) -> bytes:
        """What comes up to a mark, which is taken too."""
        while mark not in self._buffer:
            chunk = self._socket.recv(65_536)
            if not chunk:
                raise EOFError(self._buffer[-200:])
            self._buffer += chunk
        data, _, self._buffer = self._buffer.partition(mark)
        return data

    def read_status(self) -> int:
        """The status of an answer whose head is still to come."""
        return int(self.read_until(b"\r\n\r\n").split()[1])

    def read_frames(self) -> Iterator[StreamFrame]:
        """The frames of a stream, each of which is a chunk."""
        while size := int(self.read_until(b"\r\n"), 16):
            while len(self._buffer) < size + 2:
                self._buffer += self._socket.recv(65_536)
            frame, self._buffer = self._buffer[:size].decode(), self._buffer[size + 2 :]
            yield parse_frame(frame.removesuffix("\n\n"))

    def abort(self) -> None:
        """Hang up at once: what is under way is lost."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self) -> None:
        self._socket.close()


def count_connections(server: GatewayThread) -> int:
    assert server.uvicorn is not None
    return len(server.uvicorn.server_state.connections)


async def test_a_slow_reader_is_let_go_and_nobody_waits_for_it(
    server: GatewayThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatepost.gateway.streams.limits.BACKLOG", 20)
    count, text = 80, "x" * 100_000
    connection = RawConnection(server, buffer_size=4_096)
    connection.send_request(f"GET {SPACE_PATH}/stream")
    assert connection.read_status() == 200
    frames = connection.read_frames()
    assert next(frames).event == "connected"
    async with server.open_client() as client:
        for number in range(count):  # all of them are answered while it reads nothing
            body = {"sender": "husam", "content": f"{number} {text}"}
            assert (await client.post(f"{SPACE_PATH}/messages", json=body)).status_code == 201
    frames_read = list(frames)
    assert (frames_read[-1].event, frames_read[-1].data["reason"]) == ("ended", "too slow")
    seqs = [frame.data["seq"] for frame in frames_read[:-1]]
    assert 0 < len(seqs) < count
    assert frames_read[-1].data["resumeFrom"] == str(seqs[-1])
    connection.close()
    while seqs[-1] < count:
        with closing(RawConnection(server)) as second_connection:
            second_connection.send_request(f"GET {SPACE_PATH}/stream", f"Last-Event-ID: {seqs[-1]}")
            assert second_connection.read_status() == 200
            for frame in second_connection.read_frames():
                seqs += [frame.data["seq"]] if frame.event == "space.message" else []
                if seqs[-1] == count:
                    break
    assert seqs == list(range(1, count + 1))


@pytest.mark.parametrize("path", [f"{SPACE_PATH}/stream", "/api/stream?space=q4-report&inbox=analyst"])
def test_a_reader_that_pauses_gets_all_in_order(
    server: GatewayThread, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is written at once and what has waited come in one order, and nothing comes twice."""
    outcomes: list[bool] = []
    write_now = http_limits._write_now

    def record_outcome(cycle: RequestResponseCycle, chunk: bytes) -> bool:
        outcomes.append(write_now(cycle, chunk))
        return outcomes[-1]

    monkeypatch.setattr(http_limits, "_write_now", record_outcome)
    store, frame_ids, seqs = server.gateway.store, list[str | None](), list[int]()
    with closing(RawConnection(server, buffer_size=4_096)) as connection:
        connection.send_request(f"GET {path}")
        assert connection.read_status() == 200
        frames = connection.read_frames()
        assert next(frames).event == "connected"
        for burst in (1, 1, 12, 1, 9, 1, 1, 15):
            for number in range(burst):
                store.run_sync(spaces.post, "q4-report", sender="husam", content=f"{number} {'x' * 60_000}")
            for _ in range(burst if burst == 1 else burst - 3):
                frame = next(frame for frame in frames if frame.event == "space.message")
                frame_ids.append(frame.id)
                seqs.append(frame.data["seq"])
        while len(seqs) < 41:
            frame = next(frame for frame in frames if frame.event == "space.message")
            frame_ids.append(frame.id)
            seqs.append(frame.data["seq"])
    assert seqs == list(range(1, 42))
    assert len(set(frame_ids)) == 41
    assert set(outcomes) == {True, False}, "some were written at once, and some had to wait"
    with closing(RawConnection(server)) as second_connection:
        second_connection.send_request(f"GET {path}", f"Last-Event-ID: {frame_ids[20]}")
        assert second_connection.read_status() == 200
        messages = (frame for frame in second_connection.read_frames() if frame.event == "space.message")
        assert [next(messages).data["seq"] for _ in range(20)] == list(range(22, 42))


def test_a_reader_that_takes_nothing_at_all_is_left(server: GatewayThread, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.gateway.streams.limits.STALL_TIMEOUT", 0.3)
    streams = server.gateway.app_state.live_streams
    with closing(RawConnection(server, buffer_size=4_096)) as connection:
        connection.send_request(f"GET {SPACE_PATH}/stream")
        assert connection.read_status() == 200
        wait_until(lambda: streams.readers == 1, "the stream is read")
        for _ in range(40):
            server.gateway.store.run_sync(spaces.post, "q4-report", sender="husam", content="x" * 100_000)
        wait_until(lambda: streams.readers == 0, "the reader is left")


def test_a_reader_that_hangs_up_is_noticed(server: GatewayThread) -> None:
    streams = server.gateway.app_state.live_streams
    for disconnect in (RawConnection.abort, RawConnection.close):
        connection = RawConnection(server)
        connection.send_request(f"GET {SPACE_PATH}/stream")
        assert connection.read_status() == 200
        wait_until(lambda: streams.readers == 1, "the stream is read")
        disconnect(connection)
        wait_until(lambda: streams.readers == 0, "nobody reads the stream")


def test_a_gateway_that_stops_lets_its_readers_go(url: str) -> None:
    with serve_gateway(url) as server:
        create_entities(server.gateway.store)
        connection = RawConnection(server)
        connection.send_request(f"GET {SPACE_PATH}/stream")
        assert connection.read_status() == 200
        frames = connection.read_frames()
        assert next(frames).event == "connected"
    with closing(connection):
        [last_frame] = frames
    assert last_frame.data == {"reason": "the gateway stops", "resumeFrom": "0"}


@contextmanager
def hold_write_lock(url: str) -> Iterator[None]:
    """Let nobody write to a SQLite file."""
    with closing(sqlite3.connect(parse_sqlite_path(url), isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")


@pytest.fixture
def sqlite_server(tmp_path: Path) -> Iterator[tuple[str, GatewayThread]]:
    url = f"sqlite:///{tmp_path}/office.db"
    with serve_gateway(url) as server:
        create_entities(server.gateway.store)
        yield url, server


def list_states(server: GatewayThread) -> list[ItemState]:
    return [item.state for item in server.gateway.store.read_sync(inbox.list_page, "analyst")]


def test_what_was_drained_for_one_who_hung_up_comes_again(sqlite_server: tuple[str, GatewayThread]) -> None:
    url, server = sqlite_server
    server.gateway.store.run_sync(push.push_event, Push(to="analyst", source="test", content="hello"))
    for disconnect in (RawConnection.abort, RawConnection.close):
        with hold_write_lock(url):
            connection = RawConnection(server)
            connection.send_request("POST /api/inbox/analyst/drain", "Content-Length: 0")
            wait_until(lambda: count_connections(server) == 1, "the gateway has the request")
            disconnect(connection)
            wait_until(lambda: count_connections(server) == 0, "the gateway has noticed")
        wait_until(lambda: list_claim_outcomes(url) == ["released"], "the claim is released")
        assert list_states(server) == [ItemState.PENDING]
        delete_claims(url)
    with closing(RawConnection(server)) as connection:
        connection.send_request("POST /api/inbox/analyst/drain", "Content-Length: 0", "Connection: close")
        assert connection.read_status() == 200
        assert b"hello" in connection.read_until(b'"text"')
    wait_until(lambda: list_states(server) == [ItemState.DELIVERED], "the drain is acked")


def test_what_was_drained_and_only_half_read_comes_again(sqlite_server: tuple[str, GatewayThread]) -> None:
    """The answer is larger than all buffers; its reader takes the beginning and dies."""
    url, server = sqlite_server
    for number in range(60):
        server.gateway.store.run_sync(
            push.push_event, Push(to="analyst", source="test", content=f"{number} " + "x" * 200_000)
        )
    body = json.dumps({"limit": 1000, "budget": 4_000_000}).encode()
    raw_connection = RawConnection(server, buffer_size=4_096)
    raw_connection.send_request("POST /api/inbox/analyst/drain", f"Content-Length: {len(body)}", body=body)
    assert raw_connection.read_status() == 200
    assert server.uvicorn is not None
    [connection] = server.uvicorn.server_state.connections
    assert isinstance(connection, HttpToolsProtocol)
    wait_until(lambda: connection.flow.write_paused, "the gateway cannot send more")
    raw_connection.abort()
    wait_until(lambda: list_claim_outcomes(url) == ["released"], "the claim is released")
    assert set(list_states(server)) == {ItemState.PENDING}


def list_claim_outcomes(url: str) -> list[str | None]:
    with closing(sqlite3.connect(parse_sqlite_path(url))) as connection:
        return [outcome for (outcome,) in connection.execute("SELECT outcome FROM claims ORDER BY number")]


def delete_claims(url: str) -> None:
    with closing(sqlite3.connect(parse_sqlite_path(url))) as connection, connection:
        connection.execute("DELETE FROM claims")


async def test_what_is_neither_acked_nor_released_comes_again(server: GatewayThread) -> None:
    server.gateway.store.run_sync(push.push_event, Push(to="analyst", source="test", content="hello"))
    async with server.open_client() as client:
        claim = {"owner": "session-1", "hold": "300ms"}
        first_drain = (await client.post("/api/inbox/analyst/claim", json=claim)).json()
        assert first_drain["items"][0]["content"] == "hello"
        second_drain: dict[str, Any] = {"items": []}
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not second_drain["items"]:
                second_drain = (await client.post("/api/inbox/analyst/drain")).json()
        assert second_drain["items"][0]["eventId"] == first_drain["items"][0]["eventId"]
        claim_document = first_drain["claim"]
        late_ack = {
            "claimId": claim_document["claimId"],
            "owner": claim_document["owner"],
            "fence": claim_document["fence"],
        }
        assert (await client.post("/api/inbox/analyst/ack", json=late_ack)).status_code == 409


def test_half_a_request_is_none(server: GatewayThread) -> None:
    body = b'{"to": "analyst", "content": "half"}'
    for disconnect in (RawConnection.abort, RawConnection.close):
        connection = RawConnection(server)
        connection.send_request("POST /api/inbox", f"Content-Length: {len(body) + 10}", body=body)
        wait_until(lambda: count_connections(server) == 1, "the gateway has it")
        disconnect(connection)
        wait_until(lambda: count_connections(server) == 0, "the gateway has noticed")
    connection = RawConnection(server)
    connection.send_request("POST /api/inbox", "Transfer-Encoding: chunked", body=b"%x\r\n%b\r\n" % (len(body), body))
    wait_until(lambda: count_connections(server) == 1, "the gateway has it")
    connection.close()
    wait_until(lambda: count_connections(server) == 0, "the gateway has noticed")
    assert list_states(server) == []


def test_a_body_that_is_too_large_is_refused_however_it_comes(server: GatewayThread) -> None:
    with closing(RawConnection(server)) as connection:
        connection.send_request("POST /api/inbox", "Transfer-Encoding: chunked")
        part = b"%x\r\n%b\r\n" % (65_536, b" " * 65_536)
        for _ in range(65):
            connection.send(part)
        assert connection.read_status() == 413
        assert b"urn:gatepost:problem:too-large" in connection.read_until(b"}")
    with closing(RawConnection(server)) as connection:
        connection.send_request("POST /api/inbox", "Content-Length: 99999999")
        assert connection.read_status() == 413
    with closing(RawConnection(server)) as connection:
        body = b'{"to": "analyst"}'
        connection.send_request("POST /api/inbox", "Transfer-Encoding: chunked")
        for byte in body:
            connection.send(b"1\r\n%c\r\n" % byte)
        connection.send(b"0\r\n\r\n")
        assert connection.read_status() == 201


@pytest.mark.parametrize(
    "request_",
    [b"GARBAGE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /health HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"],
)
def test_what_is_not_http_is_no_fault_of_ours(request_: bytes, server: GatewayThread) -> None:
    with closing(RawConnection(server)) as connection:
        connection.send(request_)
        assert connection.read_status() in (200, 400, 404, 431)
    with closing(RawConnection(server)) as connection:
        connection.send_request("GET /health")
        assert connection.read_status() == 200


async def test_fifty_who_post_at_once_are_numbered_without_a_gap(server: GatewayThread) -> None:
    posts_per_writer = 8
    async with server.open_client() as client:

        async def post(number: int) -> list[int]:
            answers = [
                await client.post(f"{SPACE_PATH}/messages", json={"sender": "husam", "content": f"{number}-{count}"})
                for count in range(posts_per_writer)
            ]
            return [answer.json()["seq"] for answer in answers]

        numbers = await asyncio.gather(*(post(number) for number in range(50)))
    assert all(writer_seqs == sorted(writer_seqs) for writer_seqs in numbers)
    assert sorted(seq for writer_seqs in numbers for seq in writer_seqs) == list(range(1, 50 * posts_per_writer + 1))
    items = server.gateway.store.read_sync(inbox.list_page, "analyst", limit=1_000)
    assert len(items) == 50 * posts_per_writer
    assert server.gateway.store.read_sync(inbox.list_page, "designer") == []


async def test_a_reader_that_comes_and_goes_between_two_gateways_over_sockets(url: str, tmp_path: Path) -> None:
    def transport() -> Transport:
        return PostgresTransport(url) if url.startswith("postgres") else SocketTransport(tmp_path / "signals")

    with (
        serve_gateway(url, transport=transport()) as first_server,
        serve_gateway(url, transport=transport()) as second_server,
    ):
        create_entities(first_server.gateway.store)
        rng, total = random.Random(3), 300 if NIGHTLY else 100
        seqs: list[int] = []
        last = "0"

        async def write(server: GatewayThread) -> None:
            async with server.open_client() as client:
                for _ in range(total // 2):
                    answer = await client.post(f"{SPACE_PATH}/messages", json={"sender": "husam", "content": "x"})
                    assert answer.status_code == 201

        async def read_frames(server: GatewayThread, limit: int) -> None:
            nonlocal last
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            head = (f"GET {SPACE_PATH}/stream HTTP/1.1", "Host: gateway", f"x-secret-key: {server.gateway.admin_key}")
            writer.write("\r\n".join((*head, f"Last-Event-ID: {last}", "", "")).encode())
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            while limit and len(seqs) < total:
                size = int(await reader.readuntil(b"\r\n"), 16)
                frame = parse_frame((await reader.readexactly(size + 2)).decode().removesuffix("\n\n\r\n"))
                last = frame.id or last
                seqs.extend([frame.data["seq"]] if frame.event == "space.message" else [])
                limit -= 1
            writer.close()
            await writer.wait_closed()

        async with asyncio.TaskGroup() as group:
            group.create_task(write(first_server))
            group.create_task(write(second_server))
            async with asyncio.timeout(WAIT_TIMEOUT):
                while len(seqs) < total:
                    await read_frames(rng.choice((first_server, second_server)), rng.randrange(1, 7))
        assert seqs == list(range(1, total + 1))


def test_answers_are_sent_at_once_on_every_event_loop() -> None:
    """asyncio asks for that only on the sockets that it opens itself: without it, each answer takes 40 ms."""
    with serve._open_listener("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
