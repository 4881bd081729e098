"""`gatepost gate`: durable gates; those of sessions are in `gates.py`."""

from typing import Annotated, Any, Final

import typer

from gatepost import settings
from gatepost.actions import gates as verbs
from gatepost.cli import gates, here, output, waiting, words
from gatepost.cli.here import As, Json, Limit
from gatepost.cli.plain import Noun, argument, flag, option
from gatepost.core import render, times, wire
from gatepost.core.gate import AtDeadline, Ending, FailMode, Gate, GateKind, GateSpec
from gatepost.core.times import Instant
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
    who: As = None,
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
    wish = GateSpec(
        name=name,
        kind=GateKind.parse(kind),
        owner=here.named(owner, "--owner", configuration, otherwise="whom does it keep from stopping?"),
        awaits=words.given(awaits, "--awaits", "what"),
        instruction=words.content(instruction, configuration.settings.limits.content),
        waiters=tuple(waiter or ()),
        deadline=times.parse_instant(until) if until is not None else None,
        within=times.parse_duration(within) if within is not None else None,
        at_deadline=AtDeadline.parse(at_deadline),
        fail=FailMode.parse(fail),
    )
    with here.opened(configuration) as place:
        made = place.call(verbs.add, lambda far: far.add_gate, wish, by=place.myself(who))
        now = place.now()
    output.done(wire.write_gate(made, now), made.id, f"{made.owner} may not stop until it has ended", json=json)


@app.verb("list")
def list_(
    owner: Annotated[str | None, option("--owner", "NAME", "Only those that hold this one.")] = None,
    waiter: Annotated[str | None, option("--waiter", "NAME", "Only those that this one waits for.")] = None,
    kind: Annotated[str | None, option("--kind", "KIND", f"One of {', '.join(GateKind)}; or session.")] = None,
    durable: Annotated[bool, flag("--durable", "Without the gates of sessions.")] = False,
    every: Annotated[bool, flag("--all", "Those too that have ended.")] = False,
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
    most = words.number(limit, "--limit", most=100_000)
    wanted = GateKind.parse(kind) if kind not in (None, _SESSION) else None
    configuration = settings.load()
    ours = () if durable or owner or waiter or wanted else session_gates.list_gates(configuration.home)
    asks = configuration.settings.stop_decision.enabled
    found: list[Gate] = []
    now: Instant = 0
    if kind != _SESSION:
        with here.opened(configuration) as place:
            found = place.all(
                verbs.page,
                lambda far: far.gates,
                owner=words.given(owner, "--owner"),
                waiter=words.given(waiter, "--waiter"),
                kind=wanted,
                pending=None if every else True,
                limit=most + 1,
            )
            now = place.now()
    shown = found[:most]
    if json:
        output.document(
            [*(wire.write_gate(each, now) for each in shown), *(_session_document(each, asks) for each in ours)]
        )
    elif shown or ours:
        rows = [*(_row(each, now) for each in shown), *(_session_row(each, asks) for each in ours)]
        output.table(["GATE", "KIND", "OWNER", "STATE", "DEADLINE", "NAME"], rows)
    else:
        output.talk(f"there is no {'' if every else 'pending '}gate" + (f" of {owner!r}" if owner else ""))
    if len(found) > most:
        output.talk(f"there are more than {most}: raise --limit")


@app.verb("show")
def show(gate: GateId, json: Json = False) -> None:
    """
    Show a gate: what it waits for, whom it holds, and how it ended.

    Example:
      gatepost gate show gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with here.opened() as place:
        found = _shown(place, gate)
        now = place.now()
    if json:
        output.document(wire.write_gate(found, now))
        return
    ended = found.resolution
    output.facts(
        ("gate", found.id),
        ("name", found.name),
        ("kind", found.kind.value),
        ("state", _state(found, now)),
        ("owner", found.owner),
        ("awaits", found.awaits),
        ("instruction", found.instruction),
        ("waiters", ", ".join(found.waiters)),
        ("made by", found.made_by),
        ("since", times.format_rfc3339(found.created_at)),
        ("deadline", times.format_rfc3339(found.deadline) if found.deadline is not None else None),
        ("then", found.at_deadline.value if found.deadline is not None else None),
        ("escalated", times.format_rfc3339(found.escalated_at) if found.escalated_at is not None else None),
        ("fail", found.fail.value),
        ("trouble", found.trouble),
        ("ended", times.format_rfc3339(ended.at) if ended else None),
        ("by", ended.by if ended else None),
        ("reason", ended.reason if ended else None),
    )


@app.verb("resolve")
def resolve(gate: GateId, reason: Reason = "", who: As = None, json: Json = False) -> None:
    """
    Say that what a gate waits for has come: it holds its owner no more, and everybody concerned is told.

    Example:
      gatepost gate resolve gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --reason "Signed" --as husam
    """
    with here.opened() as place:
        by, said = place.myself(who), _said(reason, place)
        ended = place.call(verbs.resolve, lambda far: far.resolve_gate, gate, by=by, reason=said)
        _tell(ended, place.now(), json=json)


@app.verb("withdraw")
def withdraw(gate: GateId, reason: Reason = "", who: As = None, json: Json = False) -> None:
    """
    Say that a gate is not needed any more.

    Example:
      gatepost gate withdraw gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --reason "The release is off"
    """
    with here.opened() as place:
        by, said = place.myself(who), _said(reason, place)
        ended = place.call(verbs.withdraw, lambda far: far.withdraw_gate, gate, by=by, reason=said)
        _tell(ended, place.now(), json=json)


@app.verb("wait")
def wait(
    gate: GateId,
    most: Annotated[str | None, option("--for", "10m", "How long at most; else until it ends.")] = None,
    json: Json = False,
) -> None:
    """
    Wait until a gate has ended. Ends with 0 when it was resolved, and with 1 when it ended otherwise or not in time.

    Example:
      gatepost gate wait gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --for 30m && ./deploy.sh
    """
    length = times.parse_duration(most) if most is not None else None
    with here.opened() as place:
        seen = waiting.until(place, lambda: _shown(place, gate), lambda found: _over(found, place), length)
        _tell(seen, place.now(), json=json)
    if seen.resolution is None or seen.resolution.ending is not Ending.RESOLVED:
        raise typer.Exit(1)


@app.verb("waiter")
def waiter(
    gate: GateId,
    name: Annotated[str, argument("NAME", "Who is told when it ends.")],
    who: As = None,
    json: Json = False,
) -> None:
    """
    Let somebody be told when a gate ends.

    Example:
      gatepost gate waiter gate_01997ec27ab07f2c8ed1f2a3b4c5d6e7 reviewer
    """
    with here.opened() as place:
        found = place.call(verbs.add_waiter, lambda far: far.add_waiter, gate, name, by=place.myself(who))
        now = place.now()
    output.done(
        wire.write_gate(found, now),
        found.id,
        f"{', '.join(found.waiters)} {'is' if len(found.waiters) == 1 else 'are'} told when it ends",
        json=json,
    )


app.verb("mark")(gates.mark)
app.verb("clear")(gates.clear)
app.verb("status")(gates.status)
app.verb("check")(gates.check)
app.verb("register")(gates.register)
app.verb("unregister")(gates.unregister)


def _shown(place: here.Here, id: str) -> Gate:
    return place.look(verbs.show, lambda far: far.gate, id)


def _over(gate: Gate, place: here.Here) -> bool:
    """Whether it has ended, or can only expire any more; a timer is resolved in a moment."""
    expires = gate.at_deadline is AtDeadline.OPEN and gate.kind is not GateKind.TIMER
    return not gate.is_pending or (expires and gate.is_overdue(place.now()))


def _said(reason: str, place: here.Here) -> str:
    return words.content(reason, place.configuration.settings.limits.content)


def _tell(gate: Gate, now: Instant, *, json: bool) -> None:
    if json:
        output.document(wire.write_gate(gate, now))
        return
    output.line_out(gate.id)
    ended = gate.resolution
    by = f" by {ended.by}" if ended and ended.by else ""
    reason = f": {render.quote(ended.reason)}" if ended and ended.reason else ""
    output.talk(f"{_state(gate, now)}{by}{reason}")


def _state(gate: Gate, now: Instant) -> str:
    if gate.resolution is not None:
        return gate.resolution.ending.value
    return "overdue" if gate.is_overdue(now) else "pending"


def _row(gate: Gate, now: Instant) -> list[str]:
    deadline = gate.deadline
    return [
        gate.id,
        gate.kind.value,
        gate.owner,
        _state(gate, now),
        times.format_rfc3339(deadline - deadline % times.SECOND) if deadline is not None else "",
        render.render_name(gate.name),
    ]


def _session_row(gate: SessionGate, asks: bool) -> list[str]:
    mode = "off" if gate.name == "decision" and not asks else "soft" if gate.soft else "strict"
    return [gate.name, _SESSION, "", mode, "", f"at {gate.hook}" + (f": {gate.hint}" if gate.hint else "")]


def _session_document(gate: SessionGate, asks: bool) -> dict[str, Any]:
    return gates.document(gate) | {"active": gate.name != "decision" or asks}
