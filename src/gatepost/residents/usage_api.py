"""
What runs have used: tokens, cycles and time, by agent, model, cause and time; and what is left of budgets.

It is counted in tokens, because Gatepost knows no prices: they change, and differ by contract.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType

from gatepost.core.times import DAY, HOUR, Duration, Instant
from gatepost.errors import NotFound
from gatepost.operations.access import NamedEntityOrOwner
from gatepost.operations.fields import After, Count, Cursor, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read
from gatepost.residents.agent_config import Budget, Spending
from gatepost.residents.runs.api import Cause, Model, RunView
from gatepost.residents.runs.run import RunStatus

#: the group of these operations in OpenAPI
TAG = "usage"

_EXAMPLE: Final = "2026-02-18T15:07:00Z"
Since = (
    Annotated[
        str, Meta(max_length=300, description="only runs that started since; default: 7 days ago", examples=[_EXAMPLE])
    ]
    | None
)
Until = Annotated[str, Meta(max_length=300, description="only runs that started before; default: now")] | None
Agent = Annotated[str | None, describe("only runs of this agent")]


class UsageDimension(StrEnum):
    """What usage is grouped by."""

    AGENT = "agent"
    MODEL = "model"
    #: the type of the first event of the batch: why the agent woke
    CAUSE = "cause"
    #: days and hours are those of UTC, as the periods of budgets are
    DAY = "day"
    HOUR = "hour"


#: how long a group is, of the dimensions that are times
PERIODS: dict[UsageDimension, Duration] = {UsageDimension.DAY: DAY, UsageDimension.HOUR: HOUR}


class UsageGroup(Struct, frozen=True, kw_only=True):
    """The usage of a group of runs; a dimension that it is not grouped by is None."""

    agent: str | None = None
    model: str | None = None
    cause: str | None = None
    #: when its day or its hour begins
    starts_at: Instant | None = None
    #: each run is one wake
    runs: int = 0
    failed_runs: int = 0
    #: runs that ended because a budget was used up
    budget_stops: int = 0
    #: replies of models
    steps: int = 0
    events: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    #: from start to end; runs that are open count up to now
    duration: Duration = 0


#: the fields that are sums over the runs of a group
_SUMS: Final = (
    *("runs", "failed_runs", "budget_stops", "steps", "events"),
    *("prompt_tokens", "completion_tokens", "duration"),
)


def add_up(groups: Sequence[UsageGroup]) -> UsageGroup:
    """Return the usage of groups together."""
    sums = {name: sum(getattr(group, name) for group in groups) for name in _SUMS}
    return UsageGroup(**sums)


class BudgetStatus(Struct, frozen=True, kw_only=True):
    """The budget of a resident in its present period, and what it stops."""

    #: the number of the agent
    number: int
    agent: str
    budget: Budget
    spending: Spending
    period_start: Instant
    period_end: Instant
    #: when it thinks again, if it rests; a model that fails lets it rest too
    rest_until: Instant | None
    #: runs that the budget ended in this period
    stopped_runs: int
    #: items that wait, counted up to a limit
    waiting_items: int

    @property
    def is_exhausted(self) -> bool:
        return self.budget.is_spent(self.spending, is_start=True)


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


@read("GET /api/usage", access=NamedEntityOrOwner("agent"), errors=(NotFound,))
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


@read("GET /api/usage/runs", access=NamedEntityOrOwner("agent"), errors=(NotFound,))
class ListExpensiveRuns(Request[Page[RunView]]):
    """List the runs of the caller or of an agent that it owns, the most expensive first; for the administrator all."""

    agent: Agent = None
    model: Model = None
    cause: Cause = None
    status: Annotated[RunStatus | None, describe("only runs with this status")] = None
    stopped: Annotated[bool, describe("only runs that ended because a budget was used up")] = False
    since: Since = None
    until: Until = None
    after: Cursor = None
    limit: Limit = 100


@read("GET /api/usage/budgets", access=NamedEntityOrOwner("agent"), errors=(NotFound,))
class ListBudgets(Request[BudgetPage]):
    """
    Show the budget of the caller or of an agent that it owns, what is used of it and what it stops; for the
    administrator the budgets of all agents.
    """

    agent: Annotated[str | None, describe("only the budget of this agent")] = None
    after: After = 0
    limit: Limit = 100
