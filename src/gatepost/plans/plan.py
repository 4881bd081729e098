"""
A plan: an instruction that comes to its owner's inbox later, once or repeatedly.

A plan has one of four schedules: `runAfter` (a duration from now), `scheduledAt` (a time), `cron`, or `onGate` (when
that gate is resolved). Each instant at which it is due is a slot, and a slot fires once; `missed_slots.py` says which
slots fire that passed while no process was running. A `scheduledAt` in the past is a slot like any other: it fires at
once, late, and once.

A plan that is disabled does not fire. When it is enabled again, its schedule counts from then, as if it were just set:
a recurring plan goes on with the next slot, and one that is due once fires at once if its time has passed, or if its
gate has been resolved.
"""

from functools import partial
from typing import Final, assert_never

from msgspec import Struct

from gatepost.core import ids
from gatepost.core.text import ParsedEnum, check_label, parse_field
from gatepost.core.times import Duration, Instant, parse_duration, parse_instant
from gatepost.errors import Invalid
from gatepost.plans import cron as crons
from gatepost.plans.cron import Cron

_MAX_NAME_LENGTH: Final = 200
_SCHEDULES: Final = "`runAfter`, `scheduledAt`, `cron`"


class CatchUp(ParsedEnum, description="a way to catch up"):
    ONCE = "once"
    SKIP = "skip"
    ALL = "all"


class PlanStatus(ParsedEnum, description="a status of a plan"):
    PENDING = "pending"
    #: it had one slot, which has fired
    COMPLETED = "completed"
    #: it could not fire: its owner is retired, its event was refused, or its gate ended without being resolved
    CANCELLED = "cancelled"


class AfterDelay(Struct, frozen=True):
    """After this time, counted from when it is set."""

    delay: Duration


class AtTime(Struct, frozen=True):
    instant: Instant


class OnGate(Struct, frozen=True):
    """When that gate is resolved."""

    gate: str


Schedule = AfterDelay | AtTime | Cron | OnGate


class Plan(Struct, frozen=True, kw_only=True):
    id: str
    #: the name of the entity that gets its events
    owner: str
    name: str
    instruction: str
    #: None for a plan that fires once
    cron: str | None = None
    zone: str | None = None
    catch_up: CatchUp = CatchUp.ONCE
    status: PlanStatus = PlanStatus.PENDING
    #: whether it fires
    active: bool = True
    #: the next slot; None if it has ended, or waits for its gate. That of a disabled plan does not fire
    next_at: Instant | None = None
    #: the last slot that fired, not the time at which it fired
    last_at: Instant | None = None
    #: how often it has fired, by its schedule or by hand
    fired: int = 0
    created_at: Instant
    ended_at: Instant | None = None
    #: the id of the gate that it waits for, or waited for
    gate: str | None = None
    #: hops of the event that it sends; a recurring plan begins a new chain each time
    hops: int = 0
    number: int = 0

    @property
    def recurrence(self) -> Cron | None:
        return Cron(self.cron, self.zone or "UTC") if self.cron is not None else None

    @property
    def next_run_at(self) -> Instant | None:
        """When it fires next; None if it has ended, waits for its gate, or is disabled."""
        return self.next_at if self.active else None

    @property
    def scheduled_at(self) -> Instant | None:
        """The slot of a plan that fires once, before and after it has fired."""
        return None if self.cron is not None else self.last_at if self.next_at is None else self.next_at


class PlanFire(Struct, frozen=True, kw_only=True):
    """A plan that was run by hand, and the event that came of it."""

    plan: str
    event: str
    recipient: str
    fired_at: Instant


class PlanSpec(Struct, frozen=True, kw_only=True):
    """A plan to make or, with an id, to change: fields that are None stay as they are."""

    id: str | None = None
    name: str | None = None
    instruction: str | None = None
    schedule: Schedule | None = None
    catch_up: CatchUp | None = None
    active: bool | None = None


def parse_schedule(
    *,
    run_after: str | None = None,
    scheduled_at: str | None = None,
    cron: str | None = None,
    time_zone: str | None = None,
    on_gate: str | None = None,
) -> Schedule | None:
    """Return the schedule; None if there is none. Raise Invalid if there is more than one."""
    choices = [text for text in (run_after, scheduled_at, cron, on_gate) if text is not None]
    if len(choices) > 1:
        raise Invalid(f"give only one of {_SCHEDULES} and `onGate`")
    if time_zone is not None and cron is None:
        raise Invalid("`timeZone` needs `cron`", hint="a time has its own offset: 2026-02-20T10:00:00+01:00")
    if cron is not None:
        zone = parse_field("timeZone", time_zone, crons.check_zone)
        return parse_field("cron", cron, partial(crons.parse, zone=zone or "UTC"))
    if run_after is not None:
        parse = partial(parse_duration, time_field="scheduledAt")
        return parse_field("runAfter", run_after, lambda text: AfterDelay(parse(text)))
    if on_gate is not None:
        return parse_field("onGate", on_gate, lambda text: OnGate(ids.check("gate", text)))
    parse = partial(parse_instant, duration_field="runAfter")
    return parse_field("scheduledAt", scheduled_at, lambda text: AtTime(parse(text)))


def read_schedule(fields: object) -> Schedule | None:
    """Return the schedule that a request or a tool names in its fields."""
    names = ("run_after", "scheduled_at", "cron", "time_zone", "on_gate")
    return parse_schedule(**{name: getattr(fields, name) for name in names})


def require_schedule(spec: PlanSpec) -> tuple[str, Schedule]:
    """Return the name and the schedule, which a new plan needs."""
    if spec.name is None:
        raise Invalid("a plan needs a name", hint="give `name`")
    if spec.schedule is None:
        raise Invalid("a plan must say when it is due", hint=f"give {_SCHEDULES} or `onGate`")
    return spec.name, spec.schedule


def check_name(name: str) -> str:
    """Return the text if it can be the name of a plan."""
    return check_label("a name of a plan", name, _MAX_NAME_LENGTH)


def find_first_slot(schedule: Schedule, now: Instant) -> Instant | None:
    """Return the first slot after now; None if a gate decides it."""
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
