"""The tools for decisions and gates: asking and answering, waiting and letting go."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from gatepost.actions import decisions, gates
from gatepost.actions.tools.desk import Desk
from gatepost.core import instants
from gatepost.core.decision import Decision, Option, Question, Reply
from gatepost.core.event import Json, Priority, Ref
from gatepost.core.gate import AtDeadline, Fail, Gate, GateKind, GateWish
from gatepost.core.instants import Duration
from gatepost.errors import Invalid

#: gates of one agent that have not ended
_MOST: Final = 50

_Within = Annotated[str | None, "how long from now at most: a number and a unit, such as '2 hours'"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    id: str = field(metadata={"description": "a short id, such as 'yes'"})
    label: str = field(metadata={"description": "what it is called"})
    description: str = field(default="", metadata={"description": "what it would mean"})


def ask_decision(
    desk: Desk,
    question: Annotated[str, "what is to be decided, in full: who reads it may know nothing of what you know"],
    options: Annotated[list[Choice] | None, "what there is to choose from; without it, the answer is in words"] = None,
    free_text: Annotated[bool, "whether the answer may be in words, though there are options"] = False,
    of: Annotated[list[str] | None, "who may answer: names, aliases or teams; else whoever owns you"] = None,
    default: Annotated[str | None, "the id of the option that counts when nobody answers in time"] = None,
    within: _Within = None,
    urgency: Annotated[str, "critical, high, normal, low or fyi"] = "normal",
    context: Annotated[str | None, "what else there is to know"] = None,
    ref: Annotated[str | None, "the work item that it is about, as TYPE:ID, such as task:0.0.123"] = None,
    revises: Annotated[str | None, "the id of a decision of yours that was sent back: ask that one anew"] = None,
) -> Json:
    """
    Ask for a decision. The answer comes to your inbox, and you will be woken for it: until then do what can be done
    without it. If the question is sent back with words, ask it anew with revises.
    """
    wish = Question(
        question=question,
        options=tuple(Option(id=each.id, label=each.label, description=each.description) for each in options or ()),
        free_text=free_text or not options,
        of=tuple(of or ()),
        urgency=Priority.parse(urgency),
        default=default,
        within=_length(within),
        context=context,
        ref=Ref.parse(ref) if ref is not None else None,
    )
    if revises is not None:
        return _asked(decisions.revise(desk.tx, revises, wish, by=desk.me.name, hops=desk.hops))
    _few(desk)
    return _asked(decisions.ask(desk.tx, wish, by=desk.me.name, hops=desk.hops))


def answer_decision(
    desk: Desk,
    decision_id: Annotated[str, "the id of a decision that you were asked for"],
    option: Annotated[str | None, "the id of the option that you choose"] = None,
    text: Annotated[str | None, "your answer in words, or what you have to say to the option"] = None,
    again: Annotated[bool, "send the question back, with what is wrong with it as text"] = False,
    reject: Annotated[bool, "refuse to decide, with the reason as text"] = False,
    context_hash: Annotated[
        str | None, "of the question as you read it: if it has changed, nothing is answered"
    ] = None,
) -> Json:
    """Answer a decision that you were asked for. The first answer counts; if you are late you are told which it was."""
    reply = Reply(option=option, text=text, again=again, reject=reject, context_hash=context_hash)
    answered = decisions.answer(desk.tx, decision_id, reply, by=desk.me.name, hops=desk.hops)
    return {"success": True, "decisionId": answered.id, "status": answered.status.value}


def set_gate(
    desk: Desk,
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
    fail: Annotated[Fail, "whether it holds you when nobody can look at it"] = Fail.OPEN,
    waiters: Annotated[list[str] | None, "who else is told when it ends: names or aliases"] = None,
) -> Json:
    """
    Wait for something, asleep: when it has happened you are told of it in your inbox, and woken. A plan with onGate can
    say what you do then. A human gate that awaits yourself reminds you of it, once, before you end a cycle.
    """
    _few(desk)
    wish = GateWish(
        name=name,
        kind=kind,
        awaits=awaits,
        instruction=instruction,
        waiters=tuple(waiters or ()),
        within=_length(within),
        at_deadline=at_deadline,
        fail=fail,
    )
    return {"success": True} | _gate(gates.add(desk.tx, wish, by=desk.me.name, hops=desk.hops))


def resolve_gate(
    desk: Desk,
    gate_id: Annotated[str, "the id of a gate that waits for you, or that you have made"],
    reason: Annotated[str, "what has happened"] = "",
    withdraw: Annotated[bool, "it is not needed any more; so you end a gate or a decision of yours"] = False,
) -> Json:
    """Say that what a gate waits for has happened, or take back one that you have made."""
    me = desk.me.name
    gate = gates.show(desk.tx, gate_id, as_=me)
    if withdraw and gate.kind is GateKind.DECISION and gate.awaits is not None:
        decisions.withdraw(desk.tx, gate.awaits, by=me, reason=reason, hops=desk.hops)
        return {"success": True} | _gate(gates.show(desk.tx, gate_id))
    end = gates.withdraw if withdraw else gates.resolve
    return {"success": True} | _gate(end(desk.tx, gate_id, by=me, reason=reason, hops=desk.hops))


def _asked(decision: Decision) -> Json:
    return {
        "success": True,
        "decisionId": decision.id,
        "gateId": decision.gate,
        "asked": list(decision.asked),
        "status": decision.status.value,
        "iteration": decision.iteration,
    }


def _gate(gate: Gate) -> dict[str, Json]:
    status = gate.resolution.ending.value if gate.resolution is not None else "pending"
    return {"gateId": gate.id, "name": gate.name, "status": status}


def _length(text: str | None) -> Duration | None:
    return instants.duration(text) if text is not None else None


def _few(desk: Desk) -> None:
    pending: Sequence[Gate] = gates.page(desk.tx, owner=desk.me.name, pending=True, limit=_MOST)
    if len(pending) >= _MOST:
        raise Invalid(
            f"you have {_MOST} gates and decisions already", hint="withdraw those that are not needed any more"
        )
