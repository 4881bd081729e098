"""The tools for plans."""

from dataclasses import dataclass
from typing import Annotated, Final

from gatepost.actions import plans as verbs
from gatepost.actions.tools.desk import ROOM, Desk, brief, few, fitting, optional
from gatepost.core import plan as rules
from gatepost.core import wire
from gatepost.core.event import Json
from gatepost.core.plan import CatchUp, Plan, PlanWish, Status
from gatepost.errors import Invalid

#: plans of one call, and plans of one agent that are still to fire
_AT_ONCE: Final = 50
_PENDING: Final = 200
#: plans that are shown, over ones included
_SHOWN: Final = 1_000
_FIELDS: Final = (
    "id",
    "name",
    "instruction",
    "cron",
    "timeZone",
    "scheduledAt",
    "onGate",
    "nextRunAt",
    "status",
    "isRecurring",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intention:
    id: str | None = optional("the id of a plan of yours to change; without it a new plan is made")
    name: str | None = optional("a short name; a new plan needs one")
    instruction: str | None = optional("what you are to do when it is due")
    run_after: str | None = optional("how long from now: a number and a unit, such as '5 hours'")
    scheduled_at: str | None = optional("when: a time with its offset, such as 2026-02-20T10:00:00Z")
    cron: str | None = optional("again and again: five fields, such as '0 9 * * 1', or @daily")
    time_zone: str | None = optional("of cron, such as Europe/Berlin; UTC if you do not say")
    on_gate: str | None = optional("when a gate is resolved: its id, one that you have, made or wait for")
    catch_up: CatchUp | None = optional("of cron: what becomes of times that were missed")


def set_plans(desk: Desk, plans: Annotated[list[Intention], f"plans to make or to change, at most {_AT_ONCE}"]) -> Json:
    """
    Plan to do something later: when a plan is due, an event in your inbox tells you. Give exactly one of runAfter,
    scheduledAt, cron and onGate. For what comes again and again use cron: a plan that you set anew whenever it was due
    counts as one long chain of events, and does not wake you for ever.
    """
    few(plans, _AT_ONCE, "plans")
    wishes = [_wish(each) for each in plans]
    new = sum(wish.id is None for wish in wishes)
    pending = verbs.page(desk.tx, desk.me.name, status=Status.PENDING, limit=_PENDING)
    if new and len(pending) + new > _PENDING:
        raise Invalid(f"that would be more than {_PENDING} plans", hint="delete those that are not needed any more")
    made = [verbs.set(desk.tx, desk.me.name, wish, hops=desk.hops) for wish in wishes]
    return {"success": True, "count": len(made), "ids": [plan.id for plan in made]}


def get_plans(desk: Desk, status: Annotated[Status | None, "only plans that are so"] = None) -> Json:
    """Read your plans in full."""
    found = verbs.page(desk.tx, desk.me.name, status=status, limit=_SHOWN)
    shown = fitting([_plan(plan) for plan in found])
    return {"plans": shown} | ({"more": len(found) - len(shown)} if len(shown) < len(found) else {})


def delete_plans(desk: Desk, plan_ids: Annotated[list[str], "the ids of plans of yours"]) -> Json:
    """Delete plans of yours: they will not be due any more."""
    few(plan_ids, _AT_ONCE, "plans")
    wanted = dict.fromkeys(plan_ids)
    for id in wanted:
        verbs.delete(desk.tx, id, owner=desk.me.name)
    return {"success": True, "deleted": len(wanted)}


def _wish(given: Intention) -> PlanWish:
    return PlanWish(
        id=given.id,
        name=given.name,
        instruction=given.instruction,
        schedule=rules.schedule(
            run_after=given.run_after,
            scheduled_at=given.scheduled_at,
            cron=given.cron,
            zone=given.time_zone,
            on_gate=given.on_gate,
        ),
        catch_up=given.catch_up,
    )


def _plan(plan: Plan) -> Json:
    document = wire.plan(plan)
    return {name: document[name] for name in _FIELDS} | {"instruction": brief(plan.instruction, ROOM // 2)}
