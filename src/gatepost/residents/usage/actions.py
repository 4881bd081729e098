"""
Show what runs have used, which were the most expensive, and what is left of budgets.

A budget counts by `agents.count_spending`, here as before every cycle, so what is shown is what decides.
"""

from collections.abc import Collection
from typing import Final

from gatepost.core.ports import Reader
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid
from gatepost.inbox import item_rows as items
from gatepost.inbox.event import EventType
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import Budget, Resident
from gatepost.residents.runs.run import Run, RunStatus
from gatepost.residents.usage import rows as usage
from gatepost.residents.usage.usage import BudgetStatus, UsageDimension, UsageGroup

#: items that wait for a budget are counted up to this number
_COUNT_LIMIT: Final = 1_000


def page(
    tx: Reader,
    *,
    agent: str | None = None,
    since: Instant,
    until: Instant,
    by: Collection[UsageDimension],
    after: int = 0,
    limit: int = 100,
) -> list[UsageGroup]:
    """
    Return what the runs of one agent, or of all, have used that started between two times. Groups come in the order of
    time, if they are days or hours, and then by their tokens; `after` is the number of groups seen.
    """
    if {UsageDimension.DAY, UsageDimension.HOUR} <= set(by):
        raise Invalid("by: day and hour are both times", hint="give one of them")
    number = directory.find_number(tx, agent)
    return usage.sum_groups(tx, agent=number, since=since, until=until, by=by, offset=after, limit=limit)


def sum_all(tx: Reader, *, agent: str | None = None, since: Instant, until: Instant) -> UsageGroup:
    """Return what all these runs have used together."""
    groups = page(tx, agent=agent, since=since, until=until, by=(), limit=1)
    return groups[0] if groups else UsageGroup()


def list_most_expensive(
    tx: Reader,
    *,
    agent: str | None = None,
    since: Instant,
    until: Instant,
    model: str | None = None,
    cause: EventType | None = None,
    status: RunStatus | None = None,
    is_stopped: bool = False,
    after: tuple[int, int] | None = None,
    limit: int = 100,
) -> list[Run]:
    """
    Return the runs with the most tokens first; with `is_stopped`, those that a budget ended. `after` is the tokens and
    the number of the last run seen.
    """
    return usage.list_most_expensive(
        tx,
        agent=directory.find_number(tx, agent),
        since=since,
        until=until,
        model=model,
        cause=cause,
        status=status,
        is_stopped=is_stopped,
        after=after,
        limit=limit,
    )


def page_budgets(tx: Reader, *, agent: str | None = None, after: int = 0, limit: int = 100) -> list[BudgetStatus]:
    """Return the budgets of live residents in the order of registration; `after` is the number of the last agent."""
    number = directory.find_number(tx, agent)
    statuses: list[BudgetStatus] = []
    while len(statuses) < limit:
        residents = usage.list_budgeted(tx, agent=number, after=after, limit=limit)
        statuses += [
            _build_status(tx, resident, budget)
            for resident in residents
            if (budget := resident.config.budget) is not None
        ]
        if len(residents) < limit:
            break
        after = residents[-1].number
    return statuses[:limit]


def _build_status(tx: Reader, resident: Resident, budget: Budget) -> BudgetStatus:
    start, end = budget.find_period(tx.now)
    is_resting = resident.rest_until is not None and resident.rest_until > tx.now
    return BudgetStatus(
        number=resident.number,
        agent=resident.name,
        budget=budget,
        spending=agents.count_spending(tx, resident.number, start),
        period_start=start,
        period_end=end,
        rest_until=resident.rest_until if is_resting else None,
        stopped_runs=usage.count_budget_stops(tx, resident.number, start),
        waiting_items=items.count_pending(tx, resident.number, _COUNT_LIMIT),
    )
