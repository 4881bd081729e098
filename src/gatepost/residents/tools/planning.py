"""
The tools for what an agent notes for itself: goals, memories and plans. No tool reads goals, because the system prompt
of every cycle lists them.
"""

from dataclasses import asdict, dataclass, field
from typing import Annotated, Final

from gatepost.core.json_limits import Json
from gatepost.errors import Invalid
from gatepost.plans import actions as plan_actions, plan as rules
from gatepost.plans.plan import CatchUp, PlanSpec, PlanStatus
from gatepost.residents import goal_and_memory_actions
from gatepost.residents.goal_and_memory import (
    MAX_GOALS,
    MAX_KEY_LENGTH,
    MAX_MEMORIES,
    MAX_VALUE_BYTES,
    GoalSpec,
    GoalStatus,
)
from gatepost.residents.tools.context import MAX_RESULT_SIZE, ToolContext, check_count, optional, shorten, take_fitting

_MAX_MEMORIES_PER_CALL: Final = 100
_MAX_PLANS_PER_CALL: Final = 50
#: pending plans of one agent
_MAX_PENDING_PLANS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalInput:
    id: str | None = optional("the id of a goal of yours to change; without it a new goal is made")
    description: str | None = optional("what you want to reach; a new goal needs one")
    status: GoalStatus | None = optional("a new goal is active")
    priority: int | None = optional("higher is more; 0 if you do not say")


def set_goals(ctx: ToolContext, goals: Annotated[list[GoalInput], "goals to make or to change"]) -> Json:
    """Set goals for yourself, or change them. Your active goals are shown to you in every cycle."""
    if len(goals) > MAX_GOALS:
        raise Invalid(f"{len(goals)} goals are too many", hint=f"have at most {MAX_GOALS}")
    new_goals = goal_and_memory_actions.set_goals(ctx.tx, ctx.agent.name, [GoalSpec(**asdict(goal)) for goal in goals])
    return {"success": True, "count": len(new_goals), "ids": [goal.id for goal in new_goals]}


def delete_goals(ctx: ToolContext, goal_ids: Annotated[list[str], "the ids of goals of yours"]) -> Json:
    """Delete goals of yours for good. A goal that you have reached is better marked as completed."""
    return {"success": True, "deleted": goal_and_memory_actions.delete_goals(ctx.tx, ctx.agent.name, goal_ids)}


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInput:
    key: str = field(metadata={"description": f"a short name for it, at most {MAX_KEY_LENGTH} characters"})
    value: str = field(metadata={"description": f"what to remember, at most {MAX_VALUE_BYTES // 1024} KB"})


def set_memories(
    ctx: ToolContext,
    memories: Annotated[list[MemoryInput], f"what to remember, at most {_MAX_MEMORIES_PER_CALL} at once"],
) -> Json:
    """
    Remember things beyond this conversation. The newest are shown to you in every cycle. A key that you have used
    before gets the new value.
    """
    check_count(memories, _MAX_MEMORIES_PER_CALL, "memories")
    count = goal_and_memory_actions.set_memories(
        ctx.tx, ctx.agent.name, {memory.key: memory.value for memory in memories}
    )
    return {"success": True, "count": count}


def get_memories(
    ctx: ToolContext, keys: Annotated[list[str] | None, "which ones; without it, all, the newest first"] = None
) -> Json:
    """Read your memories in full."""
    check_count(keys or (), _MAX_MEMORIES_PER_CALL, "memories")
    all_memories = goal_and_memory_actions.list_memories(ctx.tx, ctx.agent.name, keys=keys, limit=MAX_MEMORIES)
    documents = take_fitting(
        [{"key": memory.key, "value": shorten(memory.value, MAX_RESULT_SIZE // 2)} for memory in all_memories]
    )
    more_keys = [memory.key for memory in all_memories[len(documents) :]][:_MAX_MEMORIES_PER_CALL]
    return {"memories": documents} | ({"more": more_keys} if more_keys else {})


def delete_memories(ctx: ToolContext, keys: Annotated[list[str], "which ones to forget"]) -> Json:
    """Forget what you do not need any more."""
    check_count(keys, _MAX_MEMORIES_PER_CALL, "memories")
    return {"success": True, "deleted": goal_and_memory_actions.delete_memories(ctx.tx, ctx.agent.name, keys)}


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
    active: bool | None = optional("false: it does not fire; a plan that is disabled stays so until you say true")


def set_plans(
    ctx: ToolContext, plans: Annotated[list[PlanInput], f"plans to make or to change, at most {_MAX_PLANS_PER_CALL}"]
) -> Json:
    """
    Plan to do something later: when a plan is due, an event in your inbox tells you. Give exactly one of runAfter,
    scheduledAt, cron and onGate. For what comes again and again use cron: a plan that you set anew whenever it was due
    counts as one long chain of events, and does not wake you for ever.
    """
    check_count(plans, _MAX_PLANS_PER_CALL, "plans")
    specs = [_build_spec(plan_input) for plan_input in plans]
    new_count = sum(spec.id is None for spec in specs)
    pending_plans = plan_actions.list_page(ctx.tx, ctx.agent.name, status=PlanStatus.PENDING, limit=_MAX_PENDING_PLANS)
    if new_count and len(pending_plans) + new_count > _MAX_PENDING_PLANS:
        raise Invalid(
            f"that would be more than {_MAX_PENDING_PLANS} plans", hint="delete those that are not needed any more"
        )
    results = [plan_actions.set_plan(ctx.tx, ctx.agent.name, spec, by=ctx.agent.name) for spec in specs]
    disabled_ids = [plan.id for plan in results if not plan.active]
    document: dict[str, Json] = {"success": True, "count": len(results), "ids": [plan.id for plan in results]}
    return document | ({"disabled": disabled_ids} if disabled_ids else {})


def delete_plans(ctx: ToolContext, plan_ids: Annotated[list[str], "the ids of plans of yours"]) -> Json:
    """Delete plans of yours: they will not be due any more."""
    check_count(plan_ids, _MAX_PLANS_PER_CALL, "plans")
    unique_ids = dict.fromkeys(plan_ids)
    for id in unique_ids:
        plan_actions.delete(ctx.tx, id, owner=ctx.agent.name)
    return {"success": True, "deleted": len(unique_ids)}


def _build_spec(plan: PlanInput) -> PlanSpec:
    fields = {name: getattr(plan, name) for name in ("id", "name", "instruction", "catch_up", "active")}
    return PlanSpec(**fields, schedule=rules.read_schedule(plan))
