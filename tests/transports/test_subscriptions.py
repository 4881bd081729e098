"""Every source of parcels brings what gateways hand to it, whole; and what it cannot bring it says to look for."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import nats as driver
import pytest
from msgspec.structs import replace
from nats.errors import Error as NatsError
from redis.asyncio import Redis as RedisClient

from gatepost.core.times import HOUR
from gatepost.core.transport_records import SubscribedEvent
from gatepost.inbox.event import EventType, Priority, Ref, Route
from gatepost.transports.nats import EVENT_HEADER, STREAM, build_agent_subject, escape_name
from tests.guests.courier_fixtures import (
    SOURCE_KINDS,
    WAIT_TIMEOUT,
    CourierSetup,
    RecordingSubscriber,
    get_server_url,
    open_courier_setup,
)
from tests.support.servers.brokers import Nats, Redis


@pytest.fixture(params=SOURCE_KINDS)
async def courier_setup(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[CourierSetup]:
    async with open_courier_setup(request.param, get_server_url(request.param, request), tmp_path) as open_setup:
        yield open_setup


async def test_an_event_comes_whole_to_whom_it_is_for_and_marks_nothing(courier_setup: CourierSetup) -> None:
    async with RecordingSubscriber().follow(courier_setup.make_subscription(courier_setup.ann)) as subscriber:
        courier_setup.push(courier_setup.bob, content="for somebody else")
        first_id = courier_setup.push(
            courier_setup.ann,
            sender="admin",
            type=EventType.MAIL,
            subject="Zahlen für „Q4“ \u2028",
            content='say "4.2M"\n',
            data={"mailId": "m_1", "nested": [None, {"deep": 1.5}]},
            priority=Priority.HIGH,
            dedup_key="mail:admin:1",
            ttl=HOUR,
            ref=Ref("task", "0.0.123"),
            route=Route("telegram", "chat-1:user-2"),
            hops=3,
        )
        second_id = courier_setup.push(courier_setup.ann, content="without a key")
        third_id = courier_setup.push("*", sender=courier_setup.bob, type=EventType.SYSTEM, content="to all")
        await subscriber.wait_for(first_id, second_id, third_id)
    pending = [replace(item.event, arrival=0) for item in courier_setup.list_pending(courier_setup.ann)]
    assert [event.id for event in pending] == [first_id, second_id, third_id]
    assert [replace(event, arrival=0) for event in subscriber.events if event is not None] == pending


async def test_it_says_to_look_once_nothing_more_can_be_missed(courier_setup: CourierSetup) -> None:
    """So what came before is found by asking the store, and what comes after is a parcel."""
    early_id = courier_setup.push(courier_setup.ann, content="too early")
    async with RecordingSubscriber().follow(courier_setup.make_subscription(courier_setup.ann)) as subscriber:
        await subscriber.wait_for(courier_setup.push(courier_setup.ann, content="in time"))
    async with subscriber.follow(courier_setup.make_subscription(courier_setup.ann)):
        await subscriber.wait_for(courier_setup.push(courier_setup.ann, content="to the next who follows"))
    assert subscriber.look_count >= 2
    assert early_id not in subscriber.ids


async def test_what_is_refused_comes_again_or_has_to_be_looked_for(courier_setup: CourierSetup) -> None:
    async with RecordingSubscriber(refusal_count=1).follow(
        courier_setup.make_subscription(courier_setup.ann)
    ) as subscriber:
        look_count = subscriber.look_count
        refused_id = courier_setup.push(courier_setup.ann, content="not now")
        await subscriber.wait_until(
            lambda subscriber: subscriber.ids.count(refused_id) == 2 or subscriber.look_count > look_count
        )
        await subscriber.wait_for(courier_setup.push(courier_setup.ann, content="now"))


async def test_what_is_too_large_to_be_carried_has_to_be_looked_for(courier_setup: CourierSetup) -> None:
    async with RecordingSubscriber().follow(courier_setup.make_subscription(courier_setup.ann)) as subscriber:
        look_count = subscriber.look_count
        large_id = courier_setup.push(courier_setup.ann, content="\u2028" * 80_000, data={"text": "\u2028" * 300_000})
        await subscriber.wait_until(
            lambda subscriber: bool(subscriber.subscribed_events) or subscriber.look_count > look_count
        )
        small_id = courier_setup.push(courier_setup.ann, content="small")
        await subscriber.wait_for(small_id)
    # a connection that was lost meanwhile may bring an event again
    assert list(dict.fromkeys(subscriber.ids)) in ([large_id, small_id], [small_id])
    assert all(subscribed_event.event is not None for subscribed_event in subscriber.subscribed_events)


@pytest.mark.parametrize("courier_setup", ["nats"], indirect=True)
class TestJetStream:
    async def test_what_nobody_acked_comes_again_also_to_the_next(self, courier_setup: CourierSetup) -> None:
        async with SilentSubscriber().follow(
            courier_setup.make_subscription(courier_setup.ann, ack_wait=1.0)
        ) as silent_subscriber:
            first_id = courier_setup.push(courier_setup.ann, content="nobody acks")
            await silent_subscriber.wait_until(lambda subscriber: subscriber.ids.count(first_id) == 2)
        async with RecordingSubscriber().follow(courier_setup.make_subscription(courier_setup.ann)) as subscriber:
            await subscriber.wait_for(first_id)
        async with RecordingSubscriber().follow(courier_setup.make_subscription(courier_setup.ann)) as next_subscriber:
            last_id = courier_setup.push(courier_setup.ann, content="acked")
            await next_subscriber.wait_for(last_id)
        assert next_subscriber.ids == [last_id]

    async def test_the_consumer_is_as_other_couriers_expect_it(self, courier_setup: CourierSetup, nats: Nats) -> None:
        connection = await driver.connect(nats.url)
        async with RecordingSubscriber().follow(courier_setup.make_subscription(courier_setup.ann)):
            info = await connection.jetstream().consumer_info(STREAM, f"inbox-{courier_setup.ann.replace('.', '~')}")
        await connection.close()
        config = info.config
        assert config.durable_name == info.name
        assert (config.deliver_policy, config.ack_policy, config.ack_wait) == ("new", "explicit", 30)
        assert config.filter_subjects == [f"inbox.targeted.{courier_setup.ann.replace('.', '~')}", "inbox.broadcast"]

    async def test_one_that_was_removed_is_told_as_lost_and_made_again(
        self, courier_setup: CourierSetup, nats: Nats
    ) -> None:
        connection = await driver.connect(nats.url)
        subscriber = RecordingSubscriber()
        follow_task = asyncio.create_task(
            courier_setup.make_subscription(courier_setup.ann, heartbeat_interval=0.1).follow(
                subscriber.take, subscriber.look
            )
        )
        await subscriber.wait_until(lambda subscriber: subscriber.look_count == 1)
        assert await connection.jetstream().delete_consumer(STREAM, f"inbox-{escape_name(courier_setup.ann)}")
        await connection.close()
        await asyncio.wait([follow_task], timeout=WAIT_TIMEOUT)
        assert isinstance(follow_task.exception(), NatsError)
        async with subscriber.follow(courier_setup.make_subscription(courier_setup.ann)):
            await subscriber.wait_for(courier_setup.push(courier_setup.ann, content="again"))

    async def test_what_cannot_be_read_is_a_parcel_too(self, courier_setup: CourierSetup, nats: Nats) -> None:
        connection = await driver.connect(nats.url)
        async with RecordingSubscriber().follow(courier_setup.make_subscription(courier_setup.ann)) as subscriber:
            for message in (b"", b"{", b"null", b"[]", b"\xff", b'{"eventId": 7, "content": null}'):
                await connection.jetstream().publish(
                    build_agent_subject(courier_setup.ann), message, headers={EVENT_HEADER: "evt_1"}
                )
            await subscriber.wait_for(courier_setup.push(courier_setup.ann, content="fine"))
        await connection.close()
        assert [
            subscribed_event.event is None and bool(subscribed_event.error)
            for subscribed_event in subscriber.subscribed_events
        ] == [True] * 6 + [False]


@pytest.mark.parametrize("courier_setup", ["redis"], indirect=True)
class TestRedis:
    async def test_a_signal_without_an_event_says_to_look(self, courier_setup: CourierSetup, redis: Redis) -> None:
        channel = f"wakeup:{courier_setup.ann}"
        async with (
            RedisClient.from_url(redis.url, protocol=2) as client,
            RecordingSubscriber().follow(courier_setup.make_subscription(courier_setup.ann)) as subscriber,
        ):
            for message in ("", "hello", "7", '{"signal": 1}', '{"eventId": "of another program"}'):
                await client.publish(channel, message)
            await subscriber.wait_until(lambda subscriber: subscriber.look_count == 6)
            await client.publish(channel, json.dumps({"signal": {"cause": "event"}, "eventId": 7}))
            await subscriber.wait_until(lambda subscriber: bool(subscriber.subscribed_events))
        assert subscriber.look_count == 6
        assert [
            subscribed_event.event is None and bool(subscribed_event.error)
            for subscribed_event in subscriber.subscribed_events
        ] == [True]


class SilentSubscriber(RecordingSubscriber):
    """Takes parcels and says nothing."""

    async def acknowledge(self, subscribed_event: SubscribedEvent) -> None:
        pass
