"""Usage: what agents cost. It is counted in tokens, because Gatepost knows no prices."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from gatepost.errors import NotFound
from gatepost.operations.access import Readers
from gatepost.operations.fields import After, Count, Cursor, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read
from gatepost.residents.agent_config_json import MAX_MODEL_LENGTH
from gatepost.residents.runs.api import Cause, RunPage
from gatepost.residents.runs.run import RunStatus
from gatepost.residents.usage.usage import BudgetStatus, UsageDimension, UsageGroup

_EXAMPLE: Final = "2026-02-18T15:07:00Z"
Since = (
    Annotated[
        str, Meta(max_length=300, description="only runs that started since; default: 7 days ago", examples=[_EXAMPLE])
    ]
    | None
)
Until = Annotated[str, Meta(max_length=300, description="only runs that started before; default: now")] | None
Agent = Annotated[str | None, describe("only runs of this agent")]


class UsageView(RecordView[UsageGroup], kw_only=True):
    """What runs have used. It has the fields `agent`, `model`, `cause` and `startsAt` by which it is grouped."""

    agent: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    cause: Annotated[str | UnsetType, describe("type of the event that woke the agent")] = UNSET
    starts_at: Annotated[Time | UnsetType, describe("the beginning of the day or the hour, in UTC")] = UNSET
    runs: Annotated[int, Meta(ge=0, description="number of wakes")]
    failed_runs: Count
    budget_stops: Annotated[int, Meta(ge=0, description="number of runs that ended because a budget was used up")]
    steps: Annotated[int, Meta(ge=0, description="number of replies of models")]
    events: Count
    prompt_tokens: Count
    completion_tokens: Count
    duration_ms: Annotated[int, Meta(ge=0), Source(lambda group: group.duration // 1_000)]


class UsagePage(Page[UsageView], kw_only=True):
    """`total` is the usage of all groups together, also of those on other pages."""

    total: UsageView


class BudgetStatusView(RecordView[BudgetStatus]):
    """The budget of an agent in its present period, which is an hour or a day of UTC."""

    agent: str
    per: Annotated[str, Source("budget.per")]
    tokens: Annotated[int | None, describe("tokens that it may use in a period"), Source("budget.tokens")]
    cycles: Annotated[int | None, describe("cycles that it may begin in a period"), Source("budget.cycles")]
    used_tokens: Annotated[Count, Source("spending.tokens")]
    used_cycles: Annotated[Count, Source("spending.cycles")]
    period_start: Time
    period_end: Time
    exhausted: Annotated[bool, describe("whether it can begin no cycle in this period"), Source("is_exhausted")]
    rest_until: Annotated[Time | None, describe("when it thinks again, if it rests")]
    stopped_runs: Annotated[int, Meta(ge=0, description="number of runs that the budget ended in this period")]
    waiting_items: Annotated[int, Meta(ge=0, description="number of pending items, counted up to 1,000")]


class BudgetPage(Page[BudgetStatusView]):
    pass


@read("GET /api/usage", access=Readers("agent"), errors=(NotFound,))
class ShowUsage(Request[UsagePage]):
    """
    Show what the runs of the caller, or of an agent that it owns, have used, the earliest and then the largest groups
    first; for the administrator all runs.
    """

    agent: Agent = None
    since: Since = None
    until: Until = None
    by: Annotated[
        tuple[UsageDimension, ...],
        Meta(max_length=4, description="what to group by: agent, model, cause, and day or hour; repeatable"),
    ] = (UsageDimension.AGENT,)
    after: After = 0
    limit: Limit = 100


@read("GET /api/usage/runs", access=Readers("agent"), errors=(NotFound,))
class ListExpensiveRuns(Request[RunPage]):
    """List the runs of the caller or of an agent that it owns, the most expensive first; for the administrator all."""

    agent: Agent = None
    model: Annotated[str, Meta(max_length=MAX_MODEL_LENGTH, description="only runs of this model")] | None = None
    cause: Cause = None
    status: Annotated[RunStatus | None, describe("only runs with this status")] = None
    stopped: Annotated[bool, describe("only runs that ended because a budget was used up")] = False
    since: Since = None
    until: Until = None
    after: Cursor = None
    limit: Limit = 100


@read("GET /api/usage/budgets", access=Readers("agent"), errors=(NotFound,))
class ListBudgets(Request[BudgetPage]):
    """
    Show the budget of the caller or of an agent that it owns, what is used of it and what it stops; for the
    administrator the budgets of all agents.
    """

    agent: Annotated[str | None, describe("only the budget of this agent")] = None
    after: After = 0
    limit: Limit = 100
