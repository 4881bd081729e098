"""Decisions. Asking is in `channels`, because a question may be shown on one."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration
from gatepost.gates import decision_actions as decisions, decision_api as api
from gatepost.gates.decision import Decision, Option, Question
from gatepost.gates.delegation_actions import delegate
from gatepost.gates.followed_decision_actions import claim_outcome
from gatepost.gates.gate_handlers import name_stranger
from gatepost.gates.proposed_action import Action
from gatepost.inbox.item_api import BatchView
from gatepost.operations.access import Caller
from gatepost.operations.fields import build_record, parse_fields
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.ListDecisions.handler
def list_decisions(tx: Reader, request: api.ListDecisions, caller: Caller) -> Page[api.DecisionView]:
    return read_page(
        tx,
        request,
        decisions.list_page,
        view=lambda decision: view_decision(tx, decision),
        concerning=caller.entity,
        **parse_fields(request),
    )


@api.ShowDecision.handler
def show_decision(tx: Reader, request: api.ShowDecision, caller: Caller) -> api.DecisionView:
    return view_decision(tx, decisions.show(tx, request.id, viewer=caller.entity))


@api.AnswerDecision.handler
def answer_decision(tx: Transaction, request: api.AnswerDecision, caller: Caller) -> api.DecisionView:
    with name_stranger(tx, caller, request.by, decisions.show, request.id):
        return view_decision(tx, decisions.answer(tx, request.id, request, by=request.by))


@api.DelegateDecision.handler
def delegate_decision(tx: Transaction, request: api.DelegateDecision, caller: Caller) -> api.DecisionView:
    with name_stranger(tx, caller, request.by, decisions.show, request.id):
        return view_decision(tx, delegate(tx, request.id, request.to, by=request.by, text=request.text))


@api.ReviseDecision.handler
def revise_decision(tx: Transaction, request: api.ReviseDecision, caller: Caller) -> api.DecisionView:
    with name_stranger(tx, caller, request.asker, decisions.show, request.id):
        return view_decision(tx, decisions.revise(tx, request.id, build_question(request), by=request.asker))


@api.WithdrawDecision.handler
def withdraw_decision(tx: Transaction, request: api.WithdrawDecision, caller: Caller) -> api.DecisionView:
    with name_stranger(tx, caller, request.by, decisions.show, request.id):
        return view_decision(tx, decisions.withdraw(tx, request.id, by=request.by, reason=request.reason))


@api.ClaimOutcome.handler
def claim_decision_outcome(tx: Transaction, request: api.ClaimOutcome, caller: Caller) -> BatchView:
    proof_timeout = parse_field("proof", request.proof or None, parse_duration)
    batch = claim_outcome(tx, request.id, by=caller.entity, owner=request.owner, proof_timeout=proof_timeout)
    return BatchView.of(batch)


def view_decision(tx: Reader, decision: Decision) -> api.DecisionView:
    return api.DecisionView.of(decision, overdue=decision.is_overdue(tx.now))


def build_question(request: api.QuestionRequest) -> Question:
    action = None if request.action is None else build_record(Action, request.action)
    return build_record(
        Question, request, action=action, options=tuple(build_record(Option, option) for option in request.options)
    )
