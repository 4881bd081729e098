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

- The place is *here* (`actions/inbox_feed.py`), before which nothing can appear any more, and it is asked for first. So
  what one look could not see lies past its place, and the next goes through all that does.
- A gate that the last look did not know, or found to be met, is looked at by itself, from its beginning. So it does not
  matter when a gate became visible, nor whether one that is met could be ended.
- Somebody may have mended the store by hand, before the place. Therefore one begins anew now and then.
"""

from dataclasses import dataclass
from typing import Final

from gatepost.actions import decisions, gates
from gatepost.core.decision import DecisionOutcome, DecisionStatus
from gatepost.core.entity import Entity
from gatepost.core.gate import AtDeadline, Ending, Gate, GateKind
from gatepost.core.position import Position
from gatepost.core.times import MINUTE, Duration, Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables import decisions as decision_rows
from gatepost.tables import events
from gatepost.tables import gates as gate_rows

#: gates that one call ends before it leaves the rest to the next
BATCH_LIMIT: Final = 100
#: how long one goes on from look to look
RESCAN_AFTER: Final[Duration] = 10 * MINUTE
_START: Final = Position()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventScan:
    """What a look for events has found, and how far it went."""

    matches: tuple[gate_rows.Match, ...] = ()
    #: nothing up to here is what these gates wait for
    position: Position = _START
    scanned_gates: frozenset[int] = frozenset()
    #: when one began anew
    started_at: Instant


def end_due(
    tx: Transaction, *, limit: int = BATCH_LIMIT, gate_id: str | None = None, last_scan: EventScan | None = None
) -> int:
    """
    End what is over by now, or only one gate; return how much that was. Repeat it until there is nothing. `last` is how
    far somebody has looked for events before.
    """
    count = 0
    for id in gate_rows.due(tx, limit):
        count += _apply_deadline(tx, id) if gate_id in (None, id) else 0
    for id, event, hops in scan_events(tx, last_scan).matches[:limit]:
        gate = gate_rows.lock(tx, id) if gate_id in (None, id) else None
        if gate is not None and gate.is_pending:
            gates.end(tx, gate, Ending.RESOLVED, f"{gate.awaits or '':.200} came ({event})", None, hops=hops)
            count += 1
    return count


def list_due(tx: Transaction, last_scan: EventScan | None = None) -> list[str]:
    """The gates that `settle` would end."""
    return [*gate_rows.due(tx, BATCH_LIMIT), *(id for id, *_ in scan_events(tx, last_scan).matches[:BATCH_LIMIT])]


def find_next_due(tx: Reader) -> Instant | None:
    """When something runs out next; in the past if it is waiting to be settled."""
    return gate_rows.next_due(tx)


def scan_events(tx: Reader, last_scan: EventScan | None = None) -> EventScan:
    """Look for gates for which has come what they wait for, and go on where the last look ended."""
    horizon = events.here(tx)
    watched_gates = frozenset(number for number, *_ in gate_rows.watching(tx))
    if last_scan is None or last_scan.position >= horizon.end or tx.now - last_scan.started_at >= RESCAN_AFTER:
        last_scan = EventScan(started_at=tx.now)
    matches = gate_rows.reached(tx, last_scan.position) if watched_gates & last_scan.scanned_gates else {}
    matches |= gate_rows.matched(tx, watched_gates - last_scan.scanned_gates)
    return EventScan(
        matches=tuple(match for _, match in sorted(matches.items())),
        position=max(last_scan.position, horizon.last),
        scanned_gates=watched_gates - matches.keys(),
        started_at=last_scan.started_at,
    )


def list_watches(tx: Reader) -> frozenset[tuple[str, str]]:
    """Who has a gate that waits for something to come to them, and for which type of event."""
    return frozenset((name, type) for _, name, type in gate_rows.watching(tx))


def end_orphans(tx: Transaction, leaver: Entity) -> None:
    """End what cannot go on without somebody who has just left."""
    reason = f"{leaver.name} is retired"
    for id in gate_rows.left_behind(tx, leaver.number):
        gate = gate_rows.lock(tx, id)
        if gate is not None and gate.is_pending:
            gates.end(tx, gate, Ending.ORPHANED, reason, None)
    for id in decision_rows.left_behind(tx, leaver.number):
        decision = decision_rows.read(tx, id)
        assert decision is not None
        gate_rows.lock(tx, decision.gate)
        decision = decision_rows.read(tx, id)
        if decision is not None and decision.is_open:
            decisions.end(tx, decision, DecisionOutcome.ORPHANED, None, text=reason)


def _apply_deadline(tx: Transaction, id: str) -> int:
    """Do what is to be done at a deadline; return whether there was anything."""
    gate = gate_rows.lock(tx, id)
    if gate is None or not gate.is_overdue(tx.now):
        return 0
    if gate.kind is GateKind.DECISION:
        _end_decision(tx, gate)
    elif gate.kind is GateKind.TIMER:
        gates.end(tx, gate, Ending.RESOLVED, "the time has come", None)
    elif gate.at_deadline is AtDeadline.OPEN:
        gates.end(tx, gate, Ending.EXPIRED, "its deadline has passed", None)
    elif gate.escalated_at is None:
        gates.escalate(tx, gate)
    return 1


def _end_decision(tx: Transaction, gate: Gate) -> None:
    """Let the default count, if the question that has one still stands."""
    decision = decision_rows.of_gate(tx, gate.id)
    assert decision is not None
    if decision.default is not None and decision.status is DecisionStatus.PENDING:
        decisions.end(tx, decision, DecisionOutcome.DEFAULTED, None, option=decision.default)
    else:
        decisions.end(tx, decision, DecisionOutcome.EXPIRED, None)
