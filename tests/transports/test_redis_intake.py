"""Other programs leave events in Redis lists: each reaches its inbox once and in order, or is kept with the reason."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from redis.asyncio import Redis as Client

from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Unavailable
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Event, EventType, Priority, Push, Trust
from gatepost.inbox.push import intake_queue_entry
from gatepost.inbox.push.intake_queue_entry import read_push
from gatepost.jobs.periodic_duty_background import run_duties
from gatepost.testing import Kit
from gatepost.testing.transports import WAIT_TIMEOUT
from gatepost.transports.redis import RedisIntakeQueue, RedisTransport
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.intake_queue_reader import QueueReader
from tests.inbox.foreign_documents import MESSAGE_DOCUMENT, PLAN_DOCUMENT, SERVICE_DOCUMENT
from tests.support.servers.both_databases import KIT_OF_BOTH
from tests.support.servers.brokers import Redis

POSTGRES_BY_NIGHT = True


@pytest.fixture
def store(kit: Kit) -> Store:
    for name in ("ann", "bob", "gone"):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, aliases=[f"0.0.{name}"]))
    kit.store.run_sync(directory.retire, "gone")
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
async def intake_queue(url: str) -> AsyncIterator[RedisIntakeQueue]:
    intake_queue = RedisIntakeQueue(url)
    yield intake_queue
    await intake_queue.close()


async def leave_entries(client: Client, agent: str, *entries: Any) -> None:
    for entry in entries:
        await client.lpush(f"inbox:{agent}", entry if isinstance(entry, bytes) else json.dumps(entry))


def list_events(store: Store, name: str = "ann") -> list[Event]:
    [account] = store.read_sync(account_actions.list_accounts, name)
    assert account.is_balanced
    return [item.event for item in store.read_sync(inbox.list_page, name, limit=10_000)]


async def list_rejected(client: Client, agent: str) -> list[tuple[str, str]]:
    rejections = [json.loads(raw) for raw in await client.lrange(f"inbox:{agent}:rejected", 0, -1)]
    return [(rejection["reason"], rejection["entry"]) for rejection in reversed(rejections)]


async def test_what_was_left_is_taken_in(store: Store, client: Client, intake_queue: RedisIntakeQueue) -> None:
    await leave_entries(client, "ann", MESSAGE_DOCUMENT, PLAN_DOCUMENT, SERVICE_DOCUMENT)
    await leave_entries(client, "0.0.bob", SERVICE_DOCUMENT)
    queue_reader = QueueReader(intake_queue, store)
    await queue_reader.read_all_queues()
    message_event, plan_event, service_event = list_events(store)
    assert [event.type for event in (message_event, plan_event, service_event)] == [
        EventType.SPACE_MESSAGE,
        EventType.PLAN,
        EventType.SERVICE,
    ]
    assert message_event.data == MESSAGE_DOCUMENT["data"]
    assert plan_event.data == PLAN_DOCUMENT["data"]
    assert service_event.data == SERVICE_DOCUMENT["data"]
    assert {event.trust for event in (message_event, plan_event, service_event)} == {Trust.EXTERNAL}
    assert len(list_events(store, "bob")) == 1
    assert await client.keys("*") == []
    assert (queue_reader.accepted_count, queue_reader.rejected_count) == (4, 0)


async def test_more_may_be_said_than_the_document_has(
    store: Store, client: Client, intake_queue: RedisIntakeQueue
) -> None:
    entry = {
        "eventId": "1",
        "type": "alert",
        "content": "CI is red",
        "subject": "ci",
        "priority": "high",
        "source": "ci",
    }
    await leave_entries(client, "ann", entry, {"eventId": "2", "type": "event", "priority": 0, "unheard": "of"})
    await QueueReader(intake_queue, store).read_all_queues()
    first, second = list_events(store)
    assert (first.content, first.subject, first.priority, first.source) == ("CI is red", "ci", Priority.HIGH, "ci")
    assert (second.priority, second.source) == (Priority.CRITICAL, "redis")


@KIT_OF_BOTH
async def test_order_is_kept_and_repeats_are_recognised(
    store: Store, client: Client, intake_queue: RedisIntakeQueue
) -> None:
    """More than is taken at once, and the same ids again: in the same batch, and after all of it was settled."""
    queue_reader = QueueReader(intake_queue, store)
    numbers = [*range(130), *range(125, 135), *range(10)]
    for _ in range(2):
        await leave_entries(
            client, "ann", *({"eventId": f"e-{number}", "type": "event", "data": number} for number in numbers)
        )
        await queue_reader.read_all_queues()
    assert [event.data for event in list_events(store)] == list(range(135))
    assert queue_reader.accepted_count == 2 * len(numbers)


async def test_what_cannot_be_used_is_kept_with_the_reason(
    store: Store, client: Client, intake_queue: RedisIntakeQueue
) -> None:
    valid_entry = {"eventId": "good", "type": "event"}
    invalid_entries: list[tuple[Any, str]] = [
        (b"not json", "the entry is not JSON"),
        (b"", "the entry is not JSON"),
        (b"\xff\xfe", "the entry is not UTF-8"),
        (b'{"eventId": "x", "type": "event", "data": NaN}', "the entry is not JSON"),
        (b"[" * 200 + b"]" * 200, "nested"),
        ([valid_entry], "the entry is not a JSON object"),
        ({"type": "event"}, "the entry has no eventId"),
        ({"eventId": "", "type": "event"}, "the eventId has 0 characters"),
        ({"eventId": "x" * 513, "type": "event"}, "the eventId has 513 characters"),
        ({"eventId": 7, "type": "event"}, "the eventId must be a string, not 7"),
        ({"eventId": "x"}, "the entry has no type"),
        ({"eventId": "x", "type": "party"}, "'party' is not a type of event"),
        (valid_entry | {"timestamp": 7}, "the timestamp must be a string"),
        (valid_entry | {"timestamp": "yesterday"}, "'yesterday' is not a time"),
        (valid_entry | {"content": ["x"]}, "the content must be a string"),
        (valid_entry | {"priority": 9}, "9 is not a priority"),
        (valid_entry | {"priority": True}, "true is not a priority"),
        (valid_entry | {"content": "x" * 300_000}, "over the limit of 262144"),
        (valid_entry | {"data": "x" * 1_100_000}, "over the limit of 1048576"),
        (b'"' + b"x" * 5_000_000 + b'"', "the entry is 5000002 bytes"),
        (b'{"data": [' + b"[]," * 100_000 + b"1]}", "the entry has more than 100,000 JSON values"),
        (valid_entry | {"data": "\x00"}, "the data has a NUL character"),
        (valid_entry | {"data": "\ud800"}, "half of a surrogate pair"),
        (
            valid_entry | {"type": "space_message", "data": {"spaceId": 7}},
            "data.spaceId of a space_message must be a string",
        ),
    ]
    await leave_entries(client, "ann", *(entry for entry, _ in invalid_entries), valid_entry)
    queue_reader = QueueReader(intake_queue, store)
    await queue_reader.read_all_queues()
    assert len(list_events(store)) == 1
    rejections = await list_rejected(client, "ann")
    assert len(rejections) == len(invalid_entries) == queue_reader.rejected_count
    for (reason, entry), (raw, expected) in zip(rejections, invalid_entries, strict=True):
        assert expected in reason
        text = raw.decode(errors="backslashreplace") if isinstance(raw, bytes) else json.dumps(raw)
        assert entry == text
    assert await client.keys("*") == [b"inbox:ann:rejected"]


async def test_others_have_their_turn_between_entries(
    store: Store, client: Client, intake_queue: RedisIntakeQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed_in: list[int] = []
    turn = 0

    def read_and_note_turn(*args: Any, **options: Any) -> Push:
        parsed_in.append(turn)
        return read_push(*args, **options)

    monkeypatch.setattr(intake_queue_entry, "read_push", read_and_note_turn)
    await leave_entries(client, "ann", *({"eventId": f"e-{number}", "type": "event"} for number in range(9)))
    reading = asyncio.create_task(QueueReader(intake_queue, store).read_all_queues())
    while not reading.done():
        turn += 1
        await asyncio.sleep(0)
    await reading
    assert len(set(parsed_in)) == len(parsed_in) == 9


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        ("anna", "there is no entity 'anna'"),
        ("gone", "'gone' is retired and receives nothing"),
        ("*", "'*' is not one agent"),
        ("team:root", "'team:root' is not one agent"),
        ("no such name!", "'no such name!' is not an address"),
    ],
)
async def test_what_is_for_nobody_is_kept_with_the_reason(
    store: Store, client: Client, intake_queue: RedisIntakeQueue, agent: str, reason: str
) -> None:
    await leave_entries(client, agent, SERVICE_DOCUMENT)
    await leave_entries(client, "ann", SERVICE_DOCUMENT)
    await QueueReader(intake_queue, store).read_all_queues()
    assert await list_rejected(client, agent) == [(reason, json.dumps(SERVICE_DOCUMENT))]
    assert len(list_events(store)) == 1


async def test_a_key_that_is_no_list_holds_up_nobody(
    store: Store, client: Client, intake_queue: RedisIntakeQueue
) -> None:
    await client.set("inbox:bob", "a string")
    await leave_entries(client, "ann", SERVICE_DOCUMENT)
    entries = await intake_queue.take(["bob", "ann"])
    assert [entry.agent for entry in entries] == ["ann"]
    await QueueReader(intake_queue, store).read_all_queues()
    assert len(list_events(store)) == 1
    assert await client.get("inbox:bob") == b"a string"


@KIT_OF_BOTH
async def test_nothing_is_removed_while_the_store_is_away(
    kit: Kit, store: Store, client: Client, intake_queue: RedisIntakeQueue
) -> None:
    await leave_entries(client, "ann", MESSAGE_DOCUMENT, SERVICE_DOCUMENT)
    closed = kit.open()
    closed.close()
    with pytest.raises(Unavailable):
        await QueueReader(intake_queue, closed).read_all_queues()
    assert len(await client.lrange("inbox:ann:processing", 0, -1)) == 2
    await QueueReader(intake_queue, store).read_all_queues()
    assert len(list_events(store)) == 2
    assert await client.keys("*") == []


async def test_what_somebody_takes_in_at_the_moment_is_left_to_them(
    store: Store, client: Client, intake_queue: RedisIntakeQueue, url: str
) -> None:
    other_queue = RedisIntakeQueue(url)
    await leave_entries(client, "ann", MESSAGE_DOCUMENT)
    [entry] = await other_queue.take(["ann"])
    await leave_entries(client, "ann", SERVICE_DOCUMENT)
    assert await intake_queue.take(["ann"]) == []
    assert await intake_queue.agents() == ["ann"]
    await other_queue.settle([(entry, None)])
    assert len(await other_queue.take(["ann"])) == 1
    await other_queue.close()


@KIT_OF_BOTH
async def test_several_gateways_take_in_together(store: Store, kit: Kit, client: Client, url: str) -> None:
    """
    They take no notice of each other's holding (it expires at once), so they meet all the time: nothing is lost or
    doubled. The order is whoever's commit came first, which only a holding that lasts would settle.
    """
    intake_queues = [RedisIntakeQueue(url, lease_seconds=0.001) for _ in range(3)]
    queue_readers = [QueueReader(intake_queue, kit.open()) for intake_queue in intake_queues]
    names = ["ann", "bob"]

    async def produce(name: str) -> None:
        for number in range(300):
            await leave_entries(client, name, {"eventId": f"e-{number}", "type": "event", "data": number})

    async def collect(queue_reader: QueueReader) -> None:
        while not stop_event.is_set():
            await queue_reader.read_all_queues()

    stop_event = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for queue_reader in queue_readers:
            group.create_task(collect(queue_reader))
        await asyncio.gather(*map(produce, names))
        stop_event.set()
    await queue_readers[0].read_all_queues()
    for name in names:
        assert sorted(event.data for event in list_events(store, name)) == list(range(300))
    assert await intake_queues[0].agents() == []
    for intake_queue in intake_queues:
        await intake_queue.close()


async def test_a_wakeup_is_all_it_takes(
    kit: Kit, store: Store, client: Client, intake_queue: RedisIntakeQueue, url: str
) -> None:
    bus = SignalBus(RedisTransport(url))
    arrived = asyncio.Event()
    queue_reader = QueueReader(intake_queue, kit.open(signal_sink=bus.on_commit), interval=3_600)
    async with bus.open(), run_duties([queue_reader.duty]):
        with bus.subscribe(queue_reader.on_signal), bus.subscribe(lambda _: arrived.set()):
            for agent in ("ann", "ann:processing", "ann:rejected", "nobody", "*"):
                await client.publish(f"wakeup:{agent}", "")
            async with asyncio.timeout(WAIT_TIMEOUT):
                for number, entry in enumerate((MESSAGE_DOCUMENT, PLAN_DOCUMENT, SERVICE_DOCUMENT), 1):
                    await leave_entries(client, "ann", entry)
                    await client.publish("wakeup:ann", "")
                    while len(list_events(store)) < number:
                        arrived.clear()
                        await arrived.wait()
