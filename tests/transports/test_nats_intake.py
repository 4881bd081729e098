"""What other programs publish on the subjects of INBOX_EVENTS reaches its inbox once, or is rejected with a reason."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import nats as driver
import pytest
from nats.aio.client import Client

from gatepost.core.ports import Store
from gatepost.core.transport_records import QueuedEntry
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Unavailable
from gatepost.gateway import serve
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Event, Push, Trust
from gatepost.inbox.push import actions as push
from gatepost.settings import load
from gatepost.testing import Kit
from gatepost.transports.jetstream import REJECTED_SUBJECT, JetStreamIntakeQueue, JetStreamSubscription
from gatepost.transports.nats import INTAKE_CONSUMER, STREAM, NatsTransport
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.intake_queue_reader import QueueReader
from tests.guests.courier_fixtures import WAIT_TIMEOUT, RecordingSubscriber
from tests.support.servers.brokers import Nats

EVENT_DOCUMENT: Final = {"eventId": "evt-1", "type": "event", "timestamp": "2026-02-18T15:06:55Z", "data": {"n": 1}}


@pytest.fixture
def kit() -> Iterator[Kit]:
    with Kit() as kit:
        register_agents(kit.store)
        yield kit


@pytest.fixture
async def connection(own_nats: Nats) -> AsyncIterator[Client]:
    connection = await driver.connect(own_nats.url)
    yield connection
    await connection.close()


@pytest.fixture
async def intake_queue(own_nats: Nats) -> AsyncIterator[JetStreamIntakeQueue]:
    intake_queue = JetStreamIntakeQueue(own_nats.url, ack_wait=0.5)
    await intake_queue.open()
    yield intake_queue
    await intake_queue.close()


def register_agents(store: Store) -> None:
    for name in ("ann.smith", "bob"):
        store.run_sync(
            directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, aliases=[f"bd-{name[:3]}", f"0.0.{name}"])
        )


def list_events(store: Store, name: str = "ann.smith") -> list[Event]:
    [account] = store.read_sync(account_actions.list_accounts, name)
    assert account.is_balanced
    return [item.event for item in store.read_sync(inbox.list_page, name, limit=1_000)]


async def publish_entries(connection: Client, subject: str, *entries: Any) -> None:
    for entry in entries:
        raw = entry if isinstance(entry, bytes) else json.dumps(entry).encode()
        await connection.jetstream().publish(subject, raw)


async def count_unacked(connection: Client) -> int:
    info = await connection.jetstream().consumer_info(STREAM, INTAKE_CONSUMER)
    return (info.num_ack_pending or 0) + (info.num_pending or 0)


async def test_what_others_publish_is_taken_in(
    kit: Kit, connection: Client, intake_queue: JetStreamIntakeQueue
) -> None:
    await publish_entries(
        connection, "inbox.targeted.ann~smith", EVENT_DOCUMENT, {"type": "alert", "content": "CI is red"}
    )
    await publish_entries(connection, "inbox.targeted.bd-ann", EVENT_DOCUMENT | {"eventId": "evt-2"})
    await publish_entries(connection, "inbox.targeted.0.0.bob", EVENT_DOCUMENT)
    await publish_entries(connection, "inbox.broadcast", {"id": "7", "type": "system", "content": "Maintenance"})
    queue_reader = QueueReader(intake_queue, kit.store)
    await queue_reader.read_all_queues()
    first, alert, second, maintenance = list_events(kit.store)
    assert [first.dedup_key, second.dedup_key, maintenance.dedup_key] == ["nats:evt-1", "nats:evt-2", "nats:7"]
    assert alert.dedup_key is not None
    assert alert.dedup_key.startswith("nats:2@")
    assert {event.trust for event in (first, alert, second, maintenance)} == {Trust.EXTERNAL}
    assert [event.content for event in list_events(kit.store, "bob")] == ["", "Maintenance"]
    assert (queue_reader.accepted_count, queue_reader.rejected_count) == (5, 0)
    assert await count_unacked(connection) == 0


async def test_ours_is_skipped_and_theirs_is_not_published_again(
    own_nats: Nats, kit: Kit, connection: Client, intake_queue: JetStreamIntakeQueue
) -> None:
    """The couriers of the agent leave theirs to the gateway, and are told to look when it is in the store."""
    bus = SignalBus(NatsTransport(own_nats.url))
    store = kit.open(signal_sink=bus.on_commit)
    subscriber = RecordingSubscriber()
    async with bus.open(), subscriber.follow(JetStreamSubscription(own_nats.url, "ann.smith")):
        look_count = subscriber.look_count
        first_push = store.run_sync(push.push_event, Push(to="ann.smith", source="test", content="ours"))
        await subscriber.wait_for(first_push.event)
        await publish_entries(connection, "inbox.targeted.0~0~ann~smith", EVENT_DOCUMENT)
        await publish_entries(connection, "inbox.targeted.ann~smith", EVENT_DOCUMENT)
        await QueueReader(intake_queue, store).read_all_queues()
        await subscriber.wait_until(lambda subscriber: subscriber.look_count > look_count)
        last_push = store.run_sync(push.push_event, Push(to="ann.smith", source="test", content="ours, too"))
        await subscriber.wait_for(last_push.event)
        await QueueReader(intake_queue, store).read_all_queues()
    assert subscriber.ids == [first_push.event, last_push.event]
    assert [event.dedup_key for event in list_events(store)] == [None, "nats:evt-1", None]
    info = await connection.jetstream().stream_info(STREAM)
    assert info.state.messages == 4
    assert await count_unacked(connection) == 0


async def test_several_gateways_take_in_together(own_nats: Nats, kit: Kit, connection: Client) -> None:
    intake_queues = [JetStreamIntakeQueue(own_nats.url) for _ in range(2)]
    queue_readers = [QueueReader(intake_queue, kit.open()) for intake_queue in intake_queues]
    await intake_queues[0].open()
    stop_event = asyncio.Event()

    async def collect(queue_reader: QueueReader) -> None:
        while not stop_event.is_set():
            await queue_reader.read_all_queues()

    async with asyncio.TaskGroup() as group:
        for queue_reader in queue_readers:
            group.create_task(collect(queue_reader))
        await publish_entries(
            connection, "inbox.targeted.bob", *(EVENT_DOCUMENT | {"eventId": f"e-{n}"} for n in [*range(60), *range(9)])
        )
        stop_event.set()
    await queue_readers[0].read_all_queues()
    assert sorted(event.dedup_key or "" for event in list_events(kit.store, "bob")) == sorted(
        f"nats:e-{n}" for n in range(60)
    )
    assert sum(queue_reader.accepted_count for queue_reader in queue_readers) == 69
    for intake_queue in intake_queues:
        await intake_queue.close()


class DyingIntakeQueue(JetStreamIntakeQueue):
    """Its process dies after the commit: nothing is acked, and the connection is gone."""

    async def settle(self, entries: Any) -> None:
        await self.close()
        raise Unavailable(f"died with {len(entries)} in hand")


async def test_killed_between_commit_and_ack_it_comes_again_and_is_a_repeat(
    own_nats: Nats, kit: Kit, connection: Client, intake_queue: JetStreamIntakeQueue
) -> None:
    await publish_entries(connection, "inbox.targeted.bob", EVENT_DOCUMENT, {"content": "without a name"})
    await publish_entries(connection, "inbox.broadcast", EVENT_DOCUMENT | {"eventId": "for all"})
    with pytest.raises(Unavailable, match="3 in hand"):
        await QueueReader(DyingIntakeQueue(own_nats.url), kit.store).read_all_queues()
    before = [event.id for event in list_events(kit.store, "bob")]
    assert len(before) == 3
    queue_reader = QueueReader(intake_queue, kit.store)
    async with asyncio.timeout(WAIT_TIMEOUT):
        while queue_reader.accepted_count < 3:
            await queue_reader.read_all_queues()
    assert [event.id for event in list_events(kit.store, "bob")] == before
    assert await count_unacked(connection) == 0


async def test_while_the_store_is_away_nothing_is_acked(
    kit: Kit, connection: Client, intake_queue: JetStreamIntakeQueue
) -> None:
    await publish_entries(connection, "inbox.targeted.bob", EVENT_DOCUMENT)
    closed = kit.open()
    closed.close()
    with pytest.raises(Unavailable):
        await QueueReader(intake_queue, closed).read_all_queues()
    assert await intake_queue.take([]) == [
        QueuedEntry("bob", json.dumps(EVENT_DOCUMENT).encode(), (await intake_queue.take([]))[0].position)
    ]
    await QueueReader(intake_queue, kit.store).read_all_queues()
    assert len(list_events(kit.store, "bob")) == 1
    assert await count_unacked(connection) == 0


async def test_what_cannot_be_used_is_told_with_the_reason(
    kit: Kit, connection: Client, intake_queue: JetStreamIntakeQueue
) -> None:
    subscription = await connection.subscribe(REJECTED_SUBJECT)
    invalid_entries: list[tuple[str, Any, str]] = [
        ("inbox.targeted.bob", b"not json", "the entry is not JSON"),
        ("inbox.targeted.bob", b"\xff", "the entry is not UTF-8"),
        ("inbox.targeted.bob", [EVENT_DOCUMENT], "the entry is not a JSON object"),
        ("inbox.targeted.bob", {"type": "party"}, "'party' is not a type of event"),
        ("inbox.targeted.bob", EVENT_DOCUMENT | {"timestamp": "yesterday"}, "'yesterday' is not a time"),
        (
            "inbox.targeted.bob",
            {"id": "1", "timestamp": -7},
            "the timestamp must be in milliseconds since 1970, not -7",
        ),
        ("inbox.targeted.bob", {"id": "1", "ttl_seconds": "1h"}, "the ttl_seconds must be over zero"),
        ("inbox.targeted.bob", EVENT_DOCUMENT | {"content": "x" * 900_000}, "over the limit of 262144"),
        ("inbox.targeted.bobby", EVENT_DOCUMENT, "there is no entity 'bobby'"),
        ("inbox.somewhere", EVENT_DOCUMENT, "there is no entity 'inbox.somewhere'"),
    ]
    for subject, entry, _ in invalid_entries:
        await publish_entries(connection, subject, entry)
    await publish_entries(connection, "inbox.targeted.bob", EVENT_DOCUMENT)
    queue_reader = QueueReader(intake_queue, kit.store)
    await queue_reader.read_all_queues()
    for subject, entry, reason in invalid_entries:
        rejection = json.loads((await subscription.next_msg(WAIT_TIMEOUT)).data)
        assert rejection["subject"] == subject
        assert reason in rejection["reason"]
        raw = entry.decode(errors="backslashreplace") if isinstance(entry, bytes) else json.dumps(entry)
        assert raw.startswith(rejection["entry"])
    assert (queue_reader.accepted_count, queue_reader.rejected_count) == (1, len(invalid_entries))
    assert await count_unacked(connection) == 0


async def test_what_is_past_its_time_when_it_is_taken_in_is_expired(
    kit: Kit, connection: Client, intake_queue: JetStreamIntakeQueue
) -> None:
    minute_ago = kit.store.read_sync(lambda tx: tx.now) // 1_000 - 60_000
    line = {"id": "1", "content": "too late", "timestamp": minute_ago, "ttl_seconds": 59}
    await publish_entries(
        connection, "inbox.targeted.bob", line, line | {"id": "2", "content": "in time", "ttl_seconds": 61}
    )
    await QueueReader(intake_queue, kit.store).read_all_queues()
    assert [item.event.content for item in kit.store.read_sync(inbox.peek, "bob")] == ["in time"]
    assert len(list_events(kit.store, "bob")) == 2


async def test_a_gateway_takes_it_in_as_it_comes(
    own_nats: Nats, connection: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("HOME", str(tmp_path)), ("TRANSPORT", own_nats.url)):
        monkeypatch.setenv(f"GATEPOST_{name}", value)
    async with serve.open_gateway(load()) as gateway:
        store = gateway.state.store
        register_agents(store)
        arrived = asyncio.Event()
        with gateway.state.signal_bus.subscribe(lambda _: arrived.set()):
            await publish_entries(connection, "inbox.targeted.bob", EVENT_DOCUMENT)
            async with asyncio.timeout(WAIT_TIMEOUT):
                while not list_events(store, "bob"):
                    arrived.clear()
                    await arrived.wait()
        assert [event.dedup_key for event in list_events(store, "bob")] == ["nats:evt-1"]
