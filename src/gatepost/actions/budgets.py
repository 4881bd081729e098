"""
Budgets of residents: what a resident has spent, and its rest until the next period.

A resident with nothing left begins no cycle, so its items wait; a cycle that is running ends before its next request
(`RunLimit.BUDGET`). Then the agent rests until the period ends, as after a failure of its model: `rest_until` wakes it,
and the janitor finds it if nothing else does. It is not paused. Its owner gets one alert for each period.
"""

from dataclasses import dataclass

from msgspec.structs import replace

from gatepost.actions import directory, push
from gatepost.core.agent import Resident, Spending
from gatepost.core.mind import ModelReply
from gatepost.core.times import SECOND, Instant, format_rfc3339
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, runs


@dataclass(frozen=True, slots=True)
class ExhaustedBudget:
    """A budget of which nothing is left."""

    #: when the next period begins
    until: Instant
    #: seconds from now until then
    seconds: float


def count_spending(tx: Reader, agent: int, since: Instant) -> Spending:
    """
    Return what an agent has spent since a time. Runs that started later count as a whole; of the run that was open at
    that time, the later replies count.
    """
    last_run = runs.find_last_before(tx, agent, since)
    tokens, cycles = runs.sum_usage(tx, agent, after=last_run[0] if last_run else 0)
    if last_run is not None and (last_run[1] is None or last_run[1] >= since):
        replies = [step.turn for step in runs.list_steps(tx, last_run[0]) if step.at >= since]
        tokens += sum(turn.usage.prompt + turn.usage.completion for turn in replies if isinstance(turn, ModelReply))
    return Spending(tokens=tokens, cycles=cycles)


def find_exhausted(tx: Reader, resident: Resident, *, is_new_cycle: bool = False) -> ExhaustedBudget | None:
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


def start_rest(tx: Transaction, resident: Resident, until: Instant) -> None:
    """Let a resident rest until its next period, and alert its owner once for the period."""
    budget = resident.config.budget
    assert budget is not None, "only a budget can be exhausted"
    agents.set_rest(tx, replace(resident, rest_until=until))
    owner = directory.find_responsible(tx, directory.find(tx, resident.name))
    text = f"{resident.name!r} has used up its budget of {budget} and rests until {format_rfc3339(until)}"
    push.push_alerts(tx, [push.build_alert(owner, text, f"{resident.name}:budget:{until}")])
