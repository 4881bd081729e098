"""Every source of parcels brings what gateways hand to it, whole; and what it cannot bring it says to look for."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import nats as driver
import pytest
from nats.errors import Error as NatsError
from redis.asyncio import Redis as RedisClient

from gatepost.adapters.transports.natslink import EVENT_HEADER, STREAM, build_agent_subject, escape_name
from gatepost.adapters.transports.redis import RedisTransport
from gatepost.core.event import EventType, Priority, Ref, Route
from gatepost.core.signals import JANITOR, Signal
from gatepost.core.times import HOUR
from gatepost.ports import SubscribedEvent
from tests.brokers import Nats, Redis
from tests.couriers import PATIENCE, ROADS, Road, Taker, road, server


@pytest.fixture(params=ROADS)
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Road]:
    async with road(request.param, server(request.param, request), tmp_path) as made:
        yield made


async def test_an_event_comes_whole_to_whom_it_is_for_and_marks_nothing(place: Road) -> None:
    async with Taker().following(place.parcels(place.ann)) as taker:
        place.push(place.bob, content="for somebody else")
        first = place.push(
            place.ann,
            sender="admin",
            type=EventType.MAIL,
            subject="Zahlen für „Q4“ \u2028",
            content='say "4.2M"\n',
            data={"mailId": "m_1", "nested": [None, {"deep": 1.5}]},
            priority=Priority.HIGH,
            key="mail:admin:1",
            ttl=HOUR,
            ref=Ref("task", "0.0.123"),
            route=Route("telegram", "chat-1:user-2"),
            hops=3,
        )
        second = place.push(place.ann, content="without a key")
        third = place.push("*", sender=place.bob, type=EventType.SYSTEM, content="to all")
        await taker.got(first, second, third)
    pending = [replace(item.event, arrival=0) for item in place.pending(place.ann)]
    assert [event.id for event in pending] == [first, second, third]
    assert [replace(event, arrival=0) for event in taker.events if event is not None] == pending


async def test_it_says_to_look_once_nothing_more_can_be_missed(place: Road) -> None:
    """So what came before is found by asking the store, and what comes after is a parcel."""
    before = place.push(place.ann, content="too early")
    async with Taker().following(place.parcels(place.ann)) as taker:
        await taker.got(place.push(place.ann, content="in time"))
    async with taker.following(place.parcels(place.ann)):
        await taker.got(place.push(place.ann, content="to the next who follows"))
    assert taker.looks >= 2
    assert before not in taker.ids


async def test_what_is_refused_comes_again_or_has_to_be_looked_for(place: Road) -> None:
    async with Taker(refuses=1).following(place.parcels(place.ann)) as taker:
        looks = taker.looks
        refused = place.push(place.ann, content="not now")
        await taker.until(lambda taker: taker.ids.count(refused) == 2 or taker.looks > looks)
        await taker.got(place.push(place.ann, content="now"))


async def test_what_is_too_large_to_be_carried_has_to_be_looked_for(place: Road) -> None:
    async with Taker().following(place.parcels(place.ann)) as taker:
        looks = taker.looks
        large = place.push(place.ann, content="\u2028" * 80_000, data={"text": "\u2028" * 300_000})
        await taker.until(lambda taker: bool(taker.parcels) or taker.looks > looks)
        small = place.push(place.ann, content="small")
        await taker.got(small)
    assert taker.ids in ([large, small], [small])
    assert all(parcel.event is not None for parcel in taker.parcels)


@pytest.mark.parametrize("place", ["nats"], indirect=True)
class TestJetStream:
    async def test_what_nobody_acked_comes_again_also_to_the_next(self, place: Road) -> None:
        async with Deaf().following(place.parcels(place.ann, ack_wait=1.0)) as deaf:
            first = place.push(place.ann, content="nobody acks")
            await deaf.until(lambda taker: taker.ids.count(first) == 2)
        async with Taker().following(place.parcels(place.ann)) as taker:
            await taker.got(first)
        async with Taker().following(place.parcels(place.ann)) as after:
            last = place.push(place.ann, content="acked")
            await after.got(last)
        assert after.ids == [last]

    async def test_the_consumer_is_as_other_couriers_expect_it(self, place: Road, nats: Nats) -> None:
        connection = await driver.connect(nats.url)
        async with Taker().following(place.parcels(place.ann)):
            info = await connection.jetstream().consumer_info(STREAM, f"inbox-{place.ann.replace('.', '~')}")
        await connection.close()
        config = info.config
        assert config.durable_name == info.name
        assert (config.deliver_policy, config.ack_policy, config.ack_wait) == ("new", "explicit", 30)
        assert config.filter_subjects == [f"inbox.targeted.{place.ann.replace('.', '~')}", "inbox.broadcast"]

    async def test_one_that_was_removed_is_told_as_lost_and_made_again(self, place: Road, nats: Nats) -> None:
        connection = await driver.connect(nats.url)
        taker = Taker()
        following = asyncio.create_task(place.parcels(place.ann, heartbeat_interval=0.1).follow(taker.take, taker.look))
        await taker.until(lambda taker: taker.looks == 1)
        assert await connection.jetstream().delete_consumer(STREAM, f"inbox-{escape_name(place.ann)}")
        await connection.close()
        await asyncio.wait([following], timeout=PATIENCE)
        assert isinstance(following.exception(), NatsError)
        async with taker.following(place.parcels(place.ann)):
            await taker.got(place.push(place.ann, content="again"))

    async def test_what_cannot_be_read_is_a_parcel_too(self, place: Road, nats: Nats) -> None:
        connection = await driver.connect(nats.url)
        async with Taker().following(place.parcels(place.ann)) as taker:
            for message in (b"", b"{", b"null", b"[]", b"\xff", b'{"eventId": 7, "content": null}'):
                await connection.jetstream().publish(
                    build_agent_subject(place.ann), message, headers={EVENT_HEADER: "evt_1"}
                )
            await taker.got(place.push(place.ann, content="fine"))
        await connection.close()
        assert [parcel.event is None and bool(parcel.error) for parcel in taker.parcels] == [True] * 6 + [False]


@pytest.mark.parametrize("place", ["redis"], indirect=True)
class TestRedis:
    async def test_a_ring_without_an_event_says_to_look(self, place: Road, redis: Redis) -> None:
        channel = f"wakeup:{place.ann}"
        async with (
            RedisClient.from_url(redis.url, protocol=2) as client,
            Taker().following(place.parcels(place.ann)) as taker,
        ):
            for message in ("", "hello", "7", '{"ring": 1}', '{"eventId": "of another program"}'):
                await client.publish(channel, message)
            await taker.until(lambda taker: taker.looks == 6)
            RedisTransport(redis.url).send([Signal(place.ann, JANITOR)])
            await client.publish(channel, json.dumps({"ring": {"cause": "event"}, "eventId": 7}))
            await taker.until(lambda taker: bool(taker.parcels))
        assert taker.looks == 6
        assert [parcel.event is None and bool(parcel.error) for parcel in taker.parcels] == [True]


class Deaf(Taker):
    """Takes parcels and says nothing."""

    async def answer(self, parcel: SubscribedEvent) -> None:
        pass
