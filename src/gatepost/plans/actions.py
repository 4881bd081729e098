"""
Set, show, delete and fire plans.

Any number of gateways fire plans, without a leader. Why each slot still fires exactly once:

- `fire` locks the rows of due plans before it reads them, and skips those that another process has locked. A later
  process finds the next slot in the row, because the events of a slot and the step to the next one are one transaction.
- A verb that changes or deletes a plan locks the same row, so a slot fires by the old plan or the new one, not by both.
- If a slot comes up again (a plan was set back to a time that has fired), its event has the same dedup key,
  `plan:{id}:{slot}`, and is a duplicate.

A plan that waits for a gate has no slot until that gate is resolved. The transaction that resolves the gate sets the
slot, so the plan fires once like any other; if the gate ends in another way, the plan is cancelled. A verb that sets
such a plan locks the gate's row, so that the gate cannot end between the check and the commit.

`fire` does not see a plan that is disabled. The end of its gate is noted in its row all the same, so that who enables
it needs no look at the gate. A plan that is enabled is due as if its schedule were set anew: slots that passed
meanwhile are not caught up, and one that is due once fires at once if its time has come.

A plan that is due soon continues the chain of events in which it was set; otherwise two agents could answer each
other for ever through their plans. A plan that is due much later does not (`CHAIN_PAUSE`), nor does one that recurs: if
it was set late in a chain, it would never wake its owner again.

Only its owner, and an administrator (`owner=None`), sees a plan, changes it or deletes it. For all others it does not
exist.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from gatepost.core import ids
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import Instant, format_rfc3339
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.errors import Conflict, GatepostError, Invalid, LimitReached, NotFound
from gatepost.gates import gate_rows as gates
from gatepost.gates.gate import Ending, Gate, GateEnded
from gatepost.inbox.event import CHAIN_PAUSE, EventType, Push, Ref
from gatepost.inbox.push import actions as push, event_limits, hop_actions as chains
from gatepost.plans import plan as rules
from gatepost.plans.cron import Cron
from gatepost.plans.missed_slots import Firing, compute_firing
from gatepost.plans.plan import AfterDelay, AtTime, CatchUp, OnGate, Plan, PlanFire, PlanSpec, PlanStatus, Schedule
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row, get_columns, zip_columns

#: events that one call of `fire` makes; the next call makes the rest
_MAX_EVENTS: Final = 1_000
_NO_FIRING: Final = Firing(slots=(), next_at=None)
_PLAN: Final = Mapper(Plan)


@dataclass(slots=True)
class _DuePlan:
    """A plan that is due, and the outcome of firing it."""

    plan: Plan
    firing: Firing = _NO_FIRING
    new_events: int = 0
    error: GatepostError | None = None


def set_plan(tx: Transaction, owner: str | None, spec: PlanSpec, *, by: str | None = None) -> Plan:
    """
    Make a plan or, with an id, change one. A schedule that equals the stored one changes nothing; another one counts
    from now, and slots of the old schedule that have not fired are dropped. A plan that is disabled stays so, whatever
    else changes, until it is enabled.

    A plan that an agent sets (`by`) continues its chain of events. A change does not make the chain shorter. A plan
    that is due much later, or that recurs, begins a new chain.
    """
    hops = chains.count_next_hops(tx, directory.find_live(tx, by)) if by is not None else 0
    plan = _create(tx, owner, spec, hops) if spec.id is None else _update(tx, owner, spec.id, spec, hops)
    tx.after_commit(Signal(Topic("plan", plan.id), "set", wakes=False))
    return plan


def list_page(
    tx: Reader, owner: str | Entity | None = None, *, status: PlanStatus | None = None, after: int = 0, limit: int = 100
) -> list[Plan]:
    """Return plans in the order in which they were made; `after` is the number of the last plan seen."""
    number = directory.find_number(tx, owner)
    return _PLAN.fetch_page(tx, "plans/plans/list_page", owner=number, status=status, after=after, limit=limit)


def list_later(tx: Reader, owner: Entity, status: PlanStatus, limit: int) -> Callable[[], list[Plan]]:
    """Return a function that returns the first plans of an owner, once another statement has run."""
    return _PLAN.fetch_later(tx, "plans/plans/list_page", owner=owner.number, status=status, after=0, limit=limit)


def show(tx: Reader, id: str, *, owner: str | None = None) -> Plan:
    return _require_owned(tx, id, owner, _read(tx, ids.check("plan", id)))


def delete(tx: Transaction, id: str, *, owner: str | None = None) -> None:
    plan = _require_owned(tx, id, owner, _lock(tx, ids.check("plan", id)))
    tx.execute_later("plans/plans/delete", number=plan.number)


def fire(tx: Transaction, *, limit: int = 100) -> int:
    """
    Push the events of due plans to their owners, in the order of slots; return the number of plans. Repeat it until
    there are none. A plan that cannot fire, because its owner is retired or its event is refused, is cancelled, and its
    owner gets an alert, or the administrator if the owner is retired.
    """
    due_plans = list(_compute_firings(_PLAN.fetch_all(tx, "plans/plans/take_due", now=tx.now, limit=limit), tx.now))
    slots = [(slot, due_plan) for due_plan in due_plans for slot in due_plan.firing.slots]
    slots.sort(key=lambda entry: (entry[0], entry[1].plan.number))
    outcomes = push.push_all(tx, [_build_push(due_plan.plan, slot) for slot, due_plan in slots])
    for (_, due_plan), outcome in zip(slots, outcomes, strict=True):
        if isinstance(outcome, GatepostError):
            due_plan.error = outcome
        elif not all(delivery.duplicate for delivery in outcome.deliveries):
            due_plan.new_events += 1
    if due_plans:
        _save_fired(tx, [_advance(due_plan, tx.now) for due_plan in due_plans])
    push.push_alerts(tx, [_build_alert(due_plan.plan, due_plan.error) for due_plan in due_plans if due_plan.error])
    return len(due_plans)


def run_now(tx: Transaction, id: str, *, owner: str | None = None, by: str | None = None) -> PlanFire:
    """
    Push the event of a plan to its owner now. The schedule stays as it is: a slot that is to come fires all the same. A
    plan that is disabled or has ended can be run, too. What an agent runs (`by`) continues its chain of events.
    """
    plan = _require_owned(tx, id, owner, _lock(tx, ids.check("plan", id)))
    hops = chains.count_next_hops(tx, directory.find_live(tx, by)) if by is not None else 0
    directory.find_live(tx, plan.owner)
    result = push.push_event(tx, replace(_build_push(plan, tx.now), hops=max(plan.hops, hops)))
    [delivery] = result.deliveries
    if not delivery.duplicate:
        tx.execute_later("plans/plans/count_fire", number=plan.number)
    return PlanFire(plan=plan.id, event=delivery.event, recipient=plan.owner, fired_at=tx.now)


def find_next_due(tx: Reader) -> Instant | None:
    """Return when the next plan is due; a time in the past is due now."""
    next_at: Instant | None = fetch_row(tx, "plans/plans/find_next_due").next_at
    return next_at


def list_recurring(tx: Reader, after: int, limit: int) -> list[Plan]:
    """Return recurring plans that are enabled and not due yet, in the order of creation."""
    return _PLAN.fetch_all(tx, "plans/plans/list_recurring", now=tx.now, after=after, limit=limit)


def reschedule(tx: Transaction, plan: Plan) -> None:
    """Set the next slot of a recurring plan after now, unless the plan was changed or has fired meanwhile."""
    assert plan.recurrence is not None
    slot = plan.recurrence.find_next(tx.now)
    tx.execute_later("plans/plans/reschedule", number=plan.number, previous_at=plan.next_at, next_at=slot)


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    """Delete plans that ended before then."""
    return tx.execute("plans/plans/reap", before=before, limit=limit)


def continue_plans(tx: Transaction, event: GateEnded) -> None:
    """
    Make the plans due that wait for a gate which was just resolved; if it ended in another way, cancel them, and alert
    the owners of those that would have fired.
    """
    gate = event.gate
    waiting_plans = _PLAN.fetch_all(tx, "plans/plans/lock_by_gate", gate=gate.number)
    if not waiting_plans:
        return
    hops = max(event.hops, chains.count_next_hops(tx, event.actor))
    reset_plans = [replace(plan, hops=0) if tx.now - plan.created_at >= CHAIN_PAUSE else plan for plan in waiting_plans]
    due_plans = [_apply_hops(replace(plan, next_at=tx.now), hops, tx.now) for plan in reset_plans]
    if event.ending is Ending.RESOLVED:
        _save_fired(tx, due_plans)
        tx.after_commit(Signal(Topic("plan", waiting_plans[0].id), "set", wakes=False))
    else:
        cancelled_plans = [
            replace(plan, status=PlanStatus.CANCELLED, next_at=None, ended_at=tx.now) for plan in due_plans
        ]
        _save_fired(tx, cancelled_plans)
        reason = Conflict(f"the gate {gate.name!r} ({gate.id}) that it waited for was {event.ending}")
        push.push_alerts(tx, [_build_alert(plan, reason) for plan in cancelled_plans if plan.active])


def _create(tx: Transaction, owner: str | None, spec: PlanSpec, hops: int) -> Plan:
    if owner is None:
        raise Invalid("a plan needs an owner", hint="give `owner`: whose inbox it fires into")
    name, schedule = rules.require_schedule(spec)
    owner_entity = directory.find_live(tx, owner)
    _check_limit(tx, owner_entity)
    plan = Plan(
        id=tx.new_id("plan"),
        owner=owner_entity.name,
        name=rules.check_name(name),
        instruction=spec.instruction or "",
        active=spec.active is not False,
        created_at=tx.now,
    )
    gate = _lock_gate(tx, owner_entity.name, schedule)
    plan = _validate_event(
        tx, _apply_hops(_apply_catch_up(_apply_schedule(plan, schedule, gate, tx.now), spec), hops, tx.now)
    )
    number = fetch_number(
        tx,
        "plans/plans/insert",
        **get_columns(plan, "id name instruction cron zone catch_up active next_at hops"),
        owner=owner_entity.number,
        gate=gate.number if gate else None,
        now=tx.now,
    )
    return replace(plan, number=number)


def _update(tx: Transaction, owner: str | None, id: str, spec: PlanSpec, hops: int) -> Plan:
    stored_plan = _require_owned(tx, id, owner, _read(tx, ids.check("plan", id)))
    owner_entity = directory.find_live(tx, stored_plan.owner)
    if stored_plan.status is not PlanStatus.PENDING and spec.schedule is not None:  # it becomes pending again
        _check_limit(tx, owner_entity)
    # The gate's row first, in the order in which a verb that ends a gate locks them.
    gate = _lock_gate(tx, owner_entity.name, spec.schedule)
    plan = _require_owned(tx, id, owner, _lock(tx, id))
    stored_gate = gates.read(tx, plan.gate) if plan.gate is not None else None
    gate_number = stored_gate.number if stored_gate is not None else None
    if spec.name is not None:
        plan = replace(plan, name=rules.check_name(spec.name))
    if spec.instruction is not None:
        plan = replace(plan, instruction=spec.instruction)
    if spec.schedule is not None and not _has_schedule(plan, spec.schedule):
        plan, gate_number = _apply_schedule(plan, spec.schedule, gate, tx.now), gate.number if gate else None
    if spec.active is not None:
        plan = _apply_active(plan, spec.active, tx.now)
    plan = _validate_event(tx, _apply_hops(_apply_catch_up(plan, spec), hops, tx.now))
    tx.execute_later(
        "plans/plans/update",
        **get_columns(plan, "number name instruction cron zone catch_up status active next_at hops ended_at"),
        gate=gate_number,
    )
    return plan


def _check_limit(tx: Transaction, owner: Entity) -> None:
    """Refuse a plan over the limit of its owner; lock the owner, so two that make a plan at once cannot both pass."""
    entities.lock(tx, owner.number)
    limit = tx.policy.plans
    if fetch_number(tx, "plans/plans/count_pending", owner=owner.number, limit=limit) >= limit:
        raise LimitReached(
            f"{owner.name!r} has {limit} pending plans already, the limit for one entity",
            hint="delete some, or raise limits.plans",
        )


def _lock_gate(tx: Transaction, owner: str, schedule: Schedule | None) -> Gate | None:
    """
    Lock and return the gate that a plan is to wait for, None for other schedules. The owner of the plan must see the
    gate, and the gate must be pending or resolved.
    """
    if not isinstance(schedule, OnGate):
        return None
    gate = gates.lock(tx, schedule.gate)
    if gate is None or owner not in gate.viewers:
        raise NotFound(f"there is no gate {schedule.gate!r}", hint=f"it must be one that concerns {owner!r}")
    if gate.resolution is not None and gate.resolution.ending is not Ending.RESOLVED:
        raise Conflict(f"the gate {gate.id!r} was {gate.resolution.ending} already: it will not be resolved any more")
    return gate


def _read(tx: Reader, id: str) -> Plan | None:
    return _PLAN.fetch_one(tx, "plans/plans/read", id=id)


def _lock(tx: Transaction, id: str) -> Plan | None:
    """Read a plan and lock it until the commit."""
    return _read(tx, id) if tx.fetch_one("plans/plans/lock", id=id) else None


def _save_fired(tx: Transaction, plans: Sequence[Plan]) -> None:
    """Save plans after they have fired, or were made due by a gate."""
    rows = [
        (plan.number, plan.status.value, plan.next_at, plan.last_at, plan.fired, plan.ended_at, plan.hops)
        for plan in sorted(plans, key=lambda plan: plan.number)
    ]
    tx.execute_many_later("plans/plans/advance", zip_columns("number status next_at last_at fired ended_at hops", rows))


def _require_owned(tx: Reader, id: str, owner: str | None, plan: Plan | None) -> Plan:
    if plan is None or (owner is not None and plan.owner != directory.find(tx, owner).name):
        raise NotFound(f"there is no plan {id!r}", hint="`gatepost plan list` lists them")
    return plan


def _has_schedule(plan: Plan, schedule: Schedule) -> bool:
    match schedule:
        case Cron():
            return plan.status is PlanStatus.PENDING and plan.recurrence == schedule
        case AtTime(at):
            return plan.scheduled_at == at and plan.gate is None
        case OnGate(gate):
            return plan.gate == gate
        case AfterDelay():
            return False


def _apply_schedule(plan: Plan, schedule: Schedule, gate: Gate | None, now: Instant) -> Plan:
    """Return the plan with another schedule; one that waits for a resolved gate is due at once."""
    cron = schedule if isinstance(schedule, Cron) else None
    return replace(
        plan,
        cron=cron.expression if cron else None,
        zone=cron.zone if cron else None,
        catch_up=plan.catch_up if cron else CatchUp.ONCE,
        status=PlanStatus.PENDING,
        next_at=now if gate is not None and not gate.is_pending else rules.find_first_slot(schedule, now),
        ended_at=None,
        gate=gate.id if gate is not None else None,
    )


def _apply_active(plan: Plan, active: bool, now: Instant) -> Plan:
    """
    Return the plan enabled or disabled. One that is enabled again goes on with the slots after now, if it recurs, and
    continues the chain of who enables it.
    """
    if plan.status is not PlanStatus.PENDING:
        raise Conflict(
            f"the plan {plan.id!r} is {plan.status}, so it can be neither enabled nor disabled",
            hint="give it a new time",
        )
    if active and not plan.active:
        next_at = plan.recurrence.find_next(now) if plan.recurrence is not None else plan.next_at
        plan = replace(plan, next_at=next_at, hops=0)
    return replace(plan, active=active)


def _apply_catch_up(plan: Plan, spec: PlanSpec) -> Plan:
    if spec.catch_up is None:
        return plan
    if plan.cron is None:
        raise Invalid("`catchUp` needs `cron`", hint="a plan that is due once fires once, however late")
    return replace(plan, catch_up=spec.catch_up)


def _apply_hops(plan: Plan, hops: int, now: Instant) -> Plan:
    """
    Return the plan with the hops of its chain, if it is due once and soon, else with 0. A plan that waits for a gate
    counts as due soon, because nobody knows when the gate will end.
    """
    is_chained = plan.cron is None and (plan.next_at is None or plan.next_at - now < CHAIN_PAUSE)
    return replace(plan, hops=max(plan.hops, hops) if is_chained else 0)


def _validate_event(tx: Transaction, plan: Plan) -> Plan:
    """Return the plan if its event can be stored, so that an error appears now and not when the plan is due."""
    event_limits.validate_push(_build_push(plan, tx.now), tx.policy)
    return plan


def _compute_firings(plans_due: Sequence[Plan], now: Instant) -> Iterator[_DuePlan]:
    event_count = 0
    for plan in plans_due:
        if event_count >= _MAX_EVENTS:
            return
        due_plan = _DuePlan(plan)
        try:
            due_plan.firing = compute_firing(plan, now)
        except GatepostError as error:  # a zone that was known where the plan was set, and is not here
            due_plan.error = error
        event_count += len(due_plan.firing.slots)
        yield due_plan


def _build_push(plan: Plan, slot: Instant) -> Push:
    """Return the push of a slot to the owner; `dueAt` is the slot, the event's own time is when it fired."""
    return Push(
        to=plan.owner,
        type=EventType.PLAN,
        source="plan",
        content=plan.instruction,
        data={"planId": plan.id, "planName": plan.name, "instruction": plan.instruction, "dueAt": slot},
        dedup_key=build_dedup_key(plan.id, slot),
        hops=plan.hops,
    )


def build_dedup_key(id: str, slot: Instant | None = None) -> str:
    """Return the dedup key of a slot of a plan; without a slot, what all keys of the plan begin with."""
    return f"plan:{id}:{format_rfc3339(slot) if slot is not None else ''}"


def _advance(due_plan: _DuePlan, now: Instant) -> Plan:
    plan = replace(due_plan.plan, next_at=due_plan.firing.next_at, fired=due_plan.plan.fired + due_plan.new_events)
    if due_plan.error:
        return replace(plan, status=PlanStatus.CANCELLED, next_at=None, ended_at=now)
    if due_plan.firing.slots:
        plan = replace(plan, last_at=due_plan.firing.slots[-1])
    return plan if plan.next_at is not None else replace(plan, status=PlanStatus.COMPLETED, ended_at=now)


def _build_alert(plan: Plan, error: GatepostError) -> Push:
    """Return the alert to the owner about a plan that has ended without firing."""
    text = f"the plan {plan.name!r} ({plan.id}) was due and could not fire: {error.message}"
    ref = Ref("plan", plan.id)
    return push.build_alert(plan.owner, text, f"plan:{plan.id}", source="plan", ref=ref, hops=plan.hops)
