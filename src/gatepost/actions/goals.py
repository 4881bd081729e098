"""The goals of agents. A goal belongs to the agent that set it; for all others it does not exist."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gatepost.actions import directory
from gatepost.core import ids
from gatepost.core import memory as rules
from gatepost.core.entity import Entity
from gatepost.core.memory import Goal, GoalSpec, GoalStatus
from gatepost.errors import Invalid, NotFound
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents


def set_goals(tx: Transaction, name: str, specs: Sequence[GoalSpec]) -> list[Goal]:
    """Make goals or, with an id, change them; all of them, or none."""
    owner = directory.find_live(tx, name).number
    results = [
        _create(tx, spec) if spec.id is None else _update(tx, _require_owned(tx, owner, spec.id), spec)
        for spec in specs
    ]
    new_count = sum(spec.id is None for spec in specs)
    if new_count and agents.count_goals(tx, owner) + new_count > rules.MAX_GOALS:
        raise Invalid(f"that would be more than {rules.MAX_GOALS} goals", hint="delete those that are over")
    for spec, goal in zip(specs, results, strict=True):
        if spec.id is None:
            agents.insert_goal(tx, owner, goal)
        else:
            agents.update_goal(tx, goal)
    return results


def page(
    tx: Reader, name: str | Entity, *, status: GoalStatus | None = None, limit: int = rules.MAX_GOALS
) -> list[Goal]:
    """Return the goals of an agent, the most important first."""
    return agents.list_goals(tx, directory.find(tx, name).number, status=status, limit=limit)


def delete(tx: Transaction, name: str, goal_ids: Iterable[str]) -> int:
    """Delete goals by their ids, all of them or none; return how many."""
    owner = directory.find_live(tx, name).number
    owned_goals = [_require_owned(tx, owner, id) for id in dict.fromkeys(goal_ids)]
    return sum(agents.delete_goal(tx, owner, goal.id) for goal in owned_goals)


def _create(tx: Transaction, spec: GoalSpec) -> Goal:
    return Goal(
        id=tx.new_id("goal"),
        description=rules.check_goal(spec.description),
        status=spec.status or GoalStatus.ACTIVE,
        priority=rules.check_goal_priority(spec.priority or 0),
        created_at=tx.now,
        updated_at=tx.now,
    )


def _update(tx: Transaction, goal: Goal, spec: GoalSpec) -> Goal:
    return replace(
        goal,
        description=goal.description if spec.description is None else rules.check_goal(spec.description),
        status=spec.status or goal.status,
        priority=goal.priority if spec.priority is None else rules.check_goal_priority(spec.priority),
        updated_at=tx.now,
    )


def _require_owned(tx: Reader, owner: int, id: str) -> Goal:
    goal = agents.read_goal(tx, owner, ids.check("goal", id))
    if goal is None:
        raise NotFound(f"you have no goal {id!r}")
    return goal
