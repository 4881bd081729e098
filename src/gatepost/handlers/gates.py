"""Gates."""

from gatepost.actions import gates
from gatepost.api.access import Caller
from gatepost.api.gates import AddGate, AddWaiter, GatePage, GateStatus, GateView, ListGates, ResolveGate, ShowGate
from gatepost.core.gate import Gate, GateKind, GateSpec
from gatepost.core.times import parse_duration, parse_instant
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
        deadline=None if request.deadline is None else parse_instant(request.deadline),
        within=None if request.within is None else parse_duration(request.within),
        at_deadline=request.at_deadline,
        fail=request.fail,
    )
    return _view(tx, gates.add(tx, spec, by=request.made_by), caller)


@ListGates.handler
def list_gates(tx: Reader, request: ListGates, caller: Caller) -> GatePage:
    return read_page(
        tx,
        GatePage,
        gates.page,
        concerning=caller.entity,
        owner=request.owner,
        waiter=request.waiter,
        kind=request.kind,
        pending=request.pending,
        after=request.after,
        limit=request.limit,
        view=lambda gate: _view(tx, gate, caller),
        cursor=lambda gate: gate.number,
    )


@ShowGate.handler
def show_gate(tx: Reader, request: ShowGate, caller: Caller) -> GateView:
    return _view(tx, gates.show(tx, request.id, viewer=caller.entity), caller)


@ResolveGate.handler
def resolve_gate(tx: Transaction, request: ResolveGate, caller: Caller) -> GateView:
    end = gates.withdraw if request.withdraw else gates.resolve
    return _view(tx, end(tx, request.id, by=request.by, reason=request.reason), caller)


@AddWaiter.handler
def add_waiter(tx: Transaction, request: AddWaiter, caller: Caller) -> GateView:
    return _view(tx, gates.add_waiter(tx, request.id, request.name, by=request.by), caller)


def _view(tx: Reader, gate: Gate, caller: Caller) -> GateView:
    """Return the view of a gate; only the administrator sees the command line, which may hold a secret."""
    is_awaits_visible = caller.is_administrator or gate.kind is not GateKind.COMMAND
    return GateView.of(
        gate,
        awaits=gate.awaits if is_awaits_visible else None,
        status=GateStatus.PENDING if gate.resolution is None else GateStatus(gate.resolution.ending),
        holds=gate.holds(tx.now),
        overdue=gate.is_overdue(tx.now),
    )
