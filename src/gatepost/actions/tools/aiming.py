"""The tools for goals. There is none to read them: they are shown in every cycle."""

from dataclasses import dataclass, field
from typing import Annotated

from gatepost.actions import goals as verbs
from gatepost.actions.tools.desk import Desk
from gatepost.core.event import Json
from gatepost.core.goal import MOST, GoalWish, Status
from gatepost.errors import Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    id: str | None = field(
        default=None, metadata={"description": "the id of a goal of yours to change; without it a new goal is made"}
    )
    description: str | None = field(
        default=None, metadata={"description": "what you want to reach; a new goal needs one"}
    )
    status: Status | None = field(default=None, metadata={"description": "a new goal is active"})
    priority: int | None = field(default=None, metadata={"description": "higher is more; 0 if you do not say"})


def set_goals(desk: Desk, goals: Annotated[list[Aim], "goals to make or to change"]) -> Json:
    """Set goals for yourself, or change them. Your active goals are shown to you in every cycle."""
    if len(goals) > MOST:
        raise Invalid(f"{len(goals)} goals are too many", hint=f"have at most {MOST}")
    wishes = [
        GoalWish(id=aim.id, description=aim.description, status=aim.status, priority=aim.priority) for aim in goals
    ]
    made = verbs.set(desk.work, desk.me.name, wishes)
    return {"success": True, "count": len(made), "ids": [goal.id for goal in made]}


def delete_goals(desk: Desk, goal_ids: Annotated[list[str], "the ids of goals of yours"]) -> Json:
    """Delete goals of yours for good. A goal that you have reached is better marked as completed."""
    return {"success": True, "deleted": verbs.delete(desk.work, desk.me.name, goal_ids)}
