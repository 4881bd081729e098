"""
What runs have used: tokens, cycles and time, by agent, model, cause and time; and what is left of budgets.

Gatepost counts tokens. It knows no prices: they change, and differ by contract.
"""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from gatepost.core.times import DAY, HOUR, Duration, Instant
from gatepost.residents.agent_config import Budget, Spending


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


def add_up(groups: Sequence[UsageGroup]) -> UsageGroup:
    """Return the usage of groups together."""
    return UsageGroup(
        runs=sum(group.runs for group in groups),
        failed_runs=sum(group.failed_runs for group in groups),
        budget_stops=sum(group.budget_stops for group in groups),
        steps=sum(group.steps for group in groups),
        events=sum(group.events for group in groups),
        prompt_tokens=sum(group.prompt_tokens for group in groups),
        completion_tokens=sum(group.completion_tokens for group in groups),
        duration=sum(group.duration for group in groups),
    )


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
