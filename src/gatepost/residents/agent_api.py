"""
Agents: guests, which read their inboxes themselves, and residents, which think here. What else is theirs: minds, goals,
memories, and the sessions of guests, which the hooks of their programs report.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta

from gatepost.directory.entity_api import Aliases, Change, ChangedAliases, EntityView
from gatepost.errors import Conflict, NotFound
from gatepost.guests.session import GuestSession
from gatepost.operations.access import Administrator, Anybody, Owner, Readers
from gatepost.operations.fields import After, Count, Cursor, Limit, NewName, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Repetition, Request, Stream, StreamedView, View, read, stream, write
from gatepost.operations.tool import McpTool
from gatepost.residents.agent_config_api import ConfiguringRequest, ConfigView
from gatepost.residents.memory import Goal, GoalStatus, Memory
from gatepost.residents.mind import MindSummaries
from gatepost.residents.runs.api import TurnView

#: the group of these operations in OpenAPI
TAG = "agents"


class AgentView(EntityView):
    """An agent. A resident has a configuration, which itself and the administrator are shown; a guest has none."""

    version: Count
    paused_at: Time | None
    cycles: Count
    mind_tokens: Count
    failures: Count
    rest_until: Time | None
    resident: bool
    paused: bool
    config: ConfigView | None


class AgentPage(Page[AgentView]):
    pass


class WokenView(View):
    name: str
    woken: bool


class MindView(RecordView[MindSummaries]):
    agent: str
    tokens: Count
    summaries: list[str]
    dropped: Annotated[
        int, Meta(ge=0, description="number of dropped summaries; their runs are still there"), Source("dropped_count")
    ]
    turns: list[TurnView]


@write(
    "POST /api/agents",
    access=Administrator(),
    lane="directory",
    status=201,
    errors=(NotFound, Conflict),
    example={
        "name": "analyst",
        "displayName": "Analyst",
        "model": "demo",
        "instructions": "Answer questions about revenue.",
        "tools": [
            {
                "name": "revenue",
                "description": "Revenue of a quarter",
                "inputSchema": {"type": "object", "properties": {"quarter": {"type": "string"}}},
                "execution": {"url": "https://crm.example.com/revenue/{quarter}", "method": "GET"},
            }
        ],
    },
)
class RegisterAgent(ConfiguringRequest[AgentView]):
    """Register an agent: a resident if anything of a configuration is given, else a guest, without capabilities."""

    name: NewName
    display_name: str | None = None
    team: str | None = None
    role: str | None = None
    owner: str | None = None
    aliases: Aliases = ()


@read(
    "GET /api/agents",
    access=Anybody(),
    tool=McpTool(
        name="list_agents",
        title="List agents",
        answer=("name", "display_name", "team", "role", "resident", "paused"),
        hidden=("retired",),
    ),
)
class ListAgents(Request[AgentPage]):
    """List agents, in order of registration, without their configurations."""

    team: Annotated[str | None, describe("only members of this team")] = None
    retired: Annotated[bool, describe("include retired agents")] = False
    after: After = 0
    limit: Limit = 100


@read("GET /api/agents/{name}", access=Anybody(), errors=(NotFound,))
class ShowAgent(Request[AgentView]):
    """Show an agent, by its name or an alias; its configuration only to itself and the administrator."""

    name: str


@write(
    "PATCH /api/agents/{name}",
    access=Administrator(),
    lane="directory",
    errors=(NotFound, Conflict),
    example={"displayName": "Analyst", "instructions": "Answer briefly.", "loop": {"maxSteps": 10}},
)
class ChangeAgent(ConfiguringRequest[AgentView]):
    """Change what is named in the body; the rest stays. A guest that is given a configuration becomes a resident."""

    name: str
    display_name: Change = UNSET
    team: Change = UNSET
    role: Change = UNSET
    owner: Change = UNSET
    aliases: ChangedAliases = UNSET


@write("DELETE /api/agents/{name}", access=Administrator(), lane="directory", errors=(NotFound, Conflict))
class RetireAgent(Request[AgentView]):
    """Retire an agent: it keeps its history and receives nothing more."""

    name: str


@write("POST /api/agents/{name}/wake", access=Owner("name"), repetition=Repetition.SAFE, status=202, errors=(NotFound,))
class WakeAgent(Request[WokenView]):
    """Let an agent look at its inbox; if it is empty, nothing else happens."""

    name: str


@write("POST /api/agents/{name}/pause", access=Administrator(), lane="directory", errors=(NotFound,))
class PauseAgent(Request[AgentView]):
    """Keep a resident from beginning cycles; its inbox fills meanwhile."""

    name: str


@write("POST /api/agents/{name}/resume", access=Administrator(), lane="directory", errors=(NotFound,))
class ResumeAgent(Request[AgentView]):
    """Let a paused resident think again."""

    name: str


@read("GET /api/agents/{name}/mind", access=Readers("name"), errors=(NotFound,))
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


class GoalPage(Page[GoalView]):
    pass


@read("GET /api/agents/{name}/goals", access=Readers("name"), errors=(NotFound,))
class ListGoals(Request[GoalPage]):
    """List the goals of an agent, the most important first."""

    name: str
    status: Annotated[GoalStatus | None, describe("only goals with this status")] = None


class MemoryView(RecordView[Memory]):
    key: str
    value: str
    updated_at: Time


class MemoryPage(Page[MemoryView]):
    pass


@read("GET /api/agents/{name}/memories", access=Readers("name"), errors=(NotFound,))
class ListMemories(Request[MemoryPage]):
    """List the memories of an agent, the newest first."""

    name: str
    after: Cursor = None
    limit: Limit = 1000


SessionState = Literal["working", "idle", "ended"]


class SessionView(RecordView[GuestSession]):
    id: Annotated[str, Source("session")]
    agent: str
    host: str
    state: SessionState
    started_at: Time
    seen_at: Time


@read("GET /api/sessions/{id}", access=Anybody(), errors=(NotFound,))
class ShowSession(Request[SessionView]):
    """Show a session of the caller, by the id that its program gave it: whose it is, and what it is doing."""

    id: str


@stream("GET /api/agents/{name}/stream", access=Owner("name"), errors=(NotFound,))
class WatchAgent(Stream[StreamedView]):
    """Watch all that concerns an agent: its inbox, its spaces, its activity. Resumes from Last-Event-ID."""

    name: str
