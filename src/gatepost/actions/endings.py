"""
How gates and decisions end by themselves: their deadline passes, what they wait for comes, or somebody leaves without
whom they make no sense.

Nobody leads here, as with plans: any number of processes settle side by side. What is due is taken by row, and what
another has taken is skipped; whatever ends a gate takes its row and finds it pending, or lets it be. So a process that
was put to sleep in the middle keeps nobody else from ending what is due.

    deadline    timer: resolved    open: expired (a decision with a default: answered with it)    escalate: told, stays
    event       resolved, if what it waits for came to its owner after it was made; so with mail from a sender
    left        the owner, or who was to do something about it, is retired: orphaned

Whoever looks for events again and again goes on where the last look ended: it knows a *place* (`core/position.py`) and
for which gates there was nothing up to it. Why nothing is missed, though on PostgreSQL 7 may be committed after 8:

- The place is *here* (`actions/feed.py`), before which nothing can appear any more, and it is asked for first. So what
  one look could not see lies past its place, and the next goes through all that does.
- A gate that the last look did not know, or found to be met, is looked at by itself, from its beginning. So it does not
  matter when a gate became visible, nor whether one that is met could be ended.
- An import may add a recipient to an event that lies before the place. Therefore one begins anew now and then.
"""

from dataclasses import dataclass
from typing import Final

from gatepost.actions import decisions, gates
from gatepost.core.decision import DecisionStatus, Outcome
from gatepost.core.entity import Entity
from gatepost.core.gate import AtDeadline, Ending, Gate, GateKind
from gatepost.core.instants import MINUTE, Duration, Instant
from gatepost.core.position import Position
from gatepost.ports import Reader, Transaction
from gatepost.tables import decisions as stored_decisions
from gatepost.tables import events
from gatepost.tables import gates as stored

#: gates that one call ends before it leaves the rest to the next
MOST: Final = 100
#: how long one goes on from look to look
ANEW: Final[Duration] = 10 * MINUTE
_START: Final = Position()


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a look for events has found, and how far it went."""

    met: tuple[stored.Match, ...] = ()
    #: nothing up to here is what these gates wait for
    place: Position = _START
    gates: frozenset[int] = frozenset()
    #: when one began anew
    begun: Instant


def settle(tx: Transaction, *, limit: int = MOST, only: str | None = None, last: Looked | None = None) -> int:
    """
    End what is over by now, or only one gate; return how much that was. Repeat it until there is nothing. `last` is how
    far somebody has looked for events before.
    """
    settled = 0
    for id in stored.due(tx, limit):
        settled += _run_out(tx, id) if only in (None, id) else 0
    for id, event, hops in came(tx, last).met[:limit]:
        gate = stored.lock(tx, id) if only in (None, id) else None
        if gate is not None and gate.pending:
            gates.end(tx, gate, Ending.RESOLVED, f"{gate.awaits or '':.200} came ({event})", None, hops=hops)
            settled += 1
    return settled


def over(tx: Transaction, last: Looked | None = None) -> list[str]:
    """The gates that `settle` would end."""
    return [*stored.due(tx, MOST), *(id for id, *_ in came(tx, last).met[:MOST])]


def next_due(tx: Reader) -> Instant | None:
    """When something runs out next; in the past if it is waiting to be settled."""
    return stored.next_due(tx)


def came(tx: Reader, last: Looked | None = None) -> Looked:
    """Look for gates for which has come what they wait for, and go on where the last look ended."""
    here = events.here(tx)
    watched = frozenset(number for number, *_ in stored.watching(tx))
    if last is None or last.place >= here.end or tx.now - last.begun >= ANEW:
        last = Looked(begun=tx.now)
    met = stored.reached(tx, last.place) if watched & last.gates else {}
    met |= stored.matched(tx, watched - last.gates)
    return Looked(
        met=tuple(match for _, match in sorted(met.items())),
        place=max(last.place, here.last),
        gates=watched - met.keys(),
        begun=last.begun,
    )


def watching(tx: Reader) -> frozenset[tuple[str, str]]:
    """Who has a gate that waits for something to come to them, and for which type of event."""
    return frozenset((name, type) for _, name, type in stored.watching(tx))


def orphan(tx: Transaction, leaver: Entity) -> None:
    """End what cannot go on without somebody who has just left."""
    reason = f"{leaver.name} is retired"
    for id in stored.left_behind(tx, leaver.number):
        gate = stored.lock(tx, id)
        if gate is not None and gate.pending:
            gates.end(tx, gate, Ending.ORPHANED, reason, None)
    for id in stored_decisions.left_behind(tx, leaver.number):
        decision = stored_decisions.read(tx, id)
        assert decision is not None
        stored.lock(tx, decision.gate)
        decision = stored_decisions.read(tx, id)
        if decision is not None and decision.open:
            decisions.end(tx, decision, Outcome.ORPHANED, None, text=reason)


def _run_out(tx: Transaction, id: str) -> int:
    """Do what is to be done at a deadline; return whether there was anything."""
    gate = stored.lock(tx, id)
    if gate is None or not gate.overdue(tx.now):
        return 0
    if gate.kind is GateKind.DECISION:
        _decide(tx, gate)
    elif gate.kind is GateKind.TIMER:
        gates.end(tx, gate, Ending.RESOLVED, "the time has come", None)
    elif gate.at_deadline is AtDeadline.OPEN:
        gates.end(tx, gate, Ending.EXPIRED, "its deadline has passed", None)
    elif gate.escalated_at is None:
        gates.escalate(tx, gate)
    return 1


def _decide(tx: Transaction, gate: Gate) -> None:
    """Let the default count, if the question that has one still stands."""
    decision = stored_decisions.of_gate(tx, gate.id)
    assert decision is not None
    if decision.default is not None and decision.status is DecisionStatus.PENDING:
        decisions.end(tx, decision, Outcome.DEFAULTED, None, option=decision.default)
    else:
        decisions.end(tx, decision, Outcome.EXPIRED, None)
