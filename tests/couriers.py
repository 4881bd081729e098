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

from gatepost.actions import directory, inbox, push
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.spool import FileSpool
from gatepost.adapters.transports.jetstream import JetStreamSubscription
from gatepost.adapters.transports.nats import NatsTransport
from gatepost.adapters.transports.redis import RedisTransport
from gatepost.adapters.transports.wakeups import RedisSubscription
from gatepost.app import open_store, register_administrator
from gatepost.client import Client
from gatepost.client.parcels import GatewayParcels
from gatepost.core.entity import EntityKind
from gatepost.core.event import Event, Item, Push
from gatepost.core.guest import Guest
from gatepost.core.signals import Signal
from gatepost.core.spool_line import SpoolLine
from gatepost.errors import Unavailable
from gatepost.hooks import drain
from gatepost.ports import EventHandler, ResyncHandler, Store, SubscribedEvent, Subscription, Transport
from gatepost.runtime.courier import Courier
from gatepost.runtime.subscriptions import StoreSubscription
from gatepost.testing.transports import RecordingListener
from tests.forking import ForkedProcess
from tests.gateways import served
from tests.uplinks import PROGRAM

#: seconds after which what was waited for is missing
PATIENCE: Final = 20.0
ROADS: Final = ("nats", "redis", "gateway", "store")


def server(kind: str, request: pytest.FixtureRequest) -> str:
    """The address of the server that a road goes over, if it does: one that tests share."""
    return request.getfixturevalue(kind).url if kind in ("nats", "redis") else ""


@dataclass(frozen=True, slots=True)
class Road:
    """A store with two agents, and the way from it to their couriers."""

    kind: str
    store: Store
    #: parcels for an agent, and options of their kind
    parcels: Callable[..., Subscription]
    ann: str
    bob: str

    def push(self, to: str, **fields: Any) -> str:
        """Push, and return the event's id."""
        return self.store.call(push.push_event, Push(**{"to": to, "source": "test"} | fields)).event

    def pending(self, name: str) -> list[Item]:
        return self.store.query(inbox.peek, name, limit=1_000)


@asynccontextmanager
async def road(kind: str, server: str, folder: Path) -> AsyncIterator[Road]:
    """One of the roads. Names are new each time, since a server may be shared with other tests."""
    url = f"sqlite:///{folder}/road.db"
    suffix = uuid.uuid4().hex[:8]
    ann, bob = f"ann.{suffix}", f"bob-{suffix}"
    async with AsyncExitStack() as stack:
        match kind:
            case "nats":
                store = await _rung(stack, url, NatsTransport(server, heartbeat_interval=0.1, timeout=1.0))
                made = Road(kind, store, lambda name, **some: JetStreamSubscription(server, name, **some), ann, bob)
            case "redis":
                store = await _rung(stack, url, RedisTransport(server, heartbeat_interval=0.1, timeout=1.0))
                made = Road(kind, store, lambda name, **some: RedisSubscription(server, name, **some), ann, bob)
            case "gateway":
                gateway = stack.enter_context(served(url))
                key = gateway.gateway.admin
                made = Road(
                    kind,
                    gateway.gateway.store,
                    lambda name: GatewayParcels(lambda: Client(gateway.base, key=key), name),
                    ann,
                    bob,
                )
            case _:
                store = open_store(url)
                stack.callback(store.close)
                furnish(store)
                made = Road(kind, store, lambda name: StoreSubscription(store, name, poll_interval=0.01), ann, bob)
        for name in (ann, bob):
            made.store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        yield made


async def _rung(stack: AsyncExitStack, url: str, transport: Transport) -> Store:
    """A store that rings by a transport, as a gateway's does."""

    def bell(rings: Sequence[Signal]) -> None:
        transport.send(rings)

    await stack.enter_async_context(transport.listen(RecordingListener()))
    store = open_store(url, signal_sink=bell)
    stack.callback(store.close)
    furnish(store)
    return store


def furnish(store: Store) -> None:
    store.migrate()
    register_administrator(store)


class Nothing:
    """A road that nothing ever comes by."""

    name: ClassVar[str] = "nothing"

    async def follow(self, take: EventHandler, look: ResyncHandler) -> None:
        look()
        await asyncio.Event().wait()


class Signed:
    """A road that says when parcels can come by it and when they cannot, and how many have come."""

    def __init__(self, inner: Subscription, changed: Callable[[], None]) -> None:
        self.name = inner.name
        self._inner = inner
        self._changed = changed
        self.stands = 0
        self.came = 0
        self.lost = 0

    async def follow(self, take: EventHandler, look: ResyncHandler) -> None:
        async def taken(parcel: SubscribedEvent) -> None:
            await take(parcel)
            self.came += 1
            self._changed()

        def looked() -> None:
            self.stands += 1
            look()
            self._changed()

        try:
            await self._inner.follow(taken, looked)
        finally:
            self.lost += 1
            self._changed()


class Taker:
    """Takes parcels, acks them unless told otherwise, and can be waited for."""

    def __init__(self, *, refuses: int = 0) -> None:
        self.parcels: list[SubscribedEvent] = []
        self.looks = 0
        self._refuses = refuses
        self._more = asyncio.Event()

    @property
    def events(self) -> list[Event | None]:
        return [parcel.event for parcel in self.parcels]

    @property
    def ids(self) -> list[str]:
        return [event.id for event in self.events if event is not None]

    async def take(self, parcel: SubscribedEvent) -> None:
        self.parcels.append(parcel)
        await self.answer(parcel)
        self._more.set()

    async def answer(self, parcel: SubscribedEvent) -> None:
        if len(self.parcels) <= self._refuses:
            await parcel.refuse(0.01)
        else:
            await parcel.ack()

    def look(self) -> None:
        self.looks += 1
        self._more.set()

    async def until(self, enough: Callable[["Taker"], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not enough(self):
                self._more.clear()
                await self._more.wait()

    async def got(self, *events: str) -> None:
        """Return when all of these came."""
        await self.until(lambda taker: set(taker.ids) >= set(events))

    @asynccontextmanager
    async def following(self, source: Subscription) -> AsyncIterator["Taker"]:
        """While entered, parcels are taken; entered when nothing more can be missed."""
        task = asyncio.create_task(source.follow(self.take, self.look))
        try:
            before = self.looks
            await self.until(lambda taker: taker.looks > before or task.done())
            if task.done():
                await task
            yield self
        finally:
            task.cancel()
            await asyncio.wait([task])


class Room:
    """
    Where guests are: their spools, which can be made to fail, and what their hooks have noted. What is written to a
    spool, and what is shown by a drain, can be waited for.
    """

    def __init__(self, folder: Path, agent: str) -> None:
        self.spool = Watched(f"{folder}/<session>.jsonl")
        self.agent = agent
        self.guests = [Guest(session="s1", agent=agent)]
        #: how often somebody has looked who is there
        self.looks = 0
        self.nudges: list[tuple[str, str, int]] = []
        self.shown: list[str] = []

    def there(self) -> list[Guest]:
        self.looks += 1
        self.spool.changed()
        return self.guests

    async def looked(self) -> None:
        """Return when whoever looks again and again has done so once more, from beginning to end."""
        before = self.looks
        await self.spool.until(lambda: self.looks > before + 5)

    async def nudge(self, guest: Guest, text: str) -> None:
        """Note whom, what was said, and how many lines there were to read."""
        self.nudges.append((guest.session, text, len(self.spool.peek(guest.session))))
        self.spool.changed()

    def noted(self, session: str, *, idle: bool) -> None:
        """What a hook does as the agent begins to work, or stops."""
        self.guests = [
            each._replace(is_idle=idle, revision=each.revision + 1) if each.session == session else each
            for each in self.guests
        ]

    def drain(self, store: Store | None, session: str = "s1", *, reconcile: bool = False) -> list[str]:
        """Drain as a hook does; return what the agent is shown."""
        now = time.time_ns() // 1_000
        drained = drain.drain(
            store, self.spool, session=session, agent=self.agent, now=now, include_pending=reconcile, limit=1_000
        )
        drained.ack()
        self.shown += (events := [event.id for event in drained.events])
        return events

    def lines(self, session: str = "s1") -> list[str]:
        """The ids in a session's spool, repeats included."""
        return [each.id for each in self.spool.peek(session)]


class Watched(FileSpool):
    """A spool that can be waited for, and told to fail."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.fails = False
        #: a session that alone fails
        self.broken: str | None = None
        self.failed = 0
        self._loop = asyncio.get_running_loop()
        self._more = asyncio.Event()

    def append(self, session: str, entries: Sequence[SpoolLine]) -> None:
        try:
            if self.fails or session == self.broken:
                self.failed += 1
                raise Unavailable("the spool cannot be used: no space left on device")
            super().append(session, entries)
        finally:
            self.changed()

    def changed(self) -> None:
        self._loop.call_soon_threadsafe(self._more.set)

    async def until(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not enough():
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def courier(road: Road, room: Room, **options: Any) -> AsyncIterator[Courier]:
    """While entered, a courier of the room's agent is at work on a road."""

    async def pending() -> list[Item]:
        return await road.store.read(inbox.peek, room.agent, limit=1_000)

    defaults: dict[str, Any] = {
        "open_subscription": lambda: road.parcels(room.agent),
        "read_pending": pending,
        "spool": room.spool,
        "list_guests": room.there,
        "nudge": room.nudge,
        "check_interval": 0.01,
    }
    made = Courier(room.agent, **defaults | options)
    stop = asyncio.Event()
    task = asyncio.create_task(made.run(stop))
    try:
        yield made
    finally:
        stop.set()
        async with asyncio.timeout(PATIENCE):
            await task


class Carrying:
    """`gatepost courier` as a process of its own; what it says of itself can be waited for."""

    def __init__(self, *words: str, **environ: str) -> None:
        cleared = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
        self.process = ForkedProcess(
            [*PROGRAM, "courier", *words], env=cleared | environ | {"NO_COLOR": "1"}, stderr=subprocess.PIPE, text=True
        )
        self.said: list[str] = []

    def until(self, *words: str) -> str:
        """Return the next line that has all these words in it."""
        assert self.process.stderr is not None
        watch = threading.Timer(PATIENCE, self.process.kill)
        watch.start()
        try:
            for line in self.process.stderr:
                self.said.append(line)
                if all(word in line for word in words):
                    return str(line)
            raise AssertionError(f"{words} was not said, but: {''.join(self.said)}")
        finally:
            watch.cancel()

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop, and return how it ended."""
        self.process.send_signal(how)
        return self._over()

    def _over(self) -> int:
        if self.process.stderr is not None and not self.process.stderr.closed:
            _, rest = self.process.communicate(timeout=PATIENCE)
            self.said += rest.splitlines(keepends=True)
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self._over()
