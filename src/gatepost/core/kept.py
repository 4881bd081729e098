"""
Gates and decisions as lines of an export. A decision and its gate are one line, so that neither is ever without the
other; the gates of decisions have no lines of their own. Whatever depends on the time is left out.
"""

from dataclasses import dataclass
from typing import Any

from gatepost.core import ids, wire
from gatepost.core.decision import Decision
from gatepost.core.fields import Fields
from gatepost.core.gate import Gate, GateKind
from gatepost.core.times import format_rfc3339
from gatepost.errors import Invalid


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    decision: Decision
    gate: Gate


def document(record: DecisionRecord) -> dict[str, Any]:
    return wire.DECISION.write(record.decision) | {"gate": gate_document(record.gate)}


def gate_document(gate: Gate) -> dict[str, Any]:
    """A gate, and the chain of events that it is part of, which nobody is shown."""
    return wire.GATE.write(gate) | {"hops": gate.hops, "hopsAt": format_rfc3339(gate.hops_at)}


def gate(fields: Fields) -> Gate:
    found = _gate(fields)
    if found.kind is GateKind.DECISION:
        raise Invalid("the gate of a decision stands with the decision")
    return found


def decision(fields: Fields) -> DecisionRecord:
    gate = _gate(fields.inner("gate"))
    found = wire.DECISION.read_fields(fields, gate=gate.id, deadline=gate.deadline)
    ids.check("dec", found.id)
    rounds = [each.iteration for each in found.answers]
    if (gate.kind, gate.awaits, gate.owner) != (GateKind.DECISION, found.id, found.asker):
        raise Invalid(f"the gate {gate.id!r} is not that of the decision {found.id!r}")
    if gate.is_pending is not found.is_open:
        raise Invalid(f"the decision {found.id!r} and its gate have not ended alike")
    if rounds != sorted(set(rounds)):
        raise Invalid(f"the answers of the decision {found.id!r} are not in the order of its rounds")
    return DecisionRecord(found, gate)


def _gate(fields: Fields) -> Gate:
    older = {"hops": 0, "hopsAt": fields.value("createdAt")}  # what exports did not have at first
    told = Fields(older | dict(fields.document))
    gate = wire.GATE.read_fields(told, hops=told.whole("hops"), hops_at=told.time("hopsAt"))
    ids.check("gate", gate.id)
    return gate
