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

from gatepost.core.signals import Frame, Signal, Topic
from gatepost.core.transport_records import TransportStatus
from gatepost.testing.transports import WAIT_TIMEOUT, RecordingListener
from gatepost.transports.nats import NatsTransport
from gatepost.transports.postgres_notify import PostgresTransport
from gatepost.transports.reconnect import cancel_tasks
from gatepost.transports.redis import RedisTransport
from gatepost.transports.server_transport import MAX_MESSAGES, RemoteTransport
from tests.support.servers.brokers import Nats, Redis
from tests.support.servers.private_servers import Postgres

TRANSPORT_TYPES: Final[dict[str, Callable[..., RemoteTransport]]] = {
    "postgres": PostgresTransport,
    "redis": RedisTransport,
    "nats": NatsTransport,
}


SERVERS: Final = {"postgres": Postgres, "redis": Redis, "nats": Nats}

Server = Postgres | Redis | Nats


class StatusRecorder:
    """How a transport is; it can be waited for."""

    def __init__(self) -> None:
        self.statuses: list[TransportStatus] = []
        self._changed_event = asyncio.Event()

    def __call__(self, status: TransportStatus) -> None:
        self.statuses.append(status)
        self._changed_event.set()

    async def wait_until(self, *, degraded: bool) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not self.statuses or self.statuses[-1].is_degraded != degraded:
                self._changed_event.clear()
                await self._changed_event.wait()


class TransportSetup:
    """A server, and transports that lose patience quickly."""

    def __init__(self, server: Server, transport_type: Callable[..., RemoteTransport]) -> None:
        self.server = server
        self._transport_type = transport_type

    def make_transport(self, **options: Any) -> RemoteTransport:
        return self._transport_type(self.server.url, **{"heartbeat_interval": 0.1, "timeout": 1.0} | options)

    async def restart_server(self) -> None:
        await asyncio.to_thread(self.server.restart)


@pytest.fixture(scope="module")
def start_server() -> Iterator[Callable[[str], Server]]:
    """Servers that all tests here hurt, started when first asked for."""
    with ExitStack() as stack:
        yield cache(lambda kind: stack.enter_context(SERVERS[kind]()))


@pytest.fixture(params=TRANSPORT_TYPES)
def transport_setup(request: pytest.FixtureRequest, start_server: Callable[[str], Server]) -> Iterator[TransportSetup]:
    server = start_server(request.param)
    yield TransportSetup(server, TRANSPORT_TYPES[request.param])
    join_transport_threads()
    server.resume()
    if not server.is_running:
        server.restart()


def join_transport_threads() -> None:
    """Return when no thread of a transport is left."""
    for thread in threading.enumerate():
        if thread.name.startswith("gatepost-"):
            thread.join(WAIT_TIMEOUT)
            assert not thread.is_alive()


class SignalScenario:
    """One speaks without end, the other listens."""

    def __init__(self, transport_setup: TransportSetup) -> None:
        self.recorders = (StatusRecorder(), StatusRecorder())
        self.sender, self.listener = (transport_setup.make_transport(on_change=recorder) for recorder in self.recorders)
        self.recording_listener = RecordingListener()
        self.sent_count = 0

    @asynccontextmanager
    async def run(self) -> AsyncIterator["SignalScenario"]:
        async with (
            self.listener.listen(self.recording_listener),
            self.sender.listen(RecordingListener()),
            asyncio.TaskGroup() as group,
        ):
            send_task = group.create_task(self._send_forever())
            try:
                yield self
            finally:
                send_task.cancel()

    async def _send_forever(self) -> None:
        while True:
            self.sent_count += 1
            self.sender.send(
                [
                    Signal(Topic("inbox", str(self.sent_count)), "event"),
                    Frame(Topic("space", "q4"), "delta", self.sent_count),
                ]
            )
            await asyncio.sleep(0.002)  # the pace of the load: nothing is waited for

    async def wait_for_new_signals(self) -> None:
        """Return when something was heard that was not yet said, signals as well as frames."""
        old_count = self.sent_count
        await self.recording_listener.wait_until(
            lambda listener: any(int(signal[0]) > old_count for signal in listener.signals[-50:])
        )
        await self.recording_listener.wait_until(
            lambda listener: any(frame.data > old_count for frame in listener.frames[-50:])
        )

    async def wait_until_degraded(self, *, degraded: bool) -> None:
        for recorder in self.recorders:
            await recorder.wait_until(degraded=degraded)


async def test_a_server_that_is_killed_and_restarted_is_found_again(transport_setup: TransportSetup) -> None:
    async with SignalScenario(transport_setup).run() as scenario:
        for _ in range(2):
            await scenario.wait_for_new_signals()
            transport_setup.server.kill()
            await scenario.wait_until_degraded(degraded=True)
            assert all(transport.status.reason for transport in (scenario.sender, scenario.listener))
            await transport_setup.restart_server()
            await scenario.wait_until_degraded(degraded=False)
        await scenario.wait_for_new_signals()


async def test_a_server_that_stops_is_noticed_and_taken_back(transport_setup: TransportSetup) -> None:
    async with SignalScenario(transport_setup).run() as scenario:
        await scenario.wait_for_new_signals()
        transport_setup.server.pause()
        await scenario.wait_until_degraded(degraded=True)
        assert "does not answer" in str(scenario.recorders[0].statuses[0].reason)
        transport_setup.server.resume()
        await scenario.wait_until_degraded(degraded=False)
        await scenario.wait_for_new_signals()


async def test_who_begins_before_the_server_is_there_hears_it_later(transport_setup: TransportSetup) -> None:
    transport_setup.server.kill()
    async with SignalScenario(transport_setup).run() as scenario:
        assert scenario.sender.status.is_degraded
        assert scenario.listener.status.is_degraded
        await transport_setup.restart_server()
        await scenario.wait_until_degraded(degraded=False)
        await scenario.wait_for_new_signals()


async def test_sending_never_waits_and_what_is_too_much_is_counted(transport_setup: TransportSetup) -> None:
    recorder = StatusRecorder()
    sender = transport_setup.make_transport(on_change=recorder)
    async with sender.listen(RecordingListener()):
        transport_setup.server.pause()
        await recorder.wait_until(degraded=True)
        sender.send([Frame(Topic("space", "q4"), "delta", "too late")])
        assert sender.lost_count == 1
        for number in range(3):
            sender.send([Signal(Topic("inbox", f"{number}-{index}"), "event") for index in range(MAX_MESSAGES)])
        sender.send([Signal(Topic("inbox", "last"), "event")])
        assert sender.lost_count >= 1 + 2 * MAX_MESSAGES
        transport_setup.server.resume()
        await recorder.wait_until(degraded=False)
        async with transport_setup.make_transport().listen(listener := RecordingListener()):
            sender.send([Signal(Topic("inbox", "now"), "event")])
            await listener.wait_for("now")


async def test_leaving_does_not_wait_for_a_server_that_does_not_answer(transport_setup: TransportSetup) -> None:
    async with AsyncExitStack() as stack:
        scenario = await stack.enter_async_context(SignalScenario(transport_setup).run())
        await scenario.wait_for_new_signals()
        transport_setup.server.pause()
        async with asyncio.timeout(WAIT_TIMEOUT):
            await stack.aclose()  # while the server is stopped


def test_a_process_without_a_loop_does_not_wait_and_sends_what_waited_when_it_can(
    transport_setup: TransportSetup,
) -> None:
    sender = transport_setup.make_transport()
    transport_setup.server.kill()
    sender.send([Signal(Topic("inbox", "ann"), "event")])
    join_transport_threads()
    transport_setup.server.restart()

    async def listen_and_send() -> None:
        async with transport_setup.make_transport().listen(listener := RecordingListener()):
            await asyncio.to_thread(sender.send, [Signal(Topic("inbox", "bob"), "event")])
            await listener.wait_for("ann")
            await listener.wait_for("bob")

    asyncio.run(listen_and_send())


async def test_what_forgets_that_it_was_cancelled_is_cancelled_again() -> None:
    """As `wait_for` does, on which a driver stands, when what it waits for comes at that very moment."""
    forgotten_event = asyncio.Event()

    async def ignore_first_cancel() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            forgotten_event.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(ignore_first_cancel())
    await asyncio.sleep(0)
    async with asyncio.timeout(WAIT_TIMEOUT):
        await cancel_tasks(task, retry_delay=0.01)
    assert forgotten_event.is_set()
    assert task.cancelled()
