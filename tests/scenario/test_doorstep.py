"""The doorstep: hooks on a local socket, many at once, some that wait, some that go away, some that talk nonsense."""

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
from gatepost.actions import directory, inbox, push
from gatepost.actions.directory import EntitySpec
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Push
from gatepost.core.signals import Signal
from gatepost.gateway import doorstep as doorsteps
from gatepost.gateway import local
from gatepost.gateway.doorstep import Doorstep
from gatepost.hooks.chain import Handler, Wait
from gatepost.hooks.context import HookContext
from gatepost.hooks.events import HookEvent, Verdict
from gatepost.ports import Store
from gatepost.settings import masked


@dataclass
class Line:
    """A hook's end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, what: Any) -> None:
        self.writer.write((what if isinstance(what, bytes) else json.dumps(what).encode()) + b"\n")
        await self.writer.drain()

    async def heard(self) -> Any:
        """The answer, after whatever signs of life."""
        while (line := await self.reader.readline()) == b"\n":
            pass
        return json.loads(line)

    async def end(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


@dataclass
class Step:
    home: Path
    store: Store
    path: str
    #: what was rung for
    rings: "asyncio.Queue[Signal]"
    url: str

    async def line(self) -> Line:
        return Line(*await asyncio.open_unix_connection(self.path))

    async def call(self, event: str, session: str = "s-1", *, agent: str = "ann", **environ: str) -> Line:
        """Begin a hook."""
        line = await self.line()
        told = json.dumps({"session_id": session, "source": "startup"})
        env = {"GATEPOST_AGENT": agent, "GATEPOST_STORE": self.url, **environ}
        await line.send({"v": 1, "op": "hook", "argv": [event], "env": env, "cwd": str(self.home), "stdin": told})
        return line

    async def hook(self, event: str, session: str = "s-1", **environ: str) -> dict[str, Any]:
        """A hook that prints what it is told."""
        line = await self.call(event, session, **environ)
        said: dict[str, Any] = await line.heard()
        if said["claim"]:
            await line.send({"printed": True})
            assert await line.reader.read() == b"", "that is noted before the line ends"
        await line.end()
        return said

    def states(self) -> list[ItemState]:
        return [item.state for item in self.store.query(inbox.page, "ann")]


@asynccontextmanager
async def opened(home: Path, *handlers: Handler, url: str | None = None) -> AsyncIterator[Step]:
    loop = asyncio.get_running_loop()
    steps: list[Doorstep] = []
    heard: asyncio.Queue[Signal] = asyncio.Queue()

    def bell(rings: Sequence[Signal]) -> None:
        for ring in rings:
            loop.call_soon_threadsafe(steps[0].heard, ring)
            loop.call_soon_threadsafe(heard.put_nowait, ring)

    url = url or f"sqlite:///{home}/gatepost.db"
    store = app.open_store(url, signal_sink=bell)
    steps.append(Doorstep(home, store, masked(url), handlers))
    try:
        store.migrate()
        for name, kind in (("admin", EntityKind.HUMAN), ("husam", EntityKind.HUMAN), ("ann", EntityKind.AGENT)):
            store.call(directory.register, EntitySpec(name=name, kind=kind))
        async with steps[0].open() as path:
            assert path is not None
            yield Step(home, store, path, heard, url)
    finally:
        store.close()


@pytest.fixture
async def step(tmp_path: Path) -> AsyncIterator[Step]:
    async with opened(tmp_path) as step:
        yield step


class Patient:
    """A handler that waits until it is told not to."""

    def __init__(self, count: int = 1) -> None:
        """`all` is set when as many chains wait."""
        self.all = asyncio.Event()
        self.done = False
        self._left = {f"s-{number}" for number in range(count)}
        self._loop = asyncio.get_running_loop()

    def __call__(self, desk: HookContext, occasion: HookEvent, so_far: Verdict) -> Wait | Verdict:
        if self.done:
            return Verdict(block="enough")
        self._left.discard(occasion.session)
        if not self._left:
            self._loop.call_soon_threadsafe(self.all.set)
        return Wait(agent="ann", until=desk.clock.now() + 10**12)

    @property
    def handler(self) -> Handler:
        return Handler(name="patient", priority=2, events=frozenset({"Stop"}), handle=self)


async def test_what_was_taken_is_held_when_it_is_printed_and_acked_when_it_is_answered(
    tmp_path: Path, url: str
) -> None:
    async with opened(tmp_path, url=url) as step:
        await _taken(step)


async def _taken(step: Step) -> None:
    step.store.call(push.push_event, Push(to="ann", source="test", content="tea"))
    line = await step.call("SessionStart")
    said = await line.heard()
    assert "tea" in json.loads(said["stdout"])["hookSpecificOutput"]["additionalContext"]
    assert said["claim"]
    assert step.states() == [ItemState.CLAIMED]
    await line.end()
    while (await step.rings.get()).cause != "release":
        pass
    assert step.states() == [ItemState.PENDING]
    assert "tea" in (await step.hook("SessionStart"))["stdout"]
    assert step.states() == [ItemState.CLAIMED]
    await step.hook("PreToolUse")
    assert step.states() == [ItemState.DELIVERED]
    assert await step.hook("SessionStart") == {"stdout": "", "stderr": "", "exit": 0, "claim": False}


@pytest.mark.parametrize("last", [b'{"printed": false}', b"nonsense", b"[]", b"\xff"])
async def test_another_last_word_is_none(step: Step, last: bytes) -> None:
    step.store.call(push.push_event, Push(to="ann", source="test", content="tea"))
    line = await step.call("SessionStart")
    await line.heard()
    await line.send(last)
    assert await line.reader.read() == b""
    await line.end()
    assert step.states() == [ItemState.PENDING]


async def test_those_that_wait_keep_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three times as many hooks wait as there are threads, others are answered, and a commit wakes them all."""
    monkeypatch.setattr(doorsteps, "_GLANCE", 3600.0)
    count = 3 * doorsteps._RUNNING
    patient = Patient(count)
    async with opened(tmp_path, patient.handler) as step:
        lines = [await step.call("Stop", f"s-{number}") for number in range(count)]
        await patient.all.wait()
        for event in ("PostToolUse", "UserPromptSubmit", "SessionEnd"):
            assert (await step.hook(event, "another"))["stdout"] == ""
        patient.done = True
        await asyncio.to_thread(step.store.call, push.push_event, Push(to="ann", source="test", content="tea"))
        for line in lines:
            assert "enough" in (await line.heard())["stdout"]
            await line.end()


async def test_one_that_waits_looks_again_though_nothing_was_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doorsteps, "_GLANCE", 0.001)
    patient = Patient()
    async with opened(tmp_path, patient.handler) as step:
        line = await step.call("Stop", "s-0")
        await patient.all.wait()
        patient.done = True
        assert "enough" in (await line.heard())["stdout"]
        await line.end()


async def test_a_hundred_at_once(step: Step) -> None:
    for session in ("a", "b"):
        await step.hook("SessionStart", session)
    said = await asyncio.gather(*(step.hook("PostToolUse", "ab"[number % 2]) for number in range(100)))
    assert {each["stdout"] for each in said} == {""}
    assert {each["stderr"] for each in said} == {""}


async def test_a_sign_of_life_comes_while_a_chain_is_at_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorsteps, "_BEAT", 0.001)
    done = threading.Event()

    def handle(desk: HookContext, occasion: HookEvent, so_far: Verdict) -> Verdict:
        done.wait()
        return Verdict(block="slow")

    async with opened(tmp_path, Handler(name="slow", priority=1, events=None, handle=handle)) as step:
        line = await step.call("Stop")
        assert await line.reader.readline() == b"\n"
        done.set()
        assert "slow" in (await line.heard())["stdout"]
        await line.end()


async def test_a_hook_that_goes_away_is_let_be(tmp_path: Path) -> None:
    patient, given_back = Patient(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def give_back() -> None:
        loop.call_soon_threadsafe(given_back.set)

    def takes(desk: HookContext, occasion: HookEvent, so_far: Verdict) -> Verdict:
        return Verdict(context="tea", unprinted=give_back)

    async with opened(tmp_path, Handler(name="takes", priority=1, events=None, handle=takes), patient.handler) as step:
        line = await step.call("Stop", "s-0")
        await patient.all.wait()
        await line.end()
        await given_back.wait()


async def test_a_hook_that_hung_up_before_its_turn_is_not_received(tmp_path: Path) -> None:
    """As after a halt of the whole gateway: its host has long gone on, so it must neither count nor change anything."""
    received: list[str] = []

    def handle(desk: HookContext, occasion: HookEvent, so_far: Verdict) -> None:
        received.append(occasion.session)

    async with opened(tmp_path, Handler(name="notes", priority=1, events=None, handle=handle)) as step:
        told = {"v": 1, "op": "hook", "argv": ["Stop"], "cwd": str(tmp_path), "stdin": '{"session_id": "late"}'}
        with socket.socket(socket.AF_UNIX) as line:  # all of it before the gateway gets to run
            line.connect(step.path)
            line.sendall(json.dumps({**told, "env": {"GATEPOST_STORE": step.url}}).encode() + b"\n")
        await step.hook("Stop", "in-time")
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
async def test_nonsense_is_refused_and_nobody_else_minds(step: Step, line: bytes, error: str) -> None:
    other = await step.line()
    await other.send(line)
    assert error in (await other.heard())["error"]
    await other.end()
    assert (await step.hook("PostToolUse"))["exit"] == 0


async def test_a_line_without_an_end_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorsteps, "_LONGEST", 1_000)
    async with opened(tmp_path) as step:
        other = await step.line()
        with pytest.raises(ConnectionError):
            await other.send(b"x" * 10_000_000)
        other.writer.transport.abort()
        assert (await step.hook("PostToolUse"))["exit"] == 0


async def test_a_hook_on_another_store_is_not_answered_here(step: Step) -> None:
    line = await step.call("Stop", GATEPOST_STORE="sqlite:////elsewhere/gatepost.db")
    assert "this gateway is on the store" in (await line.heard())["error"]
    await line.end()


async def test_relative_paths_start_from_where_the_hook_is(step: Step) -> None:
    (step.home / "mine").mkdir()
    (step.home / "mine" / "s-1.jsonl").write_text('{"id": "1", "content": "tea"}\n')
    paths = {"GATEPOST_STORE": "sqlite:///gatepost.db", "GATEPOST_SPOOL__PATH": "mine/<session>.jsonl"}
    assert Path.cwd() != step.home
    assert "tea" in (await step.hook("SessionStart", **paths))["stdout"]


@pytest.mark.parametrize("of_daemon", [True, False])
async def test_a_name_from_a_background_service_is_warned_of(step: Step, of_daemon: bool) -> None:
    line = await step.line()
    env = {"GATEPOST_AGENT": "ann", "GATEPOST_STORE": step.url}
    question = {"v": 1, "op": "hook", "argv": ["SessionStart"], "env": env, "cwd": str(step.home)}
    await line.send({**question, "stdin": '{"session_id": "s-1", "source": "startup"}', "daemon": of_daemon})
    assert ("background service" in (await line.heard())["stdout"]) is of_daemon
    await line.end()


async def test_what_is_set_wrong_is_said_and_lets_go(step: Step) -> None:
    (step.home / "gatepost.toml").write_text("[inbox]\nremember = 7\n")
    said = await step.hook("Stop")
    assert said["stdout"] == ""
    assert "inbox.remember" in said["stderr"]


async def test_the_end_lets_those_go_that_wait(tmp_path: Path) -> None:
    patient = Patient()
    async with opened(tmp_path, patient.handler) as step:
        silent = await step.line()
        line = await step.call("Stop", "s-0")
        await patient.all.wait()
    assert await line.heard() == {"error": "the gateway is stopping"}
    assert await silent.reader.read() == b""
    for each in (line, silent):
        await each.end()
    assert not (tmp_path / local.NAME).exists()


class TestSocket:
    def test_it_is_for_this_user_alone(self, tmp_path: Path) -> None:
        with local.bound(tmp_path) as ears:
            assert ears is not None
            assert ears.path == str(tmp_path / "gateway.sock")
            assert stat.S_IMODE(Path(ears.path).stat().st_mode) == 0o600
        assert list(tmp_path.iterdir()) == []

    def test_what_a_killed_gateway_left_is_replaced(self, tmp_path: Path) -> None:
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(tmp_path / "gateway.sock"))
        with local.bound(tmp_path) as ears:
            assert ears is not None
            assert ears.path == str(tmp_path / "gateway.sock")

    def test_beside_another_gateway_it_has_another_name(self, tmp_path: Path) -> None:
        with local.bound(tmp_path) as first, local.bound(tmp_path) as second:
            assert first is not None
            assert second is not None
            assert first.path != second.path
        assert list(tmp_path.iterdir()) == []

    def test_what_killed_gateways_left_beside_it_is_cleared_away(self, tmp_path: Path) -> None:
        with subprocess.Popen(["true"]) as dead:
            pass
        [left, theirs, other] = (tmp_path / f"{name}.gateway.sock" for name in (dead.pid, os.getppid(), "old"))
        for path in (left, theirs, other):
            with socket.socket(socket.AF_UNIX) as closed:
                closed.bind(str(path))
        (tmp_path / f"{dead.pid}0000000000.gateway.sock").touch()
        with local.bound(tmp_path) as ears:
            assert ears is not None
            assert not left.exists()
            assert (theirs.exists(), other.exists(), len(list(tmp_path.iterdir()))) == (True, True, 4)

    def test_one_that_listens_stays_whoever_it_is(self, tmp_path: Path) -> None:
        with subprocess.Popen(["true"]) as dead:
            pass
        path = tmp_path / f"{dead.pid}.gateway.sock"  # as that of one in another container
        with socket.socket(socket.AF_UNIX) as theirs:
            theirs.bind(str(path))
            theirs.listen()
            with local.bound(tmp_path):
                assert path.exists()

    def test_a_long_path_is_done_without(self, tmp_path: Path) -> None:
        home = tmp_path / ("x" * 120)
        home.mkdir()
        with local.bound(home) as ears:
            assert ears is not None
            folder = Path(ears.path).parent
            assert folder != home
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert not folder.exists()

    def test_without_one_the_gateway_goes_on(self, tmp_path: Path) -> None:
        with local.bound(tmp_path / "nowhere") as ears:
            assert ears is None
