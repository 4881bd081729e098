"""Goals of agents."""

from typing import Self

from gatepost.api.access import Owner
from gatepost.api.fields import Time
from gatepost.api.operation import Page, Request, View, read
from gatepost.core.memory import Goal, GoalStatus
from gatepost.core.times import format_rfc3339
from gatepost.errors import NotFound


class GoalView(View):
    id: str
    description: str
    status: GoalStatus
    created_at: Time
    updated_at: Time
    priority: int

    @classmethod
    def of(cls, goal: Goal) -> Self:
        return cls(
            id=goal.id,
            description=goal.description,
            status=goal.status,
            created_at=format_rfc3339(goal.created_at),
            updated_at=format_rfc3339(goal.updated_at),
            priority=goal.priority,
        )


class GoalPage(Page[GoalView]):
    pass


@read("GET /api/agents/{name}/goals", access=Owner("name"), errors=(NotFound,))
class ListGoals(Request[GoalPage]):
    """List what an agent works towards, the most important first."""

    name: str
    status: GoalStatus | None = None
