"""
Signals that are lost on purpose. Somebody writes and signals nobody, as a process does that dies after its commit; and
the gateways hear nothing of each other. Each of them notices within an interval all the same, and wakes whoever waits.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Final

import pytest

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.spaces import actions as spaces
from gatepost.testing.transports import FlakyTransport, RecordingListener
from gatepost.transports.memory import MemoryBus, MemoryTransport
from tests.faults.gateway.guarded_gateway import SPACE, create_crew_and_space
from tests.support.gateways.linked_gateways import LinkedGateway, open_linked_gateway
from tests.support.waits import LAST_RESORT

#: a round that was past its look when something was written, and the next one
MAX_ROUNDS: Final = 2


@pytest.fixture
async def gateways(migrated_url: str, tmp_path: Path) -> AsyncIterator[list[LinkedGateway]]:
    """Two gateways between which everything is lost."""
    create_crew_and_space(migrated_url)
    memory_bus = MemoryBus()
    async with AsyncExitStack() as stack:
        deaf_transports = [FlakyTransport(MemoryTransport(memory_bus), seed=0, loss_rate=1.0) for _ in range(2)]
        yield [
            await stack.enter_async_context(
                open_linked_gateway(migrated_url, tmp_path / f"home-{number}", transport, interval="200ms")
            )
            for number, transport in enumerate(deaf_transports)
        ]


@pytest.fixture
def silent_store(migrated_url: str, gateways: list[LinkedGateway]) -> Iterator[Store]:
    """The same store, for whoever signals nobody."""
    with closing(open_store(migrated_url)) as store:
        yield store


async def test_a_signal_that_was_lost_is_made_up_for_within_an_interval(
    gateways: list[LinkedGateway], silent_store: Store
) -> None:
    """At both gateways, though neither hears the other."""
    async with AsyncExitStack() as stack:
        listeners = [RecordingListener() for _ in gateways]
        for gateway, listener in zip(gateways, listeners, strict=True):
            stack.enter_context(gateway.app_state.signal_bus.subscribe(listener))
        for name, to in (("ana", "ana"), ("cleo", "*")):
            before = [gateway.duties["resend"].rounds for gateway in gateways]
            silent_store.run_sync(push.push_event, Push(to=to, source="test", content="unheard of"))
            after = await asyncio.gather(
                *(
                    count_rounds_until(gateway, listener, name)
                    for gateway, listener in zip(gateways, listeners, strict=True)
                )
            )
            assert all(last <= first + MAX_ROUNDS for first, last in zip(before, after, strict=True)), (before, after)


async def count_rounds_until(gateway: LinkedGateway, listener: RecordingListener, name: str) -> int:
    """How many rounds a gateway has done when somebody's signal is heard there."""
    await listener.wait_for(name)
    return gateway.duties["resend"].rounds


async def test_it_is_rung_again_until_somebody_is_at_work(gateways: list[LinkedGateway], silent_store: Store) -> None:
    silent_store.run_sync(push.push_event, Push(to="ana", source="test", content="unheard of"))
    with gateways[1].app_state.signal_bus.subscribe(listener := RecordingListener()):
        await listener.wait_until(lambda listener: len(listener.signals) >= 3)
        assert {signal[0] for signal in listener.signals} == {"ana"}
        batch = silent_store.run_sync(inbox.claim, "ana", owner="test")
        assert [item.event.content for item in batch.items] == ["unheard of"]
        # What is rung from now on was looked for before the claim, or is for ben; so two rounds are enough.
        silent_store.run_sync(push.push_event, Push(to="ben", source="test", content="unheard of"))
        await listener.wait_until(
            lambda listener: [signal[0] for signal in listener.signals].count("ben") >= MAX_ROUNDS
        )
        signal_count = len(listener.signals)
        await listener.wait_until(
            lambda listener: [signal[0] for signal in listener.signals[signal_count:]].count("ben") >= MAX_ROUNDS
        )
        assert {signal[0] for signal in listener.signals[signal_count:]} == {"ben"}


async def test_watchers_see_what_no_signal_was_heard_for(gateways: list[LinkedGateway], silent_store: Store) -> None:
    async with AsyncExitStack() as stack:
        listeners = [await source.open_stream(f"/api/stream?space={SPACE}&inbox=ana") for source in gateways]
        frame_iterators = [aiter(await stack.enter_async_context(frames)) for frames in listeners]
        for frames in frame_iterators:
            assert (await anext(frames)).event == "connected"
        for number in range(3):
            silent_store.run_sync(spaces.post, SPACE, sender="husam", content=f"unheard of {number}")
            for frames in frame_iterators:
                async with asyncio.timeout(LAST_RESORT):
                    new_frames = [await anext(frames), await anext(frames)]
                assert {source.event for source in new_frames} == {"space.message", "inbox.item"}
                assert {source.data["content"] for source in new_frames} == {f"unheard of {number}"}
