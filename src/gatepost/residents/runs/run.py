"""
A run: one cycle of a resident, from its batch to its summary, as a journal of steps.

    running --> completed                    its summary is in the mind
        |-----> waiting_tool --> completed   the same, while a tool outside has not answered yet
        |-----> skipped                      it did nothing: it is not in the mind
        |-----> failed                       the model failed before anything was done: the batch was released
        `-----> cancelled                    somebody stopped it
"""

from enum import StrEnum

from msgspec import Struct

from gatepost.core.json_limits import Json
from gatepost.core.times import Instant
from gatepost.inbox.event import compute_next_hops
from gatepost.residents.model_port import Turn
from gatepost.residents.runs.cycle_limits import RunLimit


class RunStatus(StrEnum):
    RUNNING = "running"
    WAITING_TOOL = "waiting_tool"
    COMPLETED = "completed"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"


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
