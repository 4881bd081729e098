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
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gatepost.actions import inbox, push, spaces
from gatepost.adapters.transports.postgres import PostgresTransport
from gatepost.adapters.transports.socket import SocketTransport
from gatepost.app import parse_sqlite_path
from gatepost.core.event import ItemState, Push
from gatepost.ports import Transport
from tests.gateways import PATIENCE, Served, Told, furnish, parse, served
from tests.servers import until

NIGHTLY: Final = bool(os.environ.get("GATEPOST_NIGHTLY"))
SPACE: Final = "/api/spaces/q4-report"

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


@pytest.fixture
def gate(url: str) -> Iterator[Served]:
    with served(url) as server:
        furnish(server.gateway.store)
        yield server


class Wire:
    """A connection to a gateway, byte by byte."""

    def __init__(self, server: Served, *, room: int | None = None) -> None:
        self.key = server.gateway.admin
        self._socket = socket.socket()
        if room is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self._socket.settimeout(PATIENCE)
        self._socket.connect(("127.0.0.1", server.port))
        self._read = b""

    def ask(self, line: str, *headers: str, body: bytes = b"") -> None:
        head = [f"{line} HTTP/1.1", "Host: gateway", f"x-secret-key: {self.key}", *headers, "", ""]
        self.send("\r\n".join(head).encode() + body)

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def until(self, mark: bytes) -> bytes:
        """What comes up to a mark, which is taken too."""
        while mark not in self._read:
            more = self._socket.recv(65_536)
            if not more:
                raise EOFError(self._read[-200:])
            self._read += more
        found, _, self._read = self._read.partition(mark)
        return found

    def status(self) -> int:
        """The status of an answer whose head is still to come."""
        return int(self.until(b"\r\n\r\n").split()[1])

    def chunks(self) -> Iterator[Told]:
        """The frames of a stream, each of which is a chunk."""
        while size := int(self.until(b"\r\n"), 16):
            while len(self._read) < size + 2:
                self._read += self._socket.recv(65_536)
            frame, self._read = self._read[:size].decode(), self._read[size + 2 :]
            yield parse(frame.removesuffix("\n\n"))

    def cut(self) -> None:
        """Hang up at once: what is under way is lost."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self) -> None:
        self._socket.close()


def connections(server: Served) -> int:
    assert server.uvicorn is not None
    return len(server.uvicorn.server_state.connections)


async def test_a_slow_reader_is_let_go_and_nobody_waits_for_it(gate: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.runtime.live.BACKLOG", 20)
    count, text = 80, "x" * 100_000
    wire = Wire(gate, room=4_096)
    wire.ask(f"GET {SPACE}/stream")
    assert wire.status() == 200
    frames = wire.chunks()
    assert next(frames).event == "connected"
    async with gate.client() as client:
        for number in range(count):  # all of them are answered while it reads nothing
            body = {"sender": "husam", "content": f"{number} {text}"}
            assert (await client.post(f"{SPACE}/messages", json=body)).status_code == 201
    told = list(frames)
    assert (told[-1].event, told[-1].data["reason"]) == ("ended", "too slow")
    seen = [one.data["seq"] for one in told[:-1]]
    assert 0 < len(seen) < count
    assert told[-1].data["resumeFrom"] == str(seen[-1])
    wire.close()
    while seen[-1] < count:
        with closing(Wire(gate)) as again:
            again.ask(f"GET {SPACE}/stream", f"Last-Event-ID: {seen[-1]}")
            assert again.status() == 200
            for one in again.chunks():
                seen += [one.data["seq"]] if one.event == "space.message" else []
                if seen[-1] == count:
                    break
    assert seen == list(range(1, count + 1))


def test_a_reader_that_takes_nothing_at_all_is_left(gate: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gatepost.gateway.stream.STALLED", 0.3)
    hub = gate.gateway.office.hub
    with closing(Wire(gate, room=4_096)) as wire:
        wire.ask(f"GET {SPACE}/stream")
        assert wire.status() == 200
        until(lambda: hub.readers == 1, "the stream is read")
        for _ in range(40):
            gate.gateway.store.call(spaces.post, "q4-report", sender="husam", content="x" * 100_000)
        until(lambda: hub.readers == 0, "the reader is left")


def test_a_reader_that_hangs_up_is_noticed(gate: Served) -> None:
    hub = gate.gateway.office.hub
    for leave in (Wire.cut, Wire.close):
        wire = Wire(gate)
        wire.ask(f"GET {SPACE}/stream")
        assert wire.status() == 200
        until(lambda: hub.readers == 1, "the stream is read")
        leave(wire)
        until(lambda: hub.readers == 0, "nobody reads the stream")


def test_a_gateway_that_stops_lets_its_readers_go(url: str) -> None:
    with served(url) as server:
        furnish(server.gateway.store)
        wire = Wire(server)
        wire.ask(f"GET {SPACE}/stream")
        assert wire.status() == 200
        frames = wire.chunks()
        assert next(frames).event == "connected"
    with closing(wire):
        [ended] = frames
    assert ended.data == {"reason": "the gateway stops", "resumeFrom": "0"}


@contextmanager
def held(url: str) -> Iterator[None]:
    """Let nobody write to a SQLite file."""
    with closing(sqlite3.connect(parse_sqlite_path(url), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@pytest.fixture
def lite(tmp_path: Path) -> Iterator[tuple[str, Served]]:
    url = f"sqlite:///{tmp_path}/office.db"
    with served(url) as server:
        furnish(server.gateway.store)
        yield url, server


def states(server: Served) -> list[ItemState]:
    return [item.state for item in server.gateway.store.query(inbox.page, "analyst")]


def test_what_was_drained_for_one_who_hung_up_comes_again(lite: tuple[str, Served]) -> None:
    url, server = lite
    server.gateway.store.call(push.push_event, Push(to="analyst", source="test", content="hello"))
    for leave in (Wire.cut, Wire.close):
        with held(url):
            wire = Wire(server)
            wire.ask("POST /api/inbox/analyst/drain", "Content-Length: 0")
            until(lambda: connections(server) == 1, "the gateway has the request")
            leave(wire)
            until(lambda: connections(server) == 0, "the gateway has noticed")
        until(lambda: claims(url) == ["released"], "the claim is released")
        assert states(server) == [ItemState.PENDING]
        clear(url)
    with closing(Wire(server)) as wire:
        wire.ask("POST /api/inbox/analyst/drain", "Content-Length: 0", "Connection: close")
        assert wire.status() == 200
        assert b"hello" in wire.until(b'"text"')
    until(lambda: states(server) == [ItemState.DELIVERED], "the drain is acked")


def test_what_was_drained_and_only_half_read_comes_again(lite: tuple[str, Served]) -> None:
    """The answer is larger than all buffers; its reader takes the beginning and dies."""
    url, server = lite
    for number in range(60):
        server.gateway.store.call(
            push.push_event, Push(to="analyst", source="test", content=f"{number} " + "x" * 200_000)
        )
    body = json.dumps({"limit": 1000, "budget": 4_000_000}).encode()
    wire = Wire(server, room=4_096)
    wire.ask("POST /api/inbox/analyst/drain", f"Content-Length: {len(body)}", body=body)
    assert wire.status() == 200
    assert server.uvicorn is not None
    [connection] = server.uvicorn.server_state.connections
    assert isinstance(connection, HttpToolsProtocol)
    until(lambda: connection.flow.write_paused, "the gateway cannot send more")
    wire.cut()
    until(lambda: claims(url) == ["released"], "the claim is released")
    assert set(states(server)) == {ItemState.PENDING}


def claims(url: str) -> list[str | None]:
    with closing(sqlite3.connect(parse_sqlite_path(url))) as other:
        return [outcome for (outcome,) in other.execute("SELECT outcome FROM claims ORDER BY number")]


def clear(url: str) -> None:
    with closing(sqlite3.connect(parse_sqlite_path(url))) as other, other:
        other.execute("DELETE FROM claims")


async def test_what_is_neither_acked_nor_released_comes_again(gate: Served) -> None:
    gate.gateway.store.call(push.push_event, Push(to="analyst", source="test", content="hello"))
    async with gate.client() as client:
        claim = {"owner": "session-1", "hold": "300ms"}
        first = (await client.post("/api/inbox/analyst/claim", json=claim)).json()
        assert first["items"][0]["content"] == "hello"
        again: dict[str, Any] = {"items": []}
        async with asyncio.timeout(PATIENCE):
            while not again["items"]:
                again = (await client.post("/api/inbox/analyst/drain")).json()
        assert again["items"][0]["eventId"] == first["items"][0]["eventId"]
        held = first["claim"]
        late = {"claimId": held["claimId"], "owner": held["owner"], "fence": held["fence"]}
        assert (await client.post("/api/inbox/analyst/ack", json=late)).status_code == 409


def test_half_a_request_is_none(gate: Served) -> None:
    body = b'{"to": "analyst", "content": "half"}'
    for leave in (Wire.cut, Wire.close):
        wire = Wire(gate)
        wire.ask("POST /api/inbox", f"Content-Length: {len(body) + 10}", body=body)
        until(lambda: connections(gate) == 1, "the gateway has it")
        leave(wire)
        until(lambda: connections(gate) == 0, "the gateway has noticed")
    wire = Wire(gate)
    wire.ask("POST /api/inbox", "Transfer-Encoding: chunked", body=b"%x\r\n%b\r\n" % (len(body), body))
    until(lambda: connections(gate) == 1, "the gateway has it")
    wire.close()
    until(lambda: connections(gate) == 0, "the gateway has noticed")
    assert states(gate) == []


def test_a_body_that_is_too_large_is_refused_however_it_comes(gate: Served) -> None:
    with closing(Wire(gate)) as wire:
        wire.ask("POST /api/inbox", "Transfer-Encoding: chunked")
        part = b"%x\r\n%b\r\n" % (65_536, b" " * 65_536)
        for _ in range(65):
            wire.send(part)
        assert wire.status() == 413
        assert b"urn:gatepost:problem:too-large" in wire.until(b"}")
    with closing(Wire(gate)) as wire:
        wire.ask("POST /api/inbox", "Content-Length: 99999999")
        assert wire.status() == 413
    with closing(Wire(gate)) as wire:
        body = b'{"to": "analyst"}'
        wire.ask("POST /api/inbox", "Transfer-Encoding: chunked")
        for byte in body:
            wire.send(b"1\r\n%c\r\n" % byte)
        wire.send(b"0\r\n\r\n")
        assert wire.status() == 201


@pytest.mark.parametrize(
    "request_",
    [b"GARBAGE\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /health HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"],
)
def test_what_is_not_http_is_no_fault_of_ours(request_: bytes, gate: Served) -> None:
    with closing(Wire(gate)) as wire:
        wire.send(request_)
        assert wire.status() in (200, 400, 404, 431)
    with closing(Wire(gate)) as wire:
        wire.ask("GET /health")
        assert wire.status() == 200


async def test_fifty_who_post_at_once_are_numbered_without_a_gap(gate: Served) -> None:
    each = 8
    async with gate.client() as client:

        async def post(number: int) -> list[int]:
            answers = [
                await client.post(f"{SPACE}/messages", json={"sender": "husam", "content": f"{number}-{count}"})
                for count in range(each)
            ]
            return [answer.json()["seq"] for answer in answers]

        numbers = await asyncio.gather(*(post(number) for number in range(50)))
    assert all(mine == sorted(mine) for mine in numbers)
    assert sorted(one for mine in numbers for one in mine) == list(range(1, 50 * each + 1))
    items = gate.gateway.store.query(inbox.page, "analyst", limit=1_000)
    assert len(items) == 50 * each
    assert gate.gateway.store.query(inbox.page, "designer") == []


async def test_a_reader_that_comes_and_goes_between_two_gateways_over_sockets(url: str, tmp_path: Path) -> None:
    def transport() -> Transport:
        return PostgresTransport(url) if url.startswith("postgres") else SocketTransport(tmp_path / "rings")

    with served(url, transport=transport()) as one, served(url, transport=transport()) as two:
        furnish(one.gateway.store)
        chance, total = random.Random(3), 300 if NIGHTLY else 100
        seen: list[int] = []
        last = "0"

        async def write(server: Served) -> None:
            async with server.client() as client:
                for _ in range(total // 2):
                    answer = await client.post(f"{SPACE}/messages", json={"sender": "husam", "content": "x"})
                    assert answer.status_code == 201

        async def visit(server: Served, frames: int) -> None:
            nonlocal last
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            head = (f"GET {SPACE}/stream HTTP/1.1", "Host: gateway", f"x-secret-key: {server.gateway.admin}")
            writer.write("\r\n".join((*head, f"Last-Event-ID: {last}", "", "")).encode())
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            while frames and len(seen) < total:
                size = int(await reader.readuntil(b"\r\n"), 16)
                told = parse((await reader.readexactly(size + 2)).decode().removesuffix("\n\n\r\n"))
                last = told.id or last
                seen.extend([told.data["seq"]] if told.event == "space.message" else [])
                frames -= 1
            writer.close()
            await writer.wait_closed()

        async with asyncio.TaskGroup() as group:
            group.create_task(write(one))
            group.create_task(write(two))
            async with asyncio.timeout(4 * PATIENCE):
                while len(seen) < total:
                    await visit(chance.choice((one, two)), chance.randrange(1, 7))
        assert seen == list(range(1, total + 1))
