"""
A client on a bad line: what is lost is tried again, what was done is not done again, and a stream goes on where it was.
"""

import asyncio
import random
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import pytest

from gatepost import app, settings
from gatepost.actions import directory, inbox, spaces
from gatepost.actions.directory import EntitySpec
from gatepost.client import Client
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Push
from gatepost.errors import Conflict, Unavailable
from gatepost.ports import Store
from tests.gateways import Served, furnish, served
from tests.uplinks import Fate, Running, Wire, running

T = TypeVar("T")

#: what can become of a request before one passes
FATES = [
    [Fate.LOST],
    [Fate.UNANSWERED],
    [Fate.UNANSWERED, Fate.LOST, Fate.UNANSWERED],
]


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Served]:
    with served(f"sqlite:///{tmp_path}/office.db") as made:
        furnish(made.gateway.store)
        yield made


@pytest.fixture
def store(gateway: Served) -> Store:
    return gateway.gateway.store


@pytest.fixture
async def wire(gateway: Served) -> AsyncIterator[Wire]:
    async with Wire(gateway.base) as made:
        yield made


@pytest.fixture
async def post(gateway: Served, wire: Wire) -> AsyncIterator[Client]:
    async with Client(wire.url, key=gateway.gateway.admin) as client:
        yield client


@pytest.mark.parametrize("fates", FATES, ids=str)
async def test_writes_are_done_once(post: Client, wire: Wire, store: Store, fates: list[Fate]) -> None:
    wire.fates.extend(fates)
    pushed = await post.push(Push(to="analyst", source="tests", content="precious"))
    assert [each.duplicate for each in pushed.deliveries] == [False]
    wire.fates.extend(fates)
    [outcome] = await post.push_all([Push(to="analyst", source="tests", content="precious")])
    assert [each.duplicate for each in outcome.deliveries] == [False]  # type: ignore[union-attr]
    wire.fates.extend(fates)
    message = await post.post("q4-report", "said", sender="husam")
    wire.fates.extend(fates)
    await post.register("quinn", EntityKind.AGENT)
    wire.fates.extend(fates)
    event = await post.trigger("designer", "jira", {"issue": 1})
    assert wire.requests == 5 * (len(fates) + 1)
    contents = [item.event.content for item in store.query(inbox.page, "analyst")]
    assert contents == ["precious", "precious", "said"]
    assert store.query(spaces.read, "q4-report") == [message]
    assert [item.event.id for item in store.query(inbox.page, "designer")] == [event]


async def test_an_ack_is_done_once(post: Client, wire: Wire) -> None:
    await post.push(Push(to="analyst", source="tests", content="precious"))
    taken = await post.claim("analyst", owner="s-1")
    assert taken.claim is not None
    wire.fates.extend([Fate.UNANSWERED, Fate.LOST])
    assert await post.ack(taken.claim) == 1
    with pytest.raises(Conflict):
        await post.ack(taken.claim)


@pytest.mark.parametrize("fate", [Fate.UNANSWERED, Fate.LOST, Fate.NOT_NOW])
async def test_a_claim_is_not_repeated_once_it_was_sent(post: Client, wire: Wire, store: Store, fate: Fate) -> None:
    await post.push(Push(to="analyst", source="tests", content="precious"))
    wire.fates.append(fate)
    before = wire.requests
    with pytest.raises(Unavailable):
        await post.claim("analyst", owner="s-1")
    assert wire.requests == before + 1
    [item] = store.query(inbox.page, "analyst")
    assert item.state is (ItemState.CLAIMED if fate is Fate.UNANSWERED else ItemState.PENDING)


async def test_the_gateway_is_left_alone_as_long_as_it_asks(post: Client, wire: Wire) -> None:
    wire.fates.extend([Fate.NOT_NOW, Fate.NOT_NOW])
    began = time.monotonic()
    await post.health()
    assert time.monotonic() - began >= 2


async def test_patience_ends(gateway: Served, wire: Wire) -> None:
    async with Client(wire.url, key=gateway.gateway.admin, patience=0.5) as post:
        wire.fates.append(Fate.NOT_NOW)
        with pytest.raises(Unavailable, match="the gateway answered 503"):
            await post.health()
        wire.fates.extend([Fate.LOST] * 100)
        with pytest.raises(Unavailable, match="the gateway cannot be reached"):
            await post.health()


async def test_nobody_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with Client(f"http://127.0.0.1:{port}", key="sk_", patience=0.2) as post:
        with pytest.raises(Unavailable, match="the gateway cannot be reached") as lost:
            await post.claim("analyst", owner="s")
        assert lost.value.hint == "`gatepost up` starts one"
        with pytest.raises(Unavailable):
            await anext(post.watch_inbox("analyst"))


async def test_a_stream_that_is_cut_again_and_again_misses_and_repeats_nothing(
    gateway: Served, post: Client, wire: Wire
) -> None:
    wanted = 60
    rng = random.Random(5)
    stands = asyncio.Event()

    async def write(direct: Client) -> None:
        for number in range(wanted):
            await direct.post("q4-report", str(number), sender="husam")
            if rng.random() < 0.3:
                wire.cut()

    async with (
        Client(gateway.base, key=gateway.gateway.admin) as direct,
        aclosing(post.watch_space("q4-report", ready=stands.set)) as said,
        aclosing(post.watch_inbox("analyst", after="0-0")) as items,
        asyncio.TaskGroup() as group,
    ):
        reading = group.create_task(_first(said, wanted))
        receiving = group.create_task(_first(items, wanted))
        await stands.wait()
        group.create_task(write(direct))
        assert [message.seq for message in await reading] == list(range(1, wanted + 1))
        assert [item.event.content for item in await receiving] == [str(number) for number in range(wanted)]
    assert wire.requests > 5


async def _first(found: AsyncIterator[T], count: int) -> list[T]:
    return [await anext(found) for _ in range(count)]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Running]:
    """A real gateway in a process of its own."""
    home = tmp_path / "home"
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(home)})) as store:
        store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        for name in ("analyst", "designer"):
            store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        store.call(spaces.create, name="Q4 report", members=["husam", "analyst"])
    with running(home) as gateway:
        yield gateway


async def test_killed_and_started_again_under_load_everything_is_done_once(up: Running) -> None:
    """Writers go on through kills and restarts; readers see each thing once, in order, across all of them."""
    each, writers, rounds = 30, 4, 2
    stands, half = asyncio.Event(), asyncio.Semaphore(0)

    async def write(post: Client, number: int) -> None:
        for count in range(each):
            pushed = await post.push(Push(to="designer", source="tests", content=f"{number}-{count}"))
            assert not pushed.deliveries[0].duplicate
            await post.post("q4-report", f"{number}-{count}", sender="husam")
            half.release()

    async def break_it() -> None:
        for how in ("kill", "stop")[:rounds]:
            for _ in range(each * writers // (rounds + 1)):
                await half.acquire()
            await asyncio.to_thread(getattr(up, how))
            await asyncio.to_thread(up.start)

    total = each * writers
    async with Client(up.url, key=up.key, patience=60) as post:
        async with (
            aclosing(post.watch_space("q4-report", ready=stands.set)) as said,
            aclosing(post.watch_inbox("designer", after="0-0")) as items,
            asyncio.TaskGroup() as group,
        ):
            reading = group.create_task(_first(said, total))
            receiving = group.create_task(_first(items, total))
            await stands.wait()
            for number in range(writers):
                group.create_task(write(post, number))
            group.create_task(break_it())
            messages, got = await reading, await receiving
        wanted = sorted(f"{number}-{count}" for number in range(writers) for count in range(each))
        assert [message.seq for message in messages] == list(range(1, total + 1))
        assert sorted(message.content for message in messages) == wanted
        assert sorted(item.event.content for item in got) == wanted
        assert (await post.account("designer")).accepted == total
