"""The goals and the memories of agents. They belong to the agent that set them; every agent has its own keys."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from gatepost.channels.triggers.trigger import CountGoals
from gatepost.core import ids
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import MAX_INSTANT, Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, NotFound
from gatepost.residents import goal_and_memory as rules
from gatepost.residents.goal_and_memory import Goal, GoalSpec, GoalStatus, Memory
from gatepost.stores.row_mapping import Mapper, fetch_number, get_columns

_GOAL: Final = Mapper(Goal)
_MEMORY: Final = Mapper(Memory)


def set_memories(tx: Transaction, name: str, values: Mapping[str, str]) -> int:
    """Write values under keys, all of them or none, and replace those that exist; return how many."""
    owner = directory.find_live(tx, name).number
    entries = {rules.check_key(key): rules.check_value(value) for key, value in values.items()}
    new_count = sum(_read_memory(tx, owner, key) is None for key in entries)
    if new_count and fetch_number(tx, "residents/memories/count", entity=owner) + new_count > rules.MAX_MEMORIES:
        raise Invalid(
            f"that would be more than {rules.MAX_MEMORIES} memories", hint="delete those that are not needed any more"
        )
    for key, value in entries.items():
        tx.execute_later("residents/memories/set", entity=owner, key=key, value=value, now=tx.now)
    return len(entries)


def list_memories(
    tx: Reader,
    name: str | Entity,
    *,
    keys: Iterable[str] | None = None,
    after: tuple[Instant, str] | None = None,
    limit: int = rules.MAX_MEMORIES,
) -> list[Memory]:
    """
    Return the memories of an agent, the newest first: all, or those under these keys. `after` is the time and the key
    of the last memory seen.
    """
    owner = directory.find(tx, name).number
    if keys is None:
        at, key = after if after is not None else (MAX_INSTANT, "")
        return _MEMORY.fetch_page(tx, "residents/memories/list_page", entity=owner, at=at, key=key, limit=limit)
    rows = [_read_memory(tx, owner, rules.check_key(key)) for key in dict.fromkeys(keys)]
    return sorted((memory for memory in rows if memory), key=lambda memory: (-memory.updated_at, memory.key))[:limit]


def delete_memories(tx: Transaction, name: str, keys: Iterable[str]) -> int:
    """Delete the memories under these keys; return how many existed."""
    owner = directory.find_live(tx, name).number
    unique_keys = dict.fromkeys(map(rules.check_key, keys))
    return sum(tx.execute("residents/memories/delete", entity=owner, key=key) for key in unique_keys)


def _read_memory(tx: Reader, owner: int, key: str) -> Memory | None:
    return _MEMORY.fetch_one(tx, "residents/memories/read", entity=owner, key=key)


def set_goals(tx: Transaction, name: str, specs: Sequence[GoalSpec]) -> list[Goal]:
    """Make goals or, with an id, change them; all of them, or none."""
    owner = directory.find_live(tx, name).number
    results = [
        _create_goal(tx, spec) if spec.id is None else _update_goal(tx, _require_goal(tx, owner, spec.id), spec)
        for spec in specs
    ]
    new_count = sum(spec.id is None for spec in specs)
    if new_count and fetch_number(tx, "residents/goals/count", entity=owner) + new_count > rules.MAX_GOALS:
        raise Invalid(f"that would be more than {rules.MAX_GOALS} goals", hint="delete those that are over")
    for spec, goal in zip(specs, results, strict=True):
        if spec.id is None:
            columns = get_columns(goal, "id description status priority")
            tx.execute_later("residents/goals/insert", entity=owner, now=tx.now, **columns)
        else:
            columns = get_columns(goal, "number description status priority")
            tx.execute_later("residents/goals/update", now=tx.now, **columns)
    return results


def list_newest_memories_later(tx: Reader, agent: Entity, limit: int) -> Callable[[], list[Memory]]:
    """Return a function that returns the newest memories of an agent, once another statement has run."""
    return _MEMORY.fetch_later(
        tx, "residents/memories/list_page", entity=agent.number, at=MAX_INSTANT, key="", limit=limit
    )


def list_goals(
    tx: Reader, name: str | Entity, *, status: GoalStatus | None = None, limit: int = rules.MAX_GOALS
) -> list[Goal]:
    """Return the goals of an agent, the most important first."""
    return list_goals_later(tx, directory.find(tx, name), status, limit)()


def delete_goals(tx: Transaction, name: str, goal_ids: Iterable[str]) -> int:
    """Delete goals by their ids, all of them or none; return how many."""
    owner = directory.find_live(tx, name).number
    owned_goals = [_require_goal(tx, owner, id) for id in dict.fromkeys(goal_ids)]
    return sum(tx.execute("residents/goals/delete", entity=owner, id=goal.id) for goal in owned_goals)


def _create_goal(tx: Transaction, spec: GoalSpec) -> Goal:
    return Goal(
        id=tx.new_id("goal"),
        description=rules.check_goal(spec.description),
        status=spec.status or GoalStatus.ACTIVE,
        priority=rules.check_goal_priority(spec.priority or 0),
        created_at=tx.now,
        updated_at=tx.now,
    )


def _update_goal(tx: Transaction, goal: Goal, spec: GoalSpec) -> Goal:
    return replace(
        goal,
        description=goal.description if spec.description is None else rules.check_goal(spec.description),
        status=spec.status or goal.status,
        priority=goal.priority if spec.priority is None else rules.check_goal_priority(spec.priority),
        updated_at=tx.now,
    )


def _require_goal(tx: Reader, owner: int, id: str) -> Goal:
    goal = _GOAL.fetch_one(tx, "residents/goals/read", entity=owner, id=ids.check("goal", id))
    if goal is None:
        raise NotFound(f"you have no goal {id!r}")
    return goal


def count_goals(tx: Reader, question: CountGoals) -> int:
    """Return the number of active goals of an agent, up to the limit of the question."""
    return len(list_goals_later(tx, question.agent, GoalStatus.ACTIVE, question.limit)())


def list_goals_later(tx: Reader, owner: Entity, status: GoalStatus | None, limit: int) -> Callable[[], list[Goal]]:
    """Return a function that returns the goals of an agent, once another statement has run."""
    return _GOAL.fetch_later(tx, "residents/goals/list_page", entity=owner.number, status=status, limit=limit)
