"""
What requests may say. Unknown fields are refused, so that a misspelt one is not silently ignored. Where the domain has
a limit of its own, the schema only tells it (`told`): so whoever exceeds it hears the same without a gateway.
"""

from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.alias_generators import to_camel

from gatepost.actions.directory import EntityChanges, EntitySpec
from gatepost.actions.triggers import MAX_PROMPT_LENGTH
from gatepost.core import address, agent_config, webhook
from gatepost.core.entity import MAX_ALIASES, EntityKind

_EVENT: Final = "evt_01a1e0dff6957124bd721ac983205d33"
_CLAIM: Final = "clm_01a1e0dff6957124bd721ac983205d33"


def told(description: str | None = None, **limits: int) -> Any:
    """A field with limits that the domain keeps."""
    return Field(description=description, json_schema_extra={**limits})


NewName = Annotated[str, told(minLength=1, maxLength=address.MAX_NAME_LENGTH)]
Name = Annotated[str, told(minLength=1, maxLength=address.MAX_ALIAS_LENGTH)]
Limit = Annotated[int, Field(ge=1, le=1000, description="how many at most")]
Budget = Annotated[int, Field(ge=600, le=4_000_000, description="how many UTF-8 bytes at most")]
Aliases = Annotated[list[str], told(maxItems=MAX_ALIASES)]


class Body(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True)

    def document(self) -> dict[str, Any]:
        """What was sent, and the defaults of what was not."""
        return self.model_dump(by_alias=True, mode="json")


def example(**fields: Any) -> ConfigDict:
    """What a body may look like, for the OpenAPI."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


class _Newcomer(Body):
    name: NewName
    display_name: str | None = None
    team: str | None = None
    role: str | None = None
    owner: str | None = None
    aliases: Aliases = []

    def newcomer(self, kind: EntityKind) -> EntitySpec:
        return EntitySpec(
            name=self.name,
            kind=kind,
            display=self.display_name,
            team=self.team,
            role=self.role,
            owner=self.owner,
            aliases=self.aliases,
        )


class Configured(Body):
    """What a resident is told to be. `core/agent_config.py` reads it, and says what is wrong with it."""

    model: Annotated[
        Any,
        Field(description="such as openai:gpt-5, or demo, which needs no key", examples=["demo"]),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "null"}]}),
    ] = None
    description: Annotated[str | None, Field(description="what it is for, in its own prompt")] = None
    instructions: Annotated[str | None, Field(description="up to 64 KiB")] = None
    tools: Annotated[list[Any] | None, Field(max_length=128, description="tools of its own")] = None
    mcp: Annotated[dict[str, Any] | None, Field(description="servers that bring tools: {servers: [...]}")] = None
    mind: Annotated[dict[str, Any] | None, Field(description="{maxTokens, minRecentCycles}")] = None
    loop: Annotated[dict[str, Any] | None, Field(description="{maxSteps, maxCalls, maxTokens, phases}")] = None
    budget: Annotated[dict[str, Any] | None, Field(description="{tokens, cycles, per: hour or day}")] = None
    skills: list[str] | None = None

    def configuration(self) -> dict[str, Any]:
        """What is said of the configuration; null is said, too."""
        return {field: getattr(self, field) for field in agent_config.FIELDS if field in self.model_fields_set}


class NewAgent(_Newcomer, Configured):
    model_config = example(
        name="analyst",
        displayName="Analyst",
        model="demo",
        instructions="Answer questions about revenue.",
        tools=[
            {
                "name": "revenue",
                "description": "Revenue of a quarter",
                "inputSchema": {"type": "object", "properties": {"quarter": {"type": "string"}}},
                "execution": {"url": "https://crm.example.com/revenue/{quarter}", "method": "GET"},
            }
        ],
    )


class EntityChange(Body):
    model_config = example(displayName="Analyst", team="finance")

    display_name: str | None = None
    team: str | None = None
    role: str | None = None
    owner: str | None = None

    def changes(self) -> EntityChanges:
        """What is said of the entity; null is said, too."""
        said = {field: getattr(self, field) for field in EntityChange.model_fields if field in self.model_fields_set}
        return cast("EntityChanges", {"display" if field == "display_name" else field: said[field] for field in said})


class AgentChange(EntityChange, Configured):
    model_config = example(displayName="Analyst", instructions="Answer briefly.", loop={"maxSteps": 10})


class ToolResult(Body):
    model_config = example(callId="call_01a1e0dff6957124bd721ac983205d33", result={"status": "shipped"})

    call_id: Annotated[str, Field(min_length=1, max_length=200)]
    result: Any


class ReplayWish(Body):
    model_config = example(model="demo")

    model: Annotated[str, told("the model to hold it against", minLength=1, maxLength=agent_config.MAX_MODEL_LENGTH)]


class Drain(Body):
    model_config = example(limit=20, session="session-1")

    limit: Limit = 20
    budget: Budget = 9_000
    session: Annotated[str | None, Field(min_length=1, max_length=200)] = None


class ClaimWish(Body):
    model_config = example(owner="session-1", limit=20, hold="5m")

    owner: Annotated[str, Field(min_length=1, max_length=200)]
    limit: Limit = 20
    budget: Budget = 9_000
    hold: Annotated[str | None, Field(description="how long it is held, unless it is acked or released")] = None


class Held(Body):
    model_config = example(claimId=_CLAIM, owner="session-1", fence=1)

    claim_id: str
    owner: str
    fence: Annotated[int, Field(ge=0, le=2**62)]


class Release(Held):
    model_config = example(claimId=_CLAIM, owner="session-1", fence=1, failed=[_EVENT])

    failed: Annotated[
        list[str], Field(max_length=1000, description="events that failed of their own: it is counted against them")
    ] = []


class About(Body):
    """Which recipient of an event is meant; without it, all of them."""

    model_config = example(name="analyst")

    name: str | None = None


class SeenBody(Body):
    model_config = example(events=[_EVENT])

    events: Annotated[list[str], Field(min_length=1, max_length=1000)]


class NewTrigger(Body):
    model_config = example(
        name="github-main",
        scheme="github",
        secret="a-long-shared-secret",  # noqa: S106 (an example)
        target="analyst",
    )

    name: NewName
    scheme: Annotated[str, Field(description="how whoever calls it proves who they are")]
    secret: Annotated[str, told(minLength=webhook.MIN_SECRET_LENGTH, maxLength=webhook.MAX_SECRET_LENGTH)]
    target: Annotated[str, Field(description="the address of whoever gets the events")]
    prompt: Annotated[str | None, told("added to every event as context", maxLength=MAX_PROMPT_LENGTH)] = None
    owner: str | None = None


class TriggerChange(Body):
    model_config = example(active=False)

    active: bool
