"""
Servers die, stop and come back while signals flow; listeners die; nobody of ours is restarted.

Every scene is played with each server. A server that is stopped keeps its connections open, so only the missing sign
of life tells.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from functools import cache
from typing import Any, Final

import pytest

from gatepost.adapters.transports.base import RemoteTransport
from gatepost.adapters.transports.nats import NatsTransport
from gatepost.adapters.transports.postgres import PostgresTransport
from gatepost.adapters.transports.reconnect import cancel_tasks
from gatepost.adapters.transports.redis import RedisTransport
from gatepost.adapters.transports.send_queue import MAX_MESSAGES
from gatepost.core.frame import Frame
from gatepost.core.signals import Signal
from gatepost.ports import TransportStatus
from gatepost.testing.transports import WAIT_TIMEOUT, RecordingListener
from tests.brokers import Nats, Redis
from tests.servers import Postgres

KINDS: Final[dict[str, Callable[..., RemoteTransport]]] = {
    "postgres": PostgresTransport,
    "redis": RedisTransport,
    "nats": NatsTransport,
}


SERVERS: Final = {"postgres": Postgres, "redis": Redis, "nats": Nats}

Server = Postgres | Redis | Nats


class Weather:
    """How a transport is; it can be waited for."""

    def __init__(self) -> None:
        self.conditions: list[TransportStatus] = []
        self._changed = asyncio.Event()

    def __call__(self, condition: TransportStatus) -> None:
        self.conditions.append(condition)
        self._changed.set()

    async def until(self, *, degraded: bool) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not self.conditions or self.conditions[-1].is_degraded != degraded:
                self._changed.clear()
                await self._changed.wait()


class Place:
    """A server, and transports that lose patience quickly."""

    def __init__(self, server: Server, kind: Callable[..., RemoteTransport]) -> None:
        self.server = server
        self._kind = kind

    def make(self, **options: Any) -> RemoteTransport:
        return self._kind(self.server.url, **{"heartbeat_interval": 0.1, "timeout": 1.0} | options)

    async def restart(self) -> None:
        await asyncio.to_thread(self.server.restart)


@pytest.fixture(scope="module")
def start() -> Iterator[Callable[[str], Server]]:
    """Servers that all tests here hurt, started when first asked for."""
    with ExitStack() as stack:
        yield cache(lambda kind: stack.enter_context(SERVERS[kind]()))


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, start: Callable[[str], Server]) -> Iterator[Place]:
    server = start(request.param)
    yield Place(server, KINDS[request.param])
    settle()
    server.cont()
    if not server.running:
        server.restart()


def settle() -> None:
    """Return when no thread of a transport is left."""
    for thread in threading.enumerate():
        if thread.name.startswith("gatepost-"):
            thread.join(WAIT_TIMEOUT)
            assert not thread.is_alive()


class Scene:
    """One speaks without end, the other listens."""

    def __init__(self, place: Place) -> None:
        self.weathers = (Weather(), Weather())
        self.speaker, self.listener = (place.make(on_change=weather) for weather in self.weathers)
        self.ears = RecordingListener()
        self.said = 0

    @asynccontextmanager
    async def playing(self) -> AsyncIterator["Scene"]:
        async with (
            self.listener.listen(self.ears),
            self.speaker.listen(RecordingListener()),
            asyncio.TaskGroup() as group,
        ):
            speaking = group.create_task(self._speak())
            try:
                yield self
            finally:
                speaking.cancel()

    async def _speak(self) -> None:
        while True:
            self.said += 1
            self.speaker.send([Signal(str(self.said), "event"), Frame("space:q4", "delta", self.said)])
            await asyncio.sleep(0.002)  # the pace of the load: nothing is waited for

    async def flows(self) -> None:
        """Return when something was heard that was not yet said, rings as well as frames."""
        old = self.said
        await self.ears.wait_until(lambda ears: any(int(ring[0]) > old for ring in ears.signals[-50:]))
        await self.ears.wait_until(lambda ears: any(frame.data > old for frame in ears.frames[-50:]))

    async def weather(self, *, degraded: bool) -> None:
        for weather in self.weathers:
            await weather.until(degraded=degraded)


async def test_a_server_that_is_killed_and_restarted_is_found_again(place: Place) -> None:
    async with Scene(place).playing() as scene:
        for _ in range(2):
            await scene.flows()
            place.server.kill()
            await scene.weather(degraded=True)
            assert all(one.status.reason for one in (scene.speaker, scene.listener))
            await place.restart()
            await scene.weather(degraded=False)
        await scene.flows()


async def test_a_server_that_stops_is_noticed_and_taken_back(place: Place) -> None:
    async with Scene(place).playing() as scene:
        await scene.flows()
        place.server.stop()
        await scene.weather(degraded=True)
        assert "does not answer" in str(scene.weathers[0].conditions[0].reason)
        place.server.cont()
        await scene.weather(degraded=False)
        await scene.flows()


async def test_who_begins_before_the_server_is_there_hears_it_later(place: Place) -> None:
    place.server.kill()
    async with Scene(place).playing() as scene:
        assert scene.speaker.status.is_degraded
        assert scene.listener.status.is_degraded
        await place.restart()
        await scene.weather(degraded=False)
        await scene.flows()


async def test_sending_never_waits_and_what_is_too_much_is_counted(place: Place) -> None:
    weather = Weather()
    speaker = place.make(on_change=weather)
    async with speaker.listen(RecordingListener()):
        place.server.stop()
        await weather.until(degraded=True)
        speaker.send([Frame("space:q4", "delta", "too late")])
        assert speaker.lost_count == 1
        for number in range(3):
            speaker.send([Signal(f"{number}-{each}", "event") for each in range(MAX_MESSAGES)])
        speaker.send([Signal("last", "event")])
        assert speaker.lost_count >= 1 + 2 * MAX_MESSAGES
        place.server.cont()
        await weather.until(degraded=False)
        async with place.make().listen(ears := RecordingListener()):
            speaker.send([Signal("now", "event")])
            await ears.wait_for("now")


async def test_leaving_a_server_that_does_not_answer_takes_a_moment(place: Place) -> None:
    async with AsyncExitStack() as stack:
        scene = await stack.enter_async_context(Scene(place).playing())
        await scene.flows()
        place.server.stop()
        async with asyncio.timeout(5):
            await stack.aclose()


def test_a_process_without_a_loop_does_not_wait_and_sends_what_waited_when_it_can(place: Place) -> None:
    speaker = place.make()
    place.server.kill()
    speaker.send([Signal("ann", "event")])
    settle()
    place.server.restart()

    async def scene() -> None:
        async with place.make().listen(ears := RecordingListener()):
            await asyncio.to_thread(speaker.send, [Signal("bob", "event")])
            await ears.wait_for("ann")
            await ears.wait_for("bob")

    asyncio.run(scene())


async def test_what_forgets_that_it_was_cancelled_is_cancelled_again() -> None:
    """As `wait_for` does, on which a driver stands, when what it waits for comes at that very moment."""
    forgotten = asyncio.Event()

    async def forgetful() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            forgotten.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(forgetful())
    await asyncio.sleep(0)
    async with asyncio.timeout(WAIT_TIMEOUT):
        await cancel_tasks(task, retry_delay=0.01)
    assert forgotten.is_set()
    assert task.cancelled()
