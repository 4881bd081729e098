"""What was written for other programs can be read back, and is then written as it was."""

from typing import Any

import pytest
from msgspec.structs import replace

from gatepost.core import unwire, wire
from gatepost.core.claim import Claim
from gatepost.core.decision import Answer, Decision, DecisionOutcome, Option
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import (
    Account,
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
from gatepost.core.gate import AtDeadline, Ending, FailMode, Gate, GateKind, Resolution
from gatepost.core.key import Key
from gatepost.core.plan import CatchUp, Plan, PlanStatus
from gatepost.core.space import Member, Message, Space
from gatepost.core.times import parse_instant
from gatepost.core.webhook import Provider, Scheme, Trigger

NOW = parse_instant("2026-02-18T15:06:55.000001Z")
EVENT = Event(id="evt_" + "0" * 32, type=EventType.EVENT, source="test", created_at=NOW)
FULL_EVENT = replace(
    EVENT,
    sender=Sender("husam", "Husam", EntityKind.HUMAN),
    subject="About it",
    content="said\u2028so",
    priority=Priority.FYI,
    key="k",
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


@pytest.mark.parametrize("event", [EVENT, FULL_EVENT], ids=["bare", "full"])
@pytest.mark.parametrize("type", EventType)
@pytest.mark.parametrize("data", DATA_VALUES, ids=str)
def test_events(event: Event, type: EventType, data: Any) -> None:
    document = wire.write_event(replace(event, type=type, data=data))
    parsed = unwire.read_event(document)
    assert wire.write_event(parsed) == document
    if type not in (EventType.SPACE_MESSAGE, EventType.PLAN, EventType.SERVICE):
        assert parsed == replace(event, type=type, data=data)


def test_items() -> None:
    delivered_item = Item(
        event=FULL_EVENT,
        recipient="ana",
        state=ItemState.DELIVERED,
        seen_at=1,
        ended_at=NOW,
        receipt=Receipt(kind="drain", owner="s", at=NOW),
    )
    for item in (Item(event=EVENT, recipient="ana", attempts=2), delivered_item):
        assert unwire.read_item(wire.write_item(item)) == item
    item_pair = [delivered_item, replace(delivered_item, recipient="bob", state=ItemState.DEAD, receipt=None)]
    assert unwire.read_items(wire.write_items(item_pair)) == item_pair


def write_gate(gate: Gate) -> Any:
    return wire.write_gate(gate, NOW)


def write_decision(decision: Decision) -> Any:
    return wire.write_decision(decision, NOW)


GATE = Gate(
    id="gate_1",
    name="Sign-off",
    kind=GateKind.HUMAN,
    owner="ana",
    made_by=None,
    awaits="husam",
    instruction="Wait",
    waiters=(),
    deadline=None,
    at_deadline=AtDeadline.OPEN,
    fail=FailMode.OPEN,
    trouble=None,
    escalated_at=None,
    created_at=NOW,
    resolution=None,
)
DECISION = Decision(
    id="dec_1",
    gate="gate_1",
    asker="ana",
    respondents=("husam",),
    question="Ship it?",
    options=(),
    free_text=True,
    urgency=Priority.NORMAL,
    default=None,
    deadline=None,
    context=None,
    context_hash="0",
    ref=None,
    session=None,
    iteration=1,
    guidance=None,
    created_at=NOW,
    answers=(),
)
ROUND_TRIPS: list[tuple[Any, Any, list[Any]]] = [
    (
        wire.write_push_result,
        unwire.read_push_result,
        [
            PushResult("evt_1", (Delivery("ana", "evt_1", False), Delivery("bob", "evt_0", True))),
            PushResult("evt_1", broadcast=7, duplicate=True),
            PushResult(""),
        ],
    ),
    (
        wire.write_claim,
        unwire.read_claim,
        [
            Claim(id="clm_1", recipient="ana", kind="drain", owner="s", fence=2, taken_at=NOW, deadline=deadline)
            for deadline in (None, NOW + 1)
        ],
    ),
    (
        wire.write_entity,
        unwire.read_entity,
        [
            Entity(number=0, name="ana", kind=EntityKind.AGENT, display="Ana", created_at=NOW),
            Entity(
                number=0,
                name="ana",
                kind=EntityKind.SERVICE,
                display="Ana",
                team="web",
                role="lead",
                owner="husam",
                aliases=("a", "b"),
                created_at=NOW,
                retired_at=NOW,
            ),
        ],
    ),
    (
        wire.write_account,
        unwire.read_account,
        [Account(name="ana", accepted=21, pending=1, claimed=2, delivered=3, expired=4, dead=5, discarded=6)],
    ),
    (
        wire.write_space,
        unwire.read_space,
        [Space(id="q4", name="Q4", last_seq=3, created_at=NOW, archived_at=at) for at in (None, NOW)],
    ),
    (
        wire.write_member,
        unwire.read_member,
        [Member(name="ana", display="Ana", kind=EntityKind.HUMAN, joined_at=NOW, read_seq=3)],
    ),
    (
        wire.write_message,
        unwire.read_message,
        [
            Message(
                id="msg_1",
                space="q4",
                seq=3,
                sender="ana",
                sender_display="Ana",
                sender_kind=EntityKind.AGENT,
                content="hello",
                data=data,
                created_at=NOW,
            )
            for data in (None, {"a": [1]})
        ],
    ),
    (
        wire.write_plan,
        unwire.read_plan,
        [
            Plan(
                id="plan_1",
                owner="ana",
                name="Daily",
                instruction="Do it",
                cron=cron,
                zone=zone,
                catch_up=CatchUp.ALL,
                status=status,
                next_at=None if status is PlanStatus.COMPLETED else NOW,
                last_at=NOW,
                fired=3,
                created_at=NOW,
                ended_at=NOW if status is PlanStatus.COMPLETED else None,
                hops=2,
            )
            for cron, zone, status in (
                ("0 9 * * *", "Europe/Berlin", PlanStatus.PENDING),
                (None, None, PlanStatus.COMPLETED),
            )
        ],
    ),
    (
        write_gate,
        unwire.read_gate,
        [
            GATE,
            replace(
                GATE,
                kind=GateKind.CI,
                made_by="husam",
                waiters=("bob", "cat"),
                deadline=NOW + 1,
                at_deadline=AtDeadline.ESCALATE,
                fail=FailMode.CLOSED,
                trouble="gh is not there",
                escalated_at=NOW,
                resolution=Resolution(ending=Ending.ORPHANED, reason="gone", by=None, at=NOW),
            ),
        ],
    ),
    (
        write_decision,
        unwire.read_decision,
        [
            DECISION,
            replace(
                DECISION,
                respondents=("husam", "bob"),
                options=(Option(id="ship", label="Ship it", description="now"), Option(id="wait", label="Wait")),
                default="wait",
                deadline=NOW + 1,
                context="so",
                ref=Ref("task", "1"),
                session="s-1",
                iteration=2,
                guidance="when?",
                answers=(
                    Answer(outcome=DecisionOutcome.AGAIN, option=None, text="when?", by="husam", at=NOW, iteration=1),
                    Answer(outcome=DecisionOutcome.DEFAULTED, option="wait", text=None, by=None, at=NOW, iteration=2),
                ),
            ),
        ],
    ),
    (
        wire.write_trigger,
        unwire.read_trigger,
        [
            Trigger(
                number=0,
                id="",
                name="hook",
                provider=Provider.WEBHOOK,
                scheme=Scheme.GITHUB,
                target="team:web",
                prompt=prompt,
                owner="admin",
                active=prompt is None,
                created_at=NOW,
            )
            for prompt in (None, "Review it")
        ],
    ),
    (
        wire.write_key,
        unwire.read_key,
        [
            Key(id="key_1", prefix="sk_abc", kind="admin", created_at=NOW),
            Key(id="key_1", prefix="sk_abc", kind="agent", entity="ana", name="laptop", created_at=NOW, revoked_at=NOW),
        ],
    ),
]


@pytest.mark.parametrize(("write", "read", "values"), ROUND_TRIPS, ids=[write.__name__ for write, _, _ in ROUND_TRIPS])
def test_everything_else(write: Any, read: Any, values: list[Any]) -> None:
    for value in values:
        assert read(write(value)) == value
