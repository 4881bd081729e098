"""
Pass the question of a decision on to somebody else.

It is asked anew in another round: who passed it on is not asked any more, and who is asked beside them gets it again.
The administrator, who was not asked, passes it on for all who were. The question stays, so does its hash, and its
deadline. The asker and those who were asked before hear of it; nobody is woken by that.
"""

from typing import Final

from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Conflict, Invalid, Refused
from gatepost.gates import (
    decision_actions as decisions,
    decision_event_actions as decision_events,
    decision_rows,
    gate as gate_rules,
    gate_actions as gates,
    gate_rows,
)
from gatepost.gates.decision import (
    MAX_ROUNDS,
    Answer,
    Decision,
    DecisionAsked,
    DecisionEnded,
    DecisionOutcome,
    DecisionStatus,
    build_event_key,
)
from gatepost.inbox.event import CHAIN_PAUSE, EventType, Priority, Push
from gatepost.inbox.push import actions as push, hop_actions as chains
from gatepost.stores.row_mapping import get_columns

_MAX_NAMES: Final = 10


def delegate(tx: Transaction, id: str, to: tuple[str, ...], *, by: str | None, text: str = "") -> Decision:
    """Ask these entities instead of whoever passes the question on; `text` is for them."""
    decision, actor = decisions.lock_decision(tx, id, by)
    if not gates.is_allowed(actor, *decision.respondents):
        raise Refused(f"{by!r} was not asked", hint=f"{' or '.join(map(repr, decision.respondents))} can pass it on")
    decisions.check_open(decision, tx.now)
    if decision.status is DecisionStatus.REVISING:
        raise decisions.build_late_error(decision)
    if decision.iteration >= MAX_ROUNDS:
        raise Conflict(f"the decision {id!r} was asked {MAX_ROUNDS} times already", hint="answer it, or reject it")
    if not to:
        raise Invalid("nobody is named who is to be asked", hint="give `to`")
    asker = directory.find_live(tx, decision.asker)
    respondents = decision_events.find_entities(tx, decision.respondents)
    newcomers = [entity for entity in decisions.find_respondents(tx, to, asker) if entity not in respondents]
    if not newcomers:
        raise Invalid("everybody who is named was asked already", hint="name somebody else")
    gates.lock_live(tx, newcomers)
    leavers = [actor] if actor is not None and actor in respondents else respondents
    note = gate_rules.check_text("text", text.strip())
    answer = Answer(
        outcome=DecisionOutcome.DELEGATED,
        option=None,
        text=f"to {_join_names(newcomers)}" + (f": {note}" if note else ""),
        args=None,
        by=actor.name if actor else None,
        at=tx.now,
        iteration=decision.iteration,
    )
    tx.execute_later(
        "gates/answers/insert",
        **get_columns(answer, "iteration outcome option text"),
        args=None,
        decision=decision.number,
        answered_by=actor.number if actor else None,
        now=answer.at,
    )
    tx.execute_later(
        "gates/respondents/delete", decision=decision.number, entities=[entity.number for entity in leavers]
    )
    for newcomer in newcomers:
        tx.execute_later("gates/respondents/insert", decision=decision.number, entity=newcomer.number)
    tx.execute_later("gates/decisions/begin_round", number=decision.number, iteration=decision.iteration + 1)
    gate = gate_rows.read(tx, decision.gate)
    assert gate is not None
    hops = chains.count_next_hops(tx, actor)
    tx.execute_later("gates/gates/extend_chain", number=gate.number, hops=hops, now=tx.now, since=tx.now - CHAIN_PAUSE)
    decision_events.close_question(tx, decision, respondents, actor)
    tx.react(DecisionEnded(decision, answer))
    delegated = decision_rows.read(tx, id)
    assert delegated is not None
    recipients = [entity for entity in decision_events.find_entities(tx, delegated.respondents) if entity.is_live]
    decision_events.push_question(tx, delegated, asker, recipients)
    tx.react(DecisionAsked(delegated, recipients))
    _notify(tx, decision, answer, actor, [asker, *leavers])
    return delegated


def _notify(
    tx: Transaction, decision: Decision, answer: Answer, actor: Entity | None, recipients: list[Entity]
) -> None:
    notice = Push(
        to=decision.asker,
        type=EventType.DECISION,
        source="decision",
        sender=answer.by,
        content=answer.text or "",
        data={
            "decisionId": decision.id,
            "gateId": decision.gate,
            "outcome": answer.outcome.value,
            "by": answer.by or "",
            "text": answer.text,
            "iteration": answer.iteration,
            "question": decision.question[: decision_events.MAX_QUOTE_LENGTH],
            "asker": decision.asker,
        },
        priority=Priority.FYI,
        dedup_key=f"{build_event_key(decision, answer.iteration)}:delegated",
        ref=decision.ref,
    )
    push.fan_out(tx, notice, actor, recipients)


def _join_names(entities: list[Entity]) -> str:
    names = [entity.name for entity in entities[:_MAX_NAMES]]
    return ", ".join(names) + (f" and {len(entities) - _MAX_NAMES} more" if len(entities) > _MAX_NAMES else "")
