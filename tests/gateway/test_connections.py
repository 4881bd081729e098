"""When a connection is refused, by a clock that the test moves. Over real sockets: `tests/faults`."""

import asyncio
import resource
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, cast

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from gatepost.gateway import http_limits as connections
from gatepost.gateway.http_limits import ConnectionLimits, ServerConnection, allow_connections, build_protocol

HEAD: Final = b"POST / HTTP/1.1\r\nhost: gateway\r\ncontent-length: 1000000\r\n%b\r\n"


class ManualLoop:
    """The running loop, with a time of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._now = 0.0
        self._timers: list[tuple[float, Callable[..., None], tuple[Any, ...]]] = []

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, call: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, call, *args)

    def call_at(self, when: float, call: Callable[..., None], *args: Any) -> asyncio.TimerHandle:
        self._timers.append((when, call, args))
        return asyncio.TimerHandle(when, call, args, self._loop)

    def advance(self, seconds: float) -> None:
        end = self._now + seconds
        while due := sorted((timer for timer in self._timers if timer[0] <= end), key=lambda timer: timer[0]):
            self._timers.remove(due[0])
            self._now, call, args = due[0]
            call(*args)
        self._now = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.output = b""
        self.is_closed = False
        #: how its reading was paused and resumed
        self.flow: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.output += data

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.flow.append("pause")

    def resume_reading(self) -> None:
        self.flow.append("resume")


class Application:
    """Reads requests when it is told to."""

    def __init__(self) -> None:
        self.may_read = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.may_read.wait()
        while (await receive()).get("more_body"):
            pass


class Kit:
    def __init__(self, **limits: Any) -> None:
        self.loop = ManualLoop()
        self.app = Application()
        self._config = uvicorn.Config(self.app, log_config=None, ws="none", lifespan="off")
        self._state = ServerState()
        self._protocol = build_protocol(ConnectionLimits(**limits))
        self.connections: list[tuple[ServerConnection, Transport]] = []

    def connect(self) -> tuple[ServerConnection, Transport]:
        connection = self._protocol(self._config, self._state, {}, cast(asyncio.AbstractEventLoop, self.loop))
        transport = Transport()
        connection.connection_made(transport)
        self.connections.append((connection, transport))
        return connection, transport

    async def let_app_read(self) -> None:
        """Let the application take what has come."""
        self.app.may_read.set()
        for _ in range(10):
            await asyncio.sleep(0)

    async def close_all(self) -> None:
        for connection, _ in self.connections:
            connection.connection_lost(None)
        await self.let_app_read()


@pytest.fixture
async def kit(request: pytest.FixtureRequest) -> AsyncIterator[Kit]:
    """With other limits, if the test has some as a parameter."""
    instance = Kit(**getattr(request, "param", {}))
    yield instance
    await instance.close_all()


async def test_a_head_has_ten_seconds_however_it_comes(kit: Kit) -> None:
    connection, transport = kit.connect()
    for byte in b"GET / HTT":
        kit.loop.advance(1)
        connection.data_received(bytes([byte]))
    assert not transport.is_closed
    kit.loop.advance(1)
    assert transport.output.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert transport.is_closed


async def test_a_body_may_take_as_long_as_it_likes_at_4_kib_in_10_s(kit: Kit) -> None:
    connection, transport = kit.connect()
    connection.data_received(HEAD % b"")
    await kit.let_app_read()
    for _ in range(100):
        kit.loop.advance(9)
        connection.data_received(b"x" * 4_096)
        await kit.let_app_read()
        kit.loop.advance(1)
        assert not transport.is_closed
    kit.loop.advance(5)
    connection.data_received(b"x" * 4_095)
    kit.loop.advance(5)
    assert transport.output.startswith(b"HTTP/1.1 408 ")
    assert transport.is_closed


async def test_time_in_which_we_do_not_read_does_not_count(kit: Kit) -> None:
    connection, transport = kit.connect()
    connection.data_received(HEAD % b"")
    connection.data_received(b"x" * 100_000)
    assert transport.flow == ["pause"]
    kit.loop.advance(99)
    await kit.let_app_read()
    assert transport.flow == ["pause", "resume"]
    kit.loop.advance(10)  # of this window, it was not read for a while
    assert not transport.is_closed
    kit.loop.advance(10)
    assert transport.is_closed


async def test_a_window_does_not_count_in_which_we_paused_for_a_while(kit: Kit) -> None:
    connection, transport = kit.connect()
    connection.data_received(HEAD % b"" + b"x" * 65_000)
    kit.loop.advance(10)
    connection.data_received(b"x" * 1_000)
    assert transport.flow == ["pause"]
    kit.loop.advance(5)
    await kit.let_app_read()
    assert transport.flow == ["pause", "resume"]
    kit.loop.advance(5)
    assert not transport.is_closed
    kit.loop.advance(10)
    assert transport.is_closed


async def test_a_caller_that_waits_for_100_continue_has_its_time_from_then_on(kit: Kit) -> None:
    connection, transport = kit.connect()
    connection.data_received(HEAD % b"expect: 100-continue\r\n")
    kit.loop.advance(99)
    assert transport.output == b""
    await kit.let_app_read()
    assert transport.output == b"HTTP/1.1 100 Continue\r\n\r\n"
    kit.loop.advance(10)
    assert not transport.is_closed
    kit.loop.advance(10)
    assert transport.output.partition(b"\r\n\r\n")[2].startswith(b"HTTP/1.1 408 ")


async def test_a_half_request_behind_another_waits_for_its_turn(kit: Kit) -> None:
    """The first is being answered for long; what is wrong with the second is not said in its answer."""
    connection, transport = kit.connect()
    connection.data_received(b"GET / HTTP/1.1\r\nhost: gateway\r\n\r\n" + HEAD % b"" + b"x")
    kit.loop.advance(1_000)
    assert (transport.output, transport.is_closed) == (b"", False)
    connection.data_received(b"GET")
    kit.loop.advance(1_000)
    assert (transport.output, transport.is_closed) == (b"", False)


async def test_a_connection_that_stops_is_closed_unless_its_request_is_whole(kit: Kit) -> None:
    connected = [kit.connect() for _ in range(5)]
    requests = (b"", b"GET / HTTP", HEAD % b"", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n" + HEAD % b"")
    for (connection, _), data in zip(connected, requests, strict=True):
        connection.data_received(data)
        connection.shutdown()
    assert [transport.is_closed for _, transport in connected] == [True, True, True, False, False]


@pytest.mark.parametrize("kit", [{"connections": 4}], indirect=True)
async def test_when_full_those_go_first_that_lose_least(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a head, then kept, then those that do not read their answer; else the one that has come."""
    reports: list[dict[str, Any]] = []
    monkeypatch.setattr(connections.log, "warning", lambda _, **values: reports.append(values), raising=False)
    busy, reusable, stalled, half = (kit.connect() for _ in range(4))
    for connection, _ in (busy, stalled):
        connection.data_received(b"GET / HTTP/1.1\r\n\r\n")
    stalled[0].pause_writing()
    reusable[0].data_received(b"GET / HTTP/1.1\r\n\r\n")
    reusable[0].cycle.response_complete = True
    reusable[0].on_response_complete()
    for victim in (half, reusable, stalled):
        before = [transport.is_closed for _, transport in kit.connections].count(True)
        newcomer = kit.connect()
        assert victim[1].is_closed
        assert [transport.is_closed for _, transport in kit.connections].count(True) == before + 1
        victim[0].connection_lost(None)
        newcomer[0].data_received(b"GET / HTTP/1.1\r\n\r\n")
    assert kit.connect()[1].is_closed
    assert not busy[1].is_closed
    assert [report["closed"] for report in reports] == [1]
    kit.loop.advance(60)
    kit.connections[-1][0].connection_lost(None)
    assert kit.connect()[1].is_closed
    assert [report["closed"] for report in reports] == [1, 4]


@pytest.mark.parametrize(
    ("soft", "hard", "setting", "new_limit", "expected"),
    [
        (1_024, 4_096, None, 4_096, 3_896),
        (1_024, 1_024, None, 1_024, 824),
        (1_024, resource.RLIM_INFINITY, None, 65_536, 65_336),
        (1_024, 1_000_000, 100_000, 100_200, 100_000),
        (1_024, 4_096, 100, 4_096, 100),
        (1_024, 4_096, 5_000, 4_096, 3_896),
        (100_000, 100_000, None, 100_000, 99_800),
        (128, 128, None, 128, 16),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, None, resource.RLIM_INFINITY, 65_336),
    ],
)
def test_the_file_limit_is_raised_and_says_how_many_connections_there_may_be(
    soft: int, hard: int, setting: int | None, new_limit: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit_pair: limits.append(limit_pair))
    assert allow_connections(setting) == expected
    assert limits[-1] == (new_limit, hard)


async def test_requests_beyond_the_pipeline_are_dropped_and_the_others_answered(kit: Kit) -> None:
    connection, transport = kit.connect()
    connection.data_received(b"GET / HTTP/1.1\r\nhost: gateway\r\n\r\n" * 40)
    assert not transport.is_closed
    assert len(connection.pipeline) == connection.pool.limits.pipelined
    connection.data_received(b"GET / HTTP/1.1\r\nhost: gateway\r\n\r\n")
    assert not transport.is_closed


async def test_the_spaces_around_the_value_of_a_header_are_no_part_of_it(kit: Kit) -> None:
    connection, _ = kit.connect()
    connection.data_received(b"GET / HTTP/1.1\r\nhost: \t gateway \t\r\nx-empty: \r\n\r\n")
    assert connection.cycle.scope["headers"] == [(b"host", b"gateway"), (b"x-empty", b"")]
