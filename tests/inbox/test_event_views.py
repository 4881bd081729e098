"""What other programs see of events: the same fields through every door, and what was written can be read again."""

import json
from itertools import product
from typing import Any

import pytest
from msgspec import convert, to_builtins
from msgspec.structs import replace

from gatepost.core.times import parse_instant
from gatepost.directory.entity import EntityKind
from gatepost.inbox.event import (
    Delivery,
    Event,
    EventType,
    Item,
    ItemState,
    Priority,
    PushResult,
    Receipt,
    Ref,
    Route,
    Sender,
    Trust,
)
from gatepost.inbox.event_api import EventDetailView, EventView, ItemView
from gatepost.inbox.push.api import PushResultView
from tests.support.collected_failures import CollectedFailures

NOW = parse_instant("2026-02-18T15:06:55Z")
HUSAM = Sender("husam", "Husam", EntityKind.HUMAN)
EVENT = Event(id="evt_" + "0" * 32, type=EventType.EVENT, source="test", created_at=NOW)
FULL_EVENT = replace(
    EVENT,
    sender=HUSAM,
    subject="About it",
    content="said\u2028so",
    priority=Priority.FYI,
    dedup_key="k",
    source_time=NOW - 1,
    expires_at=NOW + 1,
    ref=Ref("task", "1"),
    route=Route("telegram", "chat-1"),
    hops=3,
    trust=Trust.EXTERNAL,
    wakes=False,
)
DATA_VALUES: list[Any] = [
    None,
    {},
    [1],
    "text",
    7,
    {"payload": None},
    {"serviceName": "jira", "payload": {"issue": 1}, "context": "x"},
    {"planId": "plan_1", "planName": "Daily", "instruction": "Do it", "dueAt": NOW},
    {"spaceId": "q4", "spaceName": "Q4", "messageId": "msg_1", "seq": 4, "senderEntityId": "husam"},
]


def write_event(event: Event) -> dict[str, Any]:
    document: dict[str, Any] = to_builtins(EventView.of(Item(event=event, recipient="ana")))
    return document


def test_what_was_written_can_be_read_and_is_written_as_it_was() -> None:
    events = {"bare": EVENT, "full": FULL_EVENT}
    with CollectedFailures() as failures:
        for (name, event), type, data in product(events.items(), EventType, DATA_VALUES):
            with failures.check(f"{name} {type} {data}"):
                document = write_event(replace(event, type=type, data=data))
                parsed_event = convert(document, EventView).to_event()
                assert write_event(parsed_event) == document
                if type not in (EventType.SPACE_MESSAGE, EventType.PLAN, EventType.SERVICE):
                    assert parsed_event == replace(event, type=type, data=data)


def test_the_entries_of_the_source_document() -> None:
    message_event = replace(
        EVENT,
        type=EventType.SPACE_MESSAGE,
        sender=HUSAM,
        content="Pull the Q4 revenue numbers",
        data={"spaceId": "space-xyz", "spaceName": "Project Alpha", "messageId": "msg-g7h8", "seq": 3, "context": "x"},
    )
    document = write_event(message_event)
    assert document["timestamp"] == "2026-02-18T15:06:55Z"
    assert document["type"] == "space_message"
    assert document["data"] == {
        "spaceId": "space-xyz",
        "spaceName": "Project Alpha",
        "messageId": "msg-g7h8",
        "senderEntityId": "husam",
        "senderName": "Husam",
        "senderType": "human",
        "content": "Pull the Q4 revenue numbers",
    }
    assert document["extra"] == {"seq": 3, "context": "x"}
    plan_event = replace(
        EVENT, type=EventType.PLAN, subject="Daily Report", content="Post it", data={"planId": "p", "dueAt": 1}
    )
    assert write_event(plan_event)["data"] == {"planId": "p", "planName": "Daily Report", "instruction": "Post it"}
    service_event = replace(EVENT, type=EventType.SERVICE, source="jira", data=[1, 2])
    assert write_event(service_event)["data"] == {"serviceName": "jira", "payload": [1, 2]}
    assert "extra" not in write_event(service_event)


@pytest.mark.parametrize("type", list(EventType))
def test_every_type_can_be_written(type: EventType) -> None:
    for data in (None, {}, {"payload": None}, [1], "text", 7):
        document = write_event(replace(EVENT, type=type, data=data))
        assert json.loads(json.dumps(document)) == document
        if type not in (EventType.SPACE_MESSAGE, EventType.PLAN, EventType.SERVICE):
            assert document["data"] == data


def test_an_item_says_where_it_stands() -> None:
    item = Item(
        event=replace(EVENT, priority=Priority.FYI, ref=Ref("task", "1"), route=Route("telegram", "chat-1")),
        recipient="ana",
        state=ItemState.DELIVERED,
        ended_at=NOW,
        receipt=Receipt(kind="drain", owner="s-1", at=NOW),
    )
    document = to_builtins(ItemView.of(item))
    assert (document["priority"], document["state"], document["recipient"]) == (4, "delivered", "ana")
    assert document["route"] == {"channel": "telegram", "sessionId": "chat-1"}
    assert document["receipt"] == {"kind": "drain", "owner": "s-1", "at": "2026-02-18T15:06:55Z"}
    items_document = to_builtins(
        EventDetailView.merge([ItemView.of(item), ItemView.of(replace(item, recipient="ben", state=ItemState.PENDING))])
    )
    assert (items_document["state"], [recipient["name"] for recipient in items_document["recipients"]]) == (
        "mixed",
        ["ana", "ben"],
    )


def test_what_a_push_came_to() -> None:
    assert to_builtins(PushResultView.of(PushResult("evt_1", (Delivery("ana", "evt_1", duplicate=False),)))) == {
        "eventId": "evt_1",
        "recipients": [{"name": "ana", "eventId": "evt_1", "duplicate": False}],
    }
    assert to_builtins(PushResultView.of(PushResult("evt_1", broadcast=3))) == {
        "eventId": "evt_1",
        "recipients": [],
        "broadcast": 3,
        "duplicate": False,
    }
    assert to_builtins(PushResultView.of(PushResult("evt_1")))["eventId"] is None
