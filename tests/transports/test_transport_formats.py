"""What other programs see of the transports, and what they may say: the names on Redis and on NATS."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import nats as driver
import pytest
from msgspec.structs import replace
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError
from redis.asyncio import Redis as RedisClient

from gatepost.core.signals import WAKEUP, Frame, Signal, Topic
from gatepost.inbox.event import Event, EventType
from gatepost.testing.transports import SAMPLE_EVENT, WAIT_TIMEOUT, RecordingListener
from gatepost.transports import codec
from gatepost.transports.nats import NatsTransport
from gatepost.transports.redis import RedisTransport
from tests.support.servers.brokers import Nats, Redis


@pytest.fixture
async def client(redis: Redis) -> AsyncIterator["RedisClient"]:
    async with RedisClient.from_url(redis.url, protocol=2) as client:
        yield client


@pytest.fixture
async def stream(own_nats: Nats) -> AsyncIterator[JetStreamContext]:
    connection = await driver.connect(own_nats.url)
    yield connection.jetstream()
    await connection.close()


async def test_on_redis_any_message_on_a_wakeup_channel_is_a_signal(redis: Redis, client: "RedisClient") -> None:
    messages: list[str | bytes] = [
        "",
        "hello",
        "{",
        "7",
        "null",
        '{"signal": 1}',
        json.dumps({"eventId": "evt-1", "data": {}}),
        b"\xff",
    ]
    async with RedisTransport(redis.url).listen(listener := RecordingListener()):
        for message in messages:
            await client.publish("wakeup:ann", message)
        await client.publish("wakeup:", "nobody")
        await client.publish("wakeup:" + "x" * 1_000, "nobody")
        await client.publish("wakeup:0.0.123", "an alias")
        await listener.wait_for("0.0.123")
    assert listener.signals == [("ann", WAKEUP, True)] * len(messages) + [("0.0.123", WAKEUP, True)]


async def test_on_redis_a_signal_is_the_event_as_json(redis: Redis, client: "RedisClient") -> None:
    async with client.pubsub() as pubsub:
        await pubsub.psubscribe("*")
        assert await pubsub.get_message(timeout=WAIT_TIMEOUT)
        RedisTransport(redis.url).send(
            [
                Signal(Topic("inbox", "ann"), "space_message", SAMPLE_EVENT),
                Signal(Topic("inbox", "bob"), "release", None, False),
                Frame(Topic("space", "q4"), "delta", 1),
            ]
        )
        first, second, third = [await pubsub.get_message(timeout=WAIT_TIMEOUT) for _ in range(3)]
    assert first["channel"] == b"wakeup:ann"
    document = json.loads(first["data"])
    assert document["signal"] == {"by": document["signal"]["by"], "cause": "space_message", "wakes": True}
    assert document | (codec.encode_event(SAMPLE_EVENT) or {}) == document
    assert document["data"]["content"] == SAMPLE_EVENT.content
    assert second["channel"] == b"wakeup:bob"
    assert json.loads(second["data"])["signal"]["wakes"] is False
    assert not third["channel"].startswith(b"wakeup:")


@pytest.mark.parametrize("kind", ["redis", "nats"])
async def test_a_process_does_not_take_its_own_signals_for_somebody_elses(
    kind: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(kind)
    sender = RedisTransport(server.url) if kind == "redis" else NatsTransport(server.url)
    other = RedisTransport(server.url) if kind == "redis" else NatsTransport(server.url)
    async with sender.listen(own_listener := RecordingListener()), other.listen(other_listener := RecordingListener()):
        sender.send([Signal(Topic("inbox", "ann"), "event"), Frame(Topic("space", "q4"), "delta", 1)])
        await other_listener.wait_until(lambda other_listener: len(other_listener.messages) == 2)
        other.send([Signal(Topic("inbox", "bob"), "event")])
        await own_listener.wait_for("bob")
    assert own_listener.signals == [("bob", "event", True)]
    assert own_listener.frames == []


async def test_on_nats_the_stream_is_made_as_couriers_expect_it(own_nats: Nats, stream: JetStreamContext) -> None:
    with pytest.raises(NotFoundError):
        await stream.stream_info("INBOX_EVENTS")
    async with NatsTransport(own_nats.url).listen(RecordingListener()):
        info = await stream.stream_info("INBOX_EVENTS")
    config = info.config
    assert config.subjects == ["inbox.>"]
    assert (config.storage, config.retention, config.discard) == ("file", "limits", "old")
    assert config.max_msgs == 10_000


async def test_on_nats_events_go_to_the_stream_once(own_nats: Nats, stream: JetStreamContext) -> None:
    keyless_event = replace(SAMPLE_EVENT, id="evt_2", dedup_key=None)
    odd_event = replace(SAMPLE_EVENT, id="evt_3", dedup_key=" zwei\nZeilen ü % ")
    large_event = Event(id="evt_4", type=EventType.EVENT, source="test", content="x" * 2_000_000, created_at=0)
    signals = [
        Signal(Topic("inbox", "ann.smith"), "space_message", SAMPLE_EVENT),
        Signal(Topic("inbox", "bob"), "space_message", SAMPLE_EVENT),
        Signal(Topic("inbox", "*"), "system", keyless_event),
        Signal(Topic("inbox", "bob"), "event", odd_event),
        Signal(Topic("inbox", "bob"), "event", large_event),
        Signal(Topic("space", "q4"), "space_message"),
    ]
    async with NatsTransport(own_nats.url).listen(listener := RecordingListener()):
        sender = NatsTransport(own_nats.url)
        async with sender.listen(RecordingListener()):
            sender.send(signals)
            sender.send(signals)
            sender.send([Signal(Topic("inbox", "last"), "event", replace(SAMPLE_EVENT, id="evt_5", dedup_key="last"))])
            await listener.wait_for("last")
            messages = [await _read_message(stream, number) for number in range(1, 7)]
    assert [(subject, message_id) for subject, message_id, _ in messages] == [
        ("inbox.targeted.ann~smith", "ann.smith/msg:msg_1"),
        ("inbox.targeted.bob", "bob/msg:msg_1"),
        ("inbox.broadcast", "*/evt_2"),
        ("inbox.targeted.bob", "bob/%20zwei%0AZeilen%20%C3%BC%20%25%20"),
        ("inbox.targeted.bob", "bob/evt_4"),
        ("inbox.targeted.last", "last/last"),
    ]
    assert messages[0][2] == codec.encode_event(SAMPLE_EVENT)
    assert messages[4][2] == {"eventId": "evt_4", "type": "event", "timestamp": "1970-01-01T00:00:00Z"}
    assert len(listener.signals) == 2 * len(signals) + 1


async def test_on_nats_without_jetstream_signals_flow_and_the_transport_says_what_is_missing() -> None:
    with Nats(jetstream=False) as server:
        transport = NatsTransport(server.url, heartbeat_interval=0.05)
        async with transport.listen(recording_listener := RecordingListener()):
            assert transport.status.is_degraded
            assert "INBOX_EVENTS" in str(transport.status.reason)
            NatsTransport(server.url).send([Signal(Topic("inbox", "ann"), "space_message", SAMPLE_EVENT)])
            await recording_listener.wait_for("ann")


async def _read_message(stream: JetStreamContext, number: int) -> tuple[str | None, str | None, Any]:
    """What lies in the stream under a number, as soon as it does: it is published without waiting for the answer."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:
            try:
                message = await stream.get_msg("INBOX_EVENTS", seq=number)
            except NotFoundError:
                continue
            return message.subject, (message.headers or {}).get("Nats-Msg-Id"), json.loads(message.data or b"")
