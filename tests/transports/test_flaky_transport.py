"""
What becomes of a day's work does not depend on the transport.

Two gateways share a store, and between them is a transport that loses, repeats and reorders. People and services write
at both; agents live at one or the other and look into their inbox at a signal, and only then. The same work is done
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

from gatepost.core.ports import Reader, Store
from gatepost.core.signals import Signal, TransportMessage
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions, claim_actions as inbox, wake_actions as wakes
from gatepost.inbox.event import EventType, Item
from gatepost.plans import actions as plans
from gatepost.spaces import actions as spaces
from gatepost.testing.transports import FlakyTransport
from gatepost.transports.memory import MemoryBus, MemoryTransport
from tests.support.gateways.linked_gateways import LinkedGateway, open_linked_gateway
from tests.support.gateways.local_gateways import WAIT_TIMEOUT, StreamFrame

#: with each store
SEEDS: Final = 50 if os.environ.get("GATEPOST_NIGHTLY") else 3
#: how much is lost, repeated and held back
FAULT_RATES: Final = {"loss_rate": 0.4, "repeat_rate": 0.2, "delay_rate": 0.2}
#: the agents, and at which of the gateways each lives; ben is everywhere
GATEWAYS_BY_AGENT: Final = {"ana": (0,), "ben": (0, 1), "cleo": (1,), "dina": (1,)}
SPACE_MEMBERS: Final = {"deck": ("husam", "ana", "ben", "cleo"), "side": ("husam", "cleo", "dina")}
#: how often each kind of thing is done
REPETITIONS: Final = 12
PAST_TIME: Final = "2026-01-01T00:00:00Z"

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


@dataclass(frozen=True)
class DayOutcome:
    """What is left of a day: in every space who said what, and what every agent was given."""

    messages: dict[str, Counter[tuple[str, str]]]
    items_by_agent: dict[str, Counter[tuple[str, str]]]


class PollingAgent:
    """
    Sleeps until it hears a signal for itself, takes what waits, and sleeps again. Who is asked in a space answers
    there, and cleo passes on to dina what she is told. One that lives at two gateways is two of these, who share an
    inbox.
    """

    def __init__(self, name: str, gateway: LinkedGateway, on_rest: Callable[[], None]) -> None:
        self.name = name
        self.items: list[Item] = []
        self.gateway = gateway
        self._on_rest = on_rest
        self._wake_event = asyncio.Event()

    def on_signal(self, signal: TransportMessage) -> None:
        if isinstance(signal, Signal) and signal.topic.recipient in (self.name, "*"):
            self._wake_event.set()

    async def run(self) -> None:
        store = self.gateway.app_state.store
        async with self.gateway.open_client() as client:
            while True:
                await self._wake_event.wait()
                self._wake_event.clear()
                while (batch := await store.run(inbox.claim, self.name, owner=self.name, lane=self.name)).claim:
                    for item in batch.items:
                        self.items.append(item)
                        await self._react(client, item)
                    claim = batch.claim
                    await store.run(inbox.ack, claim.id, owner=claim.owner, fence=claim.fence, lane=self.name)
                self._on_rest()

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
class SpaceWatcher:
    """Reads every space at one gateway, from the beginning."""

    messages_by_space: dict[str, list[tuple[int, str]]] = field(
        default_factory=lambda: {id: [] for id in SPACE_MEMBERS}
    )

    async def watch(self, gateway: LinkedGateway, connected: asyncio.Event, on_rest: Callable[[], None]) -> None:
        query = "&".join(f"space={id}" for id in SPACE_MEMBERS)
        async with await gateway.open_stream(f"/api/stream?{query}") as stream:
            async for frame in stream:
                connected.set()
                self._record(frame)
                on_rest()

    def _record(self, frame: StreamFrame) -> None:
        assert frame.event != "ended", frame
        if frame.event == "space.message":
            self.messages_by_space[frame.data["space"]].append((frame.data["seq"], frame.data["content"]))


class Workday:
    def __init__(self, gateways: list[LinkedGateway]) -> None:
        self._gateways = gateways
        self._progress = asyncio.Event()
        self._agents = [
            PollingAgent(name, gateways[index], self._progress.set)
            for name, indexes in GATEWAYS_BY_AGENT.items()
            for index in indexes
        ]
        self._watchers = [SpaceWatcher() for _ in gateways]

    async def run(self) -> DayOutcome:
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(asyncio.TaskGroup())
            background_tasks = []
            for agent in self._agents:
                stack.enter_context(agent.gateway.app_state.signal_bus.subscribe(agent.on_signal))
                background_tasks.append(group.create_task(agent.run()))
            for gateway, watcher in zip(self._gateways, self._watchers, strict=True):
                connected = asyncio.Event()
                background_tasks.append(group.create_task(watcher.watch(gateway, connected, self._progress.set)))
                await connected.wait()
            async with asyncio.TaskGroup() as writers:
                for action in (self._post, self._push, self._trigger, self._broadcast, self._plan):
                    writers.create_task(self._repeat(action))
            await self._wait_until_quiet()
            for task in background_tasks:
                task.cancel()
        return self._collect_outcome()

    async def _repeat(self, action: Callable[[httpx2.AsyncClient, int], Awaitable[httpx2.Response]]) -> None:
        """Do a thing some times, at one gateway and the other in turn; each as soon as the one before is answered."""
        for number, gateway in zip(range(REPETITIONS), cycle(self._gateways), strict=False):
            async with gateway.open_client() as client:
                answer = await action(client, number)
                assert answer.status_code in (201, 202), answer.text

    async def _post(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        space = ("deck", "side")[number % 2]
        agents = SPACE_MEMBERS[space][1:]
        recipient = agents[number // 2 % len(agents)]
        body = {"sender": "husam", "content": f"{recipient}? {number}"}
        return await client.post(f"/api/spaces/{space}/messages", json=body)

    async def _push(self, client: httpx2.AsyncClient, number: int) -> httpx2.Response:
        recipient = ("cleo", "ana", "dina", "ben")[number % 4]
        return await client.post("/api/inbox", json={"to": recipient, "content": f"tell {number}"})

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
        body = {"owner": owner, "name": f"plan {number}", "instruction": "do it", "scheduledAt": PAST_TIME}
        return await client.post("/api/plans", json=body)

    async def _wait_until_quiet(self) -> None:
        """Return when nothing is left to do: every agent has what is for it, and every watcher has seen it all."""
        try:
            async with asyncio.timeout(WAIT_TIMEOUT):
                while not self._is_quiet():
                    self._progress.clear()
                    await self._progress.wait()
        except TimeoutError:
            store = self._gateways[0].app_state.store
            raise AssertionError(f"something was left: {store.read_sync(account_actions.list_accounts)}") from None

    def _is_quiet(self) -> bool:
        is_idle, message_counts = self._gateways[0].app_state.store.read_sync(_read_rest_state)
        return is_idle and all(
            len(watcher.messages_by_space[id]) == count
            for watcher in self._watchers
            for id, count in message_counts.items()
        )

    def _collect_outcome(self) -> DayOutcome:
        store = self._gateways[0].app_state.store
        items_by_agent = {
            name: [item for agent in self._agents if agent.name == name for item in agent.items]
            for name in GATEWAYS_BY_AGENT
        }
        for name, items in items_by_agent.items():
            assert len({item.event.id for item in items}) == len(items), f"{name} was given something twice"
        messages_by_space: dict[str, Counter[tuple[str, str]]] = {}
        for id in SPACE_MEMBERS:
            messages = store.read_sync(spaces.read, id, after_seq=0, limit=1_000)
            messages_by_space[id] = Counter((message.sender, message.content) for message in messages)
            for watcher in self._watchers:
                assert watcher.messages_by_space[id] == [(message.seq, message.content) for message in messages]
            assert [message.seq for message in messages] == list(range(1, len(messages) + 1))
        for account in store.read_sync(account_actions.list_accounts):
            assert account.is_balanced
        return DayOutcome(
            messages_by_space, {name: Counter(map(_summarize_item, items)) for name, items in items_by_agent.items()}
        )


def _read_rest_state(tx: Reader) -> tuple[bool, dict[str, int]]:
    """Whether nothing waits for anybody, and how many messages each space has."""
    has_pending = any(
        account.pending or account.claimed
        for account in account_actions.list_accounts(tx)
        if account.name in GATEWAYS_BY_AGENT
    )
    is_idle = not has_pending and not wakes.find_agents_behind(tx)[0] and plans.find_next_due(tx) is None
    return is_idle, {id: spaces.show(tx, id).last_seq for id in SPACE_MEMBERS}


def _summarize_item(item: Item) -> tuple[str, str]:
    """What an agent makes of an item, without what differs from day to day."""
    event = item.event
    match event.type:
        case EventType.PLAN:
            return event.type.value, event.data["planName"]
        case EventType.SERVICE:
            return event.type.value, str(event.data["payload"])
        case _:
            return event.type.value, event.content


def register_entities(store: Store) -> None:
    store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
    for name in GATEWAYS_BY_AGENT:
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    for id, members in SPACE_MEMBERS.items():
        store.run_sync(spaces.create, name=id, id=id, members=members)


async def run_day(url: str, folder: Path, seed: int | None) -> DayOutcome:
    """One day on a store of its own; without a seed nothing is disturbed."""
    network, fault_rates = MemoryBus(), FAULT_RATES if seed is not None else dict.fromkeys(FAULT_RATES, 0.0)
    async with AsyncExitStack() as stack:
        gateways = []
        for number in range(2):
            transport = FlakyTransport(MemoryTransport(network), 2 * (seed or 0) + number, **fault_rates)
            gateway_context = open_linked_gateway(url, folder / f"home-{number}", transport, interval="100ms")
            gateways.append(await stack.enter_async_context(gateway_context))
        register_entities(gateways[0].app_state.store)
        return await Workday(gateways).run()


@pytest.fixture(scope="module")
def undisturbed_outcome(tmp_path_factory: pytest.TempPathFactory) -> DayOutcome:
    folder = tmp_path_factory.mktemp("undisturbed")
    return asyncio.run(run_day(f"sqlite:///{folder}/office.db", folder, None))


@pytest.mark.parametrize("seed", [None, *range(SEEDS)])
async def test_a_flaky_transport_changes_no_result(
    seed: int | None, url: str, tmp_path: Path, undisturbed_outcome: DayOutcome
) -> None:
    assert await run_day(url, tmp_path, seed) == undisturbed_outcome
