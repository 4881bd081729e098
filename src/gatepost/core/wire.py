"""
How nouns look to other programs: JSON with the same field names through every door, the command line's `--json`
as HTTP.

Absent values are null, so that a reader finds every field. Times are RFC 3339 in UTC, priorities 0 to 4, people and
agents are named by their names. `data` of a space message, a plan and a service has exactly the fields that programs
written for such events expect; whatever else was given with the event is in `extra`.
"""

from collections.abc import Sequence
from typing import Any, assert_never

from gatepost.core import config
from gatepost.core.account import Account
from gatepost.core.agent import Resident
from gatepost.core.claim import Batch, Claim
from gatepost.core.decision import Answer, Decision
from gatepost.core.entity import Entity
from gatepost.core.event import Called, Due, Event, Item, Json, Posted, Pushed, Receipt, State, body
from gatepost.core.gate import Gate, GateKind, Resolution
from gatepost.core.goal import Goal
from gatepost.core.guest import GuestSession
from gatepost.core.instants import Instant, rfc3339
from gatepost.core.key import Key
from gatepost.core.memory import Memory
from gatepost.core.mind import Carried, Prompt, Reply, Result, Turn
from gatepost.core.plan import Plan
from gatepost.core.run import OpenCall, Run, Step
from gatepost.core.space import Member, Message, Space
from gatepost.core.trigger import Trigger

Document = dict[str, Any]


def event(event: Event) -> Document:
    """What happened, whoever it is for."""
    data, extra = _data(event)
    document: Document = {
        "eventId": event.id,
        "type": event.type.value,
        "timestamp": rfc3339(event.created_at),
        "source": event.source,
        "sender": event.sender.name if event.sender else None,
        "senderName": event.sender.display if event.sender else None,
        "senderType": event.sender.kind.value if event.sender else None,
        "subject": event.subject,
        "content": event.content,
        "data": data,
        "priority": event.priority.value,
        "dedupKey": event.key,
        "createdAt": rfc3339(event.created_at),
        "expiresAt": _time(event.expires_at),
        "ref": {"type": event.ref.type, "id": event.ref.id} if event.ref else None,
        "route": {"channel": event.route.channel, "sessionId": event.route.session} if event.route else None,
        "hops": event.hops,
        "trust": event.trust.value,
        "wakes": event.wakes,
    }
    return document | ({"extra": extra} if extra else {})


def item(item: Item) -> Document:
    """An event as it stands with one recipient."""
    return event(item.event) | {"recipient": item.recipient} | _standing(item)


def items(items: Sequence[Item]) -> Document:
    """One event as it stands with each of its recipients; its own state is theirs, or `mixed`."""
    states: set[State] = {item.state for item in items}
    return event(items[0].event) | {
        "state": next(iter(states)).value if len(states) == 1 else "mixed",
        "recipients": [{"name": item.recipient, "eventId": item.event.id} | _standing(item) for item in items],
    }


def pushed(pushed: Pushed) -> Document:
    """What a push came to. A push that was for nobody has no event."""
    document: Document = {
        "eventId": pushed.event if pushed.deliveries or pushed.broadcast is not None else None,
        "recipients": [
            {"name": each.name, "eventId": each.event, "duplicate": each.duplicate} for each in pushed.deliveries
        ],
    }
    return document | ({"broadcast": pushed.broadcast, "duplicate": pushed.duplicate} if pushed.broadcast else {})


def entity(entity: Entity) -> Document:
    return {
        "name": entity.name,
        "kind": entity.kind.value,
        "displayName": entity.display,
        "team": entity.team,
        "role": entity.role,
        "owner": entity.owner,
        "aliases": list(entity.aliases),
        "createdAt": rfc3339(entity.created_at),
        "retiredAt": _time(entity.retired_at),
    }


def session(session: GuestSession) -> Document:
    return {
        "id": session.session,
        "agent": session.agent,
        "host": session.host,
        "state": session.doing,
        "hops": session.hops,
        "startedAt": rfc3339(session.started_at),
        "seenAt": rfc3339(session.seen_at),
    }


def agent(entity_: Entity, resident: Resident | None, *, whole: bool = True) -> Document:
    """An agent, and what it is told to be if it lives here; that is for itself and the administrator (`whole`)."""
    return entity(entity_) | {
        "resident": resident is not None,
        "paused": resident is not None and resident.paused_at is not None,
        "pausedAt": _time(resident.paused_at) if resident else None,
        "cycles": resident.cycles if resident else 0,
        "mindTokens": resident.tokens if resident else 0,
        "failures": resident.failures if resident else 0,
        "restUntil": _time(resident.rest_until) if resident else None,
        "version": resident.version if resident else 0,
        "config": config.document(resident.config, masked=True) if resident and whole else None,
    }


def run(run: Run) -> Document:
    return {
        "id": run.id,
        "agent": run.agent,
        "status": run.status.value,
        "cycleNumber": run.cycle,
        "cause": run.cause,
        "events": run.events,
        "steps": run.steps,
        "effects": run.effects,
        "promptTokens": run.prompt_tokens,
        "completionTokens": run.completion_tokens,
        "hops": run.hops,
        "version": run.version,
        "model": run.model,
        "summary": run.summary,
        "error": run.error,
        "startedAt": rfc3339(run.started_at),
        "endedAt": _time(run.ended_at),
        "durationMs": (run.ended_at - run.started_at) // 1_000 if run.ended_at is not None else None,
    }


def step(step: Step) -> Document:
    return {"number": step.number, "at": rfc3339(step.at)} | turn(step.turn)


def turn(turn: Turn) -> Document:
    """What was shown, said or returned: its kind, and under that name what it is."""
    prompt: Document | None = None
    reply: Document | None = None
    result: Document | None = None
    match turn:
        case Prompt():
            kind, prompt = "prompt", {"text": turn.text, "events": list(turn.events)}
        case Reply():
            kind = "reply"
            reply = {
                "text": turn.text,
                "calls": [{"id": call.id, "tool": call.tool, "arguments": call.arguments} for call in turn.calls],
                "usage": {"promptTokens": turn.usage.prompt, "completionTokens": turn.usage.completion},
                "model": turn.model,
            }
        case Result():
            kind = "result"
            result = {"call": turn.call, "tool": turn.tool, "content": turn.content, "ok": turn.ok}
        case other:
            assert_never(other)
    return {"kind": kind, "prompt": prompt, "reply": reply, "result": result}


def replayed(run: str, model: str, *, original: Sequence[Step], replayed: Sequence[Turn], same: bool) -> Document:
    """A past run, and what another model would have said and done."""
    return {
        "run": run,
        "model": model,
        "same": same,
        "original": [step(each) for each in original],
        "replayed": [turn(each) for each in replayed],
    }


def call(call: OpenCall) -> Document:
    return {
        "id": call.id,
        "run": call.run,
        "agent": call.agent,
        "tool": call.tool,
        "arguments": call.arguments,
        "status": call.status.value,
        "result": call.result,
        "createdAt": rfc3339(call.created_at),
        "expiresAt": rfc3339(call.expires_at),
        "endedAt": _time(call.ended_at),
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


def memory(memory: Memory) -> Document:
    return {"key": memory.key, "value": memory.value, "updatedAt": rfc3339(memory.updated_at)}


def goal(goal: Goal) -> Document:
    return {
        "id": goal.id,
        "description": goal.description,
        "status": goal.status.value,
        "priority": goal.priority,
        "createdAt": rfc3339(goal.created_at),
        "updatedAt": rfc3339(goal.updated_at),
    }


def account(account: Account) -> Document:
    return {
        "name": account.name,
        "accepted": account.accepted,
        "pending": account.pending,
        "claimed": account.claimed,
        "delivered": account.delivered,
        "expired": account.expired,
        "dead": account.dead,
        "discarded": account.discarded,
        "balanced": account.balanced,
    }


def claim(claim: Claim) -> Document:
    return {
        "claimId": claim.id,
        "recipient": claim.recipient,
        "kind": claim.kind,
        "owner": claim.owner,
        "fence": claim.fence,
        "takenAt": rfc3339(claim.taken_at),
        "deadline": _time(claim.deadline),
    }


def batch(batch: Batch) -> Document:
    """A batch as data and, in `text`, as an agent reads it."""
    return {
        "claim": claim(batch.claim) if batch.claim else None,
        "items": [item(each) for each in batch.items],
        "held": batch.held,
        "text": str(batch) if batch.items else "",
    }


def space(space: Space) -> Document:
    return {
        "id": space.id,
        "name": space.name,
        "lastSeq": space.last_seq,
        "createdAt": rfc3339(space.created_at),
        "archivedAt": _time(space.archived_at),
    }


def member(member: Member) -> Document:
    return {
        "name": member.name,
        "displayName": member.display,
        "kind": member.kind.value,
        "joinedAt": rfc3339(member.joined_at),
        "readSeq": member.read_seq,
    }


def message(message: Message) -> Document:
    return {
        "id": message.id,
        "space": message.space,
        "seq": message.seq,
        "sender": message.sender,
        "senderName": message.sender_display,
        "senderType": message.sender_kind.value,
        "content": message.content,
        "data": message.data,
        "createdAt": rfc3339(message.created_at),
    }


def plan(plan: Plan) -> Document:
    """A plan. `scheduledAt` is the slot of one that fires once; `nextRunAt` and `lastRunAt` are slots, too."""
    return {
        "id": plan.id,
        "owner": plan.owner,
        "name": plan.name,
        "instruction": plan.instruction,
        "cron": plan.cron,
        "timeZone": plan.zone,
        "catchUp": plan.catch_up.value,
        "isRecurring": plan.cron is not None,
        "scheduledAt": _time(plan.scheduled_at),
        "onGate": plan.gate,
        "hops": plan.hops,
        "nextRunAt": _time(plan.next_at),
        "lastRunAt": _time(plan.last_at),
        "status": plan.status.value,
        "fired": plan.fired,
        "createdAt": rfc3339(plan.created_at),
        "endedAt": _time(plan.ended_at),
    }


def gate(gate: Gate, now: Instant, *, whole: bool = True) -> Document:
    """
    A gate, and how it stands now: whether it holds its owner, and whether its deadline has passed unnoticed. Only the
    administrator sees the `whole`, for there may be a secret in a command line.
    """
    shown = whole or gate.kind is not GateKind.COMMAND
    return {
        "id": gate.id,
        "name": gate.name,
        "kind": gate.kind.value,
        "owner": gate.owner,
        "madeBy": gate.made_by,
        "awaits": gate.awaits if shown else None,
        "instruction": gate.instruction,
        "waiters": list(gate.waiters),
        "deadline": _time(gate.deadline),
        "atDeadline": gate.at_deadline.value,
        "fail": gate.fail.value,
        "trouble": gate.trouble,
        "escalatedAt": _time(gate.escalated_at),
        "createdAt": rfc3339(gate.created_at),
        "status": gate.resolution.ending.value if gate.resolution else "pending",
        "holds": gate.holds(now),
        "overdue": gate.overdue(now),
        "resolution": resolution(gate.resolution),
    }


def resolution(resolution: Resolution | None) -> Document | None:
    if resolution is None:
        return None
    return {
        "ending": resolution.ending.value,
        "reason": resolution.reason,
        "by": resolution.by,
        "at": rfc3339(resolution.at),
    }


def decision(decision: Decision, now: Instant) -> Document:
    """A decision with the answers of all its rounds; `answer` is the one that counts, if there is one."""
    return {
        "id": decision.id,
        "gate": decision.gate,
        "asker": decision.asker,
        "asked": list(decision.asked),
        "question": decision.question,
        "options": [{"id": each.id, "label": each.label, "description": each.description} for each in decision.options],
        "freeText": decision.free_text,
        "urgency": decision.urgency.value,
        "default": decision.default,
        "deadline": _time(decision.deadline),
        "context": decision.context,
        "contextHash": decision.context_hash,
        "ref": {"type": decision.ref.type, "id": decision.ref.id} if decision.ref else None,
        "session": decision.session,
        "iteration": decision.iteration,
        "guidance": decision.guidance,
        "createdAt": rfc3339(decision.created_at),
        "status": decision.status.value,
        "overdue": decision.overdue(now),
        "answer": answer(decision.last) if decision.last and not decision.open else None,
        "answers": [answer(each) for each in decision.answers],
    }


def answer(answer: Answer) -> Document:
    return {
        "outcome": answer.outcome.value,
        "option": answer.option,
        "text": answer.text,
        "by": answer.by,
        "at": rfc3339(answer.at),
        "iteration": answer.iteration,
    }


def trigger(trigger: Trigger) -> Document:
    """A trigger without its secret, which nobody is told."""
    return {
        "name": trigger.name,
        "provider": trigger.provider.value,
        "scheme": trigger.scheme.value,
        "target": trigger.target,
        "prompt": trigger.prompt,
        "owner": trigger.owner,
        "active": trigger.active,
        "createdAt": rfc3339(trigger.created_at),
    }


def key(key: Key) -> Document:
    """A key by its prefix; the key itself is shown once, by whoever made it."""
    return {
        "id": key.id,
        "prefix": key.prefix,
        "kind": key.kind,
        "entity": key.entity,
        "trigger": key.trigger,
        "name": key.name,
        "createdAt": rfc3339(key.created_at),
        "revokedAt": _time(key.revoked_at),
    }


def receipt(receipt: Receipt | None) -> Document | None:
    return {"kind": receipt.kind, "owner": receipt.owner, "at": rfc3339(receipt.at)} if receipt else None


def _standing(item: Item) -> Document:
    return {
        "state": item.state.value,
        "attempts": item.attempts,
        "seenAt": _time(item.seen_at),
        "endedAt": _time(item.ended_at),
        "receipt": receipt(item.receipt),
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
                "senderEntityId": event.sender.name if event.sender else None,
                "senderName": event.sender.display if event.sender else None,
                "senderType": event.sender.kind.value if event.sender else None,
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


def _time(instant: Instant | None) -> str | None:
    return rfc3339(instant) if instant is not None else None
