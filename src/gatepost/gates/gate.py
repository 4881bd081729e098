"""
A gate: a named condition that keeps its owner from stopping until the gate has ended.

    pending --+-- resolved    its condition is met
              +-- expired     its deadline came first
              +-- orphaned    its condition cannot be met any more, or its owner is gone
              `-- withdrawn   it is not needed any more

The condition depends on the kind, and `awaits` says what exactly the gate waits for:

    human      somebody resolves it: a name, which may be its owner; by default the owner of its owner
    decision   the answer to a decision: its id; asking makes such a gate
    timer      its own deadline, which resolves it
    event      a later event to its owner: TYPE or TYPE:SOURCE
    mail       mail to its owner from a sender: a name
    command    a command that exits with 0 (1 means not yet): the command line
    ci         a run or a pull request on GitHub: run:ID@OWNER/NAME or pr:NUMBER@OWNER/NAME, of a
               repository that is listed in the setting gates.ci

Whether a pending gate holds now is a pure function of the stored gate and the time (`Gate.holds`): a deadline counts
even if no process was running to record that it has passed.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from gatepost.core import text
from gatepost.core.quoting import quote, render_name
from gatepost.core.text import ParsedEnum
from gatepost.core.times import MAX_DURATION, MAX_INSTANT, Duration, Instant, format_rfc3339
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, quote_value
from gatepost.gates.condition_check import CI_TARGET_FORM, parse_ci_target
from gatepost.inbox.event import EventType

#: the beginning of the text for an agent that wants to stop and may not
BLOCKED_HEADING: Final = "You cannot stop yet:"

_MAX_NAME_LENGTH: Final = 200
_MAX_TEXT_LENGTH: Final = 4_000
#: the beginning of the reminder for a resident before it ends its cycle
REMINDER_HEADING: Final = "Before you end this cycle:"

#: gates that the text for their owner names
_MAX_SHOWN_GATES: Final = 20


class GateKind(ParsedEnum, description="a kind of gate"):
    HUMAN = "human"
    DECISION = "decision"
    TIMER = "timer"
    EVENT = "event"
    MAIL = "mail"
    COMMAND = "command"
    CI = "ci"


class Ending(StrEnum):
    RESOLVED = "resolved"
    EXPIRED = "expired"
    ORPHANED = "orphaned"
    WITHDRAWN = "withdrawn"


class AtDeadline(ParsedEnum, description="something to do at a deadline"):
    #: it ends as expired
    OPEN = "open"
    #: the owner of its owner is alerted, once, and the gate still holds
    ESCALATE = "escalate"


class FailMode(ParsedEnum, description="a way to fail"):
    """Whether a gate holds that cannot be checked: its command is broken, its store cannot be reached."""

    OPEN = "open"
    CLOSED = "closed"


class Resolution(Struct, frozen=True, kw_only=True):
    """The end of a gate. A gate has one; the first counts."""

    ending: Ending
    reason: str
    #: who ended it; None if it ended by itself
    by: str | None
    at: Instant


class Gate(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    kind: GateKind
    #: the entity that it keeps from stopping
    owner: str
    #: None for Gatepost itself
    made_by: str | None
    awaits: str | None
    #: the text for its owner
    instruction: str
    #: the entities, beside its owner, that get an event when it ends
    waiters: tuple[str, ...]
    deadline: Instant | None
    at_deadline: AtDeadline
    fail: FailMode
    #: why the last check failed; None if it did not
    trouble: str | None
    escalated_at: Instant | None
    created_at: Instant
    resolution: Resolution | None
    #: hops of the event that it sends if it ends by itself
    hops: int = 0
    #: since when the chain has this number of hops
    hops_at: Instant = 0
    number: int = 0

    @property
    def is_pending(self) -> bool:
        return self.resolution is None

    def is_overdue(self, now: Instant) -> bool:
        """Return True if the deadline has passed and the end is not recorded yet."""
        return self.is_pending and self.deadline is not None and self.deadline <= now

    def holds(self, now: Instant) -> bool:
        """Return True if its owner may not stop now."""
        if not self.is_pending or (self.trouble is not None and self.fail is FailMode.OPEN):
            return False
        return not self.is_overdue(now) or (self.at_deadline is AtDeadline.ESCALATE and self.kind is not GateKind.TIMER)

    @property
    def viewers(self) -> frozenset[str]:
        """The names of entities that may see it: its owner, its maker, its resolver and its waiters."""
        resolver = self.awaits if self.kind is GateKind.HUMAN else None
        return frozenset(name for name in (self.owner, self.made_by, resolver, *self.waiters) if name is not None)


class GateEnded(NamedTuple):
    """For the rooms that react to it (`reactions.py`)."""

    gate: Gate
    ending: Ending
    #: who ended it; None if it ended by itself
    actor: Entity | None
    hops: int


class GateSpec(Struct, frozen=True, kw_only=True):
    """A gate to make. Give `deadline` or `within`, not both."""

    name: str
    kind: GateKind = GateKind.HUMAN
    #: by default its maker
    owner: str | None = None
    awaits: str | None = None
    instruction: str = ""
    waiters: tuple[str, ...] = ()
    deadline: Instant | None = None
    within: Duration | None = None
    at_deadline: AtDeadline = AtDeadline.OPEN
    fail: FailMode = FailMode.OPEN


def check_spec(spec: GateSpec) -> GateSpec:
    """Return the spec if such a gate is possible; raise Invalid if not. Names are not looked up."""
    text.check_label("a name of a gate", spec.name, _MAX_NAME_LENGTH)
    check_text("instruction", spec.instruction)
    if spec.kind is GateKind.DECISION:
        raise Invalid("a gate of the kind 'decision' is made by asking", hint="use `gatepost decision ask`")
    if spec.kind is GateKind.TIMER and spec.deadline is None and spec.within is None:
        raise Invalid("a timer needs a deadline", hint="give `within` or `deadline`")
    match spec.kind, spec.awaits:
        case GateKind.TIMER, str() as awaits:
            raise Invalid(f"a timer awaits its deadline, not {quote_value(awaits)}", hint="leave out `awaits`")
        case GateKind.EVENT, str() as awaits:
            parse_awaited_event(awaits)
        case GateKind.CI, str() as awaits:
            parse_ci_target(awaits)
        case GateKind.COMMAND, str() as awaits:
            if not check_text("command", awaits).strip():
                raise Invalid("the command is empty", hint="give `awaits`: a command line")
        case ((GateKind.EVENT | GateKind.MAIL | GateKind.COMMAND | GateKind.CI), None):
            raise Invalid(
                f"a gate of the kind {spec.kind.value!r} must say what it awaits",
                hint=f"give `awaits`: {_AWAITS_HINTS[spec.kind]}",
            )
        case _:
            pass
    return spec


_AWAITS_HINTS: Final = {
    GateKind.EVENT: "TYPE or TYPE:SOURCE, such as service:jira-webhook",
    GateKind.MAIL: "the name of a sender",
    GateKind.COMMAND: "a command line",
    GateKind.CI: CI_TARGET_FORM,
}


def check_text(field: str, value: str) -> str:
    """Return the text if it can be stored beside a gate."""
    return text.check_text(field, value, _MAX_TEXT_LENGTH)


def resolve_deadline(now: Instant, deadline: Instant | None, within: Duration | None) -> Instant | None:
    """Return the deadline, which callers give as an instant or as a duration from now."""
    if deadline is not None and within is not None:
        raise Invalid("give only one of `within` and `deadline`")
    if within is not None:
        if not 0 < within <= MAX_DURATION:
            raise Invalid(
                f"{within} is not a duration to wait", hint="it must be over zero and at most a hundred years"
            )
        return now + within
    if deadline is not None and not now < deadline <= MAX_INSTANT:
        raise Invalid(f"the deadline {_format_time(deadline)} has passed", hint="give a time that is still to come")
    return deadline


def parse_awaited_event(awaits: str) -> tuple[EventType, str | None]:
    """Return the type of the awaited event, and its source if only one source counts."""
    type_name, colon, source = awaits.partition(":")
    if colon and not source:
        raise Invalid(f"{quote_value(awaits)} names no source", hint=_AWAITS_HINTS[GateKind.EVENT])
    return EventType.parse(type_name), check_text("source", source) if colon else None


def render_blocked_stop(gates: Sequence[Gate]) -> str:
    """Return the text for an agent that wants to stop and may not: a line for each gate that holds, up to 20."""
    head = "a gate is" if len(gates) == 1 else f"{len(gates)} gates are"
    overflow_lines = [f"- and {len(gates) - _MAX_SHOWN_GATES} more"] if len(gates) > _MAX_SHOWN_GATES else []
    return "\n".join(
        [f"{BLOCKED_HEADING} {head} still closed.", *map(_render_gate, gates[:_MAX_SHOWN_GATES]), *overflow_lines]
    )


def render_reminder(gates: Sequence[Gate]) -> str:
    """Return the text that reminds a resident, once, of gates that it can still do something about in this cycle."""
    head = "a gate of yours is" if len(gates) == 1 else f"{len(gates)} gates of yours are"
    lines = [
        f"{_render_gate(gate)}; resolve it with resolve_gate" if gate.kind is GateKind.HUMAN else _render_gate(gate)
        for gate in gates
    ]
    return "\n".join(
        [
            f"{REMINDER_HEADING} {head} still closed. Do what is asked if you can, then end the cycle; "
            "you are not reminded"
            " again, and are told when it ends.",
            *lines,
        ]
    )


def _render_gate(gate: Gate) -> str:
    notes = [gate.id] + ([f"until {_format_time(gate.deadline)}"] if gate.deadline is not None else [])
    instruction_text = f": {quote(gate.instruction)}" if gate.instruction else ""
    return f"- {render_name(gate.name)}{instruction_text} ({', '.join(notes)})"


def _format_time(at: Instant) -> str:
    return format_rfc3339(at - at % 1_000_000) if 0 <= at <= MAX_INSTANT else str(at)
