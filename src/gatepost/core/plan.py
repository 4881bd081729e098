"""
A plan: something an agent has told itself, or was told, to do later, once or again and again.

A plan says when in one of four ways: `runAfter` (a duration from now), `scheduledAt` (a time), `cron`, or `onGate`
(when that gate is resolved). Each instant at which it is due is a slot, and a slot fires once. What becomes of slots
that passed while nobody was there to fire them is a pure function, so that the rule can be read, and proved, alone:

    once only      fires, however late
    recurring      on time (at most a minute late): fires
                   missed: `once` - the latest of them, unless one on time follows
                           `skip` - none
                           `all`  - each, the latest hundred at most

A `scheduledAt` in the past is a slot like any other: it fires at once, late, and once.
"""

from collections.abc import Mapping
from typing import Final, assert_never

from msgspec import Struct

from gatepost.core import cron as crons
from gatepost.core import ids
from gatepost.core.cron import Cron
from gatepost.core.enums import ParsedEnum
from gatepost.core.event import Json
from gatepost.core.times import MAX_INSTANT, MINUTE, Duration, Instant, parse_duration, parse_instant
from gatepost.errors import Invalid

#: how late a slot may be and still count as on time: ticking is not exact, and a gateway may just be restarting
GRACE: Final = MINUTE
#: how many slots of a plan fire at one time
MAX_SLOTS: Final = 100

_MAX_NAME_LENGTH: Final = 200
_FIELDS: Final = ("id", "name", "instruction", "runAfter", "scheduledAt", "cron", "timeZone", "onGate", "catchUp")
_SCHEDULE_HINT: Final = (
    "give exactly one of runAfter (5 hours), scheduledAt (2026-02-20T10:00:00Z), cron (0 9 * * 1) and onGate (gate_...)"
)


class CatchUp(ParsedEnum, description="a way to catch up"):
    ONCE = "once"
    SKIP = "skip"
    ALL = "all"


class PlanStatus(ParsedEnum, description="a status of a plan"):
    PENDING = "pending"
    #: it was to fire once, and has
    COMPLETED = "completed"
    #: it could not fire: its owner is retired, its event was refused, or its gate ended without being resolved
    CANCELLED = "cancelled"


class AfterDelay(Struct, frozen=True):
    """So long from when it is set."""

    delay: Duration


class AtTime(Struct, frozen=True):
    instant: Instant


class OnGate(Struct, frozen=True):
    """When that gate is resolved."""

    gate: str


Schedule = AfterDelay | AtTime | Cron | OnGate


class Plan(Struct, frozen=True, kw_only=True):
    id: str
    #: the name of whose inbox it fires into
    owner: str
    name: str
    instruction: str
    #: what it recurs by; None for one that fires once
    cron: str | None
    zone: str | None
    catch_up: CatchUp
    status: PlanStatus
    #: the slot that fires next; None when it is over, or waits for its gate
    next_at: Instant | None
    #: the slot that fired last, which is not when it fired
    last_at: Instant | None
    #: how many slots have fired
    fired: int
    created_at: Instant
    ended_at: Instant | None = None
    #: the id of the gate that it waits for, or waited
    gate: str | None = None
    #: how long the chain of events is that it goes on with; one that recurs begins anew each time
    hops: int = 0
    number: int = 0

    @property
    def recurrence(self) -> Cron | None:
        return Cron(self.cron, self.zone or "UTC") if self.cron is not None else None

    @property
    def scheduled_at(self) -> Instant | None:
        """The one slot of a plan that fires once, before and after."""
        return None if self.cron is not None else self.last_at if self.next_at is None else self.next_at


class PlanSpec(Struct, frozen=True, kw_only=True):
    """A plan to make or, with an id, what to change of one: whatever is None stays as it is."""

    id: str | None = None
    name: str | None = None
    instruction: str | None = None
    schedule: Schedule | None = None
    catch_up: CatchUp | None = None


class Firing(Struct, frozen=True, kw_only=True):
    """What a plan that is due comes to: the slots that fire now, and the one that fires next."""

    slots: tuple[Instant, ...]
    next_at: Instant | None


def parse_spec(fields: Mapping[str, Json]) -> PlanSpec:
    """Read a wish as programs write it: a name, perhaps an instruction, and one of the ways to say when."""
    for field, value in fields.items():
        if field not in _FIELDS:
            raise Invalid(f"{field!r:.60} is not a field of a plan", hint=f"use {', '.join(_FIELDS)}")
        if value is not None and not isinstance(value, str):
            raise Invalid(f"{field} of a plan must be a string, not {value!r:.60}")
    catch_up = fields.get("catchUp")
    return PlanSpec(
        id=fields.get("id"),
        name=fields.get("name"),
        instruction=fields.get("instruction"),
        schedule=parse_schedule(
            run_after=fields.get("runAfter"),
            scheduled_at=fields.get("scheduledAt"),
            cron=fields.get("cron"),
            zone=fields.get("timeZone"),
            on_gate=fields.get("onGate"),
        ),
        catch_up=CatchUp.parse(catch_up) if catch_up is not None else None,
    )


def parse_schedule(
    *,
    run_after: str | None = None,
    scheduled_at: str | None = None,
    cron: str | None = None,
    zone: str | None = None,
    on_gate: str | None = None,
) -> Schedule | None:
    """Read when a plan is due: None when nothing is said, an error when it is said twice."""
    choices = [text for text in (run_after, scheduled_at, cron, on_gate) if text is not None]
    if len(choices) > 1:
        raise Invalid(f"a plan is due in one way, not in {len(choices)}", hint=_SCHEDULE_HINT)
    if zone is not None and cron is None:
        raise Invalid(f"the time zone {zone!r:.60} goes with cron", hint="scheduledAt says its offset itself")
    if cron is not None:
        return crons.parse(cron, zone if zone is not None else "UTC")
    if run_after is not None:
        return AfterDelay(parse_duration(run_after))
    if on_gate is not None:
        return OnGate(ids.check("gate", on_gate))
    return AtTime(_parse_time(scheduled_at)) if scheduled_at is not None else None


def require_schedule(spec: PlanSpec) -> tuple[str, Schedule]:
    """The name and the schedule, which a plan cannot be made without."""
    if spec.name is None:
        raise Invalid("a plan needs a name")
    if spec.schedule is None:
        raise Invalid("a plan must say when it is due", hint=_SCHEDULE_HINT)
    return spec.name, spec.schedule


def check_name(text: str) -> str:
    """Return the text if it can be the name of a plan."""
    if len(text) > _MAX_NAME_LENGTH or not text.strip() or not text.isprintable():
        raise Invalid(
            f"{text!r:.60} is not a name of a plan",
            hint=f"use up to {_MAX_NAME_LENGTH} printable characters on one line",
        )
    return text


def find_first_slot(schedule: Schedule, now: Instant) -> Instant | None:
    """The slot that fires first, seen from now; None as long as a gate has to say so."""
    match schedule:
        case AfterDelay(delay):
            return now + delay
        case AtTime(at):
            return at
        case Cron():
            return schedule.find_next(now)
        case OnGate():
            return None
        case _:
            assert_never(schedule)


def compute_firing(plan: Plan, now: Instant) -> Firing:
    """What a plan comes to whose next slot has come."""
    assert plan.next_at is not None
    assert plan.next_at <= now
    cron = plan.recurrence
    if cron is None:
        return Firing(slots=(plan.next_at,), next_at=None)
    # The slot that was promised fires even if the zone's rules have changed since, and it is none by them any more.
    slots = [plan.next_at, *cron.list_latest(plan.next_at, now, MAX_SLOTS)][-MAX_SLOTS:]
    return Firing(slots=tuple(_apply_catch_up(plan.catch_up, slots, now)), next_at=cron.find_next(now))


def _apply_catch_up(catch_up: CatchUp, slots: list[Instant], now: Instant) -> list[Instant]:
    timely_slots = [slot for slot in slots if now - slot <= GRACE]
    match catch_up:
        case CatchUp.ONCE:
            return timely_slots or slots[-1:]
        case CatchUp.SKIP:
            return timely_slots
        case CatchUp.ALL:
            return slots


def _parse_time(text: str) -> Instant:
    at = parse_instant(text)
    if not 0 <= at <= MAX_INSTANT:
        raise Invalid(f"{text!r} is not a time for a plan", hint="use one between 1970 and 9999")
    return at
