"""Decisions."""

from msgspec.structs import replace

from gatepost.actions import decisions
from gatepost.api.access import Caller
from gatepost.api.decisions import (
    AnswerDecision,
    AskDecision,
    DecisionPage,
    DecisionView,
    ListDecisions,
    QuestionRequest,
    ReviseDecision,
    ShowDecision,
    WithdrawDecision,
)
from gatepost.core.decision import AnswerSpec, Option, Question
from gatepost.core.event import Priority, Ref
from gatepost.core.times import parse_duration, parse_instant
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader, Transaction


@AskDecision.handler
def ask_decision(tx: Transaction, request: AskDecision, caller: Caller) -> DecisionView:
    question = replace(_build_question(request), respondents=request.of, session=request.session)
    return DecisionView.of(decisions.ask(tx, question, by=request.asker), tx.now)


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
        view=lambda decision: DecisionView.of(decision, tx.now),
        cursor=lambda decision: decision.number,
    )


@ShowDecision.handler
def show_decision(tx: Reader, request: ShowDecision, caller: Caller) -> DecisionView:
    return DecisionView.of(decisions.show(tx, request.id, viewer=caller.entity), tx.now)


@AnswerDecision.handler
def answer_decision(tx: Transaction, request: AnswerDecision, caller: Caller) -> DecisionView:
    answer = AnswerSpec(
        option=request.option,
        text=request.text,
        again=request.again,
        reject=request.reject,
        context_hash=request.context_hash,
    )
    return DecisionView.of(decisions.answer(tx, request.id, answer, by=request.by), tx.now)


@ReviseDecision.handler
def revise_decision(tx: Transaction, request: ReviseDecision, caller: Caller) -> DecisionView:
    return DecisionView.of(decisions.revise(tx, request.id, _build_question(request), by=request.asker), tx.now)


@WithdrawDecision.handler
def withdraw_decision(tx: Transaction, request: WithdrawDecision, caller: Caller) -> DecisionView:
    return DecisionView.of(decisions.withdraw(tx, request.id, by=request.by, reason=request.reason), tx.now)


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
