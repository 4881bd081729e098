"""
20, the gates: the session gates on their events, and on Stop the agent's own gates in the store.

A gate that fails closed (`fail: closed`) is recorded in the state of the session each time it is seen shut. While the
store, or the list of session gates, is out of reach, the recorded gates block. Gates in the store are recorded from the
start of the session on, so that they block also at the first stop.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from gatepost.errors import GatepostError, Unavailable
from gatepost.guests.hooks import session_gates as gates
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict, do_nothing
from gatepost.guests.hooks.session_gates import SessionGate, SessionGateStatus
from gatepost.guests.hooks.session_state import FailClosedGate

#: the events on which blocking gates in the store are recorded, before any stop
_START_EVENTS: Final = ("SessionStart", "UserPromptSubmit")


def check_gates(ctx: HookContext, event: HookEvent, result: Verdict) -> Verdict | None:
    try:
        if event.name in _START_EVENTS:
            _check_agent_gates(ctx)
        return None if event.name not in gates.GATE_EVENTS or result.continues else _judge_event(ctx, event, result)
    except Exception as error:  # noqa: BLE001 (whatever it was, the recorded gates block)
        ctx.add_note(f"the gates cannot be looked at: {str(error) or type(error).__name__}")
        closed_gates = () if result.continues else ctx.state.closed
        blocking_gates = [gate for gate in closed_gates if gate.hook == event.name and not _is_marked(ctx, gate)]
        return Verdict(
            block="\n".join(_describe_unchecked(gate) for gate in blocking_gates) or None,
            is_fail_closed=bool(blocking_gates),
        )


def _judge_event(ctx: HookContext, event: HookEvent, result: Verdict) -> Verdict | None:
    shut_gates = [status for status in _check_session_gates(ctx, event, result) if status.shut_reason is not None]
    strict = [status for status in shut_gates if not status.gate.soft]
    soft = [status for status in shut_gates if status.gate.soft]
    reasons = [_explain(ctx, event, status) for status in strict]
    is_fail_closed = any(status.gate.closed for status in strict)
    if event.name == "Stop":
        agent_reasons, is_agent_fail_closed = _check_agent_gates(ctx)
        reasons += agent_reasons
        is_fail_closed = is_fail_closed or is_agent_fail_closed
    if not reasons and not soft:
        return None
    return Verdict(
        block="\n".join(reasons) or None,
        is_fail_closed=is_fail_closed,
        warnings=tuple(status.description for status in soft),
        printed=(lambda: _record_warnings(ctx, soft)) if soft else do_nothing,
    )


def _explain(ctx: HookContext, event: HookEvent, status: SessionGateStatus) -> str:
    """Return why a gate blocks; at a stop also the command that opens it, if a mark can open it."""
    try:
        can_mark = event.name in ("Stop", "SubagentStop") and status.gate in gates.list_registered_gates(ctx.home)
    except Unavailable:  # then `gate mark` cannot read the list either
        can_mark = False
    if not can_mark:
        return status.description
    return f"{status.description}. When it is done, run: {ctx.build_command('gate', 'mark', status.gate.name)}"


def _check_session_gates(ctx: HookContext, event: HookEvent, result: Verdict) -> Iterator[SessionGateStatus]:
    """Check the session gates of this event, except those that the person or the agent has heard of already."""
    for gate in (*gates.BUILT_IN, *_list_registered_gates(ctx)):
        if gate.hook != event.name or (gate.soft and _has_warned(ctx, gate)):
            continue
        if gate.name == "decision" and result.block is not None:
            continue
        yield gates.check_gate(ctx, gate, event.cwd)


def _list_registered_gates(ctx: HookContext) -> tuple[SessionGate, ...]:
    """Return the registered session gates; for those that cannot be read, the recorded ones."""
    try:
        readable_gates, problems = gates.read_registered_gates(ctx.home)
    except Unavailable as error:
        readable_gates, problems = (), [error.message]
    for problem in problems:
        ctx.add_note(problem)
    closed_gates = (gate for gate in readable_gates if gate.closed and not gate.soft)
    current = [
        FailClosedGate(name=gate.name, hook=gate.hook, instruction=gate.hint, durable=False) for gate in closed_gates
    ]
    if problems:
        names = {gate.name for gate in readable_gates}
        unreadable_gates = [gate for gate in ctx.state.closed if not gate.durable and gate.name not in names]
        readable_gates += tuple(
            SessionGate(name=gate.name, hook=gate.hook, hint=gate.instruction, closed=True) for gate in unreadable_gates
        )
        current += unreadable_gates
    _record_closed_gates(ctx, current, durable=False)
    return readable_gates


def _check_agent_gates(ctx: HookContext) -> tuple[list[str], bool]:
    """Return the reasons of the gates in the store that block the agent, and whether one of them fails closed."""
    if ctx.agent is None:
        return [], False
    try:
        blocking_gates = gates.list_blocking_gates(ctx, ctx.agent)
        if not blocking_gates:
            _record_closed_gates(ctx, (), durable=True)
            return [], False
        from gatepost.gates.gate import FailMode, render_blocked_stop

        closed_gates = [gate for gate in blocking_gates if gate.fail is FailMode.CLOSED]
        _record_closed_gates(
            ctx,
            (FailClosedGate(name=gate.name, instruction=render_blocked_stop([gate])) for gate in closed_gates),
            durable=True,
        )
        return [render_blocked_stop(blocking_gates)], bool(closed_gates)
    except GatepostError:
        reasons = [_describe_unchecked(gate) for gate in ctx.state.closed if gate.durable]
        return reasons, bool(reasons)


def _is_marked(ctx: HookContext, gate: FailClosedGate) -> bool:
    try:
        return not gate.durable and ctx.session.is_marked(gate.name)
    except OSError:
        return False


def _describe_unchecked(gate: FailClosedGate) -> str:
    description = gate.instruction if gate.durable else f"{gate.name}: {gate.instruction or 'it is not marked'}"
    return f"{description} (it could not be looked at just now)"


def _record_closed_gates(ctx: HookContext, gates_to_record: Iterable[FailClosedGate], *, durable: bool) -> None:
    """Record the gates that block even if they cannot be checked; nothing is written if nothing changed."""
    current = tuple(gates_to_record)
    if current == tuple(gate for gate in ctx.state.closed if gate.durable is durable):
        return
    with suppress(OSError):
        ctx.update_state(
            lambda state: state._replace(
                closed=(*(gate for gate in state.closed if gate.durable is not durable), *current)
            )
        )


def _has_warned(ctx: HookContext, gate: SessionGate) -> bool:
    try:
        return ctx.session.has_warned(gate.name)
    except OSError:
        return True


def _record_warnings(ctx: HookContext, soft: Iterable[SessionGateStatus]) -> None:
    for status in soft if ctx.can_warn else ():
        with suppress(OSError):
            ctx.session.record_warning(status.gate.name)
