"""
The other way round: nouns from what `wire` wrote, for those who are at the other end of it. What is never told, such as
an entity's number, is 0; and what was read here is written by `wire` as it was.
"""

from typing import Any

from gatepost.core import config
from gatepost.core.account import Account
from gatepost.core.agent import Resident
from gatepost.core.claim import Claim
from gatepost.core.decision import Answer, Decision, Option, Outcome
from gatepost.core.entity import Entity, Kind
from gatepost.core.event import (
    Delivery,
    Event,
    Item,
    Json,
    Priority,
    Pushed,
    Receipt,
    Ref,
    Route,
    Sender,
    State,
    Trust,
    Type,
)
from gatepost.core.gate import AtDeadline, Ending, Fail, Gate, GateKind, Resolution
from gatepost.core.goal import Goal
from gatepost.core.goal import Status as GoalStatus
from gatepost.core.guest import GuestSession
from gatepost.core.instants import Instant, instant
from gatepost.core.key import Key
from gatepost.core.memory import Memory
from gatepost.core.mind import Call, Carried, Prompt, Reply, Result, Turn, Usage
from gatepost.core.plan import CatchUp, Plan, Status
from gatepost.core.run import CallStatus, OpenCall, Run, Step
from gatepost.core.run import Status as RunStatus
from gatepost.core.space import Member, Message, Space
from gatepost.core.trigger import Provider, Trigger
from gatepost.core.webhook import Scheme
from gatepost.core.wire import Document
from gatepost.errors import Refused


def event(document: Document) -> Event:
    sender, route = document["sender"], document["route"]
    return Event(
        id=document["eventId"],
        type=Type(document["type"]),
        source=document["source"],
        sender=Sender(sender, document["senderName"], Kind(document["senderType"])) if sender else None,
        subject=document["subject"],
        content=document["content"],
        data=data(document),
        priority=Priority(document["priority"]),
        key=document["dedupKey"],
        created_at=instant(document["createdAt"]),
        expires_at=_instant(document["expiresAt"]),
        ref=_ref(document),
        route=Route(route["channel"], route["sessionId"]) if route else None,
        hops=document["hops"],
        trust=Trust(document["trust"]),
        wakes=document["wakes"],
    )


def item(document: Document) -> Item:
    receipt = document["receipt"]
    return Item(
        event=event(document),
        recipient=document["recipient"],
        state=State(document["state"]),
        attempts=document["attempts"],
        seen_at=_instant(document["seenAt"]),
        ended_at=_instant(document["endedAt"]),
        receipt=Receipt(receipt["kind"], receipt["owner"], instant(receipt["at"])) if receipt else None,
    )


def items(document: Document) -> list[Item]:
    """An event as it stands with each of its recipients."""
    return [item(document | each | {"recipient": each["name"]}) for each in document["recipients"]]


def pushed(document: Document) -> Pushed:
    deliveries = tuple(Delivery(each["name"], each["eventId"], each["duplicate"]) for each in document["recipients"])
    return Pushed(document["eventId"] or "", deliveries, document.get("broadcast"), document.get("duplicate", False))


def claim(document: Document) -> Claim:
    return Claim(
        id=document["claimId"],
        recipient=document["recipient"],
        kind=document["kind"],
        owner=document["owner"],
        fence=document["fence"],
        taken_at=instant(document["takenAt"]),
        deadline=_instant(document["deadline"]),
    )


def entity(document: Document) -> Entity:
    return Entity(
        number=0,
        name=document["name"],
        kind=Kind(document["kind"]),
        display=document["displayName"],
        team=document["team"],
        role=document["role"],
        owner=document["owner"],
        aliases=tuple(document["aliases"]),
        created_at=instant(document["createdAt"]),
        retired_at=_instant(document["retiredAt"]),
    )


def session(document: Document) -> GuestSession:
    return GuestSession(
        session=document["id"],
        agent=document["agent"],
        host=document["host"],
        doing=document["state"],
        hops=document["hops"],
        started_at=instant(document["startedAt"]),
        seen_at=instant(document["seenAt"]),
    )


def resident(document: Document) -> Resident | None:
    """An agent as a resident, its secrets masked; None if it is a guest."""
    if not document["resident"]:
        return None
    if document["config"] is None:
        raise Refused(f"the configuration of {document['name']!r} is not for you")
    return Resident(
        number=0,
        name=document["name"],
        display=document["displayName"],
        config=config.parse(document["config"], masked=True),
        version=document["version"],
        paused_at=_instant(document["pausedAt"]),
        cycles=document["cycles"],
        tokens=document["mindTokens"],
        failures=document["failures"],
        rest_until=_instant(document["restUntil"]),
    )


def run(document: Document) -> Run:
    return Run(
        number=0,
        id=document["id"],
        agent=document["agent"],
        status=RunStatus(document["status"]),
        cycle=document["cycleNumber"],
        cause=document["cause"],
        claim="",
        claim_fence=0,
        events=document["events"],
        steps=document["steps"],
        effects=document["effects"],
        prompt_tokens=document["promptTokens"],
        completion_tokens=document["completionTokens"],
        hops=document["hops"],
        version=document["version"],
        model=document["model"],
        summary=document["summary"],
        error=document["error"],
        started_at=instant(document["startedAt"]),
        ended_at=_instant(document["endedAt"]),
    )


def step(document: Document) -> Step:
    return Step(number=document["number"], turn=turn(document), at=instant(document["at"]))


def turn(document: Document) -> Turn:
    match document["kind"]:
        case "prompt":
            shown = document["prompt"]
            return Prompt(shown["text"], tuple(shown["events"]))
        case "reply":
            said = document["reply"]
            usage = Usage(said["usage"]["promptTokens"], said["usage"]["completionTokens"])
            return Reply(said["text"], tuple(Call(**call) for call in said["calls"]), usage, said["model"])
        case _:
            return Result(**document["result"])


def call(document: Document) -> OpenCall:
    return OpenCall(
        id=document["id"],
        run=document["run"],
        agent=document["agent"],
        tool=document["tool"],
        arguments=document["arguments"],
        status=CallStatus(document["status"]),
        result=document["result"],
        created_at=instant(document["createdAt"]),
        expires_at=instant(document["expiresAt"]),
        ended_at=_instant(document["endedAt"]),
    )


def mind(document: Document) -> tuple[Carried, tuple[Turn, ...]]:
    carried = Carried(summaries=tuple(document["summaries"]), dropped=document["dropped"])
    return carried, tuple(turn(each) for each in document["turns"])


def memory(document: Document) -> Memory:
    return Memory(key=document["key"], value=document["value"], updated_at=instant(document["updatedAt"]))


def goal(document: Document) -> Goal:
    return Goal(
        id=document["id"],
        description=document["description"],
        status=GoalStatus(document["status"]),
        priority=document["priority"],
        created_at=instant(document["createdAt"]),
        updated_at=instant(document["updatedAt"]),
    )


def account(document: Document) -> Account:
    return Account(
        name=document["name"],
        accepted=document["accepted"],
        pending=document["pending"],
        claimed=document["claimed"],
        delivered=document["delivered"],
        expired=document["expired"],
        dead=document["dead"],
        discarded=document["discarded"],
    )


def space(document: Document) -> Space:
    return Space(
        id=document["id"],
        name=document["name"],
        last_seq=document["lastSeq"],
        created_at=instant(document["createdAt"]),
        archived_at=_instant(document["archivedAt"]),
    )


def member(document: Document) -> Member:
    return Member(
        name=document["name"],
        display=document["displayName"],
        kind=Kind(document["kind"]),
        joined_at=instant(document["joinedAt"]),
        read_seq=document["readSeq"],
    )


def message(document: Document) -> Message:
    return Message(
        id=document["id"],
        space=document["space"],
        seq=document["seq"],
        sender=document["sender"],
        sender_display=document["senderName"],
        sender_kind=Kind(document["senderType"]),
        content=document["content"],
        data=document["data"],
        created_at=instant(document["createdAt"]),
    )


def plan(document: Document) -> Plan:
    return Plan(
        id=document["id"],
        owner=document["owner"],
        name=document["name"],
        instruction=document["instruction"],
        cron=document["cron"],
        zone=document["timeZone"],
        catch_up=CatchUp(document["catchUp"]),
        status=Status(document["status"]),
        next_at=_instant(document["nextRunAt"]),
        last_at=_instant(document["lastRunAt"]),
        fired=document["fired"],
        created_at=instant(document["createdAt"]),
        ended_at=_instant(document["endedAt"]),
        gate=document["onGate"],
        hops=document["hops"],
    )


def gate(document: Document) -> Gate:
    ended = document["resolution"]
    return Gate(
        id=document["id"],
        name=document["name"],
        kind=GateKind(document["kind"]),
        owner=document["owner"],
        made_by=document["madeBy"],
        awaits=document["awaits"],
        instruction=document["instruction"],
        waiters=tuple(document["waiters"]),
        deadline=_instant(document["deadline"]),
        at_deadline=AtDeadline(document["atDeadline"]),
        fail=Fail(document["fail"]),
        trouble=document["trouble"],
        escalated_at=_instant(document["escalatedAt"]),
        created_at=instant(document["createdAt"]),
        resolution=resolution(ended) if ended else None,
    )


def resolution(document: Document) -> Resolution:
    return Resolution(
        ending=Ending(document["ending"]),
        reason=document["reason"],
        by=document["by"],
        at=instant(document["at"]),
    )


def decision(document: Document) -> Decision:
    return Decision(
        id=document["id"],
        gate=document["gate"],
        asker=document["asker"],
        asked=tuple(document["asked"]),
        question=document["question"],
        options=tuple(Option(**each) for each in document["options"]),
        free_text=document["freeText"],
        urgency=Priority(document["urgency"]),
        default=document["default"],
        deadline=_instant(document["deadline"]),
        context=document["context"],
        context_hash=document["contextHash"],
        ref=_ref(document),
        session=document["session"],
        iteration=document["iteration"],
        guidance=document["guidance"],
        created_at=instant(document["createdAt"]),
        answers=tuple(answer(each) for each in document["answers"]),
    )


def answer(document: Document) -> Answer:
    return Answer(
        outcome=Outcome(document["outcome"]),
        option=document["option"],
        text=document["text"],
        by=document["by"],
        at=instant(document["at"]),
        iteration=document["iteration"],
    )


def trigger(document: Document) -> Trigger:
    return Trigger(
        number=0,
        id="",
        name=document["name"],
        provider=Provider(document["provider"]),
        scheme=Scheme(document["scheme"]),
        target=document["target"],
        prompt=document["prompt"],
        owner=document["owner"],
        active=document["active"],
        created_at=instant(document["createdAt"]),
    )


def key(document: Document) -> Key:
    return Key(
        id=document["id"],
        prefix=document["prefix"],
        kind=document["kind"],
        entity=document["entity"],
        trigger=document["trigger"],
        name=document["name"],
        created_at=instant(document["createdAt"]),
        revoked_at=_instant(document["revokedAt"]),
    )


def data(document: Document) -> Json:
    """The data and what was set apart from it, with times as events have them."""
    extra = document.get("extra")
    if not extra:
        return document["data"]
    if document["type"] == Type.PLAN and "dueAt" in extra:
        extra = extra | {"dueAt": instant(extra["dueAt"])}
    return document["data"] | extra


def _ref(document: Document) -> Ref | None:
    found = document["ref"]
    return Ref(found["type"], found["id"]) if found else None


def _instant(value: Any) -> Instant | None:
    return instant(value) if value is not None else None
