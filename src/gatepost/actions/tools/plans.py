"""The tools for plans."""

from dataclasses import dataclass
from typing import Annotated, Final

from gatepost.actions import plans as plan_actions
from gatepost.actions.tools.context import MAX_RESULT_SIZE, ToolContext, check_count, optional, shorten, take_fitting
from gatepost.core import plan as rules
from gatepost.core import wire
from gatepost.core.event import Json
from gatepost.core.plan import CatchUp, Plan, PlanSpec, PlanStatus
from gatepost.errors import Invalid

_MAX_PER_CALL: Final = 50
#: pending plans of one agent
_MAX_PENDING: Final = 200
#: plans that are listed, also ended ones
_LIST_LIMIT: Final = 1_000
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
class PlanInput:
    id: str | None = optional("the id of a plan of yours to change; without it a new plan is made")
    name: str | None = optional("a short name; a new plan needs one")
    instruction: str | None = optional("what you are to do when it is due")
    run_after: str | None = optional("how long from now: a number and a unit, such as '5 hours'")
    scheduled_at: str | None = optional("when: a time with its offset, such as 2026-02-20T10:00:00Z")
    cron: str | None = optional("again and again: five fields, such as '0 9 * * 1', or @daily")
    time_zone: str | None = optional("of cron, such as Europe/Berlin; UTC if you do not say")
    on_gate: str | None = optional("when a gate is resolved: its id, one that you have, made or wait for")
    catch_up: CatchUp | None = optional("of cron: what becomes of times that were missed")


def set_plans(
    ctx: ToolContext, plans: Annotated[list[PlanInput], f"plans to make or to change, at most {_MAX_PER_CALL}"]
) -> Json:
    """
    Plan to do something later: when a plan is due, an event in your inbox tells you. Give exactly one of runAfter,
    scheduledAt, cron and onGate. For what comes again and again use cron: a plan that you set anew whenever it was due
    counts as one long chain of events, and does not wake you for ever.
    """
    check_count(plans, _MAX_PER_CALL, "plans")
    specs = [_build_spec(plan_input) for plan_input in plans]
    new_count = sum(spec.id is None for spec in specs)
    pending_plans = plan_actions.page(ctx.tx, ctx.agent.name, status=PlanStatus.PENDING, limit=_MAX_PENDING)
    if new_count and len(pending_plans) + new_count > _MAX_PENDING:
        raise Invalid(f"that would be more than {_MAX_PENDING} plans", hint="delete those that are not needed any more")
    results = [plan_actions.set_plan(ctx.tx, ctx.agent.name, spec, hops=ctx.hops) for spec in specs]
    return {"success": True, "count": len(results), "ids": [plan.id for plan in results]}


def get_plans(ctx: ToolContext, status: Annotated[PlanStatus | None, "only plans that are so"] = None) -> Json:
    """Read your plans in full."""
    all_plans = plan_actions.page(ctx.tx, ctx.agent.name, status=status, limit=_LIST_LIMIT)
    documents = take_fitting([_build_plan_document(plan) for plan in all_plans])
    return {"plans": documents} | ({"more": len(all_plans) - len(documents)} if len(documents) < len(all_plans) else {})


def delete_plans(ctx: ToolContext, plan_ids: Annotated[list[str], "the ids of plans of yours"]) -> Json:
    """Delete plans of yours: they will not be due any more."""
    check_count(plan_ids, _MAX_PER_CALL, "plans")
    unique_ids = dict.fromkeys(plan_ids)
    for id in unique_ids:
        plan_actions.delete(ctx.tx, id, owner=ctx.agent.name)
    return {"success": True, "deleted": len(unique_ids)}


def _build_spec(plan_input: PlanInput) -> PlanSpec:
    return PlanSpec(
        id=plan_input.id,
        name=plan_input.name,
        instruction=plan_input.instruction,
        schedule=rules.parse_schedule(
            run_after=plan_input.run_after,
            scheduled_at=plan_input.scheduled_at,
            cron=plan_input.cron,
            zone=plan_input.time_zone,
            on_gate=plan_input.on_gate,
        ),
        catch_up=plan_input.catch_up,
    )


def _build_plan_document(plan: Plan) -> Json:
    document = wire.write_plan(plan)
    return {name: document[name] for name in _FIELDS} | {"instruction": shorten(plan.instruction, MAX_RESULT_SIZE // 2)}
