"""Goals of agents."""

from gatepost.actions import memories
from gatepost.api.access import Caller
from gatepost.api.goals import GoalPage, GoalView, ListGoals
from gatepost.handlers.agents import find_agent
from gatepost.ports import Reader


@ListGoals.handler
def list_goals(tx: Reader, request: ListGoals, caller: Caller) -> GoalPage:
    rows = memories.page_goals(tx, find_agent(tx, request.name).name, status=request.status)
    return GoalPage(items=[GoalView.of(goal) for goal in rows], next=None)
