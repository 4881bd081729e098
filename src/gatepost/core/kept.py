"""
Gates and decisions as lines of an export. A decision and its gate are one line, so that neither is ever without the
other; the gates of decisions have no lines of their own.
"""

from dataclasses import dataclass
from typing import Any, Final

from gatepost.core import ids, wire
from gatepost.core.decision import Answer, Decision, Option, Outcome
from gatepost.core.event import Priority, Ref
from gatepost.core.fields import Fields
from gatepost.core.gate import AtDeadline, Ending, Fail, Gate, GateKind, Resolution
from gatepost.core.instants import rfc3339
from gatepost.errors import Invalid

#: what is not kept, because it depends on the time or follows from the rest
_PASSING: Final = ("status", "holds", "overdue", "answer")


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    decision: Decision
    gate: Gate


def document(record: Gate | DecisionRecord) -> dict[str, Any]:
    if isinstance(record, Gate):
        return {"record": "gate"} | _gate_document(record)
    decision = _lasting(wire.decision(record.decision, record.decision.created_at))
    return {"record": "decision"} | decision | {"gate": _gate_document(record.gate)}


def _gate_document(gate: Gate) -> dict[str, Any]:
    chain = {"hops": gate.hops, "hopsAt": rfc3339(gate.hops_at)}
    return _lasting(wire.gate(gate, gate.created_at)) | chain


def gate(fields: Fields) -> Gate:
    found = _gate(fields)
    if found.kind is GateKind.DECISION:
        raise Invalid("the gate of a decision stands with the decision")
    return found


def decision(fields: Fields) -> DecisionRecord:
    inner = _inner(fields, "gate")
    gate = _gate(inner)
    ref = fields.inner("ref")
    found = Decision(
        id=ids.check("dec", fields.text("id")),
        gate=gate.id,
        asker=fields.text("asker"),
        asked=tuple(fields.texts("asked")),
        question=fields.text("question"),
        options=tuple(map(_option, fields.inners("options"))),
        free_text=fields.flag("freeText"),
        urgency=Priority.parse(fields.whole("urgency")),
        default=fields.text_or_none("default"),
        deadline=gate.deadline,
        context=fields.text_or_none("context"),
        context_hash=fields.text("contextHash"),
        ref=Ref(ref.text("type"), ref.text("id")) if ref else None,
        session=fields.text_or_none("session"),
        iteration=fields.whole("iteration"),
        guidance=fields.text_or_none("guidance"),
        created_at=fields.time("createdAt"),
        answers=tuple(map(_answer, fields.inners("answers"))),
    )
    rounds = [each.iteration for each in found.answers]
    if (gate.kind, gate.awaits, gate.owner) != (GateKind.DECISION, found.id, found.asker):
        raise Invalid(f"the gate {gate.id!r} is not that of the decision {found.id!r}")
    if gate.pending is not found.open:
        raise Invalid(f"the decision {found.id!r} and its gate have not ended alike")
    if rounds != sorted(set(rounds)):
        raise Invalid(f"the answers of the decision {found.id!r} are not in the order of its rounds")
    return DecisionRecord(found, gate)


def _gate(fields: Fields) -> Gate:
    ended = fields.inner("resolution")
    return Gate(
        id=ids.check("gate", fields.text("id")),
        name=fields.text("name"),
        kind=GateKind.parse(fields.text("kind")),
        owner=fields.text("owner"),
        made_by=fields.text_or_none("madeBy"),
        awaits=fields.text_or_none("awaits"),
        instruction=fields.text("instruction"),
        waiters=tuple(fields.texts("waiters")),
        deadline=fields.time_or_none("deadline"),
        at_deadline=AtDeadline.parse(fields.text("atDeadline")),
        fail=Fail.parse(fields.text("fail")),
        trouble=fields.text_or_none("trouble"),
        escalated_at=fields.time_or_none("escalatedAt"),
        created_at=fields.time("createdAt"),
        resolution=_resolution(ended) if ended else None,
        hops=fields.whole("hops") if "hops" in fields.document else 0,
        hops_at=fields.time("hopsAt" if "hopsAt" in fields.document else "createdAt"),
    )


def _resolution(fields: Fields) -> Resolution:
    return Resolution(
        ending=Ending(fields.one_of("ending", *Ending)),
        reason=fields.text("reason"),
        by=fields.text_or_none("by"),
        at=fields.time("at"),
    )


def _option(fields: Fields) -> Option:
    return Option(id=fields.text("id"), label=fields.text("label"), description=fields.text("description"))


def _answer(fields: Fields) -> Answer:
    return Answer(
        outcome=Outcome(fields.one_of("outcome", *Outcome)),
        option=fields.text_or_none("option"),
        text=fields.text_or_none("text"),
        by=fields.text_or_none("by"),
        at=fields.time("at"),
        iteration=fields.whole("iteration"),
    )


def _inner(fields: Fields, name: str) -> Fields:
    found = fields.inner(name)
    if found is None:
        raise Invalid(f"{name!r} is missing")
    return found


def _lasting(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in _PASSING}
