"""`gatepost gate`: durable gates; those of sessions are in `gates.py`."""

from typing import Annotated, Any, Final

import msgspec
import typer

from gatepost import settings
from gatepost.api.gates import AddGate, AddWaiter, GateStatus, GateView, ListGates, ResolveGate, ShowGate
from gatepost.cli import gates, identity, output, waiting, words
from gatepost.cli.connect import connect
from gatepost.cli.plain import As, Json, Limit, Noun, argument, flag, option
from gatepost.core import render, times
from gatepost.core.gate import AtDeadline, FailMode, GateKind
from gatepost.hooks import gates as session_gates
from gatepost.hooks.gates import SessionGate

app = Noun(help="Gates: what keeps an agent from stopping.")

#: as a kind: those of sessions, beside those in the store
_SESSION: Final = "session"

GateId = Annotated[str, argument("GATE", "The id of a gate.")]
Reason = Annotated[str, option("--reason", "TEXT", "Why; everybody concerned is told.")]


@app.verb("add")
def add(
    name: Annotated[str, argument("NAME", "What it is called.")],
    kind: Annotated[str, option("--kind", "KIND", "human, timer, event, mail, command or ci.")] = GateKind.HUMAN,
    owner: Annotated[
        str | None, option("--owner", "NAME", "Whom it keeps from stopping; else the current agent.")
    ] = None,
    awaits: Annotated[str | None, option("--awaits", "WHAT", "What it waits for; see above.")] = None,
    instruction: Annotated[str, option("--instruction", "TEXT", "What its owner is told who wants to stop.")] = "",
    waiter: Annotated[
        list[str] | None, option("--waiter", "NAME", "Who else is told when it ends; repeatable.")
    ] = None,
    within: Annotated[str | None, option("--within", "2h", "Its deadline, from now.")] = None,
    until: Annotated[str | None, option("--until", "TIME", "Its deadline, as a time.")] = None,
    at_deadline: Annotated[
        str, option("--at-deadline", "open|escalate", "Let go, or alert the owner's owner and hold on.")
    ] = AtDeadline.OPEN,
    fail: Annotated[
        str, option("--fail", "open|closed", "Whether it holds when it cannot be looked at: closed.")
    ] = FailMode.OPEN,
    actor: As = None,
    json: Json = False,
) -> None:
    """
    Make a gate, and print its id. Until it has ended, its owner may not stop.

    What it waits for depends on its kind:
      human     that somebody resolves it: --awaits NAME, by default the owner of the one it holds
      timer     its deadline
      event     an event for its owner: --awaits TYPE or TYPE:SOURCE
      mail      mail for its owner: --awaits SENDER
      command   a command that ends with 0: --awaits COMMAND (gates.commands must be set)
      ci        a run or pull request on GitHub: --awaits run:ID@OWNER/NAME or pr:NUMBER@OWNER/NAME, of a
                repository that is listed in the setting gates.ci

    Examples:
      gatepost gate add "Sign-off" --owner analyst --awaits husam --within 2h
      gatepost gate add "The build" --owner analyst --kind ci --awaits run:4711@acme/shop --waiter reviewer
    """
    configuration = settings.load()
    request = AddGate(
        name=name,
        kind=GateKind.parse(kind),
        owner=identity.choose_agent(owner, "--owner", configuration, otherwise="whom does it keep from stopping?"),
        awaits=words.given(awaits, "--awaits", "what"),
        instruction=words.content(instruction, configuration.settings.limits.content),
        waiters=tuple(waiter or ()),
        deadline=until,
        within=within,
        at_deadline=AtDeadline.parse(at_deadline),
        fail=FailMode.parse(fail),
    )
    with connect(configuration) as connection:
        gate = connection.send(msgspec.structs.replace(request, made_by=connection.choose_actor(actor)))
    output.done(msgspec.to_builtins(gate), gate.id, f"{gate.owner} may not stop until it has ended", json=json)


@app.verb("list")
def list_(
    owner: Annotated[str | None, option("--owner", "NAME", "Only those that hold this one.")] = None,
    waiter: Annotated[str | None, option("--waiter", "NAME", "Only those that this one waits for.")] = None,
    kind: Annotated[str | None, option("--kind", "KIND", f"One of {', '.join(GateKind)}; or session.")] = None,
    durable: Annotated[bool, flag("--durable", "Without the gates of sessions.")] = False,
    include_ended: Annotated[bool, flag("--all", "Those too that have ended.")] = False,
    limit: Limit = "100",
    json: Json = False,
) -> None:
    """
    List the gates that are pending, and those of sessions.

    Those in the store are in the order in which they were made; those that every session of a guest has follow.

    Examples:
      gatepost gate list
      gatepost gate list --owner analyst
      gatepost gate list --all --kind ci --json
    """
    count = words.number(limit, "--limit", most=100_000)
    durable_kind = GateKind.parse(kind) if kind not in (None, _SESSION) else None
    configuration = settings.load()
    own_gates = () if durable or owner or waiter or durable_kind else session_gates.list_gates(configuration.home)
    asks = configuration.settings.stop_decision.enabled
    durable_gates: list[GateView] = []
    if kind != _SESSION:
        with connect(configuration) as connection:
            request = ListGates(
                owner=words.given(owner, "--owner"),
                waiter=words.given(waiter, "--waiter"),
                kind=durable_kind,
                pending=None if include_ended else True,
            )
            durable_gates = connection.list_all(request, count + 1)
    shown_gates = durable_gates[:count]
    if json:
        documents = [msgspec.to_builtins(gate) for gate in shown_gates]
        output.document([*documents, *(_build_session_document(gate, asks) for gate in own_gates)])
    elif shown_gates or own_gates:
        rows = [*map(_build_row, shown_gates), *(_build_session_row(gate, asks) for gate in own_gates)]
        output.table(["GATE", "KIND", "OWNER", "STATE", "DEADLINE", "NAME"], rows)
    else:
        output.talk(f"there is no {'' if include_ended else 'pending '}gate" + (f" of {owner!r}" if owner else ""))
    if len(durable_gates) > count:
        output.talk(f"there are more than {count}: raise --limit")


@app.verb("show")
def show(gate: GateId, json: Json = False) -> None:
    """
    Show a gate: what it waits for, whom it holds, and how it ended.

    Example:
      gatepost gate show gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect() as connection:
        view = connection.send(ShowGate(id=gate))
    if json:
        output.document(msgspec.to_builtins(view))
        return
    resolution = view.resolution
    output.facts(
        ("gate", view.id),
        ("name", view.name),
        ("kind", view.kind.value),
        ("state", _describe_state(view)),
        ("owner", view.owner),
        ("awaits", view.awaits),
        ("instruction", view.instruction),
        ("waiters", ", ".join(view.waiters)),
        ("made by", view.made_by),
        ("since", view.created_at),
        ("deadline", view.deadline),
        ("then", view.at_deadline.value if view.deadline is not None else None),
        ("escalated", view.escalated_at),
        ("fail", view.fail.value),
        ("trouble", view.trouble),
        ("ended", resolution.at if resolution else None),
        ("by", resolution.by if resolution else None),
        ("reason", resolution.reason if resolution else None),
    )


@app.verb("resolve")
def resolve(gate: GateId, reason: Reason = "", actor: As = None, json: Json = False) -> None:
    """
    Say that what a gate waits for has come: it holds its owner no more, and everybody concerned is told.

    Example:
      gatepost gate resolve gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --reason "Signed" --as husam
    """
    _end_gate(gate, reason, actor, withdraw=False, json=json)


@app.verb("withdraw")
def withdraw(gate: GateId, reason: Reason = "", actor: As = None, json: Json = False) -> None:
    """
    Say that a gate is not needed any more.

    Example:
      gatepost gate withdraw gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --reason "The release is off"
    """
    _end_gate(gate, reason, actor, withdraw=True, json=json)


@app.verb("wait")
def wait(
    gate: GateId,
    timeout: Annotated[str | None, option("--for", "10m", "How long at most; else until it ends.")] = None,
    json: Json = False,
) -> None:
    """
    Wait until a gate has ended. Ends with 0 when it was resolved, and with 1 when it ended otherwise or not in time.

    Example:
      gatepost gate wait gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --for 30m && ./deploy.sh
    """
    duration = times.parse_duration(timeout) if timeout is not None else None
    with connect() as connection:
        view = waiting.poll(connection.store, lambda: connection.send(ShowGate(id=gate)), _is_over, duration)
    _print_end(view, json=json)
    if view.status is not GateStatus.RESOLVED:
        raise typer.Exit(1)


@app.verb("waiter")
def waiter(
    gate: GateId,
    name: Annotated[str, argument("NAME", "Who is told when it ends.")],
    actor: As = None,
    json: Json = False,
) -> None:
    """
    Let somebody be told when a gate ends.

    Example:
      gatepost gate waiter gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 reviewer
    """
    with connect() as connection:
        view = connection.send(AddWaiter(id=gate, name=name, by=connection.choose_actor(actor)))
    output.done(
        msgspec.to_builtins(view),
        view.id,
        f"{', '.join(view.waiters)} {'is' if len(view.waiters) == 1 else 'are'} told when it ends",
        json=json,
    )


app.verb("mark")(gates.mark)
app.verb("clear")(gates.clear)
app.verb("status")(gates.status)
app.verb("check")(gates.check)
app.verb("register")(gates.register)
app.verb("unregister")(gates.unregister)


def _end_gate(id: str, reason: str, actor: str | None, *, withdraw: bool, json: bool) -> None:
    with connect() as connection:
        request = ResolveGate(
            id=id,
            by=connection.choose_actor(actor),
            reason=words.content(reason, connection.configuration.settings.limits.content),
            withdraw=withdraw,
        )
        gate = connection.send(request)
    _print_end(gate, json=json)


def _is_over(gate: GateView) -> bool:
    """Return True if it has ended, or can only expire any more; a timer is resolved in a moment."""
    expires = gate.at_deadline is AtDeadline.OPEN and gate.kind is not GateKind.TIMER
    return gate.resolution is not None or (expires and gate.overdue)


def _print_end(gate: GateView, *, json: bool) -> None:
    resolution = gate.resolution
    by = f" by {resolution.by}" if resolution and resolution.by else ""
    reason = f": {render.quote(resolution.reason)}" if resolution and resolution.reason else ""
    output.done(msgspec.to_builtins(gate), gate.id, f"{_describe_state(gate)}{by}{reason}", json=json)


def _describe_state(gate: GateView) -> str:
    return "overdue" if gate.overdue else gate.status.value


def _build_row(gate: GateView) -> list[str]:
    return [
        gate.id,
        gate.kind.value,
        gate.owner,
        _describe_state(gate),
        output.format_seconds(gate.deadline) if gate.deadline is not None else "",
        render.render_name(gate.name),
    ]


def _build_session_row(gate: SessionGate, asks: bool) -> list[str]:
    mode = "off" if gate.name == "decision" and not asks else "soft" if gate.soft else "strict"
    return [gate.name, _SESSION, "", mode, "", f"at {gate.hook}" + (f": {gate.hint}" if gate.hint else "")]


def _build_session_document(gate: SessionGate, asks: bool) -> dict[str, Any]:
    return gates.document(gate) | {"active": gate.name != "decision" or asks}
