"""Gates, and what the handlers of gates and decisions share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.errors import NotFound, Refused
from gatepost.gates import decision_actions as decisions, gate_actions as gates, gate_api as api
from gatepost.gates.decision import Decision
from gatepost.gates.gate import Gate, GateKind, GateSpec
from gatepost.operations.access import Caller
from gatepost.operations.fields import build_record
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.AddGate.handler
def add_gate(tx: Transaction, request: api.AddGate, caller: Caller) -> api.GateView:
    return view_gate(tx, gates.add(tx, build_record(GateSpec, request), by=request.made_by), caller)


@api.ListGates.handler
def list_gates(tx: Reader, request: api.ListGates, caller: Caller) -> Page[api.GateView]:
    return read_page(
        tx,
        request,
        gates.list_page,
        view=lambda gate: view_gate(tx, gate, caller),
        concerning=caller.entity,
        **asdict(request),
    )


@api.ShowGate.handler
def show_gate(tx: Reader, request: api.ShowGate, caller: Caller) -> api.GateView:
    return view_gate(tx, gates.show(tx, request.id, viewer=caller.entity), caller)


@api.ResolveGate.handler
def resolve_gate(tx: Transaction, request: api.ResolveGate, caller: Caller) -> api.GateView:
    end = gates.withdraw if request.withdraw else gates.resolve
    with name_stranger(tx, caller, request.by, gates.show, request.id):
        gate = gates.show(tx, request.id, viewer=request.by) if request.withdraw else None
        if gate is not None and gate.kind is GateKind.DECISION and gate.awaits is not None:
            decisions.withdraw(tx, gate.awaits, by=request.by, reason=request.reason)
            return view_gate(tx, gates.show(tx, request.id), caller)
        return view_gate(tx, end(tx, request.id, by=request.by, reason=request.reason), caller)


@api.AddWaiter.handler
def add_waiter(tx: Transaction, request: api.AddWaiter, caller: Caller) -> api.GateView:
    with name_stranger(tx, caller, request.by, gates.show, request.id):
        return view_gate(tx, gates.add_waiter(tx, request.id, request.name, by=request.by), caller)


def view_gate(tx: Reader, gate: Gate, caller: Caller | None = None) -> api.GateView:
    """
    Return the view of a gate for its caller, or for all whom it concerns (None). Only the administrator sees the
    command line, which may hold a secret.
    """
    is_hidden = gate.kind is GateKind.COMMAND and (caller is None or not caller.is_administrator)
    return api.GateView.of(
        gate,
        awaits=None if is_hidden else gate.awaits,
        holds=gate.holds(tx.now),
        overdue=gate.is_overdue(tx.now),
    )


@contextmanager
def name_stranger(
    tx: Reader, caller: Caller, by: str | None, show: Callable[[Reader, str], Gate | Decision], id: str
) -> Iterator[None]:
    """
    Tell an administrator who acts as an entity that a gate or decision does not concern that entity. The entity itself
    does not learn that there is one.
    """
    try:
        yield
    except NotFound:
        if by is None or not caller.is_administrator:
            raise
        names = ", ".join(sorted(show(tx, id).viewers))
        raise Refused(f"{id!r} does not concern {by!r}", hint=f"it concerns {names}") from None
