"""The verbs of `gatepost gate` about session gates: conditions for one session of a guest."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import Annotated, Any, Final

from click.exceptions import Exit

from gatepost import app, paths, settings
from gatepost.cli import output
from gatepost.cli.current_agent import find_session
from gatepost.cli.gateway_or_store import get_folder
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core.escaping import escape_unsafe
from gatepost.errors import Invalid, NotFound
from gatepost.guests.hook_entry import HookEntry
from gatepost.guests.hooks import session_gates as gates
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.session_gates import GATE_EVENTS, SessionGate, SessionGateStatus
from gatepost.guests.hooks.session_state import Session
from gatepost.settings import Configuration

SessionId = Annotated[str | None, option("--session", "ID", "the guest session; by default the one in which this runs")]
Name = Annotated[str, argument("NAME", "the name of a session gate")]
Hook = Annotated[
    str, option("--hook", "EVENT", f"the event that it blocks: {', '.join(GATE_EVENTS)}", choices=GATE_EVENTS)
]
#: events for which hooks are installed only if a gate needs them
_UNUSUAL_EVENTS: Final = ("SubagentStop", "PreToolUse", "PreCompact")


def mark(name: Name, session: SessionId = None, json: JsonFlag = False) -> None:
    """
    Open a gate for one session.

    Example:
      gatepost gate mark work-update --session 4f1c
    """
    configuration = settings.load()
    guest_session = _find_session(configuration, session)
    _find_gate(configuration, name)
    paths.make_home(configuration.home)
    guest_session.mark(name)
    if json:
        output.document({"name": name, "session": guest_session.id, "marked": True})
    output.talk(f"{name} is open for the session {guest_session.id!r}")


def clear(
    name: Annotated[str | None, argument("NAME", "the name of a session gate")] = None,
    hook: Annotated[str | None, option("--hook", "EVENT", "all gates of this event", choices=GATE_EVENTS)] = None,
    session: SessionId = None,
    json: JsonFlag = False,
) -> None:
    """
    Undo `gate mark`. A soft gate that has warned warns again.

    Examples:
      gatepost gate clear work-update --session 4f1c
      gatepost gate clear --hook Stop --session 4f1c
    """
    if (name is None) == (hook is None):
        raise Invalid("give either NAME or --hook EVENT")
    configuration = settings.load()
    guest_session = _find_session(configuration, session)
    chosen = [_find_gate(configuration, name)] if name is not None else _list_gates(configuration, hook or "")
    cleared = [gate.name for gate in chosen if guest_session.clear_mark(gate.name)]
    if json:
        output.document([{"name": name, "session": guest_session.id, "marked": False} for name in cleared])
    output.talk(f"cleared {', '.join(cleared)}" if cleared else "nothing was marked")


def status(session: SessionId = None, json: JsonFlag = False) -> None:
    """
    Show the state of the gates of a session.

    Example:
      gatepost gate status --session 4f1c
    """
    configuration = settings.load()
    guest_session, folder = _find_session(configuration, session), str(get_folder())
    with _open_context(configuration, guest_session.id) as context:
        states = [gates.check_gate(context, gate, folder) for gate in gates.list_gates(configuration.home)]
        marked = {state.gate.name: guest_session.is_marked(state.gate.name) for state in states}
    if json:
        output.document([_build_state_document(state) | {"marked": marked[state.gate.name]} for state in states])
        return
    rows = [
        [
            state.gate.name,
            state.gate.hook,
            "soft" if state.gate.soft else "strict",
            "shut" if state.shut_reason else "marked" if marked[state.gate.name] else "open",
            state.shut_reason or "",
        ]
        for state in states
    ]
    output.table(["GATE", "AT", "MODE", "STATE", "WHY"], rows)


def check(
    hook: Hook = "Stop",
    soft: Annotated[bool, flag("--soft", "count soft gates too")] = False,
    session: SessionId = None,
    json: JsonFlag = False,
) -> None:
    """
    Check whether a session may go past an event. Exits with 0 if it may, and with 1 if a gate is shut. Nothing changes.

    At Stop the gates of its agent in the store count too.

    Example:
      gatepost gate check --hook Stop --session 4f1c
    """
    configuration = settings.load()
    guest_session, folder = _find_session(configuration, session), str(get_folder())
    with _open_context(configuration, guest_session.id) as context:
        states = [gates.check_gate(context, gate, folder) for gate in _list_gates(configuration, hook)]
        agent = context.agent if hook == "Stop" else None
        durable_gates = gates.list_blocking_gates(context, agent) if agent is not None else []
    shut = [state for state in states if state.shut_reason and (soft or not state.gate.soft)]
    is_open = not (shut or durable_gates)
    if json:
        documents = [{"name": gate.name, "kind": "durable", "id": gate.id, "open": False} for gate in durable_gates]
        output.document({"open": is_open, "gates": [*map(_build_state_document, states), *documents]})
    else:
        for state in shut:
            output.line_out(escape_unsafe(state.description))
        for gate in durable_gates:
            output.line_out(escape_unsafe(f"{gate.name}: {gate.instruction or 'it is pending'} ({gate.id})"))
    if not is_open:
        raise Exit(1)


def register(
    name: Name,
    hook: Hook = "Stop",
    soft: Annotated[bool, flag("--soft", "warn once instead of blocking")] = False,
    closed: Annotated[bool, flag("--closed", "hold also if it cannot be checked")] = False,
    hint: Annotated[str, option("--hint", "TEXT", "what the agent should do")] = "",
    json: JsonFlag = False,
) -> None:
    """
    Add a gate to every session in this home. A gate of that name is replaced. `gate mark` opens it.

    Examples:
      gatepost gate register changelog --soft --hint "update CHANGELOG.md"
      gatepost gate register sign-off --hook Stop --closed
    """
    if soft and closed:
        raise Invalid("a soft gate never blocks, so it cannot be closed", hint="give --soft or --closed")
    configuration = settings.load()
    paths.make_home(configuration.home)
    gate = SessionGate(name=name, hook=hook, soft=soft, closed=closed, hint=hint)
    gates.register(configuration.home, gate)
    if json:
        output.document(build_document(gate))
    output.talk(f"{name} is a {'soft' if soft else 'strict'} gate of {hook}")
    if hook in _UNUSUAL_EVENTS:
        output.talk(f"run `gatepost hooks install`, so that programs call us at {hook} too")


def unregister(name: Name, json: JsonFlag = False) -> None:
    """
    Remove a gate that was registered.

    Example:
      gatepost gate unregister changelog
    """
    gate = gates.unregister(settings.load().home, gates.check_name(name))
    if json:
        output.document(build_document(gate))
    output.talk(f"removed {name}")


VERBS: Final = (mark, clear, status, check, register, unregister)


def _find_session(configuration: Configuration, session: str | None) -> Session:
    id = session or find_session(configuration)
    if id is None:
        raise Invalid(
            "no guest session is given", hint="give --session ID, the id that the program has for its session"
        )
    return Session(configuration.home, id)


def _find_gate(configuration: Configuration, name: str) -> SessionGate:
    checked_name = gates.check_name(name)
    for gate in gates.list_gates(configuration.home):
        if gate.name == checked_name:
            return gate
    raise NotFound(f"there is no session gate {name!r}", hint=f"`gatepost gate register {name} --hook Stop` adds one")


def _list_gates(configuration: Configuration, hook: str) -> Iterable[SessionGate]:
    return [gate for gate in gates.list_gates(configuration.home) if gate.hook == hook]


@contextmanager
def _open_context(configuration: Configuration, session: str) -> Iterator[HookContext]:
    """Open what a hook of that session has, on whichever store."""
    store = None if configuration.settings.store.url.startswith("sqlite:") else app.build_store(configuration)
    with closing(HookEntry(configuration.home, store=store)) as entry, closing(store) if store else nullcontext():
        context = entry.build_context(session, entry.load_config(os.environ, output.talk))
        yield context
        for note in context.notes:
            output.talk(note)


def _build_state_document(status: SessionGateStatus) -> dict[str, Any]:
    return build_document(status.gate) | {"open": status.shut_reason is None, "reason": status.shut_reason}


def build_document(gate: SessionGate) -> dict[str, Any]:
    return {
        "name": gate.name,
        "kind": "session",
        "hook": gate.hook,
        "mode": "soft" if gate.soft else "strict",
        "fail": "closed" if gate.closed else "open",
        "hint": gate.hint,
    }
