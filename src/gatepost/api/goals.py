"""Goals of agents."""

from gatepost.api.access import Owner
from gatepost.api.fields import RecordView, Time
from gatepost.api.operation import Page, Request, read
from gatepost.core.memory import Goal, GoalStatus
from gatepost.errors import NotFound


class GoalView(RecordView[Goal]):
    id: str
    description: str
    status: GoalStatus
    created_at: Time
    updated_at: Time
    priority: int


class GoalPage(Page[GoalView]):
    pass


@read("GET /api/agents/{name}/goals", access=Owner("name"), errors=(NotFound,))
class ListGoals(Request[GoalPage]):
    """List what an agent works towards, the most important first."""

    name: str
    status: GoalStatus | None = None
