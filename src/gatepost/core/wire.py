"""
Records as JSON for other programs, with the same field names over HTTP and in the `--json` output of commands.

Missing values are null, so that a reader finds every field. Times are RFC 3339 in UTC, priorities are 0 to 4, people
and agents appear by name. `data` of a space message, a plan and a service has exactly the fields that programs written
for such events expect; other data of the event is in `extra`. `timestamp`, which such programs know too, equals
`occurredAt`: the time that the source of an event gave it. `createdAt` is when it was stored here.
"""

from collections.abc import Sequence
from typing import Any, Final

from gatepost.core import decision as decisions
from gatepost.core.agent import Resident
from gatepost.core.claim import Batch, Claim
from gatepost.core.decision import Answer, Decision, Option, Question
from gatepost.core.entity import Entity
from gatepost.core.event import Account, Delivery, Event, Item, Push, PushResult, Receipt, Ref, Route, Sender
from gatepost.core.event_data import split_data
from gatepost.core.gate import Gate, GateKind, GateSpec, Resolution
from gatepost.core.key import Key
from gatepost.core.memory import Goal, Memory
from gatepost.core.mind import CallResult, ModelReply, Prompt, ToolCall, Usage
from gatepost.core.plan import Plan
from gatepost.core.run import OpenCall, Run
from gatepost.core.session import GuestSession
from gatepost.core.shape import Shape
from gatepost.core.space import Member, Message, Space
from gatepost.core.times import Instant, format_rfc3339
from gatepost.core.webhook import Trigger

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
#: the state of an event for one recipient
ITEM_STATE: Final = Shape(Item, "state attempts seenAt endedAt receipt", RECEIPT)
DELIVERY: Final = Shape(Delivery, "name eventId=event duplicate")
ENTITY: Final = Shape(Entity, "name kind displayName=display team role owner aliases createdAt retiredAt", number=0)
RESIDENT: Final = Shape(Resident, "version pausedAt cycles mindTokens=tokens failures restUntil", number=0)
SESSION: Final = Shape(GuestSession, "id=session agent host state startedAt seenAt")
RUN: Final = Shape(
    Run,
    "id agent status cycleNumber=cycle cause events steps effects promptTokens completionTokens hops version model"
    " summary error limit startedAt endedAt",
    number=0,
    claim="",
    claim_fence=0,
)
OPEN_CALL: Final = Shape(OpenCall, "id run agent tool arguments status result createdAt expiresAt endedAt")
MEMORY: Final = Shape(Memory, "key value updatedAt")
GOAL: Final = Shape(Goal, "id description status createdAt updatedAt")
ACCOUNT: Final = Shape(Account, "name accepted pending claimed delivered expired dead discarded balanced=is_balanced")
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
    "id gate asker asked=respondents question options freeText urgency default deadline context contextHash ref "
    "session iteration guidance createdAt answers",
    REF,
    OPTION,
    ANSWER,
)
TRIGGER: Final = Shape(Trigger, "name provider scheme target prompt owner active createdAt", number=0, id="")
KEY: Final = Shape(Key, "id prefix kind entity trigger name createdAt revokedAt")
PUSH: Final = Shape(
    Push, "to type source sender subject content data priority dedupKey=key occurredAt ttl ref route hops", REF, ROUTE
)
GATE_SPEC: Final = Shape(GateSpec, "name kind owner awaits instruction waiters deadline within atDeadline fail")
QUESTION: Final = Shape(Question, "question options freeText urgency default deadline within context ref", REF, OPTION)
ANSWER_SPEC: Final = Shape(decisions.AnswerSpec, "option text again reject contextHash")
PROMPT: Final = Shape(Prompt, "text events")
TOOL_CALL: Final = Shape(ToolCall, "id tool arguments")
USAGE: Final = Shape(Usage, "promptTokens=prompt completionTokens=completion")
REPLY: Final = Shape(ModelReply, "text calls usage model", TOOL_CALL, USAGE)
RESULT: Final = Shape(CallResult, "call tool content ok")

write_entity: Final = ENTITY.write
write_session: Final = SESSION.write
write_call: Final = OPEN_CALL.write
write_memory: Final = MEMORY.write
write_account: Final = ACCOUNT.write
write_claim: Final = CLAIM.write
write_space: Final = SPACE.write
write_member: Final = MEMBER.write
write_message: Final = MESSAGE.write
#: without its secret, which nobody sees
write_trigger: Final = TRIGGER.write
#: with its prefix; the key itself is shown once, to its maker
write_key: Final = KEY.write


def write_event(event: Event) -> Document:
    """Return an event, without a recipient."""
    data, extra = split_data(event)
    sender = SENDER.write(event.sender) if event.sender else dict.fromkeys(SENDER.types)
    document = EVENT.write(event) | sender | {"timestamp": format_rfc3339(event.occurred_at), "data": data}
    return document | ({"extra": extra} if extra else {})


def write_item(item: Item) -> Document:
    """Return an event with its state for one recipient."""
    return write_event(item.event) | {"recipient": item.recipient} | ITEM_STATE.write(item)


def write_items(items: Sequence[Item]) -> Document:
    """Return one event with its state for each recipient. Its own state is theirs, or `mixed`."""
    states = {item.state for item in items}
    return write_event(items[0].event) | {
        "state": next(iter(states)).value if len(states) == 1 else "mixed",
        "recipients": [{"name": item.recipient, "eventId": item.event.id} | ITEM_STATE.write(item) for item in items],
    }


def write_push_result(result: PushResult) -> Document:
    """Return the result of a push. A push without recipients has no event."""
    document: Document = {
        "eventId": result.event if result.deliveries or result.broadcast is not None else None,
        "recipients": [DELIVERY.write(delivery) for delivery in result.deliveries],
    }
    return document | ({"broadcast": result.broadcast, "duplicate": result.duplicate} if result.broadcast else {})


def write_goal(goal: Goal) -> Document:
    return GOAL.write(goal) | {"priority": goal.priority}


def write_batch(batch: Batch) -> Document:
    """Return a batch as data and, in `text`, as an agent reads it."""
    return {
        "claim": write_claim(batch.claim) if batch.claim else None,
        "items": [write_item(batch_item) for batch_item in batch.items],
        "held": batch.deferred_count,
        "text": str(batch) if batch.items else "",
    }


def write_plan(plan: Plan) -> Document:
    """Return a plan. `scheduledAt` is the slot of one that fires once; `nextRunAt` and `lastRunAt` are slots, too."""
    return PLAN.write(plan) | {"isRecurring": plan.cron is not None}


def write_gate(gate: Gate, now: Instant, *, include_private: bool = True) -> Document:
    """
    Return a gate with its present state: whether it holds its owner, and whether its deadline has passed unrecorded.
    Only the administrator sees all of it (`include_private`), because a command line may hold a secret.
    """
    status_fields: Document = {
        "status": gate.resolution.ending.value if gate.resolution else "pending",
        "holds": gate.holds(now),
        "overdue": gate.is_overdue(now),
    }
    hidden_fields = {} if include_private or gate.kind is not GateKind.COMMAND else {"awaits": None}
    return GATE.write(gate) | status_fields | hidden_fields


def write_decision(decision: Decision, now: Instant) -> Document:
    """Return a decision with the answers of all rounds; `answer` is the one that counts, if there is one."""
    return DECISION.write(decision) | {
        "status": decision.status.value,
        "overdue": decision.is_overdue(now),
        "answer": ANSWER.write(decision.last_answer) if decision.last_answer and not decision.is_open else None,
    }
