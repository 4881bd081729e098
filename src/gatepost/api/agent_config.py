"""
Configurations of residents.

Requests take a configuration loosely: `core/agent_config.py` reads it, and says what is wrong with it. Answers have
every field, and their secrets are masked.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import UNSET, Meta, UnsetType, field

from gatepost.api.fields import Count, Format, Json, RecordView, Source
from gatepost.api.operation import Request
from gatepost.core.agent import (
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
from gatepost.core.agent_config import mask
from gatepost.core.times import format_duration

R = TypeVar("R")


def _mask_secrets(secrets: Mapping[str, str]) -> dict[str, str]:
    return {name: mask(secret) for name, secret in secrets.items()}


_MODEL_SCHEMA: Final = {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}]}

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Object = dict[str, Any]
Secrets = Annotated[
    dict[str, str],
    Meta(description="masked; a mask that is sent back stands for what is stored"),
    Format(_mask_secrets),
]


class ConfiguringRequest(Request[R], kw_only=True):
    """A request that may have fields of a configuration. A field that is null gets its default."""

    model: Annotated[
        Any,
        Meta(
            description="such as openai:gpt-5, or demo, which needs no key",
            examples=["demo"],
            extra_json_schema=_MODEL_SCHEMA,
        ),
    ] = UNSET
    description: Annotated[str, Meta(description="what it is for, in its own prompt")] | UnsetType | None = UNSET
    instructions: Annotated[str, Meta(description="up to 64 KiB")] | UnsetType | None = UNSET
    tools: Annotated[list[Any], Meta(max_length=128, description="tools of its own")] | UnsetType | None = UNSET
    mcp: Annotated[Object, Meta(description="servers that bring tools: {servers: [...]}")] | UnsetType | None = UNSET
    mind: Annotated[Object, Meta(description="{maxTokens, minRecentCycles}")] | UnsetType | None = UNSET
    loop: Annotated[Object, Meta(description="{maxSteps, maxCalls, maxTokens, phases}")] | UnsetType | None = UNSET
    budget: Annotated[Object, Meta(description="{tokens, cycles, per: hour or day}")] | UnsetType | None = UNSET
    skills: list[str] | UnsetType | None = UNSET


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
