"""Other programs leave events in Redis lists: each reaches its inbox once and in order, or is kept with the reason."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
from redis.asyncio import Redis as Client

from gatepost.actions import directory, inbox, maintenance
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.transports.letterbox import RedisIntakeQueue
from gatepost.adapters.transports.redis import RedisTransport
from gatepost.core.entity import EntityKind
from gatepost.core.event import Event, EventType, Priority, Trust
from gatepost.errors import Unavailable
from gatepost.ports import Store
from gatepost.runtime.periodic import run_duties
from gatepost.runtime.queue_reader import QueueReader
from gatepost.runtime.signal_bus import SignalBus
from gatepost.testing import Kit
from gatepost.testing.transports import WAIT_TIMEOUT
from tests.brokers import Redis

#: exactly as programs that were written for such lists push them
POSTED: Final = {
    "eventId": "evt-abc-123",
    "type": "space_message",
    "timestamp": "2026-02-18T15:06:55Z",
    "data": {
        "spaceId": "space-xyz",
        "spaceName": "Project Alpha",
        "messageId": "msg-g7h8",
        "senderEntityId": "entity-husam",
        "senderName": "Husam",
        "senderType": "human",
        "content": "Pull the Q4 revenue numbers",
    },
}
PLANNED: Final = {
    "eventId": "evt-plan-abc",
    "type": "plan",
    "timestamp": "2026-02-19T09:00:00Z",
    "data": {"planId": "plan-abc", "planName": "Daily Report", "instruction": "Generate the daily summary"},
}
CALLED: Final = {
    "eventId": "evt-svc-xyz",
    "type": "service",
    "timestamp": "2026-02-18T15:10:00Z",
    "data": {"serviceName": "jira-webhook", "payload": {"issue": "PROJ-123", "action": "created"}},
}


@pytest.fixture
def store(kit: Kit) -> Store:
    for name in ("ann", "bob", "gone"):
        kit.store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, aliases=[f"0.0.{name}"]))
    kit.store.call(directory.retire, "gone")
    return kit.store


@pytest.fixture
async def url(redis: Redis) -> str:
    """A Redis without keys in it."""
    async with Client.from_url(f"{redis.url}/5") as client:
        await client.flushdb()
    return f"{redis.url}/5"


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    async with Client.from_url(url, protocol=2) as client:
        yield client


@pytest.fixture
async def letterbox(url: str) -> AsyncIterator[RedisIntakeQueue]:
    letterbox = RedisIntakeQueue(url)
    yield letterbox
    await letterbox.close()


async def leave(client: Client, agent: str, *entries: Any) -> None:
    for entry in entries:
        await client.lpush(f"inbox:{agent}", entry if isinstance(entry, bytes) else json.dumps(entry))


def events(store: Store, name: str = "ann") -> list[Event]:
    [account] = store.query(maintenance.list_accounts, name)
    assert account.is_balanced
    return [item.event for item in store.query(inbox.page, name, limit=10_000)]


async def rejected(client: Client, agent: str) -> list[tuple[str, str]]:
    found = [json.loads(raw) for raw in await client.lrange(f"inbox:{agent}:rejected", 0, -1)]
    return [(each["reason"], each["entry"]) for each in reversed(found)]


async def test_what_was_left_is_taken_in(store: Store, client: Client, letterbox: RedisIntakeQueue) -> None:
    await leave(client, "ann", POSTED, PLANNED, CALLED)
    await leave(client, "0.0.bob", CALLED)
    collector = QueueReader(letterbox, store)
    await collector.read_all_queues()
    posted, planned, called = events(store)
    assert [one.type for one in (posted, planned, called)] == [
        EventType.SPACE_MESSAGE,
        EventType.PLAN,
        EventType.SERVICE,
    ]
    assert posted.data == POSTED["data"]
    assert planned.data == PLANNED["data"]
    assert called.data == CALLED["data"]
    assert {one.trust for one in (posted, planned, called)} == {Trust.EXTERNAL}
    assert len(events(store, "bob")) == 1
    assert await client.keys("*") == []
    assert (collector.accepted_count, collector.rejected_count) == (4, 0)


async def test_more_may_be_said_than_the_document_has(
    store: Store, client: Client, letterbox: RedisIntakeQueue
) -> None:
    said = {
        "eventId": "1",
        "type": "alert",
        "content": "CI is red",
        "subject": "ci",
        "priority": "high",
        "source": "ci",
    }
    await leave(client, "ann", said, {"eventId": "2", "type": "event", "priority": 0, "unheard": "of"})
    await QueueReader(letterbox, store).read_all_queues()
    first, second = events(store)
    assert (first.content, first.subject, first.priority, first.source) == ("CI is red", "ci", Priority.HIGH, "ci")
    assert (second.priority, second.source) == (Priority.CRITICAL, "redis")


async def test_order_is_kept_and_repeats_are_recognised(
    store: Store, client: Client, letterbox: RedisIntakeQueue
) -> None:
    """More than is taken at once, and the same ids again: in the same batch, and after all of it was settled."""
    collector = QueueReader(letterbox, store)
    numbers = [*range(130), *range(125, 135), *range(10)]
    for _ in range(2):
        await leave(client, "ann", *({"eventId": f"e-{each}", "type": "event", "data": each} for each in numbers))
        await collector.read_all_queues()
    assert [event.data for event in events(store)] == list(range(135))
    assert collector.accepted_count == 2 * len(numbers)


async def test_what_cannot_be_used_is_kept_with_the_reason(
    store: Store, client: Client, letterbox: RedisIntakeQueue
) -> None:
    good = {"eventId": "good", "type": "event"}
    bad: list[tuple[Any, str]] = [
        (b"not json", "the entry is not JSON"),
        (b"", "the entry is not JSON"),
        (b"\xff\xfe", "the entry is not UTF-8"),
        (b'{"eventId": "x", "type": "event", "data": NaN}', "the entry is not JSON"),
        (b"[" * 200 + b"]" * 200, "nested"),
        ([good], "the entry is not a JSON object"),
        ({"type": "event"}, "the entry has no eventId"),
        ({"eventId": "", "type": "event"}, "the eventId has 0 characters"),
        ({"eventId": "x" * 513, "type": "event"}, "the eventId has 513 characters"),
        ({"eventId": 7, "type": "event"}, "the eventId must be a string, not 7"),
        ({"eventId": "x"}, "the entry has no type"),
        ({"eventId": "x", "type": "party"}, "'party' is not a type of event"),
        (good | {"timestamp": 7}, "the timestamp must be a string"),
        (good | {"timestamp": "yesterday"}, "'yesterday' is not a time"),
        (good | {"content": ["x"]}, "the content must be a string"),
        (good | {"priority": 9}, "9 is not a priority"),
        (good | {"priority": True}, "True is not a priority"),
        (good | {"content": "x" * 300_000}, "over the limit of 262144"),
        (good | {"data": "x" * 1_100_000}, "over the limit of 1048576"),
        (b'"' + b"x" * 5_000_000 + b'"', "the entry is 5000002 bytes"),
        (good | {"data": "\x00"}, "the data has a NUL character"),
        (good | {"data": "\ud800"}, "half of a surrogate pair"),
        (good | {"type": "space_message", "data": {"spaceId": 7}}, "data.spaceId of a space_message must be a string"),
    ]
    await leave(client, "ann", *(entry for entry, _ in bad), good)
    collector = QueueReader(letterbox, store)
    await collector.read_all_queues()
    assert len(events(store)) == 1
    found = await rejected(client, "ann")
    assert len(found) == len(bad) == collector.rejected_count
    for (reason, entry), (raw, expected) in zip(found, bad, strict=True):
        assert expected in reason
        text = raw.decode(errors="backslashreplace") if isinstance(raw, bytes) else json.dumps(raw)
        assert entry == text
    assert await client.keys("*") == [b"inbox:ann:rejected"]


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("anna", "nobody is called 'anna'"),
        ("gone", "'gone' is retired and receives nothing"),
        ("*", "'*' is not one agent"),
        ("team:root", "'team:root' is not one agent"),
        ("no such name!", "'no such name!' is not an address"),
    ],
)
async def test_what_is_for_nobody_is_kept_with_the_reason(
    store: Store, client: Client, letterbox: RedisIntakeQueue, agent: str, reason: str
) -> None:
    await leave(client, agent, CALLED)
    await leave(client, "ann", CALLED)
    await QueueReader(letterbox, store).read_all_queues()
    assert await rejected(client, agent) == [(reason, json.dumps(CALLED))]
    assert len(events(store)) == 1


async def test_a_key_that_is_no_list_holds_up_nobody(store: Store, client: Client, letterbox: RedisIntakeQueue) -> None:
    await client.set("inbox:bob", "a string")
    await leave(client, "ann", CALLED)
    taken = await letterbox.take(["bob", "ann"])
    assert [entry.agent for entry in taken] == ["ann"]
    await QueueReader(letterbox, store).read_all_queues()
    assert len(events(store)) == 1
    assert await client.get("inbox:bob") == b"a string"


async def test_nothing_is_removed_while_the_store_is_away(
    kit: Kit, store: Store, client: Client, letterbox: RedisIntakeQueue
) -> None:
    await leave(client, "ann", POSTED, CALLED)
    closed = kit.open()
    closed.close()
    with pytest.raises(Unavailable):
        await QueueReader(letterbox, closed).read_all_queues()
    assert len(await client.lrange("inbox:ann:processing", 0, -1)) == 2
    await QueueReader(letterbox, store).read_all_queues()
    assert len(events(store)) == 2
    assert await client.keys("*") == []


async def test_what_somebody_takes_in_at_the_moment_is_left_to_them(
    store: Store, client: Client, letterbox: RedisIntakeQueue, url: str
) -> None:
    other = RedisIntakeQueue(url)
    await leave(client, "ann", POSTED)
    [entry] = await other.take(["ann"])
    await leave(client, "ann", CALLED)
    assert await letterbox.take(["ann"]) == []
    assert await letterbox.agents() == ["ann"]
    await other.settle([(entry, None)])
    assert len(await other.take(["ann"])) == 1
    await other.close()


async def test_several_gateways_take_in_together(store: Store, kit: Kit, client: Client, url: str) -> None:
    """
    They take no notice of each other's holding (it expires at once), so they meet all the time: nothing is lost or
    doubled. The order is whoever's commit came first, which only a holding that lasts would settle.
    """
    letterboxes = [RedisIntakeQueue(url, lease_seconds=0.001) for _ in range(3)]
    collectors = [QueueReader(letterbox, kit.open()) for letterbox in letterboxes]
    names = ["ann", "bob"]

    async def produce(name: str) -> None:
        for number in range(300):
            await leave(client, name, {"eventId": f"e-{number}", "type": "event", "data": number})

    async def collect(collector: QueueReader) -> None:
        while not done.is_set():
            await collector.read_all_queues()

    done = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for collector in collectors:
            group.create_task(collect(collector))
        await asyncio.gather(*map(produce, names))
        done.set()
    await collectors[0].read_all_queues()
    for name in names:
        assert sorted(event.data for event in events(store, name)) == list(range(300))
    assert await letterboxes[0].agents() == []
    for letterbox in letterboxes:
        await letterbox.close()


async def test_a_wakeup_is_all_it_takes(
    kit: Kit, store: Store, client: Client, letterbox: RedisIntakeQueue, url: str
) -> None:
    exchange = SignalBus(RedisTransport(url))
    arrived = asyncio.Event()
    collector = QueueReader(letterbox, kit.open(signal_sink=exchange.on_commit), interval=3_600)
    async with exchange.open(), run_duties([collector.duty]):
        with exchange.subscribe(collector.on_signal), exchange.subscribe(lambda _: arrived.set()):
            for agent in ("ann", "ann:processing", "ann:rejected", "nobody", "*"):
                await client.publish(f"wakeup:{agent}", "")
            async with asyncio.timeout(WAIT_TIMEOUT):
                for number, entry in enumerate((POSTED, PLANNED, CALLED), 1):
                    await leave(client, "ann", entry)
                    await client.publish("wakeup:ann", "")
                    while len(events(store)) < number:
                        arrived.clear()
                        await arrived.wait()
