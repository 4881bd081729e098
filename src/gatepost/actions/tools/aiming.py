"""The tools for goals. There is none to read them: they are shown in every cycle."""

from dataclasses import dataclass
from typing import Annotated

from gatepost.actions import goals as verbs
from gatepost.actions.tools.desk import Desk, optional
from gatepost.core.event import Json
from gatepost.core.goal import MOST, GoalWish, Status
from gatepost.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim(GoalWish):
    id: str | None = optional("the id of a goal of yours to change; without it a new goal is made")
    description: str | None = optional("what you want to reach; a new goal needs one")
    status: Status | None = optional("a new goal is active")
    priority: int | None = optional("higher is more; 0 if you do not say")


def set_goals(desk: Desk, goals: Annotated[list[Aim], "goals to make or to change"]) -> Json:
    """Set goals for yourself, or change them. Your active goals are shown to you in every cycle."""
    if len(goals) > MOST:
        raise Invalid(f"{len(goals)} goals are too many", hint=f"have at most {MOST}")
    made = verbs.set(desk.tx, desk.me.name, goals)
    return {"success": True, "count": len(made), "ids": [goal.id for goal in made]}


def delete_goals(desk: Desk, goal_ids: Annotated[list[str], "the ids of goals of yours"]) -> Json:
    """Delete goals of yours for good. A goal that you have reached is better marked as completed."""
    return {"success": True, "deleted": verbs.delete(desk.tx, desk.me.name, goal_ids)}
