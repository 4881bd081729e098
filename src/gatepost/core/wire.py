"""
How nouns look to other programs: JSON with the same field names through every door, the command line's `--json`
as HTTP.

Absent values are null, so that a reader finds every field. Times are RFC 3339 in UTC, priorities 0 to 4, people and
agents are named by their names. `data` of a space message, a plan and a service has exactly the fields that programs
written for such events expect; whatever else was given with the event is in `extra`. `timestamp`, which such programs
know too, is `occurredAt`: the time that the source of an event gave it. `createdAt` is when it was stored here.
"""

from collections.abc import Sequence
from typing import Any, Final, assert_never

from gatepost.core import config
from gatepost.core import decision as decisions
from gatepost.core.account import Account
from gatepost.core.agent import Config, Resident
from gatepost.core.claim import Batch, Claim
from gatepost.core.decision import Answer, Decision, Option, Question
from gatepost.core.entity import Entity
from gatepost.core.event import (
    Called,
    Delivery,
    Due,
    Event,
    Item,
    Json,
    Posted,
    Push,
    Pushed,
    Receipt,
    Ref,
    Route,
    Sender,
    body,
)
from gatepost.core.gate import Gate, GateKind, GateWish, Resolution
from gatepost.core.goal import Goal
from gatepost.core.guest import GuestSession
from gatepost.core.instants import Instant, rfc3339
from gatepost.core.key import Key
from gatepost.core.memory import Memory
from gatepost.core.mind import Call, Carried, Prompt, Reply, Result, Turn, Usage
from gatepost.core.plan import Plan
from gatepost.core.run import OpenCall, Run, Step
from gatepost.core.shape import Shape
from gatepost.core.space import Member, Message, Space
from gatepost.core.trigger import Trigger

Document = dict[str, Any]

REF: Final = Shape(Ref, "type id")
ROUTE: Final = Shape(Route, "channel sessionId=session")
SENDER: Final = Shape(Sender, "sender=name senderName=display senderType=kind")
RECEIPT: Final = Shape(Receipt, "kind owner at")
EVENT: Final = Shape(
    Event,
    "eventId=id type source subject content priority dedupKey=key createdAt occurredAt expiresAt ref route hops trust"
    " wakes",
    REF,
    ROUTE,
)
#: how an event stands with one recipient
STANDING: Final = Shape(Item, "state attempts seenAt endedAt receipt", RECEIPT)
DELIVERY: Final = Shape(Delivery, "name eventId=event duplicate")
ENTITY: Final = Shape(Entity, "name kind displayName=display team role owner aliases createdAt retiredAt", number=0)
RESIDENT: Final = Shape(Resident, "version pausedAt cycles mindTokens=tokens failures restUntil", number=0)
_NO_RESIDENT: Final = Resident(number=0, name="", display="", config=Config(), version=0)
SESSION: Final = Shape(GuestSession, "id=session agent host state=doing startedAt seenAt")
RUN: Final = Shape(
    Run,
    "id agent status cycleNumber=cycle cause events steps effects promptTokens completionTokens hops version model"
    " summary error limit startedAt endedAt",
    number=0,
    claim="",
    claim_fence=0,
)
CALL: Final = Shape(OpenCall, "id run agent tool arguments status result createdAt expiresAt endedAt")
MEMORY: Final = Shape(Memory, "key value updatedAt")
GOAL: Final = Shape(Goal, "id description status createdAt updatedAt")
ACCOUNT: Final = Shape(Account, "name accepted pending claimed delivered expired dead discarded balanced")
CLAIM: Final = Shape(Claim, "claimId=id recipient kind owner fence takenAt deadline")
SPACE: Final = Shape(Space, "id name lastSeq createdAt archivedAt")
MEMBER: Final = Shape(Member, "name displayName=display kind joinedAt readSeq")
MESSAGE: Final = Shape(
    Message, "id space seq sender senderName=sender_display senderType=sender_kind content data createdAt"
)
PLAN: Final = Shape(
    Plan,
    "id owner name instruction cron timeZone=zone catchUp scheduledAt onGate=gate hops nextRunAt=next_at"
    " lastRunAt=last_at status fired createdAt endedAt",
)
RESOLUTION: Final = Shape(Resolution, "ending reason by at")
GATE: Final = Shape(
    Gate,
    "id name kind owner madeBy awaits instruction waiters deadline atDeadline fail trouble escalatedAt createdAt"
    " resolution",
    RESOLUTION,
)
OPTION: Final = Shape(Option, "id label description")
ANSWER: Final = Shape(Answer, "outcome option text by at iteration")
DECISION: Final = Shape(
    Decision,
    "id gate asker asked question options freeText urgency default deadline context contextHash ref session iteration"
    " guidance createdAt answers",
    REF,
    OPTION,
    ANSWER,
)
TRIGGER: Final = Shape(Trigger, "name provider scheme target prompt owner active createdAt", number=0, id="")
KEY: Final = Shape(Key, "id prefix kind entity trigger name createdAt revokedAt")
PUSH: Final = Shape(
    Push, "to type source sender subject content data priority dedupKey=key occurredAt ttl ref route hops", REF, ROUTE
)
GATE_WISH: Final = Shape(GateWish, "name kind owner awaits instruction waiters deadline within atDeadline fail")
QUESTION: Final = Shape(Question, "question options freeText urgency default deadline within context ref", REF, OPTION)
ANSWER_WISH: Final = Shape(decisions.Reply, "option text again reject contextHash")
PROMPT: Final = Shape(Prompt, "text events")
WISH: Final = Shape(Call, "id tool arguments")
USAGE: Final = Shape(Usage, "promptTokens=prompt completionTokens=completion")
REPLY: Final = Shape(Reply, "text calls usage model", WISH, USAGE)
RESULT: Final = Shape(Result, "call tool content ok")

entity: Final = ENTITY.write
session: Final = SESSION.write
call: Final = CALL.write
memory: Final = MEMORY.write
account: Final = ACCOUNT.write
claim: Final = CLAIM.write
space: Final = SPACE.write
member: Final = MEMBER.write
message: Final = MESSAGE.write
#: without its secret, which nobody is told
trigger: Final = TRIGGER.write
#: by its prefix; the key itself is shown once, by whoever made it
key: Final = KEY.write


def event(event: Event) -> Document:
    """What happened, whoever it is for."""
    data, extra = _data(event)
    sender = SENDER.write(event.sender) if event.sender else dict.fromkeys(SENDER.types)
    document = EVENT.write(event) | sender | {"timestamp": rfc3339(event.occurred_at), "data": data}
    return document | ({"extra": extra} if extra else {})


def item(item: Item) -> Document:
    """An event as it stands with one recipient."""
    return event(item.event) | {"recipient": item.recipient} | STANDING.write(item)


def items(items: Sequence[Item]) -> Document:
    """One event as it stands with each of its recipients; its own state is theirs, or `mixed`."""
    states = {item.state for item in items}
    return event(items[0].event) | {
        "state": next(iter(states)).value if len(states) == 1 else "mixed",
        "recipients": [{"name": item.recipient, "eventId": item.event.id} | STANDING.write(item) for item in items],
    }


def pushed(pushed: Pushed) -> Document:
    """What a push came to. A push that was for nobody has no event."""
    document: Document = {
        "eventId": pushed.event if pushed.deliveries or pushed.broadcast is not None else None,
        "recipients": [DELIVERY.write(each) for each in pushed.deliveries],
    }
    return document | ({"broadcast": pushed.broadcast, "duplicate": pushed.duplicate} if pushed.broadcast else {})


def agent(entity: Entity, resident: Resident | None, *, whole: bool = True) -> Document:
    """An agent, and what it is told to be if it lives here; that is for itself and the administrator (`whole`)."""
    told = resident or _NO_RESIDENT
    more: Document = {
        "resident": resident is not None,
        "paused": told.paused_at is not None,
        "config": config.document(told.config, masked=True) if resident and whole else None,
    }
    return ENTITY.write(entity) | RESIDENT.write(told) | more


def run(run: Run) -> Document:
    length = (run.ended_at - run.started_at) // 1_000 if run.ended_at is not None else None
    return RUN.write(run) | {"durationMs": length}


def step(step: Step) -> Document:
    return {"number": step.number, "at": rfc3339(step.at)} | turn(step.turn)


def turn(turn: Turn) -> Document:
    """What was shown, said or returned: its kind, and under that name what it is."""
    nothing: Document = {"kind": None, "prompt": None, "reply": None, "result": None}
    match turn:
        case Prompt():
            return nothing | {"kind": "prompt", "prompt": PROMPT.write(turn)}
        case Reply():
            return nothing | {"kind": "reply", "reply": REPLY.write(turn)}
        case Result():
            return nothing | {"kind": "result", "result": RESULT.write(turn)}
        case other:
            assert_never(other)


def replayed(run: str, model: str, *, original: Sequence[Step], replayed: Sequence[Turn], same: bool) -> Document:
    """A past run, and what another model would have said and done."""
    return {
        "run": run,
        "model": model,
        "same": same,
        "original": [step(each) for each in original],
        "replayed": [turn(each) for each in replayed],
    }


def mind(name: str, carried: Carried, turns: Sequence[Turn], tokens: int) -> Document:
    """What an agent has in mind: what is left of old cycles, and the later ones turn by turn."""
    return {
        "agent": name,
        "tokens": tokens,
        "summaries": list(carried.summaries),
        "dropped": carried.dropped,
        "turns": [turn(each) for each in turns],
    }


def goal(goal: Goal) -> Document:
    return GOAL.write(goal) | {"priority": goal.priority}


def batch(batch: Batch) -> Document:
    """A batch as data and, in `text`, as an agent reads it."""
    return {
        "claim": claim(batch.claim) if batch.claim else None,
        "items": [item(each) for each in batch.items],
        "held": batch.held,
        "text": str(batch) if batch.items else "",
    }


def plan(plan: Plan) -> Document:
    """A plan. `scheduledAt` is the slot of one that fires once; `nextRunAt` and `lastRunAt` are slots, too."""
    return PLAN.write(plan) | {"isRecurring": plan.cron is not None}


def gate(gate: Gate, now: Instant, *, whole: bool = True) -> Document:
    """
    A gate, and how it stands now: whether it holds its owner, and whether its deadline has passed unnoticed. Only the
    administrator sees the `whole`, for there may be a secret in a command line.
    """
    standing: Document = {
        "status": gate.resolution.ending.value if gate.resolution else "pending",
        "holds": gate.holds(now),
        "overdue": gate.overdue(now),
    }
    hidden = {} if whole or gate.kind is not GateKind.COMMAND else {"awaits": None}
    return GATE.write(gate) | standing | hidden


def decision(decision: Decision, now: Instant) -> Document:
    """A decision with the answers of all its rounds; `answer` is the one that counts, if there is one."""
    return DECISION.write(decision) | {
        "status": decision.status.value,
        "overdue": decision.overdue(now),
        "answer": ANSWER.write(decision.last) if decision.last and not decision.open else None,
    }


def _data(event: Event) -> tuple[Json, Document]:
    """The data of an event with the fields that other programs know, and those that they do not."""
    given: Document = event.data if isinstance(event.data, dict) else {}
    match body(event):
        case Posted() as said:
            data = {
                "spaceId": said.space,
                "spaceName": said.space_name,
                "messageId": said.message,
                **_said_by(event, said),
                "content": said.text,
            }
        case Due() as due:
            data = {"planId": due.plan, "planName": due.name, "instruction": due.instruction}
            given = given | ({"dueAt": rfc3339(due.due_at)} if due.due_at is not None else {})
        case Called() as called:
            data = {"serviceName": called.service, "payload": called.payload}
            if "payload" not in given:
                given = {}  # all of it was the payload
        case _:
            return event.data, {}
    return data, {name: value for name, value in given.items() if name not in data}


def _said_by(event: Event, said: Posted) -> Document:
    """Who said something in a space: one of ours, or whom a source outside names."""
    if event.sender is not None:
        id, name, kind = event.sender.name, event.sender.display, event.sender.kind.value
        return {"senderEntityId": id, "senderName": name, "senderType": kind}
    who = said.outsider
    return {
        "senderEntityId": who and (who.id or None),
        "senderName": who and (who.name or None),
        "senderType": who and (who.kind or None),
    }
