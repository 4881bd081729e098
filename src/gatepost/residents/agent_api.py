"""
Agents: guests, which read their inboxes themselves, and residents, which think here; and the sessions of guests, which
the hooks of their programs report.

Requests take a configuration loosely: `residents/agent_config_json.py` reads it, and says what is wrong with it.
Answers have every field, and their secrets are masked.
"""

from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import UNSET, Meta, field

from gatepost.core.times import SECOND, format_duration
from gatepost.directory.entity_api import Aliases, Change, ChangedAliases, EntityView
from gatepost.errors import Conflict, NotFound
from gatepost.guests.reachability import Reachability
from gatepost.guests.session import GuestSession
from gatepost.operations.access import Administrator, AnyEntity, NamedEntity, NamedEntityOrOwner
from gatepost.operations.fields import (
    After,
    Count,
    Format,
    Json,
    Limit,
    NewName,
    RecordView,
    Setting,
    Source,
    Time,
    describe,
)
from gatepost.operations.operation import Page, Repetition, Request, Stream, StreamedView, View, read, stream, write
from gatepost.operations.tool import FOR_MCP, Tool
from gatepost.residents import agent_config as records
from gatepost.residents.agent_config_json import mask_secrets
from gatepost.residents.model_api import ModelProblemView

#: the group of these operations in OpenAPI
TAG = "agents"

R = TypeVar("R")
_MODEL_SCHEMA: Final = {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}]}

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Object = dict[str, Any]
Secrets = Annotated[
    dict[str, str],
    describe("masked; a mask that is sent back stands for what is stored"),
    Format(mask_secrets),
]


class ConfiguringRequest(Request[R], kw_only=True):
    """A request that may have fields of a configuration. A field that is null gets its default."""

    secret_fields = frozenset({"tools", "mcp"})

    model: Annotated[
        Any,
        Meta(
            description="model, such as openai:gpt-5; demo needs no key",
            examples=["demo"],
            extra_json_schema=_MODEL_SCHEMA,
        ),
    ] = UNSET
    description: Setting[Annotated[str, describe("purpose of the agent, added to its prompt")]] = UNSET
    instructions: Setting[Annotated[str, describe("instructions for the model, up to 65,536 characters")]] = UNSET
    tools: Setting[Annotated[list[Any], Meta(max_length=128, description="tools that only this agent has")]] = UNSET
    mcp: Setting[Annotated[Object, describe("MCP servers whose tools it uses: {servers: [...]}")]] = UNSET
    mind: Setting[Annotated[Object, describe("limits of its mind: {maxTokens, minRecentCycles}")]] = UNSET
    loop: Setting[Annotated[Object, describe("limits of a cycle: {maxSteps, maxCalls, maxTokens, phases}")]] = UNSET
    budget: Setting[Annotated[Object, describe("limits of its spending: {tokens, cycles, per: hour or day}")]] = UNSET
    skills: Setting[Annotated[list[str], describe("what a guest, too, may do besides: routing")]] = UNSET
    capabilities: Setting[Annotated[list[str | int], describe("what it can do: codes of HCS-11, or names")]] = UNSET


class ModelView(RecordView[records.ModelChoice]):
    provider: Annotated[str, Meta(examples=["openai"]), Source(lambda model: model.name.partition(":")[0])]
    name: Annotated[
        str, Meta(examples=["gpt-5"]), Source(lambda model: model.name.partition(":")[2] or model.name.rstrip(":"))
    ]
    temperature: float | None
    max_tokens: int | None
    base_url: str | None
    key_env: str | None
    fallback: str | None


class ToolRequestView(RecordView[records.ToolRequest]):
    url: str
    method: Method
    headers: Secrets
    body: Json


class ToolView(RecordView[records.ConfiguredTool]):
    name: str
    description: str
    input_schema: Annotated[Json, Source("schema")]
    execution_type: Annotated[records.Execution, Source("execution")]
    visible: bool
    is_async: bool = field(name="async")
    timeout: Annotated[str, Meta(examples=["30s"]), Format(format_duration)]
    execution: Annotated[ToolRequestView | None, Source("request")]


class ToolServerView(RecordView[records.ToolServer]):
    name: str
    url: str | None
    headers: Secrets
    command: list[str]
    env: Secrets


class McpView(RecordView[records.McpConfig]):
    servers: list[ToolServerView]


class MindRulesView(RecordView[records.MindRules]):
    max_tokens: Count
    min_recent_cycles: Count


class PhaseView(RecordView[records.Phase]):
    step: Count
    tools: list[str]


class LoopRulesView(RecordView[records.LoopRules]):
    max_steps: Count
    max_calls: Count
    max_tokens: Count
    phases: list[PhaseView]


class BudgetView(RecordView[records.Budget]):
    """What a resident may spend in an hour or a day, in UTC."""

    tokens: Count | None
    cycles: Count | None
    per: Literal["hour", "day"]


class ConfigView(RecordView[records.AgentConfig]):
    model: ModelView
    description: str
    instructions: str
    tools: list[ToolView]
    mcp: McpView
    mind: MindRulesView
    loop: LoopRulesView
    budget: BudgetView | None
    capabilities: Annotated[list[int], describe("codes of HCS-11")]


class ReachabilityView(RecordView[Reachability]):
    """Whether a push reaches a session, and how that is known."""

    state: Annotated[
        Literal["armed", "proved", "unproved", "lost"],
        describe(
            "armed: what wakes it is there now; proved: and the last wake was read; unproved: nothing shows that a wake"
            " would reach it; lost: its program or what wakes it is gone"
        ),
    ]
    by: Annotated[Literal["waiter", "thread", "plugin"] | None, describe("how it is woken; null: nothing wakes it")]
    since: Time
    proved_at: Annotated[Time | None, describe("when the last wake was proved")]
    latency: Annotated[
        float | None,
        describe("seconds that it took from when the item could be shown until it was shown"),
        Format(lambda duration: round(duration / SECOND, 3)),
    ]

    def describe(self) -> str:
        """Return how it is reachable, since when, when that was last proved, and how fast the wake was."""
        by = f" by {self.by}" if self.by else ""
        proof = f", last woken in {self.latency} s, proved at {self.proved_at}" if self.proved_at else ""
        return f"{self.state}{by} since {self.since}{proof}"


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
    skills: Annotated[list[str], describe("what it may do besides: routing")]
    reachability: Annotated[
        ReachabilityView | None, describe("that of its most reachable session; null if it has none, or is a resident")
    ]
    config: ConfigView | None
    #: shown with the configuration
    model_problem: ModelProblemView | None


class WokenView(View):
    name: str
    woken: bool


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
    access=AnyEntity(),
    tool=Tool(
        name="list_agents",
        title="List agents",
        description="List agents: who is reachable, what they are doing, and what may wake them.",
        answer=("name", "display_name", "team", "role", "resident", "paused", "reachability", "presence", "attention"),
        hidden=("retired",),
        doors=FOR_MCP,
    ),
)
class ListAgents(Request[Page[AgentView]]):
    """List agents, in order of registration, without their configurations."""

    team: Annotated[str | None, describe("only members of this team")] = None
    retired: Annotated[bool, describe("include retired agents")] = False
    after: After = 0
    limit: Limit = 100


@read("GET /api/agents/{name}", access=AnyEntity())
class ShowAgent(Request[AgentView]):
    """Show an agent, by its name or an alias; its configuration only to itself and the administrator."""

    name: str


@write(
    "PATCH /api/agents/{name}",
    access=Administrator(),
    lane="directory",
    errors=(Conflict,),
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


@write("DELETE /api/agents/{name}", access=Administrator(), lane="directory", errors=(Conflict,))
class RetireAgent(Request[AgentView]):
    """Retire an agent: it keeps its history and receives nothing more."""

    name: str


@write(
    "POST /api/agents/{name}/wake",
    access=NamedEntity("name"),
    needs_disk_space=False,
    repetition=Repetition.SAFE,
    status=202,
)
class WakeAgent(Request[WokenView]):
    """Let an agent look at its inbox; if it is empty, nothing else happens."""

    name: str


@write("POST /api/agents/{name}/pause", access=Administrator(), needs_disk_space=False, lane="directory")
class PauseAgent(Request[AgentView]):
    """Keep a resident from beginning cycles; its inbox fills meanwhile. A run under way ends after its present step."""

    name: str


@write("POST /api/agents/{name}/resume", access=Administrator(), lane="directory")
class ResumeAgent(Request[AgentView]):
    """Let a paused resident think again."""

    name: str


SessionState = Literal["working", "idle", "ended"]


class SessionView(RecordView[GuestSession]):
    id: Annotated[str, Source("session")]
    agent: str
    host: str
    state: SessionState
    started_at: Time
    seen_at: Time
    pid: Annotated[
        int | None,
        describe("process of its program, on the machine where that runs"),
        Source(lambda session: int(session.program.split()[1]) if session.program else None),
    ]
    reachability: ReachabilityView


@read("GET /api/sessions/{id}", access=AnyEntity())
class ShowSession(Request[SessionView]):
    """Show a guest session of the caller, by the id that its program gave it: whose it is, and what it is doing."""

    id: str


@read("GET /api/sessions", access=NamedEntityOrOwner("agent"), errors=(NotFound,))
class ListSessions(Request[Page[SessionView]]):
    """
    List the guest sessions of the caller or of an agent that it owns, the newest first; for the administrator all.
    """

    agent: Annotated[str | None, describe("only sessions of this agent")] = None
    ended: Annotated[bool, describe("include sessions that have ended; they are kept for 30 days")] = False
    limit: Limit = 100


@stream("GET /api/agents/{name}/stream", access=NamedEntity("name"))
class WatchAgent(Stream[StreamedView]):
    """Watch all that concerns an agent: its inbox, its spaces, its activity. Resumes from Last-Event-ID."""

    name: str
