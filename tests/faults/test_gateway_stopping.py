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

from gatepost.actions import maintenance
from gatepost.app import open_store
from gatepost.runtime import gateway_file
from gatepost.runtime.admin_key import ADMIN_KEY
from tests.faults.callers import Caller, Lost, Watcher
from tests.faults.houses import PATIENCE, SPACE, House, furnish, housed
from tests.faults.office import witness
from tests.gateways import Told

CALLERS: Final = 24
STREAMS: Final = {"inbox": "/api/inbox/ana/stream", "combined": f"/api/stream?space={SPACE}&inbox=ana"}


class Slow:
    """A caller that has sent half of a request when the gateway is told to stop."""

    def __init__(self, house: House, key: str) -> None:
        self._port = house.port
        self._key = key
        self._body = json.dumps({"serviceName": "slow", "payload": "x" * 10_000})

    async def begin(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writer.write(
            f"POST /api/agents/ana/trigger HTTP/1.1\r\nhost: gateway\r\nx-secret-key: {self._key}\r\n"
            f"expect: 100-continue\r\ncontent-length: {len(self._body)}\r\n\r\n".encode()
        )
        assert (await self._reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")

    async def finish(self) -> bytes:
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

    def __init__(self, house: House, key: str) -> None:
        self._house = house
        self._key = key
        self._numbers = count()
        self._warm = asyncio.Event()
        self.answered: set[str] = set()
        self.unanswered = 0

    async def call(self) -> None:
        async with Caller(self._house.port, self._key) as caller:
            for number in self._numbers:
                body = {"serviceName": "crowd", "payload": number}
                try:
                    status, answer = await caller.post("/api/agents/ana/trigger", body, key=str(number))
                except Lost:
                    self.unanswered += 1
                    return
                assert status == 202, answer
                self.answered.add(answer["eventId"])
                if len(self.answered) == 10 * CALLERS:
                    self._warm.set()

    async def warm(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._warm.wait()


async def watched(house: House, path: str, connected: asyncio.Event) -> list[Told]:
    async with Watcher(house.port, house.key, path) as watcher:
        told = []
        async for one in watcher.read():
            told.append(one)
            connected.set()
        return told


async def test_stopping_under_load_finishes_what_was_accepted(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/office.db"
    key = furnish(url)["ana"]
    with housed(house := House(tmp_path / "home", url)):
        crowd, slow = Crowd(house, key), Slow(house, key)
        connected = {name: asyncio.Event() for name in STREAMS}
        async with asyncio.TaskGroup() as group:
            watching = {
                name: group.create_task(watched(house, path, connected[name])) for name, path in STREAMS.items()
            }
            for each in connected.values():
                await each.wait()
            await slow.begin()
            for _ in range(CALLERS):
                group.create_task(crowd.call())
            await crowd.warm()
            house.signal(signal.SIGTERM)
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait(watching.values())
            assert await slow.finish() == b""
        assert await asyncio.to_thread(house.ended) == 0, house.said
        assert not (house.home / gateway_file.FILE_NAME).exists()
        assert crowd.unanswered == CALLERS
        assert stored(url) == crowd.answered

        await asyncio.to_thread(house.start)
        for name, told in ((name, task.result()) for name, task in watching.items()):
            seen = [one.data["eventId"] for one in told if one.event == "inbox.item"]
            assert told[-1].event == "ended"
            assert told[-1].data["reason"] == "the gateway stops"
            seen += await rest(house, STREAMS[name], told[-1].data["resumeFrom"], len(crowd.answered) - len(seen))
            assert len(seen) == len(set(seen))
            assert set(seen) == crowd.answered
        house.signal(signal.SIGINT)
        assert await asyncio.to_thread(house.ended) == 0, house.said
        assert not (house.home / gateway_file.FILE_NAME).exists()


def stored(url: str) -> set[str]:
    with closing(open_store(url)) as store:
        assert store.check() == []
        assert all(account.is_balanced for account in store.query(maintenance.list_accounts))
    with witness(url) as ask:
        return {event for [event] in ask("SELECT id FROM events")}


async def rest(house: House, path: str, last: str, many: int) -> list[str]:
    """What a watcher gets who comes back after the stop."""
    seen: list[str] = []
    async with Watcher(house.port, house.key, path) as watcher, asyncio.timeout(PATIENCE):
        told = watcher.read(last)
        while len(seen) < many:
            one = await anext(told)
            if one.event == "inbox.item":
                seen.append(one.data["eventId"])
    return seen


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104 (it is refused)
def test_others_are_not_let_in_without_keys_for_them(host: str, tmp_path: Path) -> None:
    house = House(tmp_path / "home", f"sqlite:///{tmp_path}/office.db")
    house.begin("--host", host)
    assert house.ended() == 1
    assert house.said.splitlines() == [
        f"error: listening on {host!r} lets others in, and no key was made for them",
        "hint: make one first with `gatepost key create`, or listen on 127.0.0.1",
    ]
    assert not (house.home / gateway_file.FILE_NAME).exists()
    assert (house.home / ADMIN_KEY).exists()


@pytest.mark.parametrize(
    ("host", "wrong"),
    [
        ("999.1.1.1", "'999.1.1.1' cannot be resolved to an address"),
        ("192.0.2.1", "'192.0.2.1' is no address of this machine"),  # it is nobody's
        ("[::1]", "'[::1]' cannot be resolved to an address"),
    ],
)
def test_an_address_of_nobody_or_of_another(host: str, wrong: str, tmp_path: Path) -> None:
    house = House(tmp_path / "home", f"sqlite:///{tmp_path}/office.db")
    house.begin("--host", host)
    assert house.ended() == 3
    assert house.said.splitlines() == [
        f"error: {wrong}",
        "hint: listen on 127.0.0.1, or on 0.0.0.0 for every address of this machine",
    ]
    assert not (tmp_path / "office.db").exists()


async def test_with_a_key_for_them_others_are_let_in(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/office.db"
    furnish(url)
    house = House(tmp_path / "home", url)
    try:
        house.begin("--host", "0.0.0.0")  # noqa: S104 (that is what is asked for)
        house.ready()
        async with Caller(house.port, "nobody's") as caller:
            assert (await caller.get("/health"))[0] == 200
            assert (await caller.get("/api/spaces"))[0] == 401
    finally:
        house.close()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/office.db"
    first, second = House(tmp_path / "first", url), House(tmp_path / "second", url)
    second.port = first.port
    with housed(first):
        second.begin()
        assert second.ended() == 3
        assert second.said.splitlines() == [
            f"error: cannot listen on 127.0.0.1:{first.port}: Address already in use",
            "hint: another program may be there: use --port",
        ]
        assert not (second.home / gateway_file.FILE_NAME).exists()
        assert gateway_file.read_gateway_file(first.home) is not None
