"""
Rings that are lost on purpose. Somebody writes and rings nobody, as a process does that dies after its commit; and the
gateways hear nothing of each other. Each of them notices within an interval all the same, and wakes whoever waits.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Final

import pytest

from gatepost.actions import inbox, push, spaces
from gatepost.adapters.transports.memory import MemoryBus, MemoryTransport
from gatepost.app import open_store
from gatepost.core.event import Push
from gatepost.ports import Store
from gatepost.testing.transports import FlakyTransport, RecordingListener
from tests.faults.houses import SPACE, furnish
from tests.neighbours import Neighbour, neighbour

#: a round that was past its look when something was written, and the next one
ROUNDS: Final = 2


@pytest.fixture
async def pair(store_url: str, tmp_path: Path) -> AsyncIterator[list[Neighbour]]:
    """Two gateways between which everything is lost."""
    furnish(store_url)
    room = MemoryBus()
    async with AsyncExitStack() as stack:
        deaf = [FlakyTransport(MemoryTransport(room), seed=0, loss_rate=1.0) for _ in range(2)]
        yield [
            await stack.enter_async_context(neighbour(store_url, tmp_path / f"home-{number}", one, interval="200ms"))
            for number, one in enumerate(deaf)
        ]


@pytest.fixture
def silent(store_url: str, pair: list[Neighbour]) -> Iterator[Store]:
    """The same store, for whoever rings nobody."""
    with closing(open_store(store_url)) as store:
        yield store


async def test_a_ring_that_was_lost_is_made_up_for_within_an_interval(pair: list[Neighbour], silent: Store) -> None:
    """At both gateways, though one of them alone is the janitor and the other does not hear it."""
    async with AsyncExitStack() as stack:
        ears = [RecordingListener() for _ in pair]
        for one, each in zip(pair, ears, strict=True):
            stack.enter_context(one.office.exchange.subscribe(each))
        for name, to in (("ana", "ana"), ("cleo", "*")):
            before = [one.duties["reminder"].rounds for one in pair]
            silent.call(push.push_event, Push(to=to, source="test", content="unheard of"))
            after = await asyncio.gather(*(rounds_until(one, each, name) for one, each in zip(pair, ears, strict=True)))
            assert all(last <= first + ROUNDS for first, last in zip(before, after, strict=True)), (before, after)
        assert sum(one.duties["janitor"].rounds > 0 for one in pair) == 1


async def rounds_until(one: Neighbour, ears: RecordingListener, name: str) -> int:
    """How many rounds a gateway has done when somebody's ring is heard there."""
    await ears.wait_for(name)
    return one.duties["reminder"].rounds


async def test_it_is_rung_again_until_somebody_is_at_work(pair: list[Neighbour], silent: Store) -> None:
    silent.call(push.push_event, Push(to="ana", source="test", content="unheard of"))
    with pair[1].office.exchange.subscribe(ears := RecordingListener()):
        await ears.wait_until(lambda ears: len(ears.signals) >= 3)
        assert {ring[0] for ring in ears.signals} == {"ana"}
        batch = silent.call(inbox.claim, "ana", owner="test")
        assert [item.event.content for item in batch.items] == ["unheard of"]
        # What is rung from now on was looked for before the claim, or is for ben; so two rounds are enough.
        silent.call(push.push_event, Push(to="ben", source="test", content="unheard of"))
        await ears.wait_until(lambda ears: [ring[0] for ring in ears.signals].count("ben") >= ROUNDS)
        heard = len(ears.signals)
        await ears.wait_until(lambda ears: [ring[0] for ring in ears.signals[heard:]].count("ben") >= ROUNDS)
        assert {ring[0] for ring in ears.signals[heard:]} == {"ben"}


async def test_watchers_see_what_no_ring_was_heard_for(pair: list[Neighbour], silent: Store) -> None:
    async with AsyncExitStack() as stack:
        listeners = [await one.listen(f"/api/stream?space={SPACE}&inbox=ana") for one in pair]
        told = [aiter(await stack.enter_async_context(each)) for each in listeners]
        for each in told:
            assert (await anext(each)).event == "connected"
        for number in range(3):
            silent.call(spaces.post, SPACE, sender="husam", content=f"unheard of {number}")
            for each in told:
                async with asyncio.timeout(20):
                    seen = [await anext(each), await anext(each)]
                assert {one.event for one in seen} == {"space.message", "inbox.item"}
                assert {one.data["content"] for one in seen} == {f"unheard of {number}"}
