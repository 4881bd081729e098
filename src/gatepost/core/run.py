"""
A run: one cycle of a resident, from the batch it woke for to its closing words, as a journal of steps.

    running --> completed                    its summary is in the mind
        |-----> waiting_tool --> completed   the same; a tool outside has not answered yet
        |-----> skipped                      it had nothing to say: the mind does not know of it
        |-----> failed                       the model failed before anything was done: the batch was given back
        `-----> cancelled                    somebody stopped it
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from gatepost.core.agent import LoopRules
from gatepost.core.chain import compute_next_hops
from gatepost.core.event import Json
from gatepost.core.mind import ModelReply, Turn, weigh
from gatepost.core.times import Instant


class RunStatus(StrEnum):
    RUNNING = "running"
    WAITING_TOOL = "waiting_tool"
    COMPLETED = "completed"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunLimit(StrEnum):
    """A limit at which a cycle ends, though its model has not said that it is done."""

    STEPS = "steps"
    TOKENS = "tokens"
    CALLS = "calls"
    BUDGET = "budget"


class Run(Struct, frozen=True, kw_only=True):
    #: what other rows refer to; never shown
    number: int
    id: str
    agent: str
    status: RunStatus
    #: the how-manieth cycle of its agent it is
    cycle: int
    #: what woke it: the type of the first event of its batch
    cause: str
    #: the claim that holds its events, and the fence it was taken with
    claim: str
    claim_fence: int
    #: how many events it was shown
    events: int
    #: replies of the model
    steps: int = 0
    #: results of tools that changed something
    effects: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    #: links of the longest chain of events that led here
    hops: int = 0
    #: the version of the agent's configuration, and the model that thought
    version: int = 0
    model: str = ""
    #: the mind it began with: what was carried then
    mind_number: int | None = None
    summary: str = ""
    error: str | None = None
    #: the limit at which it ended; None if its model ended it
    limit: RunLimit | None = None
    started_at: Instant
    ended_at: Instant | None = None

    @property
    def outgoing_hops(self) -> int:
        """The hops of whatever comes of it: one more than of what led here."""
        return compute_next_hops(self.hops)


def find_limit(turns: Sequence[Turn], rules: LoopRules) -> RunLimit | None:
    """
    Return the limit that a cycle of these turns has reached, None while it may go on. Every turn that the cycle added
    counts once, by its weight; the mind it began with does not count. A cycle asks its model at least once.
    """
    replies = [turn for turn in turns if isinstance(turn, ModelReply)]
    if not replies:
        return None
    if replies[-1].dropped_calls:
        return RunLimit.CALLS
    if len(replies) >= rules.max_steps:
        return RunLimit.STEPS
    return RunLimit.TOKENS if sum(map(weigh, turns)) >= rules.max_tokens else None


class Step(Struct, frozen=True, kw_only=True):
    #: its place in the run, from 1 on
    number: int
    turn: Turn
    at: Instant


class CallStatus(StrEnum):
    PENDING = "pending"
    RESOLVED = "resolved"
    EXPIRED = "expired"


class OpenCall(Struct, frozen=True, kw_only=True):
    """A call of a tool that somebody outside answers."""

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
