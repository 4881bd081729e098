"""
Configurations of residents.

Requests take a configuration loosely: `residents/agent_config_json.py` reads it, and says what is wrong with it.
Answers have every field, and their secrets are masked.
"""

from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import UNSET, Meta, field

from gatepost.core.times import format_duration
from gatepost.operations.fields import Count, Format, Json, RecordView, Setting, Source, describe
from gatepost.operations.operation import Request
from gatepost.residents.agent_config import (
    AgentConfig,
    Budget,
    Execution,
    LoopRules,
    MindRules,
    ModelChoice,
    Phase,
    Tool,
    ToolRequest,
    ToolServer,
)
from gatepost.residents.agent_config_json import mask_secrets

#: the group of these operations in OpenAPI
TAG = "agent_config"

R = TypeVar("R")
T = TypeVar("T")


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
    instructions: Setting[Annotated[str, describe("instructions for the model, up to 64 KiB")]] = UNSET
    tools: Setting[Annotated[list[Any], Meta(max_length=128, description="tools that only this agent has")]] = UNSET
    mcp: Setting[Annotated[Object, describe("MCP servers whose tools it uses: {servers: [...]}")]] = UNSET
    mind: Setting[Annotated[Object, describe("limits of its mind: {maxTokens, minRecentCycles}")]] = UNSET
    loop: Setting[Annotated[Object, describe("limits of a cycle: {maxSteps, maxCalls, maxTokens, phases}")]] = UNSET
    budget: Setting[Annotated[Object, describe("limits of its spending: {tokens, cycles, per: hour or day}")]] = UNSET
    skills: Setting[list[str]] = UNSET
    capabilities: Setting[Annotated[list[str | int], describe("what it can do: codes of HCS-11, or names")]] = UNSET


class ModelView(RecordView[ModelChoice]):
    provider: Annotated[str, Meta(examples=["openai"]), Source(lambda model: model.name.partition(":")[0])]
    name: Annotated[
        str, Meta(examples=["gpt-5"]), Source(lambda model: model.name.partition(":")[2] or model.name.rstrip(":"))
    ]
    temperature: float | None
    max_tokens: int | None
    base_url: str | None
    key_env: str | None
    fallback: str | None


class ToolRequestView(RecordView[ToolRequest]):
    url: str
    method: Method
    headers: Secrets
    body: Json


class ToolView(RecordView[Tool]):
    name: str
    description: str
    input_schema: Annotated[Json, Source("schema")]
    execution_type: Annotated[Execution, Source("execution")]
    visible: bool
    is_async: bool = field(name="async")
    timeout: Annotated[str, Meta(examples=["30s"]), Format(format_duration)]
    execution: Annotated[ToolRequestView | None, Source("request")]


class ToolServerView(RecordView[ToolServer]):
    name: str
    url: str | None
    headers: Secrets
    command: list[str]
    env: Secrets


class McpView(RecordView[AgentConfig]):
    servers: list[ToolServerView]


class MindRulesView(RecordView[MindRules]):
    max_tokens: Count
    min_recent_cycles: Count


class PhaseView(RecordView[Phase]):
    step: Count
    tools: list[str]


class LoopRulesView(RecordView[LoopRules]):
    max_steps: Count
    max_calls: Count
    max_tokens: Count
    phases: list[PhaseView]


class BudgetView(RecordView[Budget]):
    """What a resident may spend in an hour or a day, in UTC."""

    tokens: Count | None
    cycles: Count | None
    per: Literal["hour", "day"]


class ConfigView(RecordView[AgentConfig]):
    model: ModelView
    description: str
    instructions: str
    tools: list[ToolView]
    mcp: Annotated[McpView, Source(lambda config: config)]
    mind: MindRulesView
    loop: LoopRulesView
    budget: BudgetView | None
    skills: list[str]
    capabilities: Annotated[list[int], describe("codes of HCS-11")]
