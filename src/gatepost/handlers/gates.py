"""Gates and decisions. A decision is a question; a gate keeps its asker from stopping until it is answered."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec.structs import asdict, replace

from gatepost.actions import channel_replies, decisions, gates
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
from gatepost.api.gates import AddGate, AddWaiter, GatePage, GateView, ListGates, ResolveGate, ShowGate
from gatepost.core.decision import AnswerSpec, Decision, Option, Question
from gatepost.core.decision_action import Action
from gatepost.core.event import Priority, Ref
from gatepost.core.gate import Gate, GateKind, GateSpec
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import NotFound, Refused
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader, Transaction


@AddGate.handler
def add_gate(tx: Transaction, request: AddGate, caller: Caller) -> GateView:
    spec = GateSpec(
        name=request.name,
        kind=request.kind,
        owner=request.owner,
        awaits=request.awaits,
        instruction=request.instruction,
        waiters=request.waiters,
        **_parse_deadline(request),
        at_deadline=request.at_deadline,
        fail=request.fail,
    )
    return view_gate(tx, gates.add(tx, spec, by=request.made_by), caller)


@ListGates.handler
def list_gates(tx: Reader, request: ListGates, caller: Caller) -> GatePage:
    return read_page(
        tx,
        GatePage,
        gates.page,
        view=lambda gate: view_gate(tx, gate, caller),
        concerning=caller.entity,
        **asdict(request),
    )


@ShowGate.handler
def show_gate(tx: Reader, request: ShowGate, caller: Caller) -> GateView:
    return view_gate(tx, gates.show(tx, request.id, viewer=caller.entity), caller)


@ResolveGate.handler
def resolve_gate(tx: Transaction, request: ResolveGate, caller: Caller) -> GateView:
    end = gates.withdraw if request.withdraw else gates.resolve
    with _name_stranger(tx, caller, request.by, gates.show, request.id):
        return view_gate(tx, end(tx, request.id, by=request.by, reason=request.reason), caller)


@AddWaiter.handler
def add_waiter(tx: Transaction, request: AddWaiter, caller: Caller) -> GateView:
    with _name_stranger(tx, caller, request.by, gates.show, request.id):
        return view_gate(tx, gates.add_waiter(tx, request.id, request.name, by=request.by), caller)


def view_gate(tx: Reader, gate: Gate, caller: Caller | None = None) -> GateView:
    """
    Return the view of a gate for its caller, or for all whom it concerns (None). Only the administrator sees the
    command line, which may hold a secret.
    """
    is_hidden = gate.kind is GateKind.COMMAND and (caller is None or not caller.is_administrator)
    return GateView.of(
        gate,
        awaits=None if is_hidden else gate.awaits,
        holds=gate.holds(tx.now),
        overdue=gate.is_overdue(tx.now),
    )


@AskDecision.handler
def ask_decision(tx: Transaction, request: AskDecision, caller: Caller) -> DecisionView:
    question = replace(_build_question(request), respondents=request.of, session=request.session)
    return view_decision(tx, channel_replies.ask_decision(tx, question, request.event, by=request.asker))


@ListDecisions.handler
def list_decisions(tx: Reader, request: ListDecisions, caller: Caller) -> DecisionPage:
    since = parse_field("since", request.since, parse_instant)
    return read_page(
        tx,
        DecisionPage,
        decisions.page,
        view=lambda decision: view_decision(tx, decision),
        concerning=caller.entity,
        **(asdict(request) | {"since": since}),
    )


@ShowDecision.handler
def show_decision(tx: Reader, request: ShowDecision, caller: Caller) -> DecisionView:
    return view_decision(tx, decisions.show(tx, request.id, viewer=caller.entity))


@AnswerDecision.handler
def answer_decision(tx: Transaction, request: AnswerDecision, caller: Caller) -> DecisionView:
    answer = AnswerSpec(
        option=request.option,
        text=request.text,
        args=request.args,
        again=request.again,
        reject=request.reject,
        context_hash=request.context_hash,
    )
    with _name_stranger(tx, caller, request.by, decisions.show, request.id):
        return view_decision(tx, decisions.answer(tx, request.id, answer, by=request.by))


@ReviseDecision.handler
def revise_decision(tx: Transaction, request: ReviseDecision, caller: Caller) -> DecisionView:
    with _name_stranger(tx, caller, request.asker, decisions.show, request.id):
        return view_decision(tx, decisions.revise(tx, request.id, _build_question(request), by=request.asker))


@WithdrawDecision.handler
def withdraw_decision(tx: Transaction, request: WithdrawDecision, caller: Caller) -> DecisionView:
    with _name_stranger(tx, caller, request.by, decisions.show, request.id):
        return view_decision(tx, decisions.withdraw(tx, request.id, by=request.by, reason=request.reason))


def view_decision(tx: Reader, decision: Decision) -> DecisionView:
    return DecisionView.of(decision, overdue=decision.is_overdue(tx.now))


@contextmanager
def _name_stranger(
    tx: Reader, caller: Caller, by: str | None, show: Callable[[Reader, str], Gate | Decision], id: str
) -> Iterator[None]:
    """
    Tell an administrator who acts as an entity that a gate or decision does not concern that entity. The entity itself
    does not learn that there is one.
    """
    try:
        yield
    except NotFound:
        if by is None or not caller.is_administrator:
            raise
        names = ", ".join(sorted(show(tx, id).viewers))
        raise Refused(f"{id!r} does not concern {by!r}", hint=f"it concerns {names}") from None


def _parse_deadline(request: AddGate | QuestionRequest) -> dict[str, Any]:
    return {
        "deadline": parse_field("deadline", request.deadline, partial(parse_instant, duration_field="within")),
        "within": parse_field("within", request.within, partial(parse_duration, time_field="deadline")),
    }


def _build_question(request: QuestionRequest) -> Question:
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
        **_parse_deadline(request),
        context=request.context,
        ref=None if request.ref is None else Ref(request.ref.type, request.ref.id),
    )
