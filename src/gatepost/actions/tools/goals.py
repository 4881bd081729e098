"""The tools for goals. No tool reads them, because the system prompt of every cycle lists them."""

from dataclasses import dataclass
from typing import Annotated

from gatepost.actions import goals as goal_actions
from gatepost.actions.tools.context import ToolContext, optional
from gatepost.core.event import Json
from gatepost.core.memory import MAX_GOALS, GoalSpec, GoalStatus
from gatepost.errors import Invalid


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
    specs = [
        GoalSpec(id=goal.id, description=goal.description, status=goal.status, priority=goal.priority) for goal in goals
    ]
    new_goals = goal_actions.set_goals(ctx.tx, ctx.agent.name, specs)
    return {"success": True, "count": len(new_goals), "ids": [goal.id for goal in new_goals]}


def delete_goals(ctx: ToolContext, goal_ids: Annotated[list[str], "the ids of goals of yours"]) -> Json:
    """Delete goals of yours for good. A goal that you have reached is better marked as completed."""
    return {"success": True, "deleted": goal_actions.delete(ctx.tx, ctx.agent.name, goal_ids)}
