"""
The other way round: nouns from what `wire` wrote, for those who are at the other end of it. What is never told, such as
an entity's number, is 0; and what was read here is written by `wire` as it was.
"""

from typing import Final

from gatepost.core import config, wire
from gatepost.core.agent import Resident
from gatepost.core.event import Event, Item, Json, Pushed, Type
from gatepost.core.goal import Goal
from gatepost.core.instants import instant
from gatepost.core.mind import Carried, Turn
from gatepost.core.run import Step
from gatepost.core.wire import Document
from gatepost.errors import Refused

account: Final = wire.ACCOUNT.read
call: Final = wire.CALL.read
claim: Final = wire.CLAIM.read
decision: Final = wire.DECISION.read
entity: Final = wire.ENTITY.read
gate: Final = wire.GATE.read
key: Final = wire.KEY.read
member: Final = wire.MEMBER.read
memory: Final = wire.MEMORY.read
message: Final = wire.MESSAGE.read
plan: Final = wire.PLAN.read
run: Final = wire.RUN.read
session: Final = wire.SESSION.read
space: Final = wire.SPACE.read
trigger: Final = wire.TRIGGER.read


def event(document: Document) -> Event:
    sender = wire.SENDER.read(document) if document["sender"] else None
    occurred = document["occurredAt"]
    source_time = instant(occurred) if occurred not in (None, document["createdAt"]) else None
    return wire.EVENT.read(document, sender=sender, data=data(document), source_time=source_time)


def item(document: Document) -> Item:
    return wire.STANDING.read(document, event=event(document), recipient=document["recipient"])


def items(document: Document) -> list[Item]:
    """An event as it stands with each of its recipients."""
    return [item(document | each | {"recipient": each["name"]}) for each in document["recipients"]]


def pushed(document: Document) -> Pushed:
    deliveries = tuple(map(wire.DELIVERY.read, document["recipients"]))
    return Pushed(document["eventId"] or "", deliveries, document.get("broadcast"), document.get("duplicate", False))


def resident(document: Document) -> Resident | None:
    """An agent as a resident, its secrets masked; None if it is a guest."""
    if not document["resident"]:
        return None
    if document["config"] is None:
        raise Refused(f"the configuration of {document['name']!r} is not for you")
    told = config.parse(document["config"], masked=True)
    return wire.RESIDENT.read(document, name=document["name"], display=document["displayName"], config=told)


def step(document: Document) -> Step:
    return Step(number=document["number"], turn=turn(document), at=instant(document["at"]))


def turn(document: Document) -> Turn:
    match document["kind"]:
        case "prompt":
            return wire.PROMPT.read(document["prompt"])
        case "reply":
            return wire.REPLY.read(document["reply"])
        case _:
            return wire.RESULT.read(document["result"])


def mind(document: Document) -> tuple[Carried, tuple[Turn, ...]]:
    carried = Carried(summaries=tuple(document["summaries"]), dropped=document["dropped"])
    return carried, tuple(turn(each) for each in document["turns"])


def goal(document: Document) -> Goal:
    return wire.GOAL.read(document, priority=document["priority"])


def data(document: Document) -> Json:
    """The data and what was set apart from it, with times as events have them."""
    extra = document.get("extra")
    if not extra:
        return document["data"]
    if document["type"] == Type.PLAN and "dueAt" in extra:
        extra = extra | {"dueAt": instant(extra["dueAt"])}
    return document["data"] | extra
