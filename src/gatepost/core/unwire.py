"""
Read records from the documents that `wire` wrote, for clients. Fields that are never sent, such as the number of an
entity, are 0. `wire` writes a record that was read here as the same document.
"""

from typing import Final

from gatepost.core import agent_config, wire
from gatepost.core.agent import Resident
from gatepost.core.event import Event, EventType, Item, Json, PushResult
from gatepost.core.memory import Goal
from gatepost.core.mind import MindSummaries, Turn
from gatepost.core.run import Step
from gatepost.core.times import parse_instant
from gatepost.core.wire import Document
from gatepost.errors import Refused

read_account: Final = wire.ACCOUNT.read
read_call: Final = wire.OPEN_CALL.read
read_claim: Final = wire.CLAIM.read
read_decision: Final = wire.DECISION.read
read_entity: Final = wire.ENTITY.read
read_gate: Final = wire.GATE.read
read_key: Final = wire.KEY.read
read_member: Final = wire.MEMBER.read
read_memory: Final = wire.MEMORY.read
read_message: Final = wire.MESSAGE.read
read_plan: Final = wire.PLAN.read
read_run: Final = wire.RUN.read
read_session: Final = wire.SESSION.read
read_space: Final = wire.SPACE.read
read_trigger: Final = wire.TRIGGER.read


def read_event(document: Document) -> Event:
    sender = wire.SENDER.read(document) if document["sender"] else None
    occurred_at = document["occurredAt"]
    source_time = parse_instant(occurred_at) if occurred_at not in (None, document["createdAt"]) else None
    return wire.EVENT.read(document, sender=sender, data=read_data(document), source_time=source_time)


def read_item(document: Document) -> Item:
    return wire.ITEM_STATE.read(document, event=read_event(document), recipient=document["recipient"])


def read_items(document: Document) -> list[Item]:
    """Return the item of each recipient of an event."""
    return [read_item(document | recipient | {"recipient": recipient["name"]}) for recipient in document["recipients"]]


def read_push_result(document: Document) -> PushResult:
    deliveries = tuple(map(wire.DELIVERY.read, document["recipients"]))
    return PushResult(
        document["eventId"] or "", deliveries, document.get("broadcast"), document.get("duplicate", False)
    )


def read_resident(document: Document) -> Resident | None:
    """Return the resident of an agent, with masked secrets; None if it is a guest."""
    if not document["resident"]:
        return None
    if document["config"] is None:
        raise Refused(f"the configuration of {document['name']!r} is not for you")
    masked_config = agent_config.parse(document["config"], is_masked=True)
    return wire.RESIDENT.read(document, name=document["name"], display=document["displayName"], config=masked_config)


def read_step(document: Document) -> Step:
    return Step(number=document["number"], turn=read_turn(document), at=parse_instant(document["at"]))


def read_turn(document: Document) -> Turn:
    match document["kind"]:
        case "prompt":
            return wire.PROMPT.read(document["prompt"])
        case "reply":
            return wire.REPLY.read(document["reply"])
        case _:
            return wire.RESULT.read(document["result"])


def read_mind(document: Document) -> tuple[MindSummaries, tuple[Turn, ...]]:
    mind_summaries = MindSummaries(summaries=tuple(document["summaries"]), dropped_count=document["dropped"])
    return mind_summaries, tuple(read_turn(turn_document) for turn_document in document["turns"])


def read_goal(document: Document) -> Goal:
    return wire.GOAL.read(document, priority=document["priority"])


def read_data(document: Document) -> Json:
    """Return the data of an event, with the fields in `extra`; times become microseconds."""
    extra = document.get("extra")
    if not extra:
        return document["data"]
    if document["type"] == EventType.PLAN and "dueAt" in extra:
        extra = extra | {"dueAt": parse_instant(extra["dueAt"])}
    return document["data"] | extra
