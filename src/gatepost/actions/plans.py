"""
Plans: setting, seeing and firing them.

Any number of gateways tick, and nobody leads. Why each slot fires exactly once all the same:

- `fire` takes the rows of what is due before it looks at them, and skips those that another has taken. Whoever comes
  later finds the next slot in the row, because the events of a slot and the step to the next one are one transaction.
- Whoever changes or deletes a plan takes the same row, so a slot fires by the old plan or the new one, not by both.
- Should a slot come up again after all (a plan set back to a time that has fired), its event has the same dedup key,
  `plan:{id}:{slot}`, and is a repeat.

A plan that waits for a gate has no slot until that gate is resolved. The transaction that resolves it makes the slot,
so it fires once like any other; a gate that ends otherwise takes the plan with it. Whoever sets such a plan takes the
gate's row, so that no gate ends between the look at it and the commit.

A plan that is due soon goes on with the chain of events in which it was set (I13), else two agents could answer each
other for ever by way of their plans. One that is due much later does not (`chain.PAUSE`), nor one that recurs: its
owner would never be woken again once it was set late in a chain.

Only its owner, and an administrator (`owner=None`), sees a plan, changes it or deletes it. To everybody else it is not
there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gatepost.actions import directory, intake
from gatepost.core import ids
from gatepost.core import plan as rules
from gatepost.core.chain import PAUSE
from gatepost.core.cron import Cron
from gatepost.core.entity import Entity
from gatepost.core.event import Push, Ref, Type
from gatepost.core.gate import Ending, Gate
from gatepost.core.instants import Instant, rfc3339
from gatepost.core.plan import After, At, CatchUp, Firing, OnGate, Plan, PlanWish, Schedule, Status
from gatepost.core.ring import Ring
from gatepost.errors import Conflict, GatepostError, Invalid, LimitReached, NotFound
from gatepost.ports import Reader, Transaction
from gatepost.tables import entities, gates, plans

#: how many events one firing makes before it leaves the rest to the next
_MOST_EVENTS: Final = 1_000
_NOTHING: Final = Firing((), None)


@dataclass(slots=True)
class _Turn:
    """A plan that is due, and what came of it."""

    plan: Plan
    firing: Firing = _NOTHING
    new: int = 0
    refused: GatepostError | None = None


def set(tx: Transaction, owner: str | None, wish: PlanWish, *, by: str | None = None, hops: int = 0) -> Plan:
    """
    Make a plan or, with an id, change one. A schedule that is the one it has changes nothing; another one counts from
    now, and what was due by the old one and has not fired does not fire any more.

    `hops` says how long the chain of events is in which it is set; of a guest, if it is set `by` one, that is known. A
    change does not make it shorter. What is due much later, or again and again, begins a new one.
    """
    hops = max(hops, intake.next_hops(tx, directory.find_live(tx, by))) if by is not None else hops
    plan = _made(tx, owner, wish, hops) if wish.id is None else _changed(tx, owner, wish.id, wish, hops)
    tx.after_commit(Ring(f"plan:{plan.id}", "set", wakes=False))
    return plan


def page(
    tx: Reader, owner: str | Entity | None = None, *, status: Status | None = None, after: int = 0, limit: int = 100
) -> list[Plan]:
    """Plans in the order they were made; `after` is the number of the last one seen."""
    return plans.page(tx, owner=directory.number(tx, owner), status=status, after=after, most=limit)


def show(tx: Reader, id: str, *, owner: str | None = None) -> Plan:
    return _owned(tx, id, owner, plans.read(tx, ids.check("plan", id)))


def delete(tx: Transaction, id: str, *, owner: str | None = None) -> None:
    plans.delete(tx, _owned(tx, id, owner, plans.lock(tx, ids.check("plan", id))))


def fire(tx: Transaction, *, limit: int = 100) -> int:
    """
    Tell owners what has come due, in order of slots; return how many plans that were. Repeat it until there are none.
    A plan that cannot fire, because its owner is retired or its event is refused, is cancelled, and its owner alerted;
    for one who is retired, the administrator.
    """
    turns = list(_turns(plans.due(tx, limit), tx.now))
    _tell(tx, turns)
    if turns:
        plans.advance(tx, [_advanced(turn, tx.now) for turn in turns])
    intake.alert(tx, [_alert(turn.plan, turn.refused) for turn in turns if turn.refused])
    return len(turns)


def next_due(tx: Reader) -> Instant | None:
    """When a plan is due next; in the past if one is waiting to be fired."""
    return plans.next_due(tx)


def gate_ended(tx: Transaction, gate: Gate, ending: Ending, who: Entity | None = None, *, hops: int = 0) -> None:
    """What waited for a gate that `who` has just ended is due now or, if it was not resolved, cancelled and told of."""
    waiting = plans.of_gate(tx, gate.number)
    if not waiting:
        return
    hops = max(hops, intake.next_hops(tx, who))
    fresh = [replace(plan, hops=0) if tx.now - plan.created_at >= PAUSE else plan for plan in waiting]
    told = [_chained(replace(plan, next_at=tx.now), hops, tx.now) for plan in fresh]
    if ending is Ending.RESOLVED:
        plans.advance(tx, told)
        tx.after_commit(Ring(f"plan:{waiting[0].id}", "set", wakes=False))
    else:
        over = [replace(plan, status=Status.CANCELLED, next_at=None, ended_at=tx.now) for plan in told]
        plans.advance(tx, over)
        reason = Conflict(f"the gate {gate.name!r} ({gate.id}) that it waited for was {ending}")
        intake.alert(tx, [_alert(plan, reason) for plan in over])


def _made(tx: Transaction, owner: str | None, wish: PlanWish, hops: int) -> Plan:
    if owner is None:
        raise Invalid("a plan needs an owner", hint="name whose inbox it fires into")
    name, schedule = rules.required(wish)
    who = directory.find_live(tx, owner)
    _check_limit(tx, who)
    plan = Plan(
        id=tx.new_id("plan"),
        owner=who.name,
        name=rules.named(name),
        instruction=wish.instruction or "",
        cron=None,
        zone=None,
        catch_up=CatchUp.ONCE,
        status=Status.PENDING,
        next_at=None,
        last_at=None,
        fired=0,
        created_at=tx.now,
    )
    gate = _awaited(tx, who.name, schedule)
    plan = _checked(tx, _chained(_caught_up(_scheduled(plan, schedule, gate, tx.now), wish), hops, tx.now))
    return replace(plan, number=plans.insert(tx, plan, who.number, gate.number if gate else None))


def _changed(tx: Transaction, owner: str | None, id: str, wish: PlanWish, hops: int) -> Plan:
    found = _owned(tx, id, owner, plans.read(tx, ids.check("plan", id)))
    who = directory.find_live(tx, found.owner)
    if found.status is not Status.PENDING and wish.schedule is not None:  # it becomes pending again
        _check_limit(tx, who)
    # The gate's row first: so does whoever ends a gate.
    gate = _awaited(tx, who.name, wish.schedule)
    plan = _owned(tx, id, owner, plans.lock(tx, id))
    number = _gate_number(tx, plan.gate)
    if wish.name is not None:
        plan = replace(plan, name=rules.named(wish.name))
    if wish.instruction is not None:
        plan = replace(plan, instruction=wish.instruction)
    if wish.schedule is not None and not _has(plan, wish.schedule):
        plan, number = _scheduled(plan, wish.schedule, gate, tx.now), gate.number if gate else None
    plan = _checked(tx, _chained(_caught_up(plan, wish), hops, tx.now))
    plans.change(tx, plan, number)
    return plan


def _check_limit(tx: Transaction, owner: Entity) -> None:
    """Refuse one plan too many; the owner is locked, so that two who make one at once do not both find room."""
    entities.lock(tx, owner.number)
    limit = tx.limits.plans
    if plans.count_pending(tx, owner.number, limit) >= limit:
        raise LimitReached(
            f"{owner.name!r} has {limit} pending plans already, the limit for one entity",
            hint="delete some, or raise limits.plans",
        )


def _awaited(tx: Transaction, owner: str, schedule: Schedule | None) -> Gate | None:
    """Take the gate that a plan is to wait for: one that its owner may see, and that is, or may yet be, resolved."""
    if not isinstance(schedule, OnGate):
        return None
    gate = gates.lock(tx, schedule.gate)
    if gate is None or not gate.concerns(owner):
        raise NotFound(f"there is no gate {schedule.gate!r}", hint=f"it must be one that concerns {owner!r}")
    if gate.resolution is not None and gate.resolution.ending is not Ending.RESOLVED:
        raise Conflict(f"the gate {gate.id!r} was {gate.resolution.ending} already: it will not be resolved any more")
    return gate


def _gate_number(tx: Transaction, id: str | None) -> int | None:
    gate = gates.read(tx, id) if id is not None else None
    return gate.number if gate is not None else None


def _owned(tx: Reader, id: str, owner: str | None, plan: Plan | None) -> Plan:
    if plan is None or (owner is not None and plan.owner != directory.find(tx, owner).name):
        raise NotFound(f"there is no plan {id!r}")
    return plan


def _has(plan: Plan, schedule: Schedule) -> bool:
    match schedule:
        case Cron():
            return plan.status is Status.PENDING and plan.recurring == schedule
        case At(at):
            return plan.scheduled_at == at and plan.gate is None
        case OnGate(gate):
            return plan.gate == gate
        case After():
            return False


def _scheduled(plan: Plan, schedule: Schedule, gate: Gate | None, now: Instant) -> Plan:
    """The plan, due by a schedule: at once, if that is a gate which is resolved already."""
    cron = schedule if isinstance(schedule, Cron) else None
    return replace(
        plan,
        cron=cron.expression if cron else None,
        zone=cron.zone if cron else None,
        catch_up=plan.catch_up if cron else CatchUp.ONCE,
        status=Status.PENDING,
        next_at=now if gate is not None and not gate.pending else rules.first(schedule, now),
        ended_at=None,
        gate=gate.id if gate is not None else None,
    )


def _caught_up(plan: Plan, wish: PlanWish) -> Plan:
    if wish.catch_up is None:
        return plan
    if plan.cron is None:
        raise Invalid("catching up goes with cron", hint="what is due once fires once, however late")
    return replace(plan, catch_up=wish.catch_up)


def _chained(plan: Plan, hops: int, now: Instant) -> Plan:
    """A plan that goes on with a chain, if it is due once and soon; when a gate ends is not known yet."""
    goes_on = plan.cron is None and (plan.next_at is None or plan.next_at - now < PAUSE)
    return replace(plan, hops=max(plan.hops, hops) if goes_on else 0)


def _checked(tx: Transaction, plan: Plan) -> Plan:
    """Return the plan if its event can be stored: better now than when it is due."""
    intake.checked(_event(plan, tx.now), tx.limits)
    return plan


def _turns(due: Sequence[Plan], now: Instant) -> Iterator[_Turn]:
    events = 0
    for plan in due:
        if events >= _MOST_EVENTS:
            return
        turn = _Turn(plan)
        try:
            turn.firing = rules.due(plan, now)
        except GatepostError as error:  # a zone that was known where the plan was set, and is not here
            turn.refused = error
        events += len(turn.firing.slots)
        yield turn


def _tell(tx: Transaction, turns: Sequence[_Turn]) -> None:
    slots = [(slot, turn) for turn in turns for slot in turn.firing.slots]
    slots.sort(key=lambda one: (one[0], one[1].plan.number))
    outcomes = intake.push_all(tx, [_event(turn.plan, slot) for slot, turn in slots])
    for (_, turn), outcome in zip(slots, outcomes, strict=True):
        if isinstance(outcome, GatepostError):
            turn.refused = outcome
        elif not all(each.duplicate for each in outcome.deliveries):
            turn.new += 1


def _event(plan: Plan, slot: Instant) -> Push:
    """What the owner is told. When it was due is in it; when it fired is when the event was made."""
    return Push(
        to=plan.owner,
        type=Type.PLAN,
        source="plan",
        content=plan.instruction,
        data={"planId": plan.id, "planName": plan.name, "instruction": plan.instruction, "dueAt": slot},
        key=f"plan:{plan.id}:{rfc3339(slot)}",
        hops=plan.hops,
    )


def _advanced(turn: _Turn, now: Instant) -> Plan:
    plan = replace(turn.plan, next_at=turn.firing.next_at, fired=turn.plan.fired + turn.new)
    if turn.refused:
        return replace(plan, status=Status.CANCELLED, next_at=None, ended_at=now)
    if turn.firing.slots:
        plan = replace(plan, last_at=turn.firing.slots[-1])
    return plan if plan.next_at is not None else replace(plan, status=Status.COMPLETED, ended_at=now)


def _alert(plan: Plan, error: GatepostError) -> Push:
    """What the owner is told of a plan that has ended without firing."""
    words = f"the plan {plan.name!r} ({plan.id}) was due and could not fire: {error.message}"
    ref = Ref("plan", plan.id)
    return intake.warning(plan.owner, words, f"plan:{plan.id}", source="plan", ref=ref, hops=plan.hops)
