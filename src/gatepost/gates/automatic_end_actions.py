"""
End the gates and decisions that end by themselves: their deadline passes, the event that they wait for comes, or an
entity retires that they need.

There is no leader, as with plans: any number of processes end gates side by side. Due gates are taken by locking their
rows, and rows that another process has locked are skipped. A verb that ends a gate locks its row first, and does
nothing unless the gate is pending. So a process that falls asleep in the middle keeps no other from ending due gates.

    deadline    timer: resolved; `open`: expired (a decision with a default: answered with it);
                `escalate`: the owner's owner gets an alert, the gate stays
    event       resolved, if the awaited event came to the owner after the gate was made; the same for awaited mail
    retirement  orphaned, if the owner retires, or the entity that should act

A process that scans for events again and again continues where its last scan ended: it knows a position
(`core/signals.py`), and the gates for which it found nothing up to it. Why no event is missed, although on PostgreSQL
event 7 may be committed after event 8:

- The position is the watermark (`inbox/feed_actions.py`), before which no event can appear any more, and it is read
  first. So an event that one scan could not see lies past its position, and the next scan reads all events past it.
- A gate that the last scan did not know, or found to be met, is scanned separately, from its beginning. So it does not
  matter when a gate became visible, nor whether a gate that is met could be ended.
- Someone may have repaired the store by hand, before the position. Therefore a scan starts from the beginning every
  `RESCAN_AFTER`.
"""

from dataclasses import dataclass
from typing import Final

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.signals import Position
from gatepost.core.times import MINUTE, Duration, Instant
from gatepost.directory.entity import Retired
from gatepost.gates import decision_actions as decisions, decision_rows, gate_actions as gates, gate_rows
from gatepost.gates.decision import DecisionOutcome, DecisionStatus
from gatepost.gates.gate import AtDeadline, Ending, GateKind
from gatepost.inbox import event_rows as events

#: gates that one call ends; the next call ends the rest
BATCH_LIMIT: Final = 100
#: scans continue from each other for this time, then one starts from the beginning
RESCAN_AFTER: Final[Duration] = 10 * MINUTE
_START: Final = Position()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventScan:
    """The result of a scan for awaited events, and how far it went."""

    #: the id of each gate, the id of the event that it waited for, and the hops of that event
    matches: tuple[tuple[str, str, int], ...] = ()
    #: no event up to this position is one that `scanned_gates` wait for
    position: Position = _START
    #: the numbers of gates
    scanned_gates: frozenset[int] = frozenset()
    #: when a scan last started from the beginning
    started_at: Instant


def end_due(
    tx: Transaction, *, limit: int = BATCH_LIMIT, gate_id: str | None = None, last_scan: EventScan | None = None
) -> int:
    """
    End the gates that are due, or only one of them; return how many. Repeat it until there are none. `last_scan` is the
    scan from which this one continues.
    """
    count = 0
    for id in gate_rows.take_due(tx, limit):
        count += _apply_deadline(tx, id) if gate_id in (None, id) else 0
    for id, event, hops in scan_events(tx, last_scan).matches[:limit]:
        gate = gate_rows.lock(tx, id) if gate_id in (None, id) else None
        if gate is not None and gate.is_pending:
            gates.end(tx, gate, Ending.RESOLVED, f"{gate.awaits or '':.200} came ({event})", None, hops=hops)
            count += 1
    return count


def take_due(tx: Transaction, last_scan: EventScan | None = None) -> list[str]:
    """Lock the gates whose deadline has passed, and return the ids of those that `end_due` would end."""
    return [*gate_rows.take_due(tx, BATCH_LIMIT), *(id for id, *_ in scan_events(tx, last_scan).matches[:BATCH_LIMIT])]


def find_next_due(tx: Reader) -> Instant | None:
    """Return the next deadline; one in the past is due."""
    row = tx.fetch_one("gates/gates/find_next_deadline")
    return row.deadline if row else None


def scan_events(tx: Reader, last_scan: EventScan | None = None) -> EventScan:
    """Find the gates whose awaited event has come; continue where `last_scan` ended."""
    watermark = events.read_watermark(tx)
    watched_gates = frozenset(number for number, *_ in gate_rows.list_event_gates(tx))
    if last_scan is None or last_scan.position >= watermark.end or tx.now - last_scan.started_at >= RESCAN_AFTER:
        last_scan = EventScan(started_at=tx.now)
    rows: list[Row] = []
    if watched_gates & last_scan.scanned_gates:
        transaction, arrival = last_scan.position
        rows += tx.fetch_all("gates/gates/find_matches_after", transaction=transaction, arrival=arrival)
    if new_gates := watched_gates - last_scan.scanned_gates:
        rows += tx.fetch_all("gates/gates/find_matches", gates=sorted(new_gates))
    matches = {row.number: (row.id, row.event, row.hops) for row in rows}
    return EventScan(
        matches=tuple(match for _, match in sorted(matches.items())),
        position=max(last_scan.position, watermark.last),
        scanned_gates=watched_gates - matches.keys(),
        started_at=last_scan.started_at,
    )


def list_watches(tx: Reader) -> frozenset[tuple[str, str]]:
    """Return the owners of gates that wait for an event, each with the type of the event."""
    return frozenset((name, type) for _, name, type in gate_rows.list_event_gates(tx))


def end_orphans(tx: Transaction, event: Retired) -> None:
    """End the gates and decisions that need an entity which has just retired."""
    leaver = event.entity
    reason = f"{leaver.name} is retired"
    for row in tx.fetch_all("gates/gates/list_orphaned", entity=leaver.number):
        gate = gate_rows.lock(tx, row.id)
        if gate is not None and gate.is_pending:
            gates.end(tx, gate, Ending.ORPHANED, reason, None)
    for row in tx.fetch_all("gates/decisions/list_orphaned", entity=leaver.number):
        decision = decision_rows.read(tx, row.id)
        assert decision is not None
        gate_rows.lock(tx, decision.gate)
        decision = decision_rows.read(tx, row.id)
        if decision is not None and decision.is_open:
            decisions.end(tx, decision, DecisionOutcome.ORPHANED, None, text=reason)


def _apply_deadline(tx: Transaction, id: str) -> int:
    """Do what a gate says about its deadline; return 1, or 0 if the gate is not overdue any more."""
    gate = gate_rows.lock(tx, id)
    if gate is None or not gate.is_overdue(tx.now):
        return 0
    if gate.kind is GateKind.DECISION:
        row = tx.fetch_one("gates/decisions/read_by_gate", gate=gate.id)
        assert row is not None
        [decision] = decision_rows.build_decisions(tx, [row])
        if decision.default is not None and decision.status is DecisionStatus.PENDING:
            decisions.end(tx, decision, DecisionOutcome.DEFAULTED, None, option=decision.default)
        else:
            decisions.end(tx, decision, DecisionOutcome.EXPIRED, None)
    elif gate.kind is GateKind.TIMER:
        gates.end(tx, gate, Ending.RESOLVED, "the time has come", None)
    elif gate.at_deadline is AtDeadline.OPEN:
        gates.end(tx, gate, Ending.EXPIRED, "its deadline has passed", None)
    elif gate.escalated_at is None:
        gates.escalate(tx, gate)
    return 1
