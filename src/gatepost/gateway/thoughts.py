"""What answers about residents look like, for the OpenAPI: what they are told to be, their runs and their minds."""

from typing import Annotated, Any, Final, Literal, TypedDict

from msgspec import Meta

from gatepost.gateway.shapes import Count, Cursor, Entity, Time

RunStatus = Literal["running", "waiting_tool", "completed", "skipped", "failed", "cancelled"]
Secrets = Annotated[dict[str, str], Meta(description="masked; a mask that is sent back stands for what is stored")]


class Model(TypedDict):
    provider: Annotated[str, Meta(examples=["openai"])]
    name: Annotated[str, Meta(examples=["gpt-5"])]
    temperature: float | None
    maxTokens: int | None
    baseUrl: str | None
    keyEnv: str | None
    fallback: str | None


class ToolRequest(TypedDict):
    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    headers: Secrets
    body: Any


Tool = TypedDict(  # one of its names is a word of Python
    "Tool",
    {
        "name": str,
        "description": str,
        "inputSchema": Any,
        "executionType": Literal["gateway", "external", "space", "internal"],
        "visible": bool,
        "async": bool,
        "timeout": Annotated[str, Meta(examples=["30s"])],
        "execution": ToolRequest | None,
    },
)


class ToolServer(TypedDict):
    name: str
    url: str | None
    headers: Secrets
    command: list[str]
    env: Secrets


class Mcp(TypedDict):
    servers: list[ToolServer]


class MindRules(TypedDict):
    maxTokens: int
    minRecentCycles: int


class Phase(TypedDict):
    step: int
    tools: list[str]


class LoopRules(TypedDict):
    maxSteps: int
    maxTokens: int
    phases: list[Phase]


class Config(TypedDict):
    model: Model
    description: str
    instructions: str
    tools: list[Tool]
    mcp: Mcp
    mind: MindRules
    loop: LoopRules
    skills: list[str]


class Agent(Entity, TypedDict):
    """An agent. A resident has a configuration, which itself and the administrator are shown; a guest has none."""

    resident: bool
    paused: bool
    pausedAt: Time | None
    cycles: Count
    mindTokens: Count
    failures: Count
    restUntil: Time | None
    version: Count
    config: Config | None


class AgentPage(TypedDict):
    items: list[Agent]
    next: Cursor | None


class Run(TypedDict):
    id: str
    agent: str
    status: RunStatus
    cycleNumber: Count
    cause: str
    events: Count
    steps: Count
    effects: Count
    promptTokens: Count
    completionTokens: Count
    hops: Count
    version: Count
    model: str
    summary: str
    error: str | None
    startedAt: Time
    endedAt: Time | None
    durationMs: int | None


class OpenCall(TypedDict):
    """A call of a tool that somebody outside answers."""

    id: str
    run: str
    agent: str
    tool: str
    arguments: str
    status: Literal["pending", "resolved", "expired"]
    result: Any
    createdAt: Time
    expiresAt: Time
    endedAt: Time | None


class RunShown(Run):
    calls: list[OpenCall]


class RunPage(TypedDict):
    items: list[Run]
    next: Cursor | None


class Prompt(TypedDict):
    text: str
    events: list[str]


class Call(TypedDict):
    id: str
    tool: str
    arguments: Annotated[str, Meta(description="JSON, as the model wrote it")]


class Usage(TypedDict):
    promptTokens: Count
    completionTokens: Count


class Reply(TypedDict):
    text: str
    calls: list[Call]
    usage: Usage
    model: str


class Result(TypedDict):
    call: str
    tool: str
    content: Annotated[str, Meta(description="JSON")]
    ok: bool


class Turn(TypedDict):
    """What was shown, said or returned: that of the three which `kind` names."""

    kind: Literal["prompt", "reply", "result"]
    prompt: Prompt | None
    reply: Reply | None
    result: Result | None


class Step(Turn):
    number: Annotated[int, Meta(ge=1)]
    at: Time


class StepPage(TypedDict):
    items: list[Step]
    next: Cursor | None


class Replayed(TypedDict):
    """A past run, and what another model would have said and done."""

    run: str
    model: str
    same: bool
    original: list[Step]
    replayed: list[Turn]


class Mind(TypedDict):
    agent: str
    tokens: Count
    summaries: list[str]
    dropped: Annotated[int, Meta(ge=0, description="summaries that were let go; the runs are still there")]
    turns: list[Turn]


class Memory(TypedDict):
    key: str
    value: str
    updatedAt: Time


class MemoryPage(TypedDict):
    items: list[Memory]
    next: Cursor | None


class Goal(TypedDict):
    id: str
    description: str
    status: Literal["active", "completed", "abandoned"]
    priority: int
    createdAt: Time
    updatedAt: Time


class GoalPage(TypedDict):
    items: list[Goal]
    next: Cursor | None


#: what routes answer with; the shapes within them come along
ALL: Final = (Agent, AgentPage, Run, RunShown, RunPage, OpenCall, StepPage, Replayed, Mind, MemoryPage, GoalPage)
