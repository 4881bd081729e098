"""`gatepost gate`: durable gates; session gates are in `guests/session_gate_commands.py`."""

from contextlib import ExitStack
from functools import partial
from typing import Annotated, Final

import msgspec
from click.exceptions import Exit

from gatepost.cli import inputs, output
from gatepost.cli.command import Facts, LimitOption, Noun, Outcome, TableRow
from gatepost.cli.current_agent import find_current_agent
from gatepost.cli.gateway_or_store import CommandConnection, connect, poll
from gatepost.cli.parameters import JsonFlag, Timeout, argument, check_choice, current_agent, flag, option
from gatepost.core import ids
from gatepost.core.address import check_entity_address
from gatepost.core.quoting import quote, render_name
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import ShowEntity
from gatepost.errors import Refused
from gatepost.gates import gate_api as api
from gatepost.gates.gate import AtDeadline, GateKind
from gatepost.guests import session_gate_commands as session_gates
from gatepost.guests.hooks.session_gates import SessionGate, list_gates
from gatepost.inbox.event import EventType
from gatepost.settings import Configuration

gates = Noun("gate", "Add, check and resolve gates. A gate keeps an agent from stopping until it has ended.")
commands = [gates]

#: as a kind: session gates, beside those in the store
_SESSION: Final = "session"
_KINDS: Final = (*GateKind, _SESSION)
#: asking adds a gate of the kind `decision`
_ADDED_KINDS: Final = [kind for kind in GateKind if kind is not GateKind.DECISION]

GATE: Final = argument("GATE", "the id of a gate", parse=partial(ids.check, "gate"))
REASON: Final = option("--reason", "TEXT", parse=inputs.read_text)


def _send_checked(connection: CommandConnection, request: api.AddGate) -> api.GateView:
    owner = connection.send(ShowEntity(name=check_entity_address(request.owner or "")))
    if owner.kind is EntityKind.HUMAN:
        raise Refused(
            f"{owner.name!r} is a person, and a gate keeps an agent from stopping",
            hint=f"name an agent with --owner; `--waiter {owner.name}` lets a person know when it ends",
        )
    return connection.send(request)


@gates.send(
    "add",
    api.AddGate,
    kind=option(
        "--kind",
        "KIND",
        "one of human, timer, event, mail, command, ci",
        choices=_ADDED_KINDS,
        parse=lambda text: text if text == GateKind.DECISION else check_choice(_ADDED_KINDS, text),
    ),
    owner=current_agent(
        "--owner", "the agent that may not stop; by default the current agent", no_agent="the gate has no owner"
    ),
    awaits=option("--awaits", "WHAT", "what it waits for; see above"),
    instruction=option("--instruction", "TEXT", parse=inputs.read_text),
    waiters=option("--waiter", "NAME", "who else gets an event when it ends; repeatable"),
    deadline=option("--until", "TIME", "its deadline, such as 2026-02-20T10:00:00Z"),
    within=option("--within", "2h"),
    fetch=_send_checked,
)
def add(gate: api.GateView) -> Outcome:
    """
    Add a gate and print its id. Its owner may not stop until it has ended.

    What it waits for depends on its kind:
      human    a person or agent that resolves it:
               --awaits NAME; by default the owner
               of its owner
      timer    its deadline
      event    an event for its owner:
               --awaits TYPE or TYPE:SOURCE
      mail     mail for its owner: --awaits SENDER
      command  a command that exits with 0:
               --awaits COMMAND; the setting
               gates.commands must be on
      ci       a run or pull request on GitHub:
               --awaits run:ID@OWNER/NAME
               or pr:NUMBER@OWNER/NAME; the setting
               gates.ci must list the repository

    Examples:
      gatepost gate add "Sign-off" --owner analyst --awaits husam --within 2h
      gatepost gate add "The build" --kind ci --awaits run:4711@acme/shop
    """
    return Outcome(gate.id, f"{gate.owner} may not stop until it has ended")


@gates.request(
    "list",
    api.ListGates,
    pending=flag("--all", "include gates that have ended", on=None, off=True),
    newest_first=flag("--newest", "the last gates first"),
    kind=None,
    after=None,
    limit=None,
)
def list_all(
    request: api.ListGates,
    configuration: Configuration,
    kind: Annotated[
        str | None, option("--kind", "KIND", f"only gates of this kind: {', '.join(_KINDS)}", choices=_KINDS)
    ] = None,
    durable: Annotated[bool, flag("--durable", "leave out session gates")] = False,
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    List the pending gates, and the gates of sessions.

    Gates in the store come first, in the order in which they were added; gates that every guest session has follow.

    Examples:
      gatepost gate list
      gatepost gate list --owner analyst
      gatepost gate list --all --kind ci --json
    """
    durable_kind = GateKind(kind) if kind not in (None, _SESSION) else None
    own_gates = () if durable or request.owner or request.waiter or durable_kind else list_gates(configuration.home)
    asks = configuration.settings.stop_decision.enabled
    durable_gates: list[api.GateView] = []
    if kind != _SESSION:
        with connect(configuration) as connection:
            durable_gates = connection.list_all(msgspec.structs.replace(request, kind=durable_kind), limit + 1)
    shown_gates = durable_gates[:limit]
    if json:
        documents = [msgspec.to_builtins(gate) for gate in shown_gates]
        output.document(
            [
                *documents,
                *(
                    (session_gates.build_document(gate) | {"active": gate.name != "decision" or asks})
                    for gate in own_gates
                ),
            ]
        )
    elif shown_gates or own_gates:
        rows = [*map(_build_row, shown_gates), *(_build_session_row(gate, asks) for gate in own_gates)]
        output.table(["GATE", "KIND", "OWNER", "STATE", "DEADLINE", "NAME"], rows)
    else:
        of_owner = f" of {request.owner!r}" if request.owner else ""
        output.talk(f"no {'pending ' if request.pending else ''}gates{of_owner}")
    if len(durable_gates) > limit:
        output.talk(f"there are more than {limit}: raise --limit")


def _build_row(gate: api.GateView) -> TableRow:
    deadline = output.format_seconds(gate.deadline)
    return [gate.id, gate.kind.value, gate.owner, _describe_state(gate), deadline, render_name(gate.name)]


def _build_session_row(gate: SessionGate, asks: bool) -> TableRow:
    mode = "off" if gate.name == "decision" and not asks else "soft" if gate.soft else "strict"
    return [gate.name, _SESSION, "", mode, "", f"at {gate.hook}" + (f": {gate.hint}" if gate.hint else "")]


@gates.show("show", api.ShowGate, id=GATE)
def show(gate: api.GateView) -> Facts:
    """
    Show a gate: what it waits for, whom it holds, and how it ended.

    Example:
      gatepost gate show gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    resolution = gate.resolution
    return [
        ("gate", gate.id),
        ("name", gate.name),
        ("kind", gate.kind.value),
        ("state", _describe_state(gate)),
        ("owner", gate.owner),
        ("awaits", gate.awaits),
        ("instruction", gate.instruction),
        ("waiters", ", ".join(gate.waiters)),
        ("made by", gate.made_by),
        ("since", gate.created_at),
        ("deadline", gate.deadline),
        ("then", gate.at_deadline.value if gate.deadline is not None else None),
        ("escalated", gate.escalated_at),
        ("fail", gate.fail.value),
        ("trouble", gate.trouble),
        ("ended", resolution.at if resolution else None),
        ("by", resolution.by if resolution else None),
        ("reason", resolution.reason if resolution else None),
    ]


@gates.send("resolve", api.ResolveGate, id=GATE, reason=REASON, withdraw=None)
def resolve(gate: api.GateView) -> Outcome:
    """
    Resolve a gate. It no longer holds its owner, and everybody concerned gets an event.

    Example:
      gatepost gate resolve "$GATE" --reason "Signed" --as husam
    """
    return _describe_end(gate)


@gates.send("withdraw", api.ResolveGate, id=GATE, reason=REASON, withdraw=True)
def withdraw(gate: api.GateView) -> Outcome:
    """
    Withdraw a gate that is not needed any more.

    Example:
      gatepost gate withdraw "$GATE" --reason "The release is off"
    """
    return _describe_end(gate)


@gates.command("wait")
def wait(gate: Annotated[str, GATE], timeout: Timeout = None, json: JsonFlag = False) -> None:
    """
    Wait until a gate has ended. Exits with 0 if it was resolved, and with 1 if it ended otherwise or not in time.

    Example:
      gatepost gate wait "$GATE" --for 30m && ./deploy.sh
    """
    with connect() as connection:
        view = poll(connection, api.ShowGate(id=gate), _is_over, timeout)
        with ExitStack() as stack:
            reader = find_current_agent(connection.configuration)
            if view.resolution is not None and reader is not None:
                from gatepost.cli.printed_events import deliver_printed  # other verbs do without

                stack.enter_context(deliver_printed(connection, reader, EventType.GATE, f"gate:{view.id}"))
            output.done(msgspec.to_builtins(view), *_describe_end(view)[:2], json=json)
    if view.status is not api.GateStatus.RESOLVED:
        raise Exit(1)


@gates.send("waiter", api.AddWaiter, id=GATE, name=argument("NAME", "who gets an event when it ends"))
def waiter(gate: api.GateView) -> Outcome:
    """
    Add a waiter, which gets an event when the gate ends.

    Example:
      gatepost gate waiter gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 reviewer
    """
    verb = "gets" if len(gate.waiters) == 1 else "get"
    return Outcome(gate.id, f"{', '.join(gate.waiters)} {verb} an event when it ends")


for function in session_gates.VERBS:
    gates.command(function.__name__)(function)


def _is_over(gate: api.GateView) -> bool:
    """Return True if it has ended, or can only expire any more; a timer is resolved in a moment."""
    expires = gate.at_deadline is AtDeadline.OPEN and gate.kind is not GateKind.TIMER
    return gate.resolution is not None or (expires and gate.overdue)


def _describe_end(gate: api.GateView) -> Outcome:
    resolution = gate.resolution
    by = f" by {resolution.by}" if resolution and resolution.by else ""
    reason = f": {quote(resolution.reason)}" if resolution and resolution.reason else ""
    verb = "was" if resolution else "is still"
    return Outcome(gate.id, f"the gate {verb} {_describe_state(gate)}{by}{reason}")


def _describe_state(gate: api.GateView) -> str:
    return "overdue" if gate.overdue else gate.status.value
