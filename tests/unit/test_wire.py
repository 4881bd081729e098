"""What other programs see: the same fields through every door."""

import json
from dataclasses import replace

import pytest

from gatepost.core import record, wire
from gatepost.core.decision import Answer, Decision, DecisionOutcome, Option
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import (
    Delivery,
    Event,
    EventType,
    Item,
    ItemState,
    Priority,
    Push,
    PushResult,
    Receipt,
    Ref,
    Route,
    Sender,
)
from gatepost.core.gate import AtDeadline, Ending, FailMode, Gate, GateKind, Resolution
from gatepost.core.kept import DecisionRecord
from gatepost.core.key import Key
from gatepost.core.plan import CatchUp, Plan, PlanStatus
from gatepost.core.record import (
    AccountRecord,
    End,
    EventRecord,
    Head,
    ItemRecord,
    KeyRecord,
    MemberRecord,
    MessageRecord,
    Record,
    TriggerRecord,
)
from gatepost.core.space import Space
from gatepost.core.times import parse_instant
from gatepost.core.trigger import Provider, Trigger
from gatepost.core.webhook import Scheme

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
        receipt=Receipt("drain", "s-1", NOW),
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


@pytest.mark.parametrize(
    "value",
    [
        Head(NOW),
        Entity(
            number=0,
            name="ana",
            kind=EntityKind.AGENT,
            display="Ana",
            aliases=("a", "b"),
            created_at=NOW,
            retired_at=NOW,
        ),
        EventRecord(
            EVENT.id, NOW, Push(to="", source="test", content='"\n\u2028', data={"n": [None]}, ref=Ref("t", "1"))
        ),
        EventRecord(EVENT.id, NOW + 1, Push(to="", source="test", route=Route("telegram", "s"), sender="ana", hops=3)),
        ItemRecord(
            event=EVENT.id,
            recipient="ana",
            state=ItemState.DEAD,
            key="k",
            expires_at=NOW,
            wakes=False,
            attempts=5,
            seen_at=NOW,
            ended_at=NOW,
            receipt=Receipt("run", "run_1", NOW),
        ),
        Space(id="q4", name="Q4", last_seq=0, created_at=NOW, archived_at=NOW),
        MessageRecord(
            space="q4", id="msg_" + "0" * 32, sender="ana", content='"\n\u2028', data={"n": [None]}, created_at=NOW
        ),
        MemberRecord(space="q4", name="ana", joined_at=NOW, read="msg_" + "0" * 32),
        MemberRecord(space="q4", name="ana", joined_at=NOW, read=None),
        GATE,
        replace(
            GATE,
            kind=GateKind.HUMAN,
            awaits="husam",
            waiters=("bob", "cat"),
            deadline=NOW + 1,
            at_deadline=AtDeadline.ESCALATE,
            escalated_at=NOW,
            resolution=Resolution(ending=Ending.EXPIRED, reason='"\n\u2028', by="husam", at=NOW),
        ),
        DecisionRecord(DECISION, replace(GATE, kind=GateKind.DECISION, awaits=DECISION.id)),
        Plan(
            id="plan_" + "0" * 32,
            owner="ana",
            name="daily",
            instruction="look",
            cron="0 9 * * *",
            zone="Europe/Berlin",
            catch_up=CatchUp.ALL,
            status=PlanStatus.PENDING,
            next_at=NOW,
            last_at=NOW,
            fired=3,
            created_at=NOW,
        ),
        TriggerRecord(
            Trigger(
                number=0,
                id="",
                name="issues",
                provider=Provider.WEBHOOK,
                scheme=Scheme.GITHUB,
                target="ana",
                prompt="look",
                owner="ana",
                active=False,
                created_at=NOW,
            ),
            "secret",
        ),
        KeyRecord(
            Key(id="key_" + "0" * 32, prefix="sk_12345678", kind="agent", entity="ana", created_at=NOW, revoked_at=NOW),
            "0" * 64,
        ),
        AccountRecord(name="ana", delivered=1, expired=2, discarded=3),
        End(7),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_record_is_read_as_it_was_written(value: Record) -> None:
    line = record.write(value)
    assert "\n" not in line
    assert record.read(line.encode()) == value
