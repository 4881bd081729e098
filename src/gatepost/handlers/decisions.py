"""Decisions."""

from msgspec.structs import replace

from gatepost.actions import decisions
from gatepost.api.access import Caller
from gatepost.api.decisions import (
    AnswerDecision,
    AskDecision,
    DecisionAnswerView,
    DecisionPage,
    DecisionView,
    ListDecisions,
    QuestionRequest,
    ReviseDecision,
    ShowDecision,
    WithdrawDecision,
)
from gatepost.core.decision import AnswerSpec, Decision, Option, Question
from gatepost.core.event import Priority, Ref
from gatepost.core.times import parse_duration, parse_instant
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader, Transaction


@AskDecision.handler
def ask_decision(tx: Transaction, request: AskDecision, caller: Caller) -> DecisionView:
    question = replace(_build_question(request), respondents=request.of, session=request.session)
    return _view(tx, decisions.ask(tx, question, by=request.asker))


@ListDecisions.handler
def list_decisions(tx: Reader, request: ListDecisions, caller: Caller) -> DecisionPage:
    return read_page(
        tx,
        DecisionPage,
        decisions.page,
        concerning=caller.entity,
        asker=request.asker,
        asked=request.asked,
        session=request.session,
        pending=request.pending,
        since=None if request.since is None else parse_instant(request.since),
        after=request.after,
        limit=request.limit,
        view=lambda decision: _view(tx, decision),
        cursor=lambda decision: decision.number,
    )


@ShowDecision.handler
def show_decision(tx: Reader, request: ShowDecision, caller: Caller) -> DecisionView:
    return _view(tx, decisions.show(tx, request.id, viewer=caller.entity))


@AnswerDecision.handler
def answer_decision(tx: Transaction, request: AnswerDecision, caller: Caller) -> DecisionView:
    answer = AnswerSpec(
        option=request.option,
        text=request.text,
        again=request.again,
        reject=request.reject,
        context_hash=request.context_hash,
    )
    return _view(tx, decisions.answer(tx, request.id, answer, by=request.by))


@ReviseDecision.handler
def revise_decision(tx: Transaction, request: ReviseDecision, caller: Caller) -> DecisionView:
    return _view(tx, decisions.revise(tx, request.id, _build_question(request), by=request.asker))


@WithdrawDecision.handler
def withdraw_decision(tx: Transaction, request: WithdrawDecision, caller: Caller) -> DecisionView:
    return _view(tx, decisions.withdraw(tx, request.id, by=request.by, reason=request.reason))


def _view(tx: Reader, decision: Decision) -> DecisionView:
    answer = None if decision.is_open else decision.last_answer
    return DecisionView.of(
        decision,
        overdue=decision.is_overdue(tx.now),
        answer=None if answer is None else DecisionAnswerView.of(answer),
    )


def _build_question(request: QuestionRequest) -> Question:
    return Question(
        question=request.question,
        options=tuple(
            Option(id=option.id, label=option.label, description=option.description) for option in request.options
        ),
        free_text=request.free_text,
        urgency=Priority.parse(request.urgency),
        default=request.default,
        deadline=None if request.deadline is None else parse_instant(request.deadline),
        within=None if request.within is None else parse_duration(request.within),
        context=request.context,
        ref=None if request.ref is None else Ref(request.ref.type, request.ref.id),
    )
