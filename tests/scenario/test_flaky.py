"""
What becomes of a day's work does not depend on the transport.

Two gateways share a store, and between them is a transport that loses, repeats and reorders. People and services write
at both; agents live at one or the other and look into their inbox when it rings, and only then. The same work is done
once undisturbed, and then again and again with trouble: every space ends with the same messages, and every agent was
given the same things, each exactly once.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Final

import httpx2
import pytest

from gatepost.actions import directory, inbox, maintenance, plans, spaces
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.transports.memory import MemoryBus, MemoryTransport
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Item
from gatepost.core.frame import TransportMessage
from gatepost.core.signals import Signal
from gatepost.ports import Reader, Store
from gatepost.testing.transports import FlakyTransport
from tests.gateways import PATIENCE, Told
from tests.neighbours import Neighbour, neighbour

#: with each store
SEEDS: Final = 50 if os.environ.get("GATEPOST_NIGHTLY") else 3
#: how much is lost, repeated and held back
TROUBLE: Final = {"lose": 0.4, "repeat": 0.2, "hold": 0.2}
#: the agents, and at which of the gateways each lives; ben is everywhere
HOMES: Final = {"ana": (0,), "ben": (0, 1), "cleo": (1,), "dina": (1,)}
MEMBERS: Final = {"deck": ("husam", "ana", "ben", "cleo"), "side": ("husam", "cleo", "dina")}
#: how often each kind of thing is done
TIMES: Final = 12
LONG_AGO: Final = "2026-01-01T00:00:00Z"

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


@dataclass(frozen=True)
class Outcome:
    """What is left of a day: in every space who said what, and what every agent was given."""

    messages: dict[str, Counter[tuple[str, str]]]
    given: dict[str, Counter[tuple[str, str]]]


class Agent:
    """
    Sleeps until it hears a ring for itself, takes what waits, and sleeps again. Who is asked in a space answers there,
    and cleo passes on to dina what she is told. One that lives at two gateways is two of these, who share an inbox.
    """

    def __init__(self, name: str, home: Neighbour, rested: Callable[[], None]) -> None:
        self.name = name
        self.given: list[Item] = []
        self.home = home
        self._rested = rested
        self._woken = asyncio.Event()

    def heard(self, signal: TransportMessage) -> None:
        if isinstance(signal, Signal) and signal.recipient in (self.name, "*"):
            self._woken.set()

    async def live(self) -> None:
        store = self.home.office.store
        async with self.home.client() as client:
            while True:
                await self._woken.wait()
                self._woken.clear()
                while (batch := await store.run(inbox.claim, self.name, owner=self.name, lane=self.name)).claim:
                    for item in batch.items:
                        self.given.append(item)
                        await self._react(client, item)
                    held = batch.claim
                    await store.run(inbox.ack, held.id, owner=held.owner, fence=held.fence, lane=self.name)
                self._rested()

    async def _react(self, client: httpx2.AsyncClient, item: Item) -> None:
        event = item.event
        if event.type is EventType.SPACE_MESSAGE and event.content.startswith(f"{self.name}?"):
            body = {"sender": self.name, "content": f"{self.name} answers {event.content}"}
            answer = await client.post(f"/api/spaces/{event.source}/messages", json=body)
            assert answer.status_code == 201, answer.text
        elif self.name == "cleo" and event.content.startswith("tell"):
            answer = await client.post("/api/inbox", json={"to": "dina", "sender": "cleo", "content": event.content})
            assert answer.status_code == 201, answer.text


@dataclass
class Watcher:
    """Reads every space at one gateway, from the beginning."""

    seen: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: {id: [] for id in MEMBERS})

    async def watch(self, home: Neighbour, connected: asyncio.Event, rested: Callable[[], None]) -> None:
        query = "&".join(f"space={id}" for id in MEMBERS)
        async with await home.listen(f"/api/stream?{query}") as stream:
            async for told in stream:
                connected.set()
                self._note(told)
                rested()

    def _note(self, told: Told) -> None:
        assert told.event != "ended", told
        if told.event == "space.message":
            self.seen[told.data["space"]].append((told.data["seq"], told.data["content"]))


class Day:
    def __init__(self, pair: list[Neighbour]) -> None:
        self._pair = pair
        self._stirred = asyncio.Event()
        self._agents = [Agent(name, pair[home], self._stirred.set) for name, homes in HOMES.items() for home in homes]
        self._watchers = [Watcher() for _ in pair]

    async def pass_by(self) -> Outcome:
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            lasting = []
            for agent in self._agents:
                stack.enter_context(agent.home.office.exchange.subscribe(agent.heard))
                lasting.append(group.create_task(agent.live()))
            for home, watcher in zip(self._pair, self._watchers, strict=True):
                connected = asyncio.Event()
                lasting.append(group.create_task(watcher.watch(home, connected, self._stirred.set)))
                await connected.wait()
            async with asyncio.TaskGroup() as work:
                for do in (self._post, self._push, self._trigger, self._broadcast, self._plan):
                    work.create_task(self._work(do))
            await self._evening()
            for task in lasting:
                task.cancel()
        return self._outcome()

    async def _work(self, do: Callable[[httpx2.AsyncClient, int], Awaitable[httpx2.Response]]) -> None:
        """Do a thing some times, at one gateway and the other in turn; each as soon as the one before is answered."""
        for number, home in zip(range(TIMES), cycle(self._pair), strict=False):
            async with home.client() as client:
                answer = await do(client, number)
                assert answer.status_code in (201, 202), answer.text

    async def _post(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        space = ("deck", "side")[number % 2]
        agents = MEMBERS[space][1:]
        asked = agents[number // 2 % len(agents)]
        body = {"sender": "husam", "content": f"{asked}? {number}"}
        return await client.post(f"/api/spaces/{space}/messages", json=body)

    async def _push(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        to = ("cleo", "ana", "dina", "ben")[number % 4]
        return await client.post("/api/inbox", json={"to": to, "content": f"tell {number}"})

    async def _trigger(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        """Every call is made twice, once at each gateway."""
        body = {"serviceName": "ci", "payload": number // 2}
        agent = ("dina", "ana")[number // 2 % 2]
        return await client.post(
            f"/api/agents/{agent}/trigger", json=body, headers={"Idempotency-Key": f"{number // 2}"}
        )

    async def _broadcast(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        return await client.post("/api/inbox", json={"to": "*", "content": f"to all {number}"})

    async def _plan(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        owner = ("dina", "ana", "ben", "cleo")[number % 4]
        body = {"owner": owner, "name": f"plan {number}", "instruction": "do it", "scheduledAt": LONG_AGO}
        return await client.post("/api/plans", json=body)

    async def _evening(self) -> None:
        """Return when nothing is left to do: every agent has what is for it, and every watcher has seen it all."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not self._quiet():
                    self._stirred.clear()
                    await self._stirred.wait()
        except TimeoutError:
            store = self._pair[0].office.store
            raise AssertionError(f"something was left: {store.query(maintenance.list_accounts)}") from None

    def _quiet(self) -> bool:
        idle, last = self._pair[0].office.store.query(_at_rest)
        return idle and all(len(watcher.seen[id]) == count for watcher in self._watchers for id, count in last.items())

    def _outcome(self) -> Outcome:
        store = self._pair[0].office.store
        given = {name: [item for agent in self._agents if agent.name == name for item in agent.given] for name in HOMES}
        for name, items in given.items():
            assert len({item.event.id for item in items}) == len(items), f"{name} was given something twice"
        said: dict[str, Counter[tuple[str, str]]] = {}
        for id in MEMBERS:
            messages = store.query(spaces.read, id, after_seq=0, limit=1_000)
            said[id] = Counter((message.sender, message.content) for message in messages)
            for watcher in self._watchers:
                assert watcher.seen[id] == [(message.seq, message.content) for message in messages]
            assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
        for account in store.query(maintenance.list_accounts):
            assert account.is_balanced
        return Outcome(said, {name: Counter(map(_told, items)) for name, items in given.items()})


def _at_rest(tx: Reader) -> tuple[bool, dict[str, int]]:
    """Whether nothing waits for anybody, and how many messages each space has."""
    waiting = any(
        account.pending or account.claimed for account in maintenance.list_accounts(tx) if account.name in HOMES
    )
    idle = not waiting and not maintenance.find_agents_behind(tx)[0] and plans.find_next_due(tx) is None
    return idle, {id: spaces.show(tx, id).last_seq for id in MEMBERS}


def _told(item: Item) -> tuple[str, str]:
    """What an agent makes of an item, without what differs from day to day."""
    event = item.event
    match event.type:
        case EventType.PLAN:
            return event.type.value, event.data["planName"]
        case EventType.SERVICE:
            return event.type.value, str(event.data["payload"])
        case _:
            return event.type.value, event.content


def furnish(store: Store) -> None:
    store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
    for name in HOMES:
        store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    for id, members in MEMBERS.items():
        store.call(spaces.create, name=id, id=id, members=members)


async def day(url: str, folder: Path, seed: int | None) -> Outcome:
    """One day on a store of its own; without a seed nothing is disturbed."""
    room, trouble = MemoryBus(), TROUBLE if seed is not None else dict.fromkeys(TROUBLE, 0.0)
    async with AsyncExitStack() as stack:
        pair = []
        for number in range(2):
            transport = FlakyTransport(MemoryTransport(room), 2 * (seed or 0) + number, **trouble)
            opening = neighbour(url, folder / f"home-{number}", transport, interval="100ms")
            pair.append(await stack.enter_async_context(opening))
        furnish(pair[0].office.store)
        return await Day(pair).pass_by()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("undisturbed")
    return asyncio.run(day(f"sqlite:///{folder}/office.db", folder, None))


@pytest.mark.parametrize("seed", [None, *range(SEEDS)])
async def test_a_flaky_transport_changes_no_result(
    seed: int | None, url: str, tmp_path: Path, undisturbed: Outcome
) -> None:
    assert await day(url, tmp_path, seed) == undisturbed
