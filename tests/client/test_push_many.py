"""`push_many` of every client: any number of pushes, an outcome for each, and each event once."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gatepost.client import Client, LocalClient, SyncClient
from gatepost.client.push_batches import split_pushes
from gatepost.core.ports import Store
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import RegisterEntity
from gatepost.embedded import Gatepost
from gatepost.errors import Invalid
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType
from gatepost.inbox.push.api import PushEvent, PushOutcomeView
from tests.support.gateways.gateway_process import LossyProxy, RequestOutcome
from tests.support.gateways.local_gateways import GatewayThread


@dataclass(frozen=True)
class Door:
    push_many: Callable[[list[PushEvent]], Awaitable[list[PushOutcomeView]]]
    store: Store
    #: what loses answers; None where none can be lost
    proxy: LossyProxy | None = None


@pytest.fixture(params=["Client", "SyncClient", "LocalClient", "Gatepost"])
async def door(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Door]:
    if request.param == "Gatepost":
        async with Gatepost(f"sqlite:///{tmp_path}/office.db") as post:
            await post.send(RegisterEntity(name="analyst", kind=EntityKind.AGENT))
            yield Door(lambda pushes: post.push_many(iter(pushes)), post._store)
        return
    gateway_thread: GatewayThread = request.getfixturevalue("gateway_thread")
    store, key = gateway_thread.gateway.store, gateway_thread.gateway.admin_key
    if request.param == "LocalClient":
        local_client = LocalClient(store)
        yield Door(lambda pushes: asyncio.to_thread(local_client.push_many, pushes), store)
        return
    async with LossyProxy(gateway_thread.base_url) as proxy:
        if request.param == "Client":
            async with Client(proxy.url, key=key) as client:
                yield Door(client.push_many, store, proxy)
        else:
            with SyncClient(proxy.url, key=key) as sync_client:
                yield Door(lambda pushes: asyncio.to_thread(sync_client.push_many, pushes), store, proxy)


def list_contents(store: Store) -> list[str]:
    return [item.event.content for item in store.read_sync(inbox.list_page, "analyst", limit=5_000)]


async def test_each_push_has_its_outcome(door: Door) -> None:
    if door.proxy is not None:
        door.proxy.outcomes.extend([RequestOutcome.UNANSWERED, RequestOutcome.LOST])
    outcomes = await door.push_many(
        [
            PushEvent(to="analyst", content="one"),
            PushEvent(to="analist", content="two"),
            PushEvent(to="analyst", content="three", dedup_key="k"),
            PushEvent(to="analyst", content="one"),
            PushEvent(to="analyst", content="red", type=EventType.ALERT),
        ]
    )
    assert [outcome.status for outcome in outcomes] == [201, 404, 201, 201, 201]
    assert outcomes[1].hint == "did you mean 'analyst'?"
    deliveries = [outcome.recipients for outcome in outcomes if isinstance(outcome.recipients, list)]
    # after a lost answer it is found that a push with a key of its own was stored already
    keyed = door.proxy is not None
    assert [delivery.duplicate for [delivery] in deliveries] == [False, keyed, False, keyed]
    assert list_contents(door.store) == ["one", "three", "one", "red"]


async def test_there_may_be_more_than_a_batch_has(door: Door) -> None:
    contents = [str(number) for number in range(1_200)]
    before = door.store.commit_count
    outcomes = await door.push_many([PushEvent(to="analyst", content=content) for content in contents])
    assert {outcome.status for outcome in outcomes} == {201}
    assert len({outcome.event_id for outcome in outcomes}) == len(contents)
    assert list_contents(door.store) == contents
    assert door.store.commit_count - before < 10


async def test_nothing_is_pushed_if_one_push_cannot_be_written(door: Door) -> None:
    with pytest.raises(Invalid, match="not finite"):
        await door.push_many([PushEvent(to="analyst")] * 1_500 + [PushEvent(to="analyst", data=float("nan"))])
    assert await door.push_many([]) == []
    assert list_contents(door.store) == []


def test_large_pushes_make_short_batches() -> None:
    batches = split_pushes([PushEvent(to="analyst", content="x" * 250_000)] * 40, add_keys=True)
    assert [len(batch.request.pushes) for batch in batches] == [16, 16, 8]
    assert all(sum(map(len, map(bytes, batch.request.pushes))) < 8 * 1024 * 1024 for batch in batches)
    assert all(batch.request.has_own_dedup_key for batch in batches)
