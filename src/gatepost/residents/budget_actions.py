"""
Budgets of residents: what is left of them, and the rest of an agent whose budget is used up.

A resident with nothing left of its budget begins no cycle, so its items wait; a cycle that is running ends before its
next request (`RunLimit.BUDGET`). Then the agent rests until the period ends, as after a failure of its model:
`rest_until` wakes it, and the janitor finds it if nothing else does. It is not paused. Its owner gets one alert for
each period. What is shown of a budget is counted as before a cycle, so what is shown is what decides.
"""

from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import SECOND, Instant, format_rfc3339
from gatepost.directory import entity_actions as directory
from gatepost.inbox import item_rows as items
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import Budget, Resident, Spending
from gatepost.residents.model_port import ModelReply
from gatepost.residents.runs import rows as runs
from gatepost.residents.usage_api import BudgetStatus
from gatepost.stores.row_mapping import fetch_number, fetch_row

#: items that wait for a budget are counted up to this number
_COUNT_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True)
class ExhaustedBudget:
    """A budget of which nothing is left."""

    #: when the next period begins
    until: Instant
    #: seconds from now until then
    seconds: float


def find_exhausted_budget(tx: Reader, resident: Resident, *, is_new_cycle: bool = False) -> ExhaustedBudget | None:
    """
    Return the budget of a resident if nothing is left of it; None if something is left, or there is no budget. With
    `is_new_cycle`, ask for a cycle that is about to begin.
    """
    budget = resident.config.budget
    if budget is None:
        return None
    start, end = budget.find_period(tx.now)
    if not budget.is_spent(count_spending(tx, resident.number, start), is_start=is_new_cycle):
        return None
    return ExhaustedBudget(end, (end - tx.now) / SECOND)


def count_spending(tx: Reader, agent: int, since: Instant) -> Spending:
    """
    Return what an agent has spent since a time. Runs that started later count as a whole; of the run that was open at
    that time, the later replies count.
    """
    last_run = tx.fetch_one("residents/runs/find_last_before", agent=agent, since=since)
    usage = fetch_row(tx, "residents/runs/sum_usage", agent=agent, after=last_run.number if last_run else 0)
    tokens = usage.tokens
    if last_run is not None and (last_run.ended_at is None or last_run.ended_at >= since):
        replies = [step.turn for step in runs.list_steps(tx, last_run.number) if step.at >= since]
        tokens += sum(turn.usage.prompt + turn.usage.completion for turn in replies if isinstance(turn, ModelReply))
    return Spending(tokens=tokens, cycles=usage.cycles)


def start_budget_rest(tx: Transaction, resident: Resident, until: Instant) -> None:
    """Let a resident rest until its next period, and alert its owner once for the period."""
    budget = resident.config.budget
    assert budget is not None, "only a budget can be exhausted"
    agents.set_rest(tx, replace(resident, rest_until=until))
    text = f"{resident.name!r} has used up its budget of {budget} and rests until {format_rfc3339(until)}"
    agents.alert_owner(tx, resident.name, text, topic=f"budget:{until}")


def list_budgets(tx: Reader, *, agent: str | None = None, after: int = 0, limit: int = 100) -> list[BudgetStatus]:
    """Return the budgets of live residents in the order of registration; `after` is the number of the last agent."""
    number = directory.find_number(tx, agent)
    statuses: list[BudgetStatus] = []
    while len(statuses) < limit:
        residents = agents.RESIDENT.fetch_all(
            tx, "residents/usage/list_budgeted", agent=number, after=after, limit=limit
        )
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
    first_run = runs.find_first_since(tx, start)
    return BudgetStatus(
        number=resident.number,
        agent=resident.name,
        budget=budget,
        spending=count_spending(tx, resident.number, start),
        period_start=start,
        period_end=end,
        rest_until=resident.rest_until if is_resting else None,
        stopped_runs=fetch_number(tx, "residents/usage/count_budget_stops", agent=resident.number, first=first_run),
        waiting_items=items.count_pending(tx, resident.number, _COUNT_LIMIT),
    )
