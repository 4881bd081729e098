"""
Configurations of residents.

Requests take a configuration loosely: `core/agent_config.py` reads it, and says what is wrong with it. Answers have
every field, and their secrets are masked.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeVar, cast

from msgspec import UNSET, Meta, UnsetType, field

from gatepost.api.fields import Count, Json
from gatepost.api.operation import Request, View
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

_MODEL_SCHEMA: Final = {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}]}

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Secrets = Annotated[dict[str, str], Meta(description="masked; a mask that is sent back stands for what is stored")]
Object = dict[str, Any]


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


class ModelView(View):
    provider: Annotated[str, Meta(examples=["openai"])]
    name: Annotated[str, Meta(examples=["gpt-5"])]
    temperature: float | None
    max_tokens: int | None
    base_url: str | None
    key_env: str | None
    fallback: str | None

    @classmethod
    def of(cls, model: ModelChoice) -> Self:
        provider, _, name = model.name.partition(":")
        return cls(
            provider=provider,
            name=name or provider,
            temperature=model.temperature,
            max_tokens=model.max_tokens,
            base_url=model.base_url,
            key_env=model.key_env,
            fallback=model.fallback,
        )


class ToolRequestView(View):
    url: str
    method: Method
    headers: Secrets
    body: Json

    @classmethod
    def of(cls, request: ToolRequest) -> Self:
        return cls(
            url=request.url,
            method=cast("Method", request.method),
            headers=_mask_secrets(request.headers),
            body=request.body,
        )


class ToolView(View):
    name: str
    description: str
    input_schema: Json
    execution_type: Execution
    visible: bool
    is_async: bool = field(name="async")
    timeout: Annotated[str, Meta(examples=["30s"])]
    execution: ToolRequestView | None

    @classmethod
    def of(cls, tool: Tool) -> Self:
        return cls(
            name=tool.name,
            description=tool.description,
            input_schema=tool.schema,
            execution_type=tool.execution,
            visible=tool.visible,
            is_async=tool.is_async,
            timeout=format_duration(tool.timeout),
            execution=None if tool.request is None else ToolRequestView.of(tool.request),
        )


class ToolServerView(View):
    name: str
    url: str | None
    headers: Secrets
    command: list[str]
    env: Secrets

    @classmethod
    def of(cls, server: ToolServer) -> Self:
        return cls(
            name=server.name,
            url=server.url,
            headers=_mask_secrets(server.headers),
            command=list(server.command),
            env=_mask_secrets(server.env),
        )


class McpView(View):
    servers: list[ToolServerView]


class MindRulesView(View):
    max_tokens: Count
    min_recent_cycles: Count

    @classmethod
    def of(cls, rules: MindRules) -> Self:
        return cls(max_tokens=rules.max_tokens, min_recent_cycles=rules.min_recent_cycles)


class PhaseView(View):
    step: Count
    tools: list[str]

    @classmethod
    def of(cls, phase: Phase) -> Self:
        return cls(step=phase.step, tools=list(phase.tools))


class LoopRulesView(View):
    max_steps: Count
    max_calls: Count
    max_tokens: Count
    phases: list[PhaseView]

    @classmethod
    def of(cls, rules: LoopRules) -> Self:
        return cls(
            max_steps=rules.max_steps,
            max_calls=rules.max_calls,
            max_tokens=rules.max_tokens,
            phases=[PhaseView.of(phase) for phase in rules.phases],
        )


class BudgetView(View):
    """What a resident may spend in an hour or a day, in UTC."""

    tokens: Count | None
    cycles: Count | None
    per: Literal["hour", "day"]

    @classmethod
    def of(cls, budget: Budget) -> Self:
        return cls(tokens=budget.tokens, cycles=budget.cycles, per=budget.per)


class ConfigView(View):
    model: ModelView
    description: str
    instructions: str
    tools: list[ToolView]
    mcp: McpView
    mind: MindRulesView
    loop: LoopRulesView
    budget: BudgetView | None
    skills: list[str]

    @classmethod
    def of(cls, config: AgentConfig) -> Self:
        return cls(
            model=ModelView.of(config.model),
            description=config.description,
            instructions=config.instructions,
            tools=[ToolView.of(tool) for tool in config.tools],
            mcp=McpView(servers=[ToolServerView.of(server) for server in config.servers]),
            mind=MindRulesView.of(config.mind),
            loop=LoopRulesView.of(config.loop),
            budget=None if config.budget is None else BudgetView.of(config.budget),
            skills=list(config.skills),
        )


def _mask_secrets(secrets: Mapping[str, str]) -> dict[str, str]:
    return {name: mask(secret) for name, secret in secrets.items()}
