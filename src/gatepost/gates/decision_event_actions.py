"""
The events of a decision: the question in the inboxes of its respondents, and the outcome for its asker.

Each round has one dedup key (`decision:{id}:{round}`), so nobody gets its question or its outcome twice. The question
is closed when the round ends. Until then its last copy cannot be discarded if nothing else would end the decision.
"""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import format_rfc3339
from gatepost.directory import entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import Conflict
from gatepost.gates import decision as rules, decision_rows as decisions, gate_rows
from gatepost.gates.decision import Answer, AnswerOrigin, Decision
from gatepost.gates.gate import Gate
from gatepost.inbox import item_actions as inbox_items, item_rows as items
from gatepost.inbox.event import EventType, ItemsDiscarded, ItemState, Priority, Push
from gatepost.inbox.push import actions as push

#: characters of a question that are quoted with its answer
MAX_QUOTE_LENGTH: Final = 200
#: the states of an item that nobody reads any more
_CLOSED_STATES: Final = (ItemState.EXPIRED, ItemState.DEAD, ItemState.DISCARDED)


def push_question(tx: Transaction, decision: Decision, asker: Entity, respondents: Sequence[Entity]) -> None:
    """Push the question of the current round to the respondents."""
    data: dict[str, Json] = {
        "decisionId": decision.id,
        "gateId": decision.gate,
        "outcome": "asked",
        "by": decision.asker,
        "iteration": decision.iteration,
        "options": [
            {"id": option.id, "label": option.label, "description": option.description} for option in decision.options
        ],
        "freeText": decision.free_text,
        "contextHash": decision.context_hash,
    }
    if decision.action is not None:
        data |= {"action": decision.action.name, "args": decision.action.args}
    if decision.default is not None:
        data["default"] = decision.default
    if decision.deadline is not None:
        data["deadline"] = format_rfc3339(decision.deadline)
    if decision.context is not None:
        data["context"] = decision.context
    question_push = Push(
        to=decision.asker,
        type=EventType.DECISION,
        source="decision",
        sender=decision.asker,
        content=rules.render_question(decision),
        data=data,
        priority=decision.urgency,
        dedup_key=rules.build_event_key(decision, decision.iteration),
        ref=decision.ref,
    )
    push.fan_out(tx, question_push, asker, respondents)
    tx.after_commit(Signal(Topic("decision", decision.id), "asked", wakes=False))


def close_question(tx: Transaction, decision: Decision, respondents: Sequence[Entity], actor: Entity | None) -> None:
    """Close the question of the current round in the inboxes of the respondents."""
    inbox_items.close_items(tx, respondents, rules.build_event_key(decision, decision.iteration), actor=actor)


def push_outcome(
    tx: Transaction,
    decision: Decision,
    answer: Answer,
    gate: Gate,
    actor: Entity | None,
    hops: int,
    origin: AnswerOrigin | None,
) -> Json:
    """Push how a round has ended to the asker and to those who wait for the gate; return the data of the event."""
    outcome_push = Push(
        to=decision.asker,
        type=EventType.DECISION,
        source="decision",
        sender=answer.by,
        content=rules.render_answer(decision, answer)[: tx.policy.content // 4],
        data={
            "decisionId": decision.id,
            "gateId": decision.gate,
            "outcome": answer.outcome.value,
            "by": answer.by or "",
            "option": answer.option,
            "text": answer.text,
            "iteration": answer.iteration,
            "question": decision.question[:MAX_QUOTE_LENGTH],
            "asker": decision.asker,
            **rules.describe_action(decision, answer),
            **(origin.build_data() if origin is not None else {}),
        },
        priority=Priority.HIGH,
        dedup_key=rules.build_event_key(decision, answer.iteration),
        ref=decision.ref,
        route=origin.route if origin is not None else None,
        hops=hops,
    )
    recipient_names = [decision.asker, *(name for name in gate.waiters if name not in decision.respondents)]
    push.fan_out(tx, outcome_push, actor, find_entities(tx, recipient_names))
    if decision.is_followed and decision.followed_answer is None:
        _keep_for_follower(tx, decision.asker, str(outcome_push.dedup_key))
    # A respondent has had an event with that key already: the question.
    waiting_respondents = [name for name in gate.waiters if name in decision.respondents]
    push.fan_out(
        tx,
        replace(outcome_push, dedup_key=f"{outcome_push.dedup_key}:ended"),
        actor,
        find_entities(tx, waiting_respondents),
    )
    return outcome_push.data


def _keep_for_follower(tx: Transaction, asker: str, key: str) -> None:
    """Hide the outcome for a moment, in which the program of the asker claims it (`followed_decision_actions.py`)."""
    [entity] = find_entities(tx, [asker])
    if entity.kind is EntityKind.AGENT and (item := items.read_states(tx, entity.number, [key], ()).get(key)):
        until = tx.now + rules.FOLLOW_TIME
        hiding = {"recipient": entity.number, "arrivals": [item.arrival], "until": until, "awaits": None}
        tx.execute_later("inbox/item_changes/hide", **hiding, now=tx.now)


def keep_last_question(tx: Transaction, event: ItemsDiscarded) -> None:
    """Refuse to discard the last question of a decision without a deadline: its asker would wait for ever."""
    question = event.items[0].event
    parts = (question.dedup_key or "").split(":")
    id = parts[1] if parts[0] == "decision" and len(parts) == 3 else None
    decision = decisions.read(tx, id) if id is not None else None
    if decision is None or decision.deadline is not None:
        return
    gate_rows.lock(tx, decision.gate)  # of two that discard at once, the second must see what the first has done
    decision = decisions.read(tx, decision.id)
    assert decision is not None
    if decision.last_answer is not None or question.dedup_key != rules.build_event_key(decision, decision.iteration):
        return
    respondents = {
        entity.name for entity in entities.find_by_names(tx, decision.respondents).values() if entity.is_live
    }
    losing_recipients = {
        item.recipient for item in event.items if item.state in (ItemState.PENDING, ItemState.DEAD)
    } & respondents
    current_recipients = {
        item.recipient for _, item in items.list_by_event(tx, question.id) if item.state not in _CLOSED_STATES
    }
    if losing_recipients and not (current_recipients & respondents) - losing_recipients:
        raise Conflict(
            f"without {question.id!r} nobody would be asked any more for the decision {decision.id!r}",
            hint=f"answer it, or turn it down: gatepost decision answer {decision.id} --reject",
        )


def find_entities(tx: Reader, names: Sequence[str]) -> list[Entity]:
    return sorted(entities.find_by_names(tx, names).values(), key=lambda entity: entity.number)
