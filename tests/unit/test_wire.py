"""What other programs see: the same fields through every door."""

import json

import pytest
from msgspec.structs import replace

from gatepost.core import wire
from gatepost.core.decision import Answer, Decision, DecisionOutcome, Option
from gatepost.core.entity import EntityKind
from gatepost.core.event import (
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
)
from gatepost.core.gate import AtDeadline, FailMode, Gate, GateKind
from gatepost.core.times import parse_instant

NOW = parse_instant("2026-02-18T15:06:55Z")
HUSAM = Sender("husam", "Husam", EntityKind.HUMAN)
EVENT = Event(id="evt_" + "0" * 32, type=EventType.EVENT, source="test", created_at=NOW)
GATE = Gate(
    id="gate_" + "0" * 32,
    name="CI",
    kind=GateKind.CI,
    owner="ana",
    made_by="husam",
    awaits="run:1",
    instruction="look",
    waiters=(),
    deadline=None,
    at_deadline=AtDeadline.OPEN,
    fail=FailMode.CLOSED,
    trouble="gh is not there",
    escalated_at=None,
    created_at=NOW,
    resolution=None,
)
DECISION = Decision(
    id="dec_" + "0" * 32,
    gate=GATE.id,
    asker="ana",
    respondents=("husam", "bob"),
    question='"\n\u2028',
    options=(Option(id="ship", label="Ship it", description="now"),),
    free_text=True,
    urgency=Priority.HIGH,
    default=None,
    deadline=None,
    context="so",
    context_hash="0" * 64,
    ref=Ref("task", "1"),
    session="s-1",
    iteration=2,
    guidance="when?",
    created_at=NOW,
    answers=(Answer(outcome=DecisionOutcome.AGAIN, option=None, text="when?", by="husam", at=NOW, iteration=1),),
)


def test_the_entries_of_the_source_document() -> None:
    message_event = replace(
        EVENT,
        type=EventType.SPACE_MESSAGE,
        sender=HUSAM,
        content="Pull the Q4 revenue numbers",
        data={"spaceId": "space-xyz", "spaceName": "Project Alpha", "messageId": "msg-g7h8", "seq": 3, "context": "x"},
    )
    document = wire.write_event(message_event)
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
    assert wire.write_event(plan_event)["data"] == {"planId": "p", "planName": "Daily Report", "instruction": "Post it"}
    service_event = replace(EVENT, type=EventType.SERVICE, source="jira", data=[1, 2])
    assert wire.write_event(service_event)["data"] == {"serviceName": "jira", "payload": [1, 2]}
    assert "extra" not in wire.write_event(service_event)


@pytest.mark.parametrize("type", list(EventType))
def test_every_type_can_be_written(type: EventType) -> None:
    for data in (None, {}, {"payload": None}, [1], "text", 7):
        document = wire.write_event(replace(EVENT, type=type, data=data))
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
    document = wire.write_item(item)
    assert (document["priority"], document["state"], document["recipient"]) == (4, "delivered", "ana")
    assert document["route"] == {"channel": "telegram", "sessionId": "chat-1"}
    assert document["receipt"] == {"kind": "drain", "owner": "s-1", "at": "2026-02-18T15:06:55Z"}
    items_document = wire.write_items([item, replace(item, recipient="ben", state=ItemState.PENDING)])
    assert (items_document["state"], [recipient["name"] for recipient in items_document["recipients"]]) == (
        "mixed",
        ["ana", "ben"],
    )


def test_what_a_push_came_to() -> None:
    assert wire.write_push_result(PushResult("evt_1", (Delivery("ana", "evt_1", duplicate=False),))) == {
        "eventId": "evt_1",
        "recipients": [{"name": "ana", "eventId": "evt_1", "duplicate": False}],
    }
    assert wire.write_push_result(PushResult("evt_1", broadcast=3)) == {
        "eventId": "evt_1",
        "recipients": [],
        "broadcast": 3,
        "duplicate": False,
    }
    assert wire.write_push_result(PushResult("evt_1"))["eventId"] is None
