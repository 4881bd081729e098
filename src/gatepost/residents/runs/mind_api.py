"""What a resident keeps from one cycle to the next: its mind, its goals and its memories."""

from typing import Annotated

from msgspec import Meta

from gatepost.operations.access import NamedEntityOrOwner
from gatepost.operations.fields import Count, Cursor, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read
from gatepost.residents.goal_and_memory import Goal, GoalStatus, Memory
from gatepost.residents.mind_compaction import MindSummaries
from gatepost.residents.runs.api import TurnView

#: the group of these operations in OpenAPI
TAG = "agents"


class MindView(RecordView[MindSummaries]):
    agent: str
    tokens: Count
    summaries: list[str]
    dropped: Annotated[
        int, Meta(ge=0, description="number of dropped summaries; their runs are still there"), Source("dropped_count")
    ]
    turns: list[TurnView]


@read("GET /api/agents/{name}/mind", access=NamedEntityOrOwner("name"))
class ShowMind(Request[MindView]):
    """Show what a resident would begin its next cycle with."""

    name: str


class GoalView(RecordView[Goal]):
    id: str
    description: str
    status: GoalStatus
    created_at: Time
    updated_at: Time
    priority: int


@read("GET /api/agents/{name}/goals", access=NamedEntityOrOwner("name"))
class ListGoals(Request[Page[GoalView]]):
    """List the goals of an agent, the most important first."""

    name: str
    status: Annotated[GoalStatus | None, describe("only goals with this status")] = None


class MemoryView(RecordView[Memory]):
    key: str
    value: str
    updated_at: Time


@read("GET /api/agents/{name}/memories", access=NamedEntityOrOwner("name"))
class ListMemories(Request[Page[MemoryView]]):
    """List the memories of an agent, the newest first."""

    name: str
    after: Cursor = None
    limit: Limit = 1000
