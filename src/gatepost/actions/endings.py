"""
How gates and decisions end by themselves: their deadline passes, what they wait for comes, or somebody leaves without
whom they make no sense.

Nobody leads here, as with plans: any number of processes settle side by side. What is due is taken by row, and what
another has taken is skipped; whatever ends a gate takes its row and finds it pending, or lets it be. So a process that
was put to sleep in the middle keeps nobody else from ending what is due.

    deadline    timer: resolved    open: expired (a decision with a default: answered with it)    escalate: told, stays
    event       resolved, if what it waits for came to its owner after it was made; so with mail from a sender
    left        the owner, or who was to do something about it, is retired: orphaned
"""

from typing import Final

from gatepost.actions import decisions, gates
from gatepost.core.decision import DecisionStatus, Outcome
from gatepost.core.entity import Entity
from gatepost.core.gate import AtDeadline, Ending, Gate, GateKind
from gatepost.core.instants import Instant
from gatepost.ports.store import Reader, Work
from gatepost.tables import decisions as stored_decisions
from gatepost.tables import gates as stored

#: gates that one call ends before it leaves the rest to the next
MOST: Final = 100


def settle(work: Work, *, limit: int = MOST, only: str | None = None) -> int:
    """End what is over by now, or only one gate; return how much that was. Repeat it until there is nothing."""
    settled = 0
    for id in stored.due(work, limit):
        settled += _run_out(work, id) if only in (None, id) else 0
    for id, event, hops in stored.matched(work, limit):
        gate = stored.lock(work, id) if only in (None, id) else None
        if gate is not None and gate.pending:
            gates.end(work, gate, Ending.RESOLVED, f"{gate.awaits or '':.200} came ({event})", None, hops=hops)
            settled += 1
    return settled


def over(work: Work) -> list[str]:
    """The gates that `settle` would end."""
    return [*stored.due(work, MOST), *(id for id, *_ in stored.matched(work, MOST))]


def next_due(reader: Reader) -> Instant | None:
    """When something runs out next; in the past if it is waiting to be settled."""
    return stored.next_due(reader)


def came(reader: Reader) -> bool:
    """Whether there is a gate for which what it waits for has come."""
    return bool(stored.matched(reader, 1))


def watching(reader: Reader) -> frozenset[tuple[str, str]]:
    """Who has a gate that waits for something to come to them, and for which type of event."""
    return frozenset(stored.watching(reader))


def orphan(work: Work, leaver: Entity) -> None:
    """End what cannot go on without somebody who has just left."""
    reason = f"{leaver.name} is retired"
    for id in stored.left_behind(work, leaver.number):
        gate = stored.lock(work, id)
        if gate is not None and gate.pending:
            gates.end(work, gate, Ending.ORPHANED, reason, None)
    for id in stored_decisions.left_behind(work, leaver.number):
        decision = stored_decisions.read(work, id)
        assert decision is not None
        stored.lock(work, decision.gate)
        decision = stored_decisions.read(work, id)
        if decision is not None and decision.open:
            decisions.end(work, decision, Outcome.ORPHANED, None, text=reason)


def _run_out(work: Work, id: str) -> int:
    """Do what is to be done at a deadline; return whether there was anything."""
    gate = stored.lock(work, id)
    if gate is None or not gate.overdue(work.now):
        return 0
    if gate.kind is GateKind.DECISION:
        _decide(work, gate)
    elif gate.kind is GateKind.TIMER:
        gates.end(work, gate, Ending.RESOLVED, "the time has come", None)
    elif gate.at_deadline is AtDeadline.OPEN:
        gates.end(work, gate, Ending.EXPIRED, "its deadline has passed", None)
    elif gate.escalated_at is None:
        gates.escalate(work, gate)
    return 1


def _decide(work: Work, gate: Gate) -> None:
    """Let the default count, if the question that has one still stands."""
    decision = stored_decisions.of_gate(work, gate.id)
    assert decision is not None
    if decision.default is not None and decision.status is DecisionStatus.PENDING:
        decisions.end(work, decision, Outcome.DEFAULTED, None, option=decision.default)
    else:
        decisions.end(work, decision, Outcome.EXPIRED, None)
