"""
Runs: what residents did, step by step, and the calls that they wait for. A turn of a run is what an agent was shown,
what its model replied, or what a tool returned.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, assert_never

from msgspec import Meta
from msgspec.structs import asdict

from gatepost.core.times import format_rfc3339
from gatepost.errors import Conflict, NotFound
from gatepost.inbox.event import EventType
from gatepost.operations.access import Administrator, AnyEntity, NamedEntityOrOwner
from gatepost.operations.fields import After, Count, Json, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Repetition, Request, Stream, StreamedView, View, read, stream, write
from gatepost.residents.agent_config_json import MAX_MODEL_LENGTH
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, ToolCall, Turn, Usage
from gatepost.residents.runs.cycle_limits import RunLimit
from gatepost.residents.runs.run import CallStatus, OpenCall, Run, RunStatus, Step

TurnKind = Literal["prompt", "reply", "result"]


class PromptView(RecordView[Prompt]):
    text: str
    events: list[str]


class CallView(RecordView[ToolCall]):
    id: str
    tool: str
    arguments: Annotated[str, describe("JSON, as the model wrote it")]


class RunUsageView(RecordView[Usage]):
    prompt_tokens: Annotated[Count, Source("prompt")]
    completion_tokens: Annotated[Count, Source("completion")]


class ReplyView(RecordView[ModelReply]):
    text: str
    calls: list[CallView]
    usage: RunUsageView
    model: str


class ResultView(RecordView[CallResult]):
    call: str
    tool: str
    content: Annotated[str, describe("JSON")]
    ok: bool


class TurnView(RecordView[Turn]):
    """What was shown, said or returned: that of the three which `kind` names."""

    kind: TurnKind
    prompt: PromptView | None
    reply: ReplyView | None
    result: ResultView | None

    @classmethod
    def of(cls, record: Turn, /, **values: Any) -> Self:
        match record:
            case Prompt():
                return cls(kind="prompt", prompt=PromptView.of(record), reply=None, result=None, **values)
            case ModelReply():
                return cls(kind="reply", prompt=None, reply=ReplyView.of(record), result=None, **values)
            case CallResult():
                return cls(kind="result", prompt=None, reply=None, result=ResultView.of(record), **values)
            case other:
                assert_never(other)


def _measure_duration(run: Run) -> int | None:
    return None if run.ended_at is None else (run.ended_at - run.started_at) // 1_000


class RunView(RecordView[Run]):
    id: str
    agent: str
    status: RunStatus
    cycle_number: Annotated[Count, Source("cycle")]
    cause: str
    events: Count
    steps: Count
    effects: Count
    prompt_tokens: Count
    completion_tokens: Count
    hops: Count
    version: Count
    model: str
    summary: str
    error: str | None
    limit: RunLimit | None
    started_at: Time
    ended_at: Time | None
    duration_ms: Annotated[int | None, Source(_measure_duration)]


class OpenCallView(RecordView[OpenCall]):
    """A call of a tool that a program outside answers."""

    id: str
    run: str
    agent: str
    tool: str
    arguments: str
    status: CallStatus
    result: Json
    created_at: Time
    expires_at: Time
    ended_at: Time | None


class RunWithCallsView(RunView):
    """A run, and the calls that a program outside answers."""

    calls: list[OpenCallView]


class StepView(View):
    """What was shown, said or returned: that of the three which `kind` names."""

    number: Annotated[int, Meta(ge=1)]
    at: Time
    kind: TurnKind
    prompt: PromptView | None
    reply: ReplyView | None
    result: ResultView | None

    @classmethod
    def of(cls, step: Step) -> Self:
        return cls(number=step.number, at=format_rfc3339(step.at), **asdict(TurnView.of(step.turn)))


class ReplayView(View):
    """A past run, and what another model would have said and done."""

    run: str
    model: str
    same: bool
    original: list[StepView]
    replayed: list[TurnView]

    @classmethod
    def of(cls, run: str, model: str, *, steps: Sequence[Step], turns: Sequence[Turn], is_same: bool) -> Self:
        return cls(
            run=run,
            model=model,
            same=is_same,
            original=[StepView.of(step) for step in steps],
            replayed=[TurnView.of(turn) for turn in turns],
        )


Cause = Annotated[EventType | None, describe("only runs that an event of this type started")]
Model = Annotated[str, Meta(max_length=MAX_MODEL_LENGTH, description="only runs of this model")] | None
Since = Annotated[str, Meta(max_length=300, description="only runs that started since this time")] | None
Until = Annotated[str, Meta(max_length=300, description="only runs that started before this time")] | None


@read("GET /api/agents/{name}/runs", access=NamedEntityOrOwner("name"))
class ListAgentRuns(Request[Page[RunView]]):
    """List the runs of an agent, the newest first."""

    name: str
    status: Annotated[RunStatus | None, describe("only runs with this status")] = None
    cause: Cause = None
    model: Model = None
    since: Since = None
    until: Until = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/runs", access=NamedEntityOrOwner("agent"), errors=(NotFound,))
class ListRuns(Request[Page[RunView]]):
    """List the runs of the caller or of an agent that it owns, the newest first; for the administrator all."""

    agent: Annotated[str | None, describe("only runs of this agent")] = None
    status: Annotated[RunStatus | None, describe("only runs with this status")] = None
    cause: Cause = None
    model: Model = None
    since: Since = None
    until: Until = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/runs/{id}", access=AnyEntity())
class ShowRun(Request[RunWithCallsView]):
    """
    Show a run of the caller or of an agent that it owns, and the calls that a program outside answers; the
    administrator sees all.
    """

    id: str


@read("GET /api/runs/{id}/steps", access=AnyEntity())
class ListSteps(Request[Page[StepView]]):
    """List what was shown, said and done in a run, in order."""

    id: str
    after: After = 0
    limit: Limit = 1000


@write(
    "POST /api/runs/{id}/tool-results",
    access=AnyEntity(),
    lane="{id}",
    errors=(Conflict,),
    example={"callId": "call_01a1e0dff6957124bd721ac983205d33", "result": {"status": "shipped"}},
)
class AnswerCall(Request[OpenCallView]):
    """Give the result of a call that a run waits for; its agent gets an event."""

    id: str
    call_id: Annotated[str, Meta(min_length=1, max_length=200)]
    result: Json


@write("POST /api/runs/{id}/cancel", access=Administrator(), needs_disk_space=False, lane="{id}", errors=(Conflict,))
class CancelRun(Request[RunView]):
    """Stop a run; what it has done stays done."""

    id: str


@write(
    "POST /api/runs/{id}/replay",
    access=Administrator(),
    repetition=Repetition.NEVER,
    needs_gateway=True,
    example={"model": "demo"},
)
class ReplayRun(Request[ReplayView]):
    """Show what another model would have said and done in a past run. Nothing is done, and nothing stored."""

    id: str
    model: Annotated[str, describe("the model to compare with", minLength=1, maxLength=MAX_MODEL_LENGTH)]


@stream("GET /api/runs/{id}/stream", access=AnyEntity())
class WatchRun(Stream[StreamedView]):
    """Watch a run from its first step on, also as it is being thought. Resumes from Last-Event-ID."""

    id: str
