"""
Storing gates and decisions that were exported elsewhere.

Both are known by their ids, and what is here stays as it is. A gate that ended longer ago than is remembered is not
stored; a decision is, however old, and its gate with it. Nobody is told anything: what they had heard is among the
items. What waits for an event waits for one that came after it was made, there or here. Whoever has left here in the
meantime orphans what cannot go on without them.
"""

from gatepost.actions import deadlines, directory, push
from gatepost.actions.gates import insert_gate
from gatepost.core import decision as rules
from gatepost.core import gate as gate_rules
from gatepost.core.decision import MAX_ROUNDS, Decision, Question
from gatepost.core.entity import Entity
from gatepost.core.event import Push
from gatepost.core.gate import Gate, GateKind, GateSpec
from gatepost.core.kept import DecisionRecord
from gatepost.core.signals import Signal
from gatepost.errors import Invalid
from gatepost.ports import Transaction
from gatepost.tables import decisions, gates, records


def take_gate(tx: Transaction, gate: Gate) -> bool:
    """Say whether it is new."""
    gate_rules.check_spec(GateSpec(name=gate.name, kind=gate.kind, awaits=gate.awaits, deadline=gate.deadline))
    ended = gate.resolution
    if gates.read(tx, gate.id) or (ended is not None and ended.at <= tx.now - tx.limits.remember):
        return False
    _, needed = _hung(tx, gate)
    _look_after(tx, gate, needed)
    return True


def take_decision(tx: Transaction, record: DecisionRecord) -> bool:
    """Say whether it is new."""
    decision = record.decision
    _check(tx, decision)
    if decisions.read(tx, decision.id) is not None:
        return False
    if gates.read(tx, record.gate.id) is not None:
        raise Invalid(f"the gate {record.gate.id!r} of this decision is here without it")
    number, needed = _hung(tx, record.gate)
    asked = [directory.find(tx, name) for name in decision.respondents]
    stored = decisions.insert(tx, decision, gate=number, asker=directory.find(tx, decision.asker).number)
    for one in asked:
        decisions.ask(tx, stored, one.number)
    for given in decision.answers:
        decisions.answer(tx, stored, given, directory.find_number(tx, given.by))
    _look_after(tx, record.gate, [*needed, *asked])
    return True


def _hung(tx: Transaction, gate: Gate) -> tuple[int, list[Entity]]:
    """Store a gate as it was; return its number, and who it cannot be without."""
    gate_rules.check_name(gate.name)
    for what, text in (("instruction", gate.instruction), ("trouble", gate.trouble), ("awaited thing", gate.awaits)):
        gate_rules.check_text(what, text or "")
    push.validate_push(Push(to="", source="gate", hops=gate.hops), tx.limits)
    owner = directory.find(tx, gate.owner)
    awaited = None
    if gate.kind in (GateKind.HUMAN, GateKind.MAIL) and gate.awaits is not None:
        awaited = directory.find(tx, gate.awaits)
    maker = directory.find(tx, gate.made_by) if gate.made_by is not None else None
    number = insert_gate(tx, gate, owner, maker, awaited, take_since=lambda: records.last_until(tx, gate.created_at))
    for name in gate.waiters:
        gates.wait(tx, number, directory.find(tx, name).number)
    by = gate.resolution.by if gate.resolution else None
    records.date_gate(tx, number, gate, directory.find_number(tx, by))
    tx.after_commit(Signal(f"gate:{gate.id}", "import", wakes=False))
    return number, [owner, *([awaited] if awaited else [])]


def _look_after(tx: Transaction, gate: Gate, needed: list[Entity]) -> None:
    """End what cannot go on, because somebody has left here."""
    for one in needed if gate.is_pending else ():
        if not one.is_live:
            deadlines.end_orphans(tx, one)


def _check(tx: Transaction, decision: Decision) -> None:
    rules.check_question(
        Question(
            question=decision.question,
            options=decision.options,
            free_text=decision.free_text,
            default=decision.default,
            deadline=decision.deadline,
            context=decision.context,
            ref=decision.ref,
            session=decision.session,
        )
    )
    known = rules.hash_question(decision.question, decision.options, decision.ref, decision.context)
    if decision.context_hash != known:
        raise Invalid(f"{decision.context_hash!r:.80} is not the hash of this question")
    if not 1 <= decision.iteration <= MAX_ROUNDS or len(decision.answers) > MAX_ROUNDS + 1:
        raise Invalid(f"a decision has at most {MAX_ROUNDS} rounds")
    for text in (decision.guidance, *(given.text for given in decision.answers)):
        push.validate_push(Push(to="", source="decision", content=text or "-"), tx.limits)
