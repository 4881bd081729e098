"""Runs: what residents did, step by step."""

from typing import Self

from gatepost.api.access import Owner
from gatepost.api.fields import After, Count, Limit, Time
from gatepost.api.operation import Page, Request, View, read
from gatepost.core.run import Run, RunLimit, RunStatus
from gatepost.core.times import format_rfc3339
from gatepost.errors import NotFound


class RunView(View):
    id: str
    agent: str
    status: RunStatus
    cycle_number: Count
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
    duration_ms: int | None

    @classmethod
    def of(cls, run: Run) -> Self:
        return cls(
            id=run.id,
            agent=run.agent,
            status=run.status,
            cycle_number=run.cycle,
            cause=run.cause,
            events=run.events,
            steps=run.steps,
            effects=run.effects,
            prompt_tokens=run.prompt_tokens,
            completion_tokens=run.completion_tokens,
            hops=run.hops,
            version=run.version,
            model=run.model,
            summary=run.summary,
            error=run.error,
            limit=run.limit,
            started_at=format_rfc3339(run.started_at),
            ended_at=None if run.ended_at is None else format_rfc3339(run.ended_at),
            duration_ms=None if run.ended_at is None else (run.ended_at - run.started_at) // 1_000,
        )


class RunPage(Page[RunView]):
    pass


@read("GET /api/agents/{name}/runs", access=Owner("name"), errors=(NotFound,))
class ListAgentRuns(Request[RunPage]):
    """List the runs of an agent, the newest first."""

    name: str
    status: RunStatus | None = None
    after: After = 0
    limit: Limit = 100
