"""The tools for decisions and gates."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Final

from gatepost.channels import reply_actions as replies
from gatepost.core import times
from gatepost.core.json_limits import Json
from gatepost.core.times import Duration
from gatepost.errors import Invalid
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.gates.gate import AtDeadline, FailMode, Gate, GateKind, GateSpec
from gatepost.gates.proposed_action import Action, AnswerKind
from gatepost.inbox.event import Priority, Ref
from gatepost.residents.tools.context import ToolContext

#: pending gates and decisions of one agent
_MAX_GATES: Final = 50

_Within = Annotated[str | None, "how long from now at most: a number and a unit, such as '2 hours'"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionInput:
    id: str = field(metadata={"description": "a short id, such as 'yes'"})
    label: str = field(metadata={"description": "what it is called"})
    description: str = field(default="", metadata={"description": "what it would mean"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionInput:
    name: str = field(metadata={"description": "what you want to do, such as the name of a tool"})
    args: dict[str, Any] = field(default_factory=dict, metadata={"description": "its arguments"})


def ask_decision(
    ctx: ToolContext,
    question: Annotated[str, "what is to be decided, in full: who reads it may know nothing of what you know"],
    options: Annotated[
        list[OptionInput] | None, "what there is to choose from; without it, the answer is in words"
    ] = None,
    action: Annotated[
        ActionInput | None, "what you want to do and ask about first; it takes the place of options"
    ] = None,
    allow: Annotated[list[AnswerKind] | None, "what may be answered about the action; else all of them"] = None,
    free_text: Annotated[bool, "whether the answer may be in words, though there are options"] = False,
    of: Annotated[list[str] | None, "who may answer: names, aliases or teams; else whoever owns you"] = None,
    default: Annotated[str | None, "the id of the option that counts when nobody answers in time"] = None,
    within: _Within = None,
    urgency: Annotated[str, "critical, high, normal, low or fyi"] = "normal",
    context: Annotated[str | None, "what else there is to know"] = None,
    ref: Annotated[str | None, "the work item that it is about, as TYPE:ID, such as task:0.0.123"] = None,
    revises: Annotated[str | None, "the id of a decision of yours that was sent back: ask that one anew"] = None,
    event: Annotated[
        str | None, "a prompt that you got, by its id or session: ask the person who wrote it, on that channel"
    ] = None,
) -> Json:
    """
    Ask for a decision. The answer comes to your inbox, and you will be woken for it: until then do what can be done
    without it. If the question is sent back with words, ask it anew with revises. The answer about an action says
    whether to run it, and with which arguments.
    """
    question_spec = Question(
        question=question,
        action=Action(name=action.name, args=action.args) if action is not None else None,
        allow=tuple(allow or ()),
        options=tuple(Option(**asdict(choice)) for choice in options or ()),
        free_text=free_text or (not options and action is None),
        respondents=tuple(of or ()),
        urgency=Priority.parse(urgency),
        default=default,
        within=_parse_duration(within),
        context=context,
        ref=Ref.parse(ref) if ref is not None else None,
    )
    if revises is not None:
        decision = decisions.revise(ctx.tx, revises, question_spec, by=ctx.agent.name, hops=ctx.hops)
    else:
        _check_gate_count(ctx)
        decision = replies.ask_decision(ctx.tx, question_spec, event, by=ctx.agent.name, hops=ctx.hops)
    return {
        "success": True,
        "decisionId": decision.id,
        "gateId": decision.gate,
        "asked": list(decision.respondents),
        "status": decision.status.value,
        "iteration": decision.iteration,
    }


def answer_decision(
    ctx: ToolContext,
    decision_id: Annotated[str, "the id of a decision that you were asked for"],
    option: Annotated[
        str | None, "the id of the option that you choose; about an action: accept, edit, respond or ignore"
    ] = None,
    text: Annotated[str | None, "your answer in words, or what you have to say to the option"] = None,
    args: Annotated[dict[str, Any] | None, "for edit: all arguments that the action is to be run with"] = None,
    again: Annotated[bool, "send the question back, with what is wrong with it as text"] = False,
    reject: Annotated[bool, "refuse to decide, with the reason as text"] = False,
    context_hash: Annotated[
        str | None, "of the question as you read it: if it has changed, nothing is answered"
    ] = None,
) -> Json:
    """Answer a decision that you were asked for. The first answer counts; if you are late you are told which it was."""
    reply = AnswerSpec(option=option, text=text, args=args, again=again, reject=reject, context_hash=context_hash)
    decision = decisions.answer(ctx.tx, decision_id, reply, by=ctx.agent.name, hops=ctx.hops)
    return {"success": True, "decisionId": decision.id, "status": decision.status.value}


def set_gate(
    ctx: ToolContext,
    name: Annotated[str, "a short name for what has to be done or to come"],
    kind: Annotated[
        GateKind, "human: somebody resolves it; timer, event, mail, ci: it resolves itself"
    ] = GateKind.HUMAN,
    awaits: Annotated[
        str | None,
        "human: who resolves it, else whoever owns you; event: TYPE or TYPE:SOURCE; mail: the sender;"
        " ci: run:ID@OWNER/NAME or pr:NUMBER@OWNER/NAME; timer: nothing",
    ] = None,
    instruction: Annotated[str, "what is to be done about it"] = "",
    within: _Within = None,
    at_deadline: Annotated[AtDeadline, "what happens then: it opens, or whoever owns you is told"] = AtDeadline.OPEN,
    fail: Annotated[FailMode, "whether it holds you when nobody can look at it"] = FailMode.OPEN,
    waiters: Annotated[list[str] | None, "who else is told when it ends: names or aliases"] = None,
) -> Json:
    """
    Wait for something, asleep: when it has happened you are told of it in your inbox, and woken. A plan with onGate can
    say what you do then. A human gate that awaits yourself reminds you of it, once, before you end a cycle.
    """
    _check_gate_count(ctx)
    spec = GateSpec(
        name=name,
        kind=kind,
        awaits=awaits,
        instruction=instruction,
        waiters=tuple(waiters or ()),
        within=_parse_duration(within),
        at_deadline=at_deadline,
        fail=fail,
    )
    return _build_gate_document(gates.add(ctx.tx, spec, by=ctx.agent.name, hops=ctx.hops))


def resolve_gate(
    ctx: ToolContext,
    gate_id: Annotated[str, "the id of a gate that waits for you, or that you have made"],
    reason: Annotated[str, "what has happened"] = "",
    withdraw: Annotated[bool, "it is not needed any more; so you end a gate or a decision of yours"] = False,
) -> Json:
    """Say that what a gate waits for has happened, or take back one that you have made."""
    agent_name = ctx.agent.name
    gate = gates.show(ctx.tx, gate_id, viewer=agent_name)
    if withdraw and gate.kind is GateKind.DECISION and gate.awaits is not None:
        decisions.withdraw(ctx.tx, gate.awaits, by=agent_name, reason=reason, hops=ctx.hops)
        return _build_gate_document(gates.show(ctx.tx, gate_id))
    end_gate = gates.withdraw if withdraw else gates.resolve
    return _build_gate_document(end_gate(ctx.tx, gate_id, by=agent_name, reason=reason, hops=ctx.hops))


def _build_gate_document(gate: Gate) -> Json:
    status = gate.resolution.ending.value if gate.resolution is not None else "pending"
    return {"success": True, "gateId": gate.id, "name": gate.name, "status": status}


def _parse_duration(text: str | None) -> Duration | None:
    return times.parse_duration(text) if text is not None else None


def _check_gate_count(ctx: ToolContext) -> None:
    pending: Sequence[Gate] = gates.page(ctx.tx, owner=ctx.agent.name, pending=True, limit=_MAX_GATES)
    if len(pending) >= _MAX_GATES:
        raise Invalid(
            f"you have {_MAX_GATES} gates and decisions already", hint="withdraw those that are not needed any more"
        )
