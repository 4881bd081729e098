"""
A run: one cycle of a resident, from its batch to its summary, as a journal of steps.

    running --> completed                    its summary is in the mind
        |-----> waiting_tool --> completed   the same, while a tool outside has not answered yet
        |-----> skipped                      it did nothing: it is not in the mind
        |-----> failed                       the model failed before anything was done: the batch was released
        `-----> cancelled                    somebody stopped it

A cycle has limits: replies of the model, tool calls in one reply, and tokens. At a limit it ends before its model
does. The limits are those of the configuration (`LoopRules` in `residents/agent_config.py`); a budget, which is about
many cycles, is in `residents/usage_actions.py`.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from gatepost.core.json_limits import Json
from gatepost.core.times import Instant
from gatepost.inbox.event import compute_next_hops
from gatepost.residents.agent_config import AgentConfig, LoopRules
from gatepost.residents.mind_compaction import weigh
from gatepost.residents.model_port import ModelReply, Turn


class RunStatus(StrEnum):
    RUNNING = "running"
    WAITING_TOOL = "waiting_tool"
    COMPLETED = "completed"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunLimit(StrEnum):
    """A limit that ends a cycle before its model does."""

    STEPS = "steps"
    TOKENS = "tokens"
    CALLS = "calls"
    BUDGET = "budget"


class Run(Struct, frozen=True, kw_only=True):
    #: the number that other rows refer to; never shown
    number: int
    id: str
    agent: str
    status: RunStatus
    #: its number among the cycles of its agent
    cycle: int
    #: why it started: the type of the first event of its batch
    cause: str
    #: the claim on its events, and the fence of that claim
    claim: str
    claim_fence: int
    #: the number of events that it was shown
    events: int
    #: replies of the model
    steps: int = 0
    #: results of tools that changed something
    effects: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    #: the hops of the longest chain of events that led to it
    hops: int = 0
    #: the version of the agent's configuration
    version: int = 0
    #: the model that replied
    model: str = ""
    #: the summaries that its mind began with
    mind_number: int | None = None
    summary: str = ""
    error: str | None = None
    #: the limit at which it ended; None if its model ended it
    limit: RunLimit | None = None
    started_at: Instant
    ended_at: Instant | None = None

    @property
    def outgoing_hops(self) -> int:
        """The hops of events that it sends: one more than its own."""
        return compute_next_hops(self.hops)


class Step(Struct, frozen=True, kw_only=True):
    #: its place in the run, from 1
    number: int
    turn: Turn
    at: Instant


class CallStatus(StrEnum):
    PENDING = "pending"
    RESOLVED = "resolved"
    EXPIRED = "expired"


class OpenCall(Struct, frozen=True, kw_only=True):
    """A call of a tool that another program answers."""

    id: str
    run: str
    agent: str
    tool: str
    arguments: str
    status: CallStatus
    result: Json = None
    created_at: Instant
    expires_at: Instant
    ended_at: Instant | None = None


def find_limit(turns: Sequence[Turn], rules: LoopRules) -> RunLimit | None:
    """
    Return the limit that a cycle with these turns has reached; None while it may continue. Every turn that the cycle
    added counts once, by its weight; the mind it began with does not count. A cycle asks its model at least once.
    """
    replies = [turn for turn in turns if isinstance(turn, ModelReply)]
    if not replies:
        return None
    if replies[-1].dropped_calls:
        return RunLimit.CALLS
    if len(replies) >= rules.max_steps:
        return RunLimit.STEPS
    return RunLimit.TOKENS if sum(map(weigh, turns)) >= rules.max_tokens else None


def drop_extra_calls(reply: ModelReply, rules: LoopRules) -> ModelReply:
    """Return the reply without the calls over the limit of one reply."""
    if len(reply.calls) <= rules.max_calls:
        return reply
    return replace(
        reply, calls=reply.calls[: rules.max_calls], dropped_calls=len(reply.calls) - rules.max_calls, raw=None
    )


def describe_limit(limit: RunLimit, config: AgentConfig, last_reply: ModelReply) -> str:
    """Return the limit at which a cycle ended, in words for its agent."""
    rules = config.loop
    match limit:
        case RunLimit.STEPS:
            return f"its limit of {rules.max_steps} steps"
        case RunLimit.TOKENS:
            return f"its limit of {rules.max_tokens} tokens"
        case RunLimit.CALLS:
            dropped = last_reply.dropped_calls
            return f"its limit of {rules.max_calls} calls in one reply, and {dropped} calls were not done"
        case RunLimit.BUDGET:
            return f"the budget of {config.budget}, which is used up"
        case other:
            assert_never(other)
