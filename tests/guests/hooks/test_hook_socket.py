"""Hooks on the socket of a gateway, many at once, some that wait, some that go away, some that talk nonsense."""

import asyncio
import json
import os
import socket
import stat
import subprocess
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gatepost import app
from gatepost.core.ports import Store
from gatepost.core.signals import Signal
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gateway import hook_socket
from gatepost.gateway.hook_socket import HookSocket
from gatepost.guests.hooks.handler_chain import Handler, Wait
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState, Push
from gatepost.inbox.push import actions as push
from gatepost.settings import mask_passwords


@dataclass
class HookConnection:
    """A hook's end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, message: Any) -> None:
        self.writer.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        await self.writer.drain()

    async def read_answer(self) -> Any:
        """The answer, after whatever signs of life."""
        while (line := await self.reader.readline()) == b"\n":
            pass
        return json.loads(line)

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


@dataclass
class HookServer:
    home: Path
    store: Store
    path: str
    #: what was rung for
    signals: "asyncio.Queue[Signal]"
    url: str

    async def connect(self) -> HookConnection:
        return HookConnection(*await asyncio.open_unix_connection(self.path))

    async def start_hook(
        self, event: str, session: str = "s-1", *, agent: str = "ann", **environ: str
    ) -> HookConnection:
        """Begin a hook."""
        connection = await self.connect()
        payload = json.dumps({"session_id": session, "source": "startup"})
        env = {"GATEPOST_AGENT": agent, "GATEPOST_STORE": self.url, **environ}
        await connection.send(
            {"v": 1, "op": "hook", "argv": [event], "env": env, "cwd": str(self.home), "stdin": payload}
        )
        return connection

    async def run_hook(self, event: str, session: str = "s-1", **environ: str) -> dict[str, Any]:
        """A hook that prints what it is told."""
        connection = await self.start_hook(event, session, **environ)
        answer: dict[str, Any] = await connection.read_answer()
        if answer["claim"]:
            await connection.send({"printed": True})
            assert await connection.reader.read() == b"", "that is noted before the line ends"
        await connection.close()
        return answer

    def list_states(self) -> list[ItemState]:
        return [item.state for item in self.store.read_sync(inbox.list_page, "ann")]


@asynccontextmanager
async def open_hook_server(home: Path, *handlers: Handler, url: str | None = None) -> AsyncIterator[HookServer]:
    loop = asyncio.get_running_loop()
    open_sockets: list[HookSocket] = []
    received_signals: asyncio.Queue[Signal] = asyncio.Queue()

    def send_signals(signals: Sequence[Signal]) -> None:
        for signal in signals:
            loop.call_soon_threadsafe(open_sockets[0].on_signal, signal)
            loop.call_soon_threadsafe(received_signals.put_nowait, signal)

    url = url or f"sqlite:///{home}/gatepost.db"
    store = app.open_store(url, signal_sink=send_signals)
    open_sockets.append(HookSocket(home, store, mask_passwords(url), handlers))
    try:
        store.migrate()
        for name, kind in (("admin", EntityKind.HUMAN), ("husam", EntityKind.HUMAN), ("ann", EntityKind.AGENT)):
            store.run_sync(directory.register, EntitySpec(name=name, kind=kind))
        async with open_sockets[0].open() as path:
            assert path is not None
            yield HookServer(home, store, path, received_signals, url)
    finally:
        store.close()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[HookServer]:
    async with open_hook_server(tmp_path) as server:
        yield server


class WaitingHandler:
    """A handler that waits until it is told not to."""

    def __init__(self, count: int = 1) -> None:
        """`all_waiting` is set when as many chains wait."""
        self.all_waiting = asyncio.Event()
        self.is_done = False
        self._missing_sessions = {f"s-{number}" for number in range(count)}
        self._loop = asyncio.get_running_loop()

    def __call__(self, ctx: HookContext, event: HookEvent, result: Verdict) -> Wait | Verdict:
        if self.is_done:
            return Verdict(block="enough")
        self._missing_sessions.discard(event.session)
        if not self._missing_sessions:
            self._loop.call_soon_threadsafe(self.all_waiting.set)
        return Wait(agent="ann", until=ctx.clock.now() + 10**12)

    @property
    def handler(self) -> Handler:
        return Handler(name="patient", priority=2, events=frozenset({"Stop"}), handle=self)


async def test_what_was_taken_is_held_when_it_is_printed_and_acked_when_it_is_answered(
    tmp_path: Path, url: str
) -> None:
    async with open_hook_server(tmp_path, url=url) as server:
        await _check_claim_and_delivery(server)


async def _check_claim_and_delivery(server: HookServer) -> None:
    server.store.run_sync(push.push_event, Push(to="ann", source="test", content="tea"))
    connection = await server.start_hook("SessionStart")
    answer = await connection.read_answer()
    assert "tea" in json.loads(answer["stdout"])["hookSpecificOutput"]["additionalContext"]
    assert answer["claim"]
    assert server.list_states() == [ItemState.CLAIMED]
    await connection.close()
    while (await server.signals.get()).cause != "release":
        pass
    assert server.list_states() == [ItemState.PENDING]
    assert "tea" in (await server.run_hook("SessionStart"))["stdout"]
    assert server.list_states() == [ItemState.CLAIMED]
    await server.run_hook("PreToolUse")
    assert server.list_states() == [ItemState.DELIVERED]
    assert await server.run_hook("SessionStart") == {"stdout": "", "stderr": "", "exit": 0, "claim": False}


@pytest.mark.parametrize("last", [b'{"printed": false}', b"nonsense", b"[]", b"\xff"])
async def test_another_last_word_is_none(server: HookServer, last: bytes) -> None:
    server.store.run_sync(push.push_event, Push(to="ann", source="test", content="tea"))
    line = await server.start_hook("SessionStart")
    await line.read_answer()
    await line.send(last)
    assert await line.reader.read() == b""
    await line.close()
    assert server.list_states() == [ItemState.PENDING]


async def test_those_that_wait_keep_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times as many hooks wait as there are threads, others are answered, and a commit wakes them all."""
    monkeypatch.setattr(hook_socket, "_RECHECK_TIME", 3600.0)
    count = 3 * hook_socket._RUN_THREADS
    patient = WaitingHandler(count)
    async with open_hook_server(tmp_path, patient.handler) as server:
        lines = [await server.start_hook("Stop", f"s-{number}") for number in range(count)]
        await patient.all_waiting.wait()
        for event in ("PostToolUse", "UserPromptSubmit", "SessionEnd"):
            assert (await server.run_hook(event, "another"))["stdout"] == ""
        patient.is_done = True
        await asyncio.to_thread(server.store.run_sync, push.push_event, Push(to="ann", source="test", content="tea"))
        for line in lines:
            assert "enough" in (await line.read_answer())["stdout"]
            await line.close()


async def test_one_that_waits_looks_again_though_nothing_was_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook_socket, "_RECHECK_TIME", 0.001)
    patient = WaitingHandler()
    async with open_hook_server(tmp_path, patient.handler) as server:
        line = await server.start_hook("Stop", "s-0")
        await patient.all_waiting.wait()
        patient.is_done = True
        assert "enough" in (await line.read_answer())["stdout"]
        await line.close()


async def test_a_hundred_at_once(server: HookServer) -> None:
    for session in ("a", "b"):
        await server.run_hook("SessionStart", session)
    answers = await asyncio.gather(*(server.run_hook("PostToolUse", "ab"[number % 2]) for number in range(100)))
    assert {answer["stdout"] for answer in answers} == {""}
    assert {answer["stderr"] for answer in answers} == {""}


async def test_a_sign_of_life_comes_while_a_chain_is_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_socket, "_HEARTBEAT", 0.001)
    done = threading.Event()

    def handle(ctx: HookContext, event: HookEvent, result: Verdict) -> Verdict:
        done.wait()
        return Verdict(block="slow")

    async with open_hook_server(tmp_path, Handler(name="slow", priority=1, events=None, handle=handle)) as server:
        line = await server.start_hook("Stop")
        assert await line.reader.readline() == b"\n"
        done.set()
        assert "slow" in (await line.read_answer())["stdout"]
        await line.close()


async def test_a_hook_that_goes_away_is_let_be(tmp_path: Path) -> None:
    patient, released = WaitingHandler(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def release() -> None:
        loop.call_soon_threadsafe(released.set)

    def handle(ctx: HookContext, event: HookEvent, result: Verdict) -> Verdict:
        return Verdict(context="tea", unprinted=release)

    async with open_hook_server(
        tmp_path, Handler(name="takes", priority=1, events=None, handle=handle), patient.handler
    ) as server:
        line = await server.start_hook("Stop", "s-0")
        await patient.all_waiting.wait()
        await line.close()
        await released.wait()


async def test_a_hook_that_hung_up_before_its_turn_is_not_received(tmp_path: Path) -> None:
    """As after a halt of the whole gateway: its host has long gone on, so it must neither count nor change anything."""
    received: list[str] = []

    def handle(ctx: HookContext, event: HookEvent, result: Verdict) -> None:
        received.append(event.session)

    async with open_hook_server(tmp_path, Handler(name="notes", priority=1, events=None, handle=handle)) as server:
        message = {"v": 1, "op": "hook", "argv": ["Stop"], "cwd": str(tmp_path), "stdin": '{"session_id": "late"}'}
        with socket.socket(socket.AF_UNIX) as line:  # all of it before the gateway gets to run
            line.connect(server.path)
            line.sendall(json.dumps({**message, "env": {"GATEPOST_STORE": server.url}}).encode() + b"\n")
        await server.run_hook("Stop", "in-time")
    assert received == ["in-time"]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"nonsense", "Expecting value"),
        (b"[]", "not a hook of version 1"),
        (b'{"v": 2, "op": "hook"}', "not a hook of version 1"),
        (b'{"v": 1, "op": "dance"}', "not a hook of version 1"),
        (b'{"v": 1, "op": "hook"}', "an event and a host"),
        (b'{"v": 1, "op": "hook", "argv": ["Stop", "--host", "emacs"]}', "an event and a host"),
        (b'{"v": 1, "op": "hook", "argv": ["Stop"], "stdin": 7}', "'stdin' is not a string"),
        (b"[" * 100_000, "recursion"),
    ],
)
async def test_nonsense_is_refused_and_nobody_else_minds(server: HookServer, line: bytes, error: str) -> None:
    connection = await server.connect()
    await connection.send(line)
    assert error in (await connection.read_answer())["error"]
    await connection.close()
    assert (await server.run_hook("PostToolUse"))["exit"] == 0


async def test_a_line_without_an_end_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_socket, "_MAX_LINE_LENGTH", 1_000)
    async with open_hook_server(tmp_path) as server:
        connection = await server.connect()
        with pytest.raises(ConnectionError):
            await connection.send(b"x" * 10_000_000)
        connection.writer.transport.abort()
        assert (await server.run_hook("PostToolUse"))["exit"] == 0


async def test_a_hook_on_another_store_is_not_answered_here(server: HookServer) -> None:
    line = await server.start_hook("Stop", GATEPOST_STORE="sqlite:////elsewhere/gatepost.db")
    assert "this gateway is on the store" in (await line.read_answer())["error"]
    await line.close()


async def test_relative_paths_start_from_where_the_hook_is(server: HookServer) -> None:
    (server.home / "mine").mkdir()
    (server.home / "mine" / "s-1.jsonl").write_text('{"id": "1", "content": "tea"}\n')
    paths = {"GATEPOST_STORE": "sqlite:///gatepost.db", "GATEPOST_SPOOL__PATH": "mine/<session>.jsonl"}
    assert Path.cwd() != server.home
    assert "tea" in (await server.run_hook("SessionStart", **paths))["stdout"]


@pytest.mark.parametrize("is_daemon", [True, False])
async def test_a_name_from_a_background_service_is_warned_of(server: HookServer, is_daemon: bool) -> None:
    line = await server.connect()
    env = {"GATEPOST_AGENT": "ann", "GATEPOST_STORE": server.url}
    question = {"v": 1, "op": "hook", "argv": ["SessionStart"], "env": env, "cwd": str(server.home)}
    await line.send({**question, "stdin": '{"session_id": "s-1", "source": "startup"}', "daemon": is_daemon})
    assert ("background service" in (await line.read_answer())["stdout"]) is is_daemon
    await line.close()


async def test_what_is_set_wrong_is_said_and_lets_go(server: HookServer) -> None:
    (server.home / "gatepost.toml").write_text("[inbox]\nremember = 7\n")
    answer = await server.run_hook("Stop")
    assert answer["stdout"] == ""
    assert "inbox.remember" in answer["stderr"]


async def test_the_end_lets_those_go_that_wait(tmp_path: Path) -> None:
    patient = WaitingHandler()
    async with open_hook_server(tmp_path, patient.handler) as server:
        silent_connection = await server.connect()
        line = await server.start_hook("Stop", "s-0")
        await patient.all_waiting.wait()
    assert await line.read_answer() == {"error": "the gateway is stopping"}
    assert await silent_connection.reader.read() == b""
    for connection in (line, silent_connection):
        await connection.close()
    assert not (tmp_path / hook_socket.NAME).exists()


class TestSocket:
    def test_it_is_for_this_user_alone(self, tmp_path: Path) -> None:
        with hook_socket.listen_locally(tmp_path) as listener:
            assert listener is not None
            assert listener.path == str(tmp_path / "gateway.sock")
            assert stat.S_IMODE(Path(listener.path).stat().st_mode) == 0o600
        assert list(tmp_path.iterdir()) == []

    def test_what_a_killed_gateway_left_is_replaced(self, tmp_path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as stale_socket:
            stale_socket.bind(str(tmp_path / "gateway.sock"))
        with hook_socket.listen_locally(tmp_path) as listener:
            assert listener is not None
            assert listener.path == str(tmp_path / "gateway.sock")

    def test_beside_another_gateway_it_has_another_name(self, tmp_path: Path) -> None:
        with hook_socket.listen_locally(tmp_path) as first, hook_socket.listen_locally(tmp_path) as second:
            assert first is not None
            assert second is not None
            assert first.path != second.path
        assert list(tmp_path.iterdir()) == []

    def test_what_killed_gateways_left_beside_it_is_cleared_away(self, tmp_path: Path) -> None:
        with subprocess.Popen(["true"]) as dead_process:
            pass
        [stale_path, live_path, unknown_path] = (
            tmp_path / f"{name}.gateway.sock" for name in (dead_process.pid, os.getppid(), "old")
        )
        for path in (stale_path, live_path, unknown_path):
            with socket.socket(socket.AF_UNIX) as closed:
                closed.bind(str(path))
        (tmp_path / f"{dead_process.pid}0000000000.gateway.sock").touch()
        with hook_socket.listen_locally(tmp_path) as listener:
            assert listener is not None
            assert not stale_path.exists()
            assert (live_path.exists(), unknown_path.exists(), len(list(tmp_path.iterdir()))) == (True, True, 4)

    def test_one_that_listens_stays_whoever_it_is(self, tmp_path: Path) -> None:
        with subprocess.Popen(["true"]) as dead_process:
            pass
        path = tmp_path / f"{dead_process.pid}.gateway.sock"  # as that of one in another container
        with socket.socket(socket.AF_UNIX) as other_socket:
            other_socket.bind(str(path))
            other_socket.listen()
            with hook_socket.listen_locally(tmp_path):
                assert path.exists()

    def test_a_long_path_is_done_without(self, tmp_path: Path) -> None:
        home = tmp_path / ("x" * 120)
        home.mkdir()
        with hook_socket.listen_locally(home) as listener:
            assert listener is not None
            folder = Path(listener.path).parent
            assert folder != home
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not folder.exists()

    def test_without_one_the_gateway_goes_on(self, tmp_path: Path) -> None:
        with hook_socket.listen_locally(tmp_path / "nowhere") as listener:
            assert listener is None
