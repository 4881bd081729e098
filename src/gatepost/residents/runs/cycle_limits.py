"""
The limits of one cycle: replies of the model, tool calls in one reply, and tokens. At a limit the cycle ends before its
model does. The limits are those of the configuration (`LoopRules` in `residents/agent_config.py`); a budget, which is
about many cycles, is in `residents/budget_actions.py`.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

from msgspec.structs import replace

from gatepost.residents.agent_config import AgentConfig, LoopRules
from gatepost.residents.mind_compaction import weigh
from gatepost.residents.model_port import ModelReply, Turn


class RunLimit(StrEnum):
    """A limit that ends a cycle before its model does."""

    STEPS = "steps"
    TOKENS = "tokens"
    CALLS = "calls"
    BUDGET = "budget"
    #: its agent was paused
    PAUSE = "pause"


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
        case RunLimit.PAUSE:
            return "the step in which its agent was paused"
        case other:
            assert_never(other)
