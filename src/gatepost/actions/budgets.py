"""
Budgets of residents: what they have spent, and the rest until the next period.

One that has nothing left begins no cycle, so what is in its inbox waits; a cycle that is under way ends before its next
request (`Limit.BUDGET`). Then the agent rests, as after a failure of its model, until the period ends: `rest_until` is
what wakes it, found by the janitor if nothing else does. It is not paused. Its owner is told once a period.
"""

from dataclasses import dataclass, replace

from gatepost.actions import directory, intake
from gatepost.core.agent import Resident
from gatepost.core.budget import Spending
from gatepost.core.instants import SECOND, Instant, rfc3339
from gatepost.core.mind import Reply
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, runs, steps


@dataclass(frozen=True, slots=True)
class Exhausted:
    """Nothing is left of a budget until an instant, which is so many seconds away."""

    until: Instant
    seconds: float


def count_spending(tx: Reader, agent: int, since: Instant) -> Spending:
    """
    Return what an agent has spent since an instant. The runs that started later count as a whole; of the one that was
    under way then, the replies that came later do.
    """
    last = runs.last_before(tx, agent, since)
    tokens, cycles = runs.spending(tx, agent, after=last[0] if last else 0)
    if last is not None and (last[1] is None or last[1] >= since):
        replies = [step.turn for step in steps.of_run(tx, last[0]) if step.at >= since]
        tokens += sum(turn.usage.prompt + turn.usage.completion for turn in replies if isinstance(turn, Reply))
    return Spending(tokens, cycles)


def find_exhausted(tx: Reader, resident: Resident, *, beginning: bool = False) -> Exhausted | None:
    """Return until when a resident has nothing left to spend; None if it has, or has no budget."""
    budget = resident.config.budget
    if budget is None:
        return None
    start, end = budget.period(tx.now)
    if not budget.is_spent(count_spending(tx, resident.number, start), beginning=beginning):
        return None
    return Exhausted(end, (end - tx.now) / SECOND)


def rest(tx: Transaction, resident: Resident, until: Instant) -> None:
    """Let a resident rest until its budget is whole again, and tell its owner if that has not been said."""
    budget = resident.config.budget
    assert budget is not None, "who has no budget has not used it up"
    agents.rest(tx, replace(resident, rest_until=until))
    owner = directory.responsible(tx, directory.find(tx, resident.name))
    text = f"{resident.name!r} has used up its budget of {budget} and rests until {rfc3339(until)}"
    intake.alert(tx, [intake.warning(owner, text, f"{resident.name}:budget:{until}")])
