"""
What couriers are tested with: a store whose pushes go out by one of the roads that parcels take, and somebody who takes
them.
"""

import asyncio
import os
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Final, Self

import pytest

from gatepost.app import open_store, register_administrator
from gatepost.client import Client
from gatepost.core.ports import EventHandler, ResyncHandler, Store, Subscription, Transport
from gatepost.core.signals import Signal
from gatepost.core.transport_records import SubscribedEvent
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Unavailable
from gatepost.guests.courier_background import Courier, StoreSubscription
from gatepost.guests.courier_commands import GatewaySubscription
from gatepost.guests.hooks import drain
from gatepost.guests.session import Guest
from gatepost.guests.spool_files import FileSpool
from gatepost.guests.spool_line import SpoolLine
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event, Item, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.testing.transports import RecordingListener
from gatepost.transports.jetstream import JetStreamSubscription
from gatepost.transports.nats import NatsTransport
from gatepost.transports.redis import RedisSubscription, RedisTransport
from tests.support.gateways.gateway_process import GATEPOST_COMMAND
from tests.support.gateways.local_gateways import serve_gateway
from tests.support.processes.fork_server import ForkedProcess
from tests.support.waits import LAST_RESORT

#: seconds after which what was waited for is missing
WAIT_TIMEOUT: Final = LAST_RESORT
SOURCE_KINDS: Final = ("nats", "redis", "gateway", "store")


def get_server_url(kind: str, request: pytest.FixtureRequest) -> str:
    """The address of the server that a road goes over, if it does: one that tests share."""
    return request.getfixturevalue(kind).url if kind in ("nats", "redis") else ""


@dataclass(frozen=True, slots=True)
class CourierSetup:
    """A store with two agents, and the way from it to their couriers."""

    kind: str
    store: Store
    #: parcels for an agent, and options of their kind
    make_subscription: Callable[..., Subscription]
    ann: str
    bob: str

    def push(self, to: str, **fields: Any) -> str:
        """Push, and return the event's id."""
        return self.store.run_sync(push_actions.push_event, Push(**{"to": to, "source": "test"} | fields)).event

    def list_pending(self, name: str) -> list[Item]:
        return self.store.read_sync(inbox.peek, name, limit=1_000)


@asynccontextmanager
async def open_courier_setup(kind: str, server_url: str, folder: Path) -> AsyncIterator[CourierSetup]:
    """One of the roads. Names are new each time, since a server may be shared with other tests."""
    url = f"sqlite:///{folder}/road.db"
    suffix = uuid.uuid4().hex[:8]
    ann, bob = f"ann.{suffix}", f"bob-{suffix}"
    async with AsyncExitStack() as stack:
        match kind:
            case "nats":
                store = await _open_signalling_store(
                    stack, url, NatsTransport(server_url, heartbeat_interval=0.1, timeout=1.0)
                )
                setup = CourierSetup(
                    kind, store, lambda name, **options: JetStreamSubscription(server_url, name, **options), ann, bob
                )
            case "redis":
                store = await _open_signalling_store(
                    stack, url, RedisTransport(server_url, heartbeat_interval=0.1, timeout=1.0)
                )
                setup = CourierSetup(
                    kind, store, lambda name, **options: RedisSubscription(server_url, name, **options), ann, bob
                )
            case "gateway":
                gateway = stack.enter_context(serve_gateway(url))
                key = gateway.gateway.admin_key
                setup = CourierSetup(
                    kind,
                    gateway.gateway.store,
                    lambda name: GatewaySubscription(lambda: Client(gateway.base_url, key=key), name),
                    ann,
                    bob,
                )
            case _:
                store = open_store(url)
                stack.callback(store.close)
                prepare_store(store)
                setup = CourierSetup(
                    kind, store, lambda name: StoreSubscription(store, name, poll_interval=0.01), ann, bob
                )
        for name in (ann, bob):
            setup.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        yield setup


async def _open_signalling_store(stack: AsyncExitStack, url: str, transport: Transport) -> Store:
    """A store that signals by a transport, as a gateway's does."""

    def send_signals(signals: Sequence[Signal]) -> None:
        transport.send(signals)

    await stack.enter_async_context(transport.listen(RecordingListener()))
    store = open_store(url, signal_sink=send_signals)
    stack.callback(store.close)
    prepare_store(store)
    return store


def prepare_store(store: Store) -> None:
    store.migrate()
    register_administrator(store)


class SilentSubscription:
    """A road that nothing ever comes by."""

    name: ClassVar[str] = "nothing"

    async def follow(self, take: EventHandler, look: ResyncHandler) -> None:
        look()
        await asyncio.Event().wait()


class CountingSubscription:
    """A road that says when parcels can come by it and when they cannot, and how many have come."""

    def __init__(self, subscription: Subscription, on_change: Callable[[], None]) -> None:
        self.name = subscription.name
        self._subscription = subscription
        self._on_change = on_change
        self.ready_count = 0
        self.event_count = 0
        self.lost_count = 0

    async def follow(self, take: EventHandler, look: ResyncHandler) -> None:
        async def take_and_count(subscribed_event: SubscribedEvent) -> None:
            await take(subscribed_event)
            self.event_count += 1
            self._on_change()

        def look_and_count() -> None:
            self.ready_count += 1
            look()
            self._on_change()

        try:
            await self._subscription.follow(take_and_count, look_and_count)
        finally:
            self.lost_count += 1
            self._on_change()


class RecordingSubscriber:
    """Takes parcels, acks them unless told otherwise, and can be waited for."""

    def __init__(self, *, refusal_count: int = 0) -> None:
        self.subscribed_events: list[SubscribedEvent] = []
        self.look_count = 0
        self._refusal_count = refusal_count
        self._changed = asyncio.Event()

    @property
    def events(self) -> list[Event | None]:
        return [subscribed_event.event for subscribed_event in self.subscribed_events]

    @property
    def ids(self) -> list[str]:
        return [event.id for event in self.events if event is not None]

    async def take(self, subscribed_event: SubscribedEvent) -> None:
        self.subscribed_events.append(subscribed_event)
        await self.acknowledge(subscribed_event)
        self._changed.set()

    async def acknowledge(self, subscribed_event: SubscribedEvent) -> None:
        if len(self.subscribed_events) <= self._refusal_count:
            await subscribed_event.refuse(0.01)
        else:
            await subscribed_event.ack()

    def look(self) -> None:
        self.look_count += 1
        self._changed.set()

    async def wait_until(self, is_done: Callable[["RecordingSubscriber"], bool]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not is_done(self):
                self._changed.clear()
                await self._changed.wait()

    async def wait_for(self, *event_ids: str) -> None:
        """Return when all of these came."""
        await self.wait_until(lambda subscriber: set(subscriber.ids) >= set(event_ids))

    @asynccontextmanager
    async def follow(self, source: Subscription) -> AsyncIterator["RecordingSubscriber"]:
        """While entered, parcels are taken; entered when nothing more can be missed."""
        task = asyncio.create_task(source.follow(self.take, self.look))
        try:
            look_count = self.look_count
            await self.wait_until(lambda subscriber: subscriber.look_count > look_count or task.done())
            if task.done():
                await task
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])


class GuestSessions:
    """
    Where guests are: their spools, which can be made to fail, and what their hooks have noted. What is written to a
    spool, and what is shown by a drain, can be waited for.
    """

    def __init__(self, folder: Path, agent: str) -> None:
        self.spool = WatchableSpool(f"{folder}/<session>.jsonl")
        self.agent = agent
        self.guests = [Guest(session="s1", agent=agent)]
        #: how often somebody has looked who is there
        self.look_count = 0
        self.nudges: list[tuple[str, str, int]] = []
        self.shown_ids: list[str] = []

    def list_guests(self) -> list[Guest]:
        self.look_count += 1
        self.spool.notify()
        return self.guests

    async def wait_for_full_round(self) -> None:
        """Return when whoever looks again and again has done so once more, from beginning to end."""
        look_count = self.look_count
        await self.spool.wait_until(lambda: self.look_count > look_count + 5)

    async def nudge(self, guest: Guest, text: str) -> None:
        """Note whom, what was said, and how many lines there were to read."""
        self.nudges.append((guest.session, text, len(self.spool.peek(guest.session))))
        self.spool.notify()

    def note_activity(self, session: str, *, idle: bool) -> None:
        """What a hook does as the agent begins to work, or stops."""
        self.guests = [
            guest._replace(is_idle=idle, revision=guest.revision + 1) if guest.session == session else guest
            for guest in self.guests
        ]

    def drain(self, store: Store | None, session: str = "s1", *, reconcile: bool = False) -> list[str]:
        """Drain as a hook does; return what the agent is shown."""
        now = time.time_ns() // 1_000
        drained = drain.drain(
            store, self.spool, session=session, agent=self.agent, now=now, include_pending=reconcile, limit=1_000
        )
        drained.ack()
        self.shown_ids += (events := [event.id for event in drained.events])
        return events

    def list_line_ids(self, session: str = "s1") -> list[str]:
        """The ids in a session's spool, repeats included."""
        return [spool_line.id for spool_line in self.spool.peek(session)]


class WatchableSpool(FileSpool):
    """A spool that can be waited for, and told to fail."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.is_failing = False
        #: a session that alone fails
        self.failing_session: str | None = None
        self.failure_count = 0
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def append(self, session: str, lines: Sequence[SpoolLine]) -> None:
        try:
            if self.is_failing or session == self.failing_session:
                self.failure_count += 1
                raise Unavailable("the spool cannot be used: no space left on device")
            super().append(session, lines)
        finally:
            self.notify()

    def notify(self) -> None:
        self._loop.call_soon_threadsafe(self._changed.set)

    async def wait_until(self, is_done: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not is_done():
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def run_courier(setup: CourierSetup, sessions: GuestSessions, **options: Any) -> AsyncIterator[Courier]:
    """While entered, a courier of the room's agent is at work on a road."""

    async def list_pending() -> list[Item]:
        return await setup.store.read(inbox.peek, sessions.agent, limit=1_000)

    defaults: dict[str, Any] = {
        "open_subscription": lambda: setup.make_subscription(sessions.agent),
        "read_pending": list_pending,
        "spool": sessions.spool,
        "list_guests": sessions.list_guests,
        "nudge": sessions.nudge,
        "check_interval": 0.01,
    }
    courier = Courier(sessions.agent, **defaults | options)
    stop = asyncio.Event()
    task = asyncio.create_task(courier.run(stop))
    try:
        yield courier
    finally:
        stop.set()
        async with asyncio.timeout(WAIT_TIMEOUT):
            await task


class CourierProcess:
    """`gatepost courier` as a process of its own; what it says of itself can be waited for."""

    def __init__(self, *arguments: str, **environ: str) -> None:
        base_environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        self.process = ForkedProcess(
            [*GATEPOST_COMMAND, "courier", *arguments],
            env=base_environ | environ | {"NO_COLOR": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.stderr_lines: list[str] = []

    def wait_for_line(self, *parts: str) -> str:
        """Return the next line that has all these words in it."""
        assert self.process.stderr is not None
        watchdog = threading.Timer(WAIT_TIMEOUT, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stderr:
                self.stderr_lines.append(line)
                if all(part in line for part in parts):
                    return str(line)
            raise AssertionError(f"{parts} was not said, but: {''.join(self.stderr_lines)}")
        finally:
            watchdog.cancel()

    def stop(self, signal_number: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop, and return how it ended."""
        self.process.send_signal(signal_number)
        return self._collect_exit()

    def _collect_exit(self) -> int:
        if self.process.stderr is not None and not self.process.stderr.closed:
            _, remaining = self.process.communicate(timeout=WAIT_TIMEOUT)
            self.stderr_lines += remaining.splitlines(keepends=True)
        return self.process.wait(WAIT_TIMEOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self._collect_exit()
