"""What other programs publish on the subjects of INBOX_EVENTS reaches its inbox once, or is rejected with a reason."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import nats as driver
import pytest
from nats.aio.client import Client

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.transports.intake import REJECTED_SUBJECT, JetStreamIntakeQueue
from gatepost.adapters.transports.jetstream import JetStreamSubscription
from gatepost.adapters.transports.nats import NatsTransport
from gatepost.adapters.transports.natslink import INTAKE_CONSUMER, STREAM
from gatepost.core.entity import EntityKind
from gatepost.core.event import Event, Push, Trust
from gatepost.errors import Unavailable
from gatepost.gateway import serve
from gatepost.ports import QueuedEntry, Store
from gatepost.runtime.queue_reader import QueueReader
from gatepost.runtime.signal_bus import SignalBus
from gatepost.settings import load
from gatepost.testing import Kit
from tests.brokers import Nats
from tests.couriers import PATIENCE, Taker

SAID: Final = {"eventId": "evt-1", "type": "event", "timestamp": "2026-02-18T15:06:55Z", "data": {"n": 1}}


@pytest.fixture
def kit() -> Iterator[Kit]:
    with Kit() as kit:
        furnish(kit.store)
        yield kit


@pytest.fixture
async def connection(own_nats: Nats) -> AsyncIterator[Client]:
    connection = await driver.connect(own_nats.url)
    yield connection
    await connection.close()


@pytest.fixture
async def letterbox(own_nats: Nats) -> AsyncIterator[JetStreamIntakeQueue]:
    letterbox = JetStreamIntakeQueue(own_nats.url, ack_wait=0.5)
    await letterbox.open()
    yield letterbox
    await letterbox.close()


def furnish(store: Store) -> None:
    for name in ("ann.smith", "bob"):
        store.call(
            directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, aliases=[f"bd-{name[:3]}", f"0.0.{name}"])
        )


def events(store: Store, name: str = "ann.smith") -> list[Event]:
    [account] = store.query(maintenance.list_accounts, name)
    assert account.is_balanced
    return [item.event for item in store.query(inbox.page, name, limit=1_000)]


async def publish(connection: Client, subject: str, *said: Any) -> None:
    for each in said:
        raw = each if isinstance(each, bytes) else json.dumps(each).encode()
        await connection.jetstream().publish(subject, raw)


async def count_unacked(connection: Client) -> int:
    info = await connection.jetstream().consumer_info(STREAM, INTAKE_CONSUMER)
    return (info.num_ack_pending or 0) + (info.num_pending or 0)


async def test_what_others_publish_is_taken_in(kit: Kit, connection: Client, letterbox: JetStreamIntakeQueue) -> None:
    await publish(connection, "inbox.targeted.ann~smith", SAID, {"type": "alert", "content": "CI is red"})
    await publish(connection, "inbox.targeted.bd-ann", SAID | {"eventId": "evt-2"})
    await publish(connection, "inbox.targeted.0.0.bob", SAID)
    await publish(connection, "inbox.broadcast", {"id": "7", "type": "system", "content": "Maintenance"})
    collector = QueueReader(letterbox, kit.store)
    await collector.read_all_queues()
    first, alert, second, maintenance = events(kit.store)
    assert [first.key, second.key, maintenance.key] == ["nats:evt-1", "nats:evt-2", "nats:7"]
    assert alert.key is not None
    assert alert.key.startswith("nats:2@")
    assert {each.trust for each in (first, alert, second, maintenance)} == {Trust.EXTERNAL}
    assert [each.content for each in events(kit.store, "bob")] == ["", "Maintenance"]
    assert (collector.accepted_count, collector.rejected_count) == (5, 0)
    assert await count_unacked(connection) == 0


async def test_ours_is_skipped_and_theirs_is_not_published_again(
    own_nats: Nats, kit: Kit, connection: Client, letterbox: JetStreamIntakeQueue
) -> None:
    """The couriers of the agent leave theirs to the gateway, and are told to look when it is in the store."""
    exchange = SignalBus(NatsTransport(own_nats.url))
    store = kit.open(signal_sink=exchange.on_commit)
    taker = Taker()
    async with exchange.open(), taker.following(JetStreamSubscription(own_nats.url, "ann.smith")):
        looks = taker.looks
        ours = store.call(push.push_event, Push(to="ann.smith", source="test", content="ours"))
        await taker.got(ours.event)
        await publish(connection, "inbox.targeted.0~0~ann~smith", SAID)
        await publish(connection, "inbox.targeted.ann~smith", SAID)
        await QueueReader(letterbox, store).read_all_queues()
        await taker.until(lambda taker: taker.looks > looks)
        last = store.call(push.push_event, Push(to="ann.smith", source="test", content="ours, too"))
        await taker.got(last.event)
        await QueueReader(letterbox, store).read_all_queues()
    assert taker.ids == [ours.event, last.event]
    assert [event.key for event in events(store)] == [None, "nats:evt-1", None]
    info = await connection.jetstream().stream_info(STREAM)
    assert info.state.messages == 4
    assert await count_unacked(connection) == 0


async def test_several_gateways_take_in_together(own_nats: Nats, kit: Kit, connection: Client) -> None:
    letterboxes = [JetStreamIntakeQueue(own_nats.url) for _ in range(2)]
    collectors = [QueueReader(letterbox, kit.open()) for letterbox in letterboxes]
    await letterboxes[0].open()
    done = asyncio.Event()

    async def collect(collector: QueueReader) -> None:
        while not done.is_set():
            await collector.read_all_queues()

    async with asyncio.TaskGroup() as group:
        for collector in collectors:
            group.create_task(collect(collector))
        await publish(
            connection, "inbox.targeted.bob", *(SAID | {"eventId": f"e-{n}"} for n in [*range(60), *range(9)])
        )
        done.set()
    await collectors[0].read_all_queues()
    assert sorted(event.key or "" for event in events(kit.store, "bob")) == sorted(f"nats:e-{n}" for n in range(60))
    assert sum(collector.accepted_count for collector in collectors) == 69
    for letterbox in letterboxes:
        await letterbox.close()


class Dying(JetStreamIntakeQueue):
    """Its process dies after the commit: nothing is acked, and the connection is gone."""

    async def settle(self, entries: Any) -> None:
        await self.close()
        raise Unavailable(f"died with {len(entries)} in hand")


async def test_killed_between_commit_and_ack_it_comes_again_and_is_a_repeat(
    own_nats: Nats, kit: Kit, connection: Client, letterbox: JetStreamIntakeQueue
) -> None:
    await publish(connection, "inbox.targeted.bob", SAID, {"content": "without a name"})
    await publish(connection, "inbox.broadcast", SAID | {"eventId": "for all"})
    with pytest.raises(Unavailable, match="3 in hand"):
        await QueueReader(Dying(own_nats.url), kit.store).read_all_queues()
    before = [event.id for event in events(kit.store, "bob")]
    assert len(before) == 3
    collector = QueueReader(letterbox, kit.store)
    async with asyncio.timeout(PATIENCE):
        while collector.accepted_count < 3:
            await collector.read_all_queues()
    assert [event.id for event in events(kit.store, "bob")] == before
    assert await count_unacked(connection) == 0


async def test_while_the_store_is_away_nothing_is_acked(
    kit: Kit, connection: Client, letterbox: JetStreamIntakeQueue
) -> None:
    await publish(connection, "inbox.targeted.bob", SAID)
    closed = kit.open()
    closed.close()
    with pytest.raises(Unavailable):
        await QueueReader(letterbox, closed).read_all_queues()
    assert await letterbox.take([]) == [
        QueuedEntry("bob", json.dumps(SAID).encode(), (await letterbox.take([]))[0].position)
    ]
    await QueueReader(letterbox, kit.store).read_all_queues()
    assert len(events(kit.store, "bob")) == 1
    assert await count_unacked(connection) == 0


async def test_what_cannot_be_used_is_told_with_the_reason(
    kit: Kit, connection: Client, letterbox: JetStreamIntakeQueue
) -> None:
    rejected = await connection.subscribe(REJECTED_SUBJECT)
    bad: list[tuple[str, Any, str]] = [
        ("inbox.targeted.bob", b"not json", "the entry is not JSON"),
        ("inbox.targeted.bob", b"\xff", "the entry is not UTF-8"),
        ("inbox.targeted.bob", [SAID], "the entry is not a JSON object"),
        ("inbox.targeted.bob", {"type": "party"}, "'party' is not a type of event"),
        ("inbox.targeted.bob", SAID | {"timestamp": "yesterday"}, "'yesterday' is not a time"),
        (
            "inbox.targeted.bob",
            {"id": "1", "timestamp": -7},
            "the timestamp must be in milliseconds since 1970, not -7",
        ),
        ("inbox.targeted.bob", {"id": "1", "ttl_seconds": "1h"}, "the ttl_seconds must be over zero"),
        ("inbox.targeted.bob", SAID | {"content": "x" * 900_000}, "over the limit of 262144"),
        ("inbox.targeted.bobby", SAID, "nobody is called 'bobby'"),
        ("inbox.somewhere", SAID, "nobody is called 'inbox.somewhere'"),
    ]
    for subject, said, _ in bad:
        await publish(connection, subject, said)
    await publish(connection, "inbox.targeted.bob", SAID)
    collector = QueueReader(letterbox, kit.store)
    await collector.read_all_queues()
    for subject, said, reason in bad:
        told = json.loads((await rejected.next_msg(PATIENCE)).data)
        assert told["subject"] == subject
        assert reason in told["reason"]
        raw = said.decode(errors="backslashreplace") if isinstance(said, bytes) else json.dumps(said)
        assert raw.startswith(told["entry"])
    assert (collector.accepted_count, collector.rejected_count) == (1, len(bad))
    assert await count_unacked(connection) == 0


async def test_what_is_past_its_time_when_it_is_taken_in_is_expired(
    kit: Kit, connection: Client, letterbox: JetStreamIntakeQueue
) -> None:
    minute_ago = kit.store.query(lambda tx: tx.now) // 1_000 - 60_000
    line = {"id": "1", "content": "too late", "timestamp": minute_ago, "ttl_seconds": 59}
    await publish(connection, "inbox.targeted.bob", line, line | {"id": "2", "content": "in time", "ttl_seconds": 61})
    await QueueReader(letterbox, kit.store).read_all_queues()
    assert [item.event.content for item in kit.store.query(inbox.peek, "bob")] == ["in time"]
    assert len(events(kit.store, "bob")) == 2


async def test_a_gateway_takes_it_in_as_it_comes(
    own_nats: Nats, connection: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("HOME", str(tmp_path)), ("TRANSPORT", own_nats.url)):
        monkeypatch.setenv(f"GATEPOST_{name}", value)
    async with serve.opened(load()) as gateway:
        store = gateway.office.store
        furnish(store)
        arrived = asyncio.Event()
        with gateway.office.exchange.subscribe(lambda _: arrived.set()):
            await publish(connection, "inbox.targeted.bob", SAID)
            async with asyncio.timeout(PATIENCE):
                while not events(store, "bob"):
                    arrived.clear()
                    await arrived.wait()
        assert [event.key for event in events(store, "bob")] == ["nats:evt-1"]
