"""
Budgets of residents: what they have spent, and the rest until the next period.

One that has nothing left begins no cycle, so what is in its inbox waits; a cycle that is under way ends before its next
request (`Limit.BUDGET`). Then the agent rests, as after a failure of its model, until the period ends: `rest_until` is
what wakes it, found by the janitor if nothing else does. It is not paused. Its owner is told once a period.
"""

from dataclasses import dataclass, replace

from gatepost.actions import directory, push
from gatepost.core.agent import Resident
from gatepost.core.budget import Spending
from gatepost.core.mind import ModelReply
from gatepost.core.times import SECOND, Instant, format_rfc3339
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, runs, steps


@dataclass(frozen=True, slots=True)
class ExhaustedBudget:
    """Nothing is left of a budget until an instant, which is so many seconds away."""

    until: Instant
    seconds: float


def count_spending(tx: Reader, agent: int, since: Instant) -> Spending:
    """
    Return what an agent has spent since an instant. The runs that started later count as a whole; of the one that was
    under way then, the replies that came later do.
    """
    last_run = runs.last_before(tx, agent, since)
    tokens, cycles = runs.spending(tx, agent, after=last_run[0] if last_run else 0)
    if last_run is not None and (last_run[1] is None or last_run[1] >= since):
        replies = [step.turn for step in steps.of_run(tx, last_run[0]) if step.at >= since]
        tokens += sum(turn.usage.prompt + turn.usage.completion for turn in replies if isinstance(turn, ModelReply))
    return Spending(tokens, cycles)


def find_exhausted(tx: Reader, resident: Resident, *, is_new_cycle: bool = False) -> ExhaustedBudget | None:
    """Return until when a resident has nothing left to spend; None if it has, or has no budget."""
    budget = resident.config.budget
    if budget is None:
        return None
    start, end = budget.find_period(tx.now)
    if not budget.is_spent(count_spending(tx, resident.number, start), is_start=is_new_cycle):
        return None
    return ExhaustedBudget(end, (end - tx.now) / SECOND)


def start_rest(tx: Transaction, resident: Resident, until: Instant) -> None:
    """Let a resident rest until its budget is whole again, and tell its owner if that has not been said."""
    budget = resident.config.budget
    assert budget is not None, "who has no budget has not used it up"
    agents.rest(tx, replace(resident, rest_until=until))
    owner = directory.find_responsible(tx, directory.find(tx, resident.name))
    text = f"{resident.name!r} has used up its budget of {budget} and rests until {format_rfc3339(until)}"
    push.push_alerts(tx, [push.build_alert(owner, text, f"{resident.name}:budget:{until}")])
