"""`gatepost gate`, the half about sessions: what one session of a guest should not go past."""

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, nullcontext
from typing import Annotated, Any, Final

import typer

from gatepost import app, paths, settings
from gatepost.cli import identity, output, words
from gatepost.cli.plain import Json, argument, flag, option
from gatepost.core import render
from gatepost.errors import Invalid, NotFound
from gatepost.hook_entry import HookEntry
from gatepost.hooks import gates
from gatepost.hooks.context import HookContext
from gatepost.hooks.gates import GATE_EVENTS, SessionGate, SessionGateStatus
from gatepost.hooks.session import Session
from gatepost.settings import Configuration

SessionId = Annotated[str | None, option("--session", "ID", "Whose session; else the one this is run in.")]
Name = Annotated[str, argument("NAME", "The name of a session gate.")]
#: events that hooks are installed for only if a gate stands there
_UNUSUAL: Final = ("SubagentStop", "PreToolUse", "PreCompact")
Hook = Annotated[str, option("--hook", "EVENT", f"Where it stands: {', '.join(GATE_EVENTS)}.")]


def mark(name: Name, session: SessionId = None, json: Json = False) -> None:
    """
    Open a gate for one session.

    Example:
      gatepost gate mark work-update --session 4f1c
    """
    configuration = settings.load()
    found = _session(configuration, session)
    _known(configuration, name)
    paths.make_home(configuration.home)
    found.mark(name)
    if json:
        output.document({"name": name, "session": found.id, "marked": True})
    output.talk(f"{name} is open for the session {found.id!r}")


def clear(
    name: Annotated[str | None, argument("[NAME]", "The name of a session gate.")] = None,
    hook: Annotated[str | None, option("--hook", "EVENT", "All that stand at this event.")] = None,
    session: SessionId = None,
    json: Json = False,
) -> None:
    """
    Take back what `gate mark` said. A soft gate that was warned of warns again.

    Examples:
      gatepost gate clear work-update --session 4f1c
      gatepost gate clear --hook Stop --session 4f1c
    """
    if (name is None) == (hook is None):
        raise Invalid("name one gate, or an event with --hook")
    configuration = settings.load()
    found = _session(configuration, session)
    wanted = [_known(configuration, name)] if name is not None else _at(configuration, hook or "")
    cleared = [gate.name for gate in wanted if found.clear_mark(gate.name)]
    if json:
        output.document([{"name": name, "session": found.id, "marked": False} for name in cleared])
    output.talk(f"cleared {', '.join(cleared)}" if cleared else "nothing was marked")


def status(session: SessionId = None, json: Json = False) -> None:
    """
    Show how the gates of a session stand.

    Example:
      gatepost gate status --session 4f1c
    """
    configuration = settings.load()
    found, folder = _session(configuration, session), str(identity.get_folder())
    with _desk(configuration, found.id) as desk:
        stand = [gates.check_gate(desk, gate, folder) for gate in gates.list_gates(configuration.home)]
        marked = {each.gate.name: found.is_marked(each.gate.name) for each in stand}
    if json:
        output.document([_standing(each) | {"marked": marked[each.gate.name]} for each in stand])
        return
    rows = [
        [
            each.gate.name,
            each.gate.hook,
            "soft" if each.gate.soft else "strict",
            "shut" if each.shut_reason else "marked" if marked[each.gate.name] else "open",
            render.escape_unsafe(each.shut_reason or ""),
        ]
        for each in stand
    ]
    output.table(["GATE", "AT", "MODE", "STATE", "WHY"], rows)


def check(
    hook: Hook = "Stop",
    soft: Annotated[bool, flag("--soft", "Count soft gates too.")] = False,
    session: SessionId = None,
    json: Json = False,
) -> None:
    """
    Say whether a session may go on past an event: 0 if it may, 1 if a gate is shut. Nothing changes by asking.

    At Stop the gates of its agent in the store count too.

    Example:
      gatepost gate check --hook Stop --session 4f1c
    """
    configuration = settings.load()
    found, folder = _session(configuration, session), str(identity.get_folder())
    with _desk(configuration, found.id) as desk:
        stand = [gates.check_gate(desk, gate, folder) for gate in _at(configuration, hook)]
        holding = gates.list_blocking_gates(desk, desk.agent) if hook == "Stop" and desk.agent is not None else []
    shut = [each for each in stand if each.shut_reason and (soft or not each.gate.soft)]
    if json:
        durable = [{"name": gate.name, "kind": "durable", "id": gate.id, "open": False} for gate in holding]
        output.document({"open": not (shut or holding), "gates": [*map(_standing, stand), *durable]})
    else:
        for each in shut:
            output.line_out(render.escape_unsafe(each.description))
        for gate in holding:
            output.line_out(render.escape_unsafe(f"{gate.name}: {gate.instruction or 'it is pending'} ({gate.id})"))
    if shut or holding:
        raise typer.Exit(1)


def register(
    name: Name,
    hook: Hook = "Stop",
    soft: Annotated[bool, flag("--soft", "Warn once instead of blocking.")] = False,
    closed: Annotated[bool, flag("--closed", "Hold also when it cannot be looked at.")] = False,
    hint: Annotated[str, option("--hint", "TEXT", "What to do about it.")] = "",
    json: Json = False,
) -> None:
    """
    Add a gate to every session in this home, or change the one of that name. It is opened with `gate mark`.

    Examples:
      gatepost gate register changelog --hook Stop --soft --hint "say in CHANGELOG.md what changed"
      gatepost gate register sign-off --hook Stop --closed
    """
    if soft and closed:
        raise Invalid("a soft gate holds nobody, so it cannot be closed", hint="give --soft or --closed")
    configuration = settings.load()
    paths.make_home(configuration.home)
    gate = SessionGate(name=name, hook=hook, soft=soft, closed=closed, hint=hint)
    gates.register(configuration.home, gate)
    if json:
        output.document(document(gate))
    output.talk(f"{name} stands at {hook} now, {'soft' if soft else 'strict'}")
    if hook in _UNUSUAL:
        output.talk(f"`gatepost hooks install` has programs call us at {hook} too")


def unregister(name: Name, json: Json = False) -> None:
    """
    Remove a gate that was registered.

    Example:
      gatepost gate unregister changelog
    """
    gone = gates.unregister(settings.load().home, gates.check_name(name))
    if json:
        output.document(document(gone))
    output.talk(f"{name} is gone")


def _session(configuration: Configuration, session: str | None) -> Session:
    id = words.given(session, "--session", "which") or identity.find_session(configuration)
    if id is None:
        raise Invalid("no session is named", hint="give --session ID, as the program calls its session")
    return Session(configuration.home, id)


def _known(configuration: Configuration, name: str) -> SessionGate:
    wanted = gates.check_name(name)
    for gate in gates.list_gates(configuration.home):
        if gate.name == wanted:
            return gate
    raise NotFound(f"there is no session gate {name!r}", hint=f"`gatepost gate register {name} --hook Stop` makes one")


def _at(configuration: Configuration, hook: str) -> Iterable[SessionGate]:
    if hook not in GATE_EVENTS:
        raise Invalid(f"{hook!r} is no event for a gate", hint=f"use one of {', '.join(GATE_EVENTS)}")
    return [gate for gate in gates.list_gates(configuration.home) if gate.hook == hook]


@contextmanager
def _desk(configuration: Configuration, session: str) -> Iterator[HookContext]:
    """What a hook of that session would have before it, on whichever store."""
    far = None if configuration.settings.store.startswith("sqlite:") else app.build_store(configuration)
    with closing(HookEntry(configuration.home, store=far)) as porch, closing(far) if far else nullcontext():
        desk = porch.build_context(session, porch.load_config(os.environ, output.talk))
        yield desk
        for note in desk.notes:
            output.talk(note)


def _standing(standing: SessionGateStatus) -> dict[str, Any]:
    return document(standing.gate) | {"open": standing.shut_reason is None, "reason": standing.shut_reason}


def document(gate: SessionGate) -> dict[str, Any]:
    return {
        "name": gate.name,
        "kind": "session",
        "hook": gate.hook,
        "mode": "soft" if gate.soft else "strict",
        "fail": "closed" if gate.closed else "open",
        "hint": gate.hint,
    }
