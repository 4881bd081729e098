"""
The configuration of a resident: its model, its instructions, its tools, and the limits of one cycle. It is read from
JSON by these types; `residents/agent_config_json.py` expands short forms before, and then checks what types cannot say.

An agent with a configuration is a resident: Gatepost runs its think cycle. An agent without one is a guest, and reads
its inbox itself.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field

from gatepost.core.json_limits import Json
from gatepost.core.times import DAY, HOUR, SECOND, Duration, Instant

#: the model that needs no key; it is deterministic and says that it is a demo
DEMO: Final = "demo"
#: the model of an agent that is a Python function in some process
CODE: Final = "code"
#: the model of an agent that only passes on what people write (`residents/user_agent_actions.py`)
USER_AGENT: Final = "user-agent"
#: the models whose agents have no mind: no cycle of theirs is remembered
_MINDLESS: Final = (CODE, USER_AGENT)

_KIB: Final = 1024
_NAME_PATTERN: Final = r"\A[a-zA-Z0-9_-]{1,64}\Z"
_NAME_HINT: Final = "use up to 64 letters, digits, dashes and underscores"
_Text = Annotated[str, Meta(max_length=4 * _KIB)]
_Secrets = Annotated[Mapping[str, str], Meta(max_length=50)]
_MAX_TOKENS: Final = 10_000_000
_Spending = Annotated[int, Meta(ge=1, le=10**12)]
#: the number of a step in a cycle
_Step = Annotated[int, Meta(ge=1, le=200)]


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a configuration."""


class ModelChoice(_Part, frozen=True, kw_only=True, rename="camel"):
    #: `anthropic:NAME`, `openai:NAME`, `ollama:NAME`, `demo`, `user-agent`, or `code` for a Python function
    name: str = DEMO
    #: of an OpenAI-compatible server
    base_url: str | None = None
    #: the environment variable that holds its key, if it is not the usual one of the provider
    key_env: (
        Annotated[
            str,
            Meta(
                pattern=r"\A[A-Za-z_][A-Za-z0-9_]{0,99}\Z",
                title="the name of an environment variable",
                description="the key itself stays there",
            ),
        ]
        | None
    ) = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    #: tokens of one answer
    max_tokens: Annotated[int, Meta(ge=1, le=_MAX_TOKENS)] | None = None
    #: another model, used after this one has failed several times in a row
    fallback: str | None = None


class Execution(StrEnum):
    """Who runs a tool."""

    #: the gateway calls a URL
    GATEWAY = "gateway"
    #: another program runs it, and posts the result later
    EXTERNAL = "external"
    #: a reader of the space runs it, and posts the result later
    SPACE = "space"
    #: it is a Python function in this process
    INTERNAL = "internal"


class ToolRequest(_Part, frozen=True, kw_only=True):
    """The HTTP request of a tool. `{name}` in the URL, the headers and the body stands for an argument."""

    url: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    headers: _Secrets = {}
    #: None to send the arguments themselves
    body: Json = None


#: the fields of a tool that have other names in JSON
_TOOL_NAMES: Final = {
    "schema": "inputSchema",
    "execution": "executionType",
    "is_async": "async",
    "request": "execution",
}


class ConfiguredTool(_Part, frozen=True, kw_only=True, rename=_TOOL_NAMES):
    name: Annotated[str, Meta(pattern=_NAME_PATTERN, title="the name of a tool", description=_NAME_HINT)]
    description: _Text = ""
    #: JSON Schema of the arguments
    schema: Json = field(default_factory=lambda: {"type": "object", "properties": {}})
    execution: Execution = Execution.EXTERNAL
    #: whether readers of the active space see its calls
    visible: bool = True
    #: whether the agent continues without the result, which comes to its inbox
    is_async: bool = False
    timeout: Duration = 30 * SECOND
    request: ToolRequest | None = None


class ToolServer(_Part, frozen=True, kw_only=True):
    """An MCP server whose tools the agent may use: at a URL, or a command to run."""

    name: Annotated[str, Meta(pattern=_NAME_PATTERN, title="the name of a server", description=_NAME_HINT)]
    url: str | None = None
    headers: _Secrets = {}
    command: Annotated[tuple[_Text, ...], Meta(max_length=100)] = ()
    env: _Secrets = {}


class McpConfig(_Part, frozen=True, kw_only=True):
    servers: Annotated[tuple[ToolServer, ...], Meta(max_length=16)] = ()


class MindRules(_Part, frozen=True, kw_only=True, rename="camel"):
    #: above this number of tokens, old cycles are replaced by their summaries
    max_tokens: Annotated[int, Meta(ge=1_000, le=_MAX_TOKENS)] = 100_000
    #: the number of latest cycles that stay whole, if they fit
    min_recent_cycles: Annotated[int, Meta(ge=1, le=1_000)] = 10


class Phase(_Part, frozen=True, kw_only=True):
    """From this step on, the model may use these tools only."""

    step: _Step
    tools: Annotated[tuple[str, ...], Meta(max_length=200)] = ()


class LoopRules(_Part, frozen=True, kw_only=True, rename="camel"):
    max_steps: _Step = 20
    #: tool calls in one reply
    max_calls: Annotated[int, Meta(ge=1, le=1_000)] = 32
    #: tokens that a cycle may add to the mind it began with
    max_tokens: Annotated[int, Meta(ge=100, le=_MAX_TOKENS)] = 50_000
    phases: Annotated[tuple[Phase, ...], Meta(max_length=20)] = ()


class Budget(_Part, frozen=True, kw_only=True):
    """
    A budget: what a resident may spend in an hour or a day (UTC).

    Tokens are prompt and completion tokens of every request, as the runs count them; cycles are runs in which the model
    replied. The spending is a sum over the runs of the period, so a crash does not lose it. It is checked before every
    request, and a request is never interrupted, so a budget is exceeded by one request at most.
    """

    tokens: _Spending | None = None
    cycles: _Spending | None = None
    per: Literal["hour", "day"] = "day"

    def find_period(self, now: Instant) -> tuple[Instant, Instant]:
        """Return the start of the period that contains this instant, and the start of the next one."""
        length = HOUR if self.per == "hour" else DAY
        start = now - now % length
        return start, start + length

    def is_spent(self, spending: "Spending", *, is_start: bool) -> bool:
        """Return True if no token is left for another request or, at the start of a cycle (`is_start`), no cycle."""
        if self.tokens is not None and spending.tokens >= self.tokens:
            return True
        return is_start and self.cycles is not None and spending.cycles >= self.cycles

    def __str__(self) -> str:
        parts = [f"{count} {unit}" for count, unit in ((self.tokens, "tokens"), (self.cycles, "cycles")) if count]
        return f"{' and '.join(parts)} {'an hour' if self.per == 'hour' else 'a day'}"


class Spending(Struct, frozen=True, kw_only=True):
    """What a resident has spent in a period."""

    tokens: int
    cycles: int


class AgentConfig(_Part, frozen=True, kw_only=True):
    model: ModelChoice = ModelChoice()
    description: _Text = ""
    instructions: Annotated[str, Meta(max_length=64 * _KIB)] = ""
    tools: Annotated[tuple[ConfiguredTool, ...], Meta(max_length=128)] = ()
    mcp: McpConfig = McpConfig()
    mind: MindRules = MindRules()
    loop: LoopRules = LoopRules()
    #: None for no limit
    budget: Budget | None = None
    #: codes of HCS-11, in ascending order (`residents/capability.py`)
    capabilities: tuple[int, ...] = ()

    @property
    def has_mind(self) -> bool:
        """Whether a language model thinks, and remembers its cycles."""
        return self.model.name not in _MINDLESS


class Resident(Struct, frozen=True, kw_only=True):
    """A resident: its configuration and its present state."""

    #: the number of its entity
    number: int
    name: str
    display: str
    #: see `agent_actions.set_skills`
    skills: tuple[str, ...] = ()
    config: AgentConfig
    #: increases with every change of the configuration
    version: int
    paused_at: Instant | None = None
    #: cycles it has completed
    cycles: int = 0
    #: tokens of its mind
    tokens: int = 0
    #: failures of its model in a row
    failures: int = 0
    #: it rests until then, because its model failed or its budget is used up
    rest_until: Instant | None = None
    #: the size of its next batch while a poisoned item is being looked for
    batch_limit: int | None = None
