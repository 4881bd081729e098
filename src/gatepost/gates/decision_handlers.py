"""Decisions. Asking is in `channels`, because a question may be shown on one."""

from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.core.times import parse_instant
from gatepost.gates import decision_actions as decisions, decision_api as api
from gatepost.gates.decision import Decision, Option, Question
from gatepost.gates.gate_handlers import name_stranger, parse_deadline
from gatepost.gates.proposed_action import Action
from gatepost.inbox.event import Priority, Ref
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.ListDecisions.handler
def list_decisions(tx: Reader, request: api.ListDecisions, caller: Caller) -> Page[api.DecisionView]:
    since = parse_field("since", request.since, parse_instant)
    return read_page(
        tx,
        request,
        decisions.page,
        view=lambda decision: view_decision(tx, decision),
        concerning=caller.entity,
        **asdict(request) | {"since": since},
    )


@api.ShowDecision.handler
def show_decision(tx: Reader, request: api.ShowDecision, caller: Caller) -> api.DecisionView:
    return view_decision(tx, decisions.show(tx, request.id, viewer=caller.entity))


@api.AnswerDecision.handler
def answer_decision(tx: Transaction, request: api.AnswerDecision, caller: Caller) -> api.DecisionView:
    with name_stranger(tx, caller, request.by, decisions.show, request.id):
        return view_decision(tx, decisions.answer(tx, request.id, request, by=request.by))


@api.ReviseDecision.handler
def revise_decision(tx: Transaction, request: api.ReviseDecision, caller: Caller) -> api.DecisionView:
    with name_stranger(tx, caller, request.asker, decisions.show, request.id):
        return view_decision(tx, decisions.revise(tx, request.id, build_question(request), by=request.asker))


@api.WithdrawDecision.handler
def withdraw_decision(tx: Transaction, request: api.WithdrawDecision, caller: Caller) -> api.DecisionView:
    with name_stranger(tx, caller, request.by, decisions.show, request.id):
        return view_decision(tx, decisions.withdraw(tx, request.id, by=request.by, reason=request.reason))


def view_decision(tx: Reader, decision: Decision) -> api.DecisionView:
    return api.DecisionView.of(decision, overdue=decision.is_overdue(tx.now))


def build_question(request: api.QuestionRequest) -> Question:
    return Question(
        question=request.question,
        action=None if request.action is None else Action(name=request.action.name, args=request.action.args),
        allow=request.allow,
        options=tuple(
            Option(id=option.id, label=option.label, description=option.description) for option in request.options
        ),
        free_text=request.free_text,
        urgency=parse_field("urgency", request.urgency, Priority.parse),
        default=request.default,
        **parse_deadline(request),
        context=request.context,
        ref=None if request.ref is None else Ref(request.ref.type, request.ref.id),
    )
