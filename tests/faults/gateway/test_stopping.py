"""
A gateway that is told to stop, under load, finishes what it accepted: whatever it took is stored and answered, and
whatever it did not answer, it did not take, half a request among them. Watchers are told where to go on. It refuses to
start where it must not.
"""

import asyncio
import json
import signal
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from gatepost.app import open_store
from gatepost.inbox import account_actions
from gatepost.settings import gateway_files
from gatepost.settings.gateway_files import ADMIN_KEY
from tests.faults.crew_store import open_database
from tests.faults.gateway.callers import Caller, ConnectionLost, Watcher
from tests.faults.gateway.guarded_gateway import SPACE, GuardedGateway, create_crew_and_space, run_gateways
from tests.support.gateways.local_gateways import StreamFrame
from tests.support.waits import LAST_RESORT

CALLER_COUNT: Final = 24
STREAMS: Final = {"inbox": "/api/inbox/ana/stream", "combined": f"/api/stream?space={SPACE}&inbox=ana"}


class SlowCaller:
    """A caller that has sent half of a request when the gateway is told to stop."""

    def __init__(self, gateway: GuardedGateway, key: str) -> None:
        self._port = gateway.port
        self._key = key
        self._body = json.dumps({"serviceName": "slow", "payload": "x" * 10_000})

    async def send_head(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(
            f"POST /api/agents/ana/trigger HTTP/1.1\r\nhost: gateway\r\nx-secret-key: {self._key}\r\n"
            f"expect: 100-continue\r\ncontent-length: {len(self._body)}\r\n\r\n".encode()
        )
        assert (await self._reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")

    async def send_body(self) -> bytes:
        """Send the other half as well; return what comes back."""
        self._writer.write(self._body.encode())
        try:
            return await self._reader.read()
        except ConnectionResetError:
            return b""
        finally:
            self._writer.close()


class Crowd:
    """Callers that go on until they get no answer."""

    def __init__(self, gateway: GuardedGateway, key: str) -> None:
        self._gateway = gateway
        self._key = key
        self._numbers = count()
        self._warm_event = asyncio.Event()
        self.answered_ids: set[str] = set()
        self.unanswered_count = 0

    async def run_caller(self) -> None:
        async with Caller(self._gateway.port, self._key) as caller:
            for number in self._numbers:
                body = {"serviceName": "crowd", "payload": number}
                try:
                    status, answer = await caller.post("/api/agents/ana/trigger", body, key=str(number))
                except ConnectionLost:
                    self.unanswered_count += 1
                    return
                assert status == 202, answer
                self.answered_ids.add(answer["eventId"])
                if len(self.answered_ids) == 10 * CALLER_COUNT:
                    self._warm_event.set()

    async def wait_until_warm(self) -> None:
        async with asyncio.timeout(LAST_RESORT):
            await self._warm_event.wait()


async def watch_stream(gateway: GuardedGateway, path: str, connected_event: asyncio.Event) -> list[StreamFrame]:
    async with Watcher(gateway.port, gateway.admin_key, path) as watcher:
        frames = []
        async for frame in watcher.read():
            frames.append(frame)
            connected_event.set()
        return frames


async def test_stopping_under_load_finishes_what_was_accepted(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/office.db"
    key = create_crew_and_space(url)["ana"]
    with run_gateways(gateway := GuardedGateway(tmp_path / "home", url)):
        crowd, slow_caller = Crowd(gateway, key), SlowCaller(gateway, key)
        connected_events = {name: asyncio.Event() for name in STREAMS}
        async with asyncio.TaskGroup() as group:
            watch_tasks = {
                name: group.create_task(watch_stream(gateway, path, connected_events[name]))
                for name, path in STREAMS.items()
            }
            for connected_event in connected_events.values():
                await connected_event.wait()
            await slow_caller.send_head()
            for _ in range(CALLER_COUNT):
                group.create_task(crowd.run_caller())
            await crowd.wait_until_warm()
            gateway.send_signal(signal.SIGTERM)
            async with asyncio.timeout(LAST_RESORT):
                await asyncio.wait(watch_tasks.values())
            assert await slow_caller.send_body() == b""
        assert await asyncio.to_thread(gateway.wait_for_exit) == 0, gateway.stderr
        assert not (gateway.home / gateway_files.FILE_NAME).exists()
        assert crowd.unanswered_count == CALLER_COUNT
        assert read_stored_ids(url) == crowd.answered_ids

        await asyncio.to_thread(gateway.start)
        for name, frames in ((name, task.result()) for name, task in watch_tasks.items()):
            seen_ids = [frame.data["eventId"] for frame in frames if frame.event == "inbox.item"]
            assert frames[-1].event == "ended"
            assert frames[-1].data["reason"] == "the gateway stops"
            seen_ids += await read_remaining_ids(
                gateway, STREAMS[name], frames[-1].data["resumeFrom"], len(crowd.answered_ids) - len(seen_ids)
            )
            assert len(seen_ids) == len(set(seen_ids))
            assert set(seen_ids) == crowd.answered_ids
        gateway.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(gateway.wait_for_exit) == 0, gateway.stderr
        assert not (gateway.home / gateway_files.FILE_NAME).exists()


def read_stored_ids(url: str) -> set[str]:
    with closing(open_store(url)) as store:
        assert store.check() == []
        assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))
    with open_database(url) as query:
        return {event for [event] in query("SELECT id FROM events")}


async def read_remaining_ids(gateway: GuardedGateway, path: str, last_event_id: str, count: int) -> list[str]:
    """What a watcher gets who comes back after the stop."""
    seen_ids: list[str] = []
    async with Watcher(gateway.port, gateway.admin_key, path) as watcher, asyncio.timeout(LAST_RESORT):
        frames = watcher.read(last_event_id)
        while len(seen_ids) < count:
            frame = await anext(frames)
            if frame.event == "inbox.item":
                seen_ids.append(frame.data["eventId"])
    return seen_ids


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104 (it is refused)
def test_others_are_not_let_in_without_keys_for_them(host: str, tmp_path: Path) -> None:
    gateway = GuardedGateway(tmp_path / "home", f"sqlite:///{tmp_path}/office.db")
    gateway.launch("--host", host)
    assert gateway.wait_for_exit() == 1
    assert gateway.stderr.splitlines() == [
        f"error: listening on {host!r} lets others in, and no key was made for them",
        "hint: make one first with `gatepost key create`, or listen on 127.0.0.1",
    ]
    assert not (gateway.home / gateway_files.FILE_NAME).exists()
    assert (gateway.home / ADMIN_KEY).exists()


@pytest.mark.parametrize(
    ("host", "wrong"),
    [
        ("999.1.1.1", "'999.1.1.1' cannot be resolved to an address"),
        ("192.0.2.1", "'192.0.2.1' is not an address of this machine"),  # it is nobody's
        ("[::1]", "'[::1]' cannot be resolved to an address"),
    ],
)
def test_an_address_of_nobody_or_of_another(host: str, wrong: str, tmp_path: Path) -> None:
    gateway = GuardedGateway(tmp_path / "home", f"sqlite:///{tmp_path}/office.db")
    gateway.launch("--host", host)
    assert gateway.wait_for_exit() == 3
    assert gateway.stderr.splitlines() == [
        f"error: {wrong}",
        "hint: listen on 127.0.0.1, or on 0.0.0.0 for every address of this machine",
    ]
    assert not (tmp_path / "office.db").exists()


async def test_with_a_key_for_them_others_are_let_in(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/office.db"
    create_crew_and_space(url)
    gateway = GuardedGateway(tmp_path / "home", url)
    try:
        gateway.launch("--host", "0.0.0.0")  # noqa: S104 (that is what is asked for)
        gateway.wait_until_ready()
        async with Caller(gateway.port, "nobody's") as caller:
            assert (await caller.get("/health"))[0] == 200
            assert (await caller.get("/api/spaces"))[0] == 401
    finally:
        gateway.close()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/office.db"
    first_gateway, second_gateway = GuardedGateway(tmp_path / "first", url), GuardedGateway(tmp_path / "second", url)
    second_gateway.port = first_gateway.port
    with run_gateways(first_gateway):
        second_gateway.launch()
        assert second_gateway.wait_for_exit() == 3
        assert second_gateway.stderr.splitlines() == [
            f"error: cannot listen on 127.0.0.1:{first_gateway.port}: Address already in use",
            "hint: a gateway or another program is there; `--port 0` or GATEPOST_GATEWAY__PORT=0 chooses a free port",
        ]
        assert not (second_gateway.home / gateway_files.FILE_NAME).exists()
        assert gateway_files.read_gateway_file(first_gateway.home) is not None
