"""
Ask, revise, answer and withdraw decisions.

A decision and its gate are one thing in two tables: every verb that changes one locks the gate's row first
(`gates.lock`), so that all changes of a decision happen one after the other. Of any number of answers, the first valid
one writes the row of its round, whose key is (decision, round); the others find that row, and the error says who
answered what.

In the transaction of an answer, the gate is resolved, the asker gets an event (`decision:{id}:{round}`, priority high),
and the question in the inboxes of the respondents is closed. A rejection, the deadline, a withdrawal and the retirement
of all respondents end a decision in the same way.

The respondents and the administrator may answer, and pass the question on (`delegation_actions.py`); the asker may
revise and withdraw. For all others a decision does not exist. A changed question is another round, of which all who
were shown it are told. An answer to an action has the hash of the question that was read, so an asker cannot have
approved what the respondent has not seen.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from gatepost.core import address, ids
from gatepost.core.address import AllAgentsAddress, EntityAddress
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.text import has_visible_text
from gatepost.core.times import Instant, format_rfc3339
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Conflict, Invalid, Late, NotFound, Refused, UnknownAddress, quote_value
from gatepost.gates import (
    answer_rules,
    decision_event_actions as decision_events,
    decision_rows as decisions,
    gate as gate_rules,
    gate_actions as gates,
    gate_rows,
    proposed_action,
    question_rules,
)
from gatepost.gates.decision import (
    MAX_ROUNDS,
    Answer,
    AnswerOrigin,
    AnswerSpec,
    Decision,
    DecisionAsked,
    DecisionEnded,
    DecisionOutcome,
    DecisionRevised,
    DecisionStatus,
    Question,
    build_event_key,
    compute_context_hash,
    describe_answer,
    render_answer,
)
from gatepost.gates.gate import GateKind, GateSpec
from gatepost.gates.proposed_action import Arguments
from gatepost.inbox.event import CHAIN_PAUSE
from gatepost.inbox.push import dedup_key_rows as dedup_keys, hop_actions as chains
from gatepost.jobs import job_actions as jobs
from gatepost.stores.row_mapping import fetch_number, get_columns

#: the kind of a job that runs the command of `decision.on_answer`
ANSWER_JOB: Final = "on_answer"
_MAX_RESPONDENTS: Final = 100
#: the outcomes for which the command of `decision.on_answer` runs
_ANSWER_OUTCOMES: Final = (
    DecisionOutcome.ANSWERED,
    DecisionOutcome.DEFAULTED,
    DecisionOutcome.REJECTED,
    DecisionOutcome.AGAIN,
)


def ask(tx: Transaction, question: Question, *, by: str | None) -> Decision:
    """
    Ask for a decision, and push the question to the respondents. Its gate holds the asker until it ends, unless it is
    followed.
    """
    question = question_rules.check_question(question, max_data_bytes=tx.policy.data)
    if by is None:
        raise Invalid("a decision needs an asker", hint="give `asker`")
    asker = directory.find_live(tx, by)
    respondents = find_respondents(tx, question.respondents or (directory.find_responsible(tx, asker),), asker)
    gates.lock_live(tx, [asker, *respondents])
    id = tx.new_id("dec")
    gate_spec = GateSpec(
        name="decision",
        kind=GateKind.DECISION,
        awaits=id,
        instruction=f"the decision {id} is not answered yet: "
        + json.dumps(question.question[: decision_events.MAX_QUOTE_LENGTH], ensure_ascii=False),
        deadline=question.deadline,
        within=question.within,
    )
    gate = gates.create_gate(tx, gate_spec, asker, asker)
    decision = Decision(
        id=id,
        gate=gate.id,
        asker=asker.name,
        respondents=tuple(respondent.name for respondent in respondents),
        **_get_question_fields(question),
        deadline=gate.deadline,
        session=question.session,
        is_followed=question.is_followed,
        iteration=1,
        guidance=None,
        created_at=tx.now,
        answers=(),
    )
    number = fetch_number(
        tx,
        "gates/decisions/insert",
        **get_columns(decision, "id context_hash session is_followed"),
        **decisions.get_question_columns(decision),
        gate=gate.number,
        asker=asker.number,
        now=tx.now,
    )
    decision = replace(decision, number=number)
    for respondent in respondents:
        tx.execute_later("gates/respondents/insert", decision=decision.number, entity=respondent.number)
    decision_events.push_question(tx, decision, asker, respondents)
    tx.react(DecisionAsked(decision, respondents))
    return _read(tx, id)


def revise(tx: Transaction, id: str, question: Question, *, by: str | None) -> Decision:
    """Ask again in another round, and push the new question. Without a new deadline the old one stays."""
    decision, actor = lock_decision(tx, id, by)
    question = question_rules.check_question(
        question, max_data_bytes=tx.policy.data, current_deadline=decision.deadline
    )
    if not gates.is_allowed(actor, decision.asker):
        raise Refused(f"{by!r} cannot revise the decision {id!r}", hint=f"{decision.asker!r} can")
    check_open(decision, tx.now)
    if decision.iteration >= MAX_ROUNDS:
        raise Conflict(f"the decision {id!r} was asked {MAX_ROUNDS} times already", hint="withdraw it, or wait")
    respondents = [entity for entity in decision_events.find_entities(tx, decision.respondents) if entity.is_live]
    decision_events.close_question(tx, decision, respondents, actor)
    deadline = gate_rules.resolve_deadline(tx.now, question.deadline, question.within) or decision.deadline
    revision = replace(
        decision,
        **_get_question_fields(question),
        deadline=deadline,
        iteration=decision.iteration + 1,
        guidance=decision.last_answer.text if decision.last_answer is not None else decision.guidance,
    )
    columns = get_columns(revision, "number context_hash") | decisions.get_question_columns(revision)
    tx.execute_later("gates/decisions/revise", **columns)
    gate = gate_rows.read(tx, decision.gate)
    assert gate is not None
    if deadline != decision.deadline:
        tx.execute_later("gates/gates/set_deadline", number=gate.number, deadline=deadline)
        tx.after_commit(Signal(Topic("gate", gate.id), "postponed", wakes=False))
    hops = chains.count_next_hops(tx, actor)
    tx.execute_later("gates/gates/extend_chain", number=gate.number, hops=hops, now=tx.now, since=tx.now - CHAIN_PAUSE)
    decision_events.push_question(tx, revision, directory.find_live(tx, decision.asker), respondents)
    tx.react(DecisionRevised(revision))
    return _read(tx, id)


def answer(
    tx: Transaction, id: str, reply: AnswerSpec, *, by: str | None, origin: AnswerOrigin | None = None
) -> Decision:
    """
    Answer a decision; raise `Late`, which says who answered what, if there is an answer already. The event for the
    asker has the `origin` of the answer.
    """
    decision, actor = lock_decision(tx, id, by)
    if not gates.is_allowed(actor, *decision.respondents):
        raise Refused(f"{by!r} was not asked", hint=f"{' or '.join(map(repr, decision.respondents))} can answer")
    check_open(decision, tx.now)
    if decision.status is DecisionStatus.REVISING:
        raise build_late_error(decision)
    reply = answer_rules.complete_answer(decision, reply)
    outcome = answer_rules.decide_outcome(decision, reply, max_data_bytes=tx.policy.data)
    answer_rules.require_hash(decision, reply)
    text = reply.text if reply.text is not None and has_visible_text(reply.text) else None
    return end(tx, decision, outcome, actor, option=reply.option, text=text, edited_args=reply.args, origin=origin)


def withdraw(tx: Transaction, id: str, *, by: str | None, reason: str = "") -> Decision:
    """End a decision whose answer is not needed any more."""
    decision, actor = lock_decision(tx, id, by)
    if not gates.is_allowed(actor, decision.asker):
        raise Refused(f"{by!r} cannot withdraw the decision {id!r}", hint=f"{decision.asker!r} can")
    if not decision.is_open:
        raise build_late_error(decision)
    return end(tx, decision, DecisionOutcome.WITHDRAWN, actor, text=gate_rules.check_text("reason", reason) or None)


def show(tx: Reader, id: str, *, viewer: str | None = None) -> Decision:
    """Return a decision to a viewer whom it concerns, or to the administrator (None); raise `NotFound` for others."""
    decision = decisions.read(tx, ids.check("dec", id))
    if decision is None or (viewer is not None and directory.find(tx, viewer).name not in decision.viewers):
        raise _build_unknown_error(id)
    return decision


def list_page(
    tx: Reader,
    *,
    asker: str | None = None,
    asked: str | None = None,
    concerning: str | None = None,
    session: str | None = None,
    pending: bool | None = None,
    since: Instant | None = None,
    newest_first: bool = False,
    after: int = 0,
    limit: int = 100,
) -> list[Decision]:
    """
    Return decisions in the order in which they were asked; `after` is the number of the last decision seen. `since`
    selects those whose last round has ended at that time or later; `pending` selects those that are open (True) or have
    ended (False).
    """
    filters = {
        "asker": directory.find_number(tx, asker),
        "respondent": directory.find_number(tx, asked),
        "participant": directory.find_number(tx, concerning),
        "session": session,
        "is_pending": pending,
        "since": since,
        "limit": limit,
    }
    if newest_first:
        return decisions.build_decisions(
            tx, tx.fetch_page("gates/decisions/list_newest", before=after or decisions.END, **filters)
        )
    return decisions.build_decisions(tx, tx.fetch_page("gates/decisions/list_page", after=after, **filters))


def end(
    tx: Transaction,
    decision: Decision,
    outcome: DecisionOutcome,
    actor: Entity | None,
    *,
    option: str | None = None,
    text: str | None = None,
    edited_args: Arguments | None = None,
    hops: int = 0,
    origin: AnswerOrigin | None = None,
) -> Decision:
    """
    End the current round of a decision and, unless it is sent back, the decision itself. The caller has locked it.
    """
    # A decision that was sent back has an answer for its round already: what ends it now is the answer of the next.
    iteration = decision.iteration + (decision.status is DecisionStatus.REVISING)
    answer = Answer(
        outcome=outcome,
        option=option,
        text=text,
        args=proposed_action.choose_args(decision.action, option, edited_args),
        by=actor.name if actor else None,
        at=tx.now,
        iteration=iteration,
    )
    is_first = tx.execute(
        "gates/answers/insert",
        **get_columns(answer, "iteration outcome option text"),
        args=decisions.encode_args(answer.args),
        decision=decision.number,
        answered_by=actor.number if actor else None,
        now=answer.at,
    )
    if not is_first:
        raise build_late_error(_read(tx, decision.id))
    gate = gate_rows.read(tx, decision.gate)
    assert gate is not None
    hops = gates.count_hops(tx, gate, actor, hops)
    if outcome.gate_ending is not None:
        gates.end(tx, gate, outcome.gate_ending, _describe_answer(decision, answer), actor, hops=hops, notify=False)
    decision_events.close_question(tx, decision, decision_events.find_entities(tx, decision.respondents), actor)
    tx.react(DecisionEnded(decision, answer))
    data = decision_events.push_outcome(tx, decision, answer, gate, actor, hops, origin)
    if tx.policy.has_answer_command and outcome in _ANSWER_OUTCOMES:
        jobs.add(tx, ANSWER_JOB, data)
    tx.after_commit(Signal(Topic("decision", decision.id), "answered", wakes=False))
    return _read(tx, decision.id)


def find_outcome_event(tx: Reader, decision: Decision) -> str | None:
    """Return the event that told the asker how the last round has ended; None if there is none."""
    last, asker = decision.last_answer, directory.find(tx, decision.asker)
    if last is None:
        return None
    return dedup_keys.find_events(tx, [asker.number], build_event_key(decision, last.iteration)).get(asker.number)


def _get_question_fields(question: Question) -> dict[str, Any]:
    """Return the fields of a decision that each round sets anew, except its deadline."""
    names = ("question", "action", "options", "free_text", "urgency", "default", "context", "ref")
    return {name: getattr(question, name) for name in names} | {"context_hash": compute_context_hash(question)}


def find_respondents(tx: Transaction, addresses: Sequence[str], asker: Entity) -> list[Entity]:
    """Return the live entities at these addresses, without the asker."""
    respondents: dict[int, Entity] = {}
    for text in dict.fromkeys(addresses):
        target = address.parse(text)
        if isinstance(target, AllAgentsAddress):
            raise Invalid("a decision cannot be asked of every agent", hint="name them, or a team")
        matches = directory.resolve(tx, [target]).get(target) or []
        if not matches and isinstance(target, EntityAddress):
            raise directory.build_unknown_error(tx, text, suggest_team=True)
        live_entities = [entity for entity in matches if entity.is_live]
        if not live_entities and isinstance(target, EntityAddress):
            raise directory.build_retired_error(matches[0], " and cannot answer")
        if not live_entities:
            hint = "`gatepost agent list` and `gatepost person list` show who is"
            raise UnknownAddress(f"no entity in {text!r} can answer", hint=hint)
        respondents |= {entity.number: entity for entity in live_entities if entity.number != asker.number}
    if not respondents:
        raise Invalid(f"only the asker {asker.name!r} itself would be asked", hint="name somebody else")
    if len(respondents) > _MAX_RESPONDENTS:
        raise Invalid(f"{len(respondents)} are too many to ask at once", hint=f"ask at most {_MAX_RESPONDENTS}")
    return [respondents[number] for number in sorted(respondents)]


def _describe_answer(decision: Decision, answer: Answer) -> str:
    """
    Return an answer as the reason of its gate's end, for entities that see only the gate. It names the option by its
    id, because a label alone may be ambiguous.
    """
    if decision.action is not None:
        text = render_answer(decision, answer)
    else:
        option_text = f"{answer.option} ({decision.find_label(answer.option)})" if answer.option is not None else None
        text = " - ".join(part for part in (option_text, answer.text) if part)
    return (f"{answer.outcome}: {text}" if text else answer.outcome.value)[:1_000]


def lock_decision(tx: Transaction, id: str, by: str | None) -> tuple[Decision, Entity | None]:
    """Lock a decision until the commit; return it with the entity `by`, which it must concern."""
    actor = directory.find_live(tx, by) if by is not None else None
    decision = decisions.read(tx, ids.check("dec", id))
    if decision is None or not gates.is_allowed(actor, *decision.viewers):
        raise _build_unknown_error(id)
    gate_rows.lock(tx, decision.gate)
    return _read(tx, id), actor


def check_open(decision: Decision, now: Instant) -> None:
    if not decision.is_open:
        raise build_late_error(decision)
    if decision.is_overdue(now):
        assert decision.deadline is not None
        consequence = f"{decision.default!r} counts" if decision.default is not None else "it has expired"
        raise Late(
            f"the time for the decision {decision.id!r} ran out at {format_rfc3339(decision.deadline)}: {consequence}",
            winner={"decisionId": decision.id, "outcome": "overdue", "option": decision.default, "by": None},
        )


def build_late_error(decision: Decision) -> Late:
    last = decision.last_answer
    assert last is not None
    by = f" by {last.by!r}" if last.by else ""
    if last.outcome is DecisionOutcome.AGAIN:
        description = f"was sent back{by}: {quote_value(last.text, 200)}"
        hint = f"{decision.asker!r} has to revise it"
        return Late(f"the decision {decision.id!r} {description}", hint=hint, winner=describe_answer(decision))
    answer_text = render_answer(decision, last)
    description = f"was {last.outcome} already{by}" + (f": {quote_value(answer_text, 200)}" if answer_text else "")
    return Late(f"the decision {decision.id!r} {description}", winner=describe_answer(decision))


def _read(tx: Transaction, id: str) -> Decision:
    decision = decisions.read(tx, id)
    assert decision is not None
    return decision


def _build_unknown_error(id: str) -> NotFound:
    return NotFound(f"there is no decision {id!r}", hint="`gatepost decision list` lists them")
