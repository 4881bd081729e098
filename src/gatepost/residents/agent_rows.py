"""Residents, their goals and their memories."""

from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import MAX_INSTANT, Instant
from gatepost.directory import entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.residents import agent_config_json as agent_config
from gatepost.residents.agent_config import AgentConfig, Resident
from gatepost.residents.goals_and_memories import Goal, GoalStatus, Memory
from gatepost.stores.row_mapping import Mapper, fetch_number, get_columns

RESIDENT: Final = Mapper(Resident, config=agent_config.decode)
_GOAL: Final = Mapper(Goal)
_MEMORY: Final = Mapper(Memory)


def insert(tx: Transaction, entity: int, config: AgentConfig) -> bool:
    """Make an agent a resident; return False if it is one already."""
    return tx.execute("residents/agents/insert", entity=entity, config=agent_config.encode(config), now=tx.now) == 1


def update(tx: Transaction, entity: int, config: AgentConfig) -> None:
    """Replace the configuration, and reset failures and the rest time."""
    tx.execute("residents/agents/update", entity=entity, config=agent_config.encode(config), now=tx.now)


def pause(tx: Transaction, entity: int, paused_at: Instant | None) -> None:
    tx.execute("residents/agents/pause", entity=entity, at=paused_at)


def set_rest(tx: Transaction, resident: Resident) -> None:
    """Save the failures of the model, the rest time and the limit of the next batch."""
    tx.execute("residents/agents/set_rest", **get_columns(resident, "number failures rest_until batch_limit"))


def end_rests(tx: Transaction) -> None:
    """End the rest time of every resident now."""
    tx.execute("residents/agents/end_rests", now=tx.now)


def record_cycles(tx: Transaction, resident: Resident) -> None:
    """Save the number of completed cycles and the size of the mind; reset failures, rest time and batch limit."""
    tx.execute("residents/agents/record_cycles", **get_columns(resident, "number cycles tokens"))


def is_ready(tx: Reader, entity: int, *, include_quiet: bool) -> bool:
    """Return True if a resident has something to think about; with `include_quiet` also items that do not wake it."""
    return bool(
        tx.fetch_one(
            "residents/agents/is_ready",
            entity=entity,
            include_quiet=include_quiet,
            now=tx.now,
            fyi_before=tx.now - tx.limits.fyi_wait,
        )
    )


def read(tx: Reader, entity: int) -> Resident | None:
    return RESIDENT.fetch_one(tx, "residents/agents/read", entity=entity)


def find_by_name(tx: Reader, name: str) -> tuple[Entity, Resident | None] | None:
    """Return the entity with this name or alias, and its resident if it has one."""
    row = tx.fetch_one("residents/agents/find_by_name", name=name)
    if row is None:
        return None
    return entities.ENTITY.read(row), RESIDENT.read(row) if row.config is not None else None


def read_many(tx: Reader, entities: Sequence[int]) -> dict[int, Resident]:
    """Return the residents among these entities, by number."""
    residents = RESIDENT.fetch_all(tx, "residents/agents/read_many", entities=list(entities))
    return {resident.number: resident for resident in residents}


def insert_goal(tx: Transaction, entity: int, goal: Goal) -> None:
    tx.execute(
        "residents/goals/insert",
        **get_columns(goal, "id description status priority"),
        entity=entity,
        now=goal.created_at,
    )


def update_goal(tx: Transaction, goal: Goal) -> None:
    tx.execute("residents/goals/update", **get_columns(goal, "number description status priority"), now=goal.updated_at)


def read_goal(tx: Reader, entity: int, id: str) -> Goal | None:
    """Return a goal of this entity."""
    return _GOAL.fetch_one(tx, "residents/goals/read", entity=entity, id=id)


def list_goals(tx: Reader, entity: int, *, status: GoalStatus | None, limit: int) -> list[Goal]:
    """Return the goals of an entity, the most important first."""
    return _GOAL.fetch_all(tx, "residents/goals/list_page", entity=entity, status=status, limit=limit)


def delete_goal(tx: Transaction, entity: int, id: str) -> bool:
    """Return False if the entity has no such goal."""
    return tx.execute("residents/goals/delete", entity=entity, id=id) == 1


def count_goals(tx: Reader, entity: int) -> int:
    return fetch_number(tx, "residents/goals/count", entity=entity)


def set_memory(tx: Transaction, entity: int, key: str, value: str) -> None:
    tx.execute("residents/memories/set", entity=entity, key=key, value=value, now=tx.now)


def read_memory(tx: Reader, entity: int, key: str) -> Memory | None:
    return _MEMORY.fetch_one(tx, "residents/memories/read", entity=entity, key=key)


def list_memories(tx: Reader, entity: int, after: tuple[Instant, str] | None, limit: int) -> list[Memory]:
    """Return the memories of an entity, newest first; `after` is the time and the key of the last one seen."""
    updated_at, key = after if after is not None else (MAX_INSTANT, "")
    rows = tx.fetch_page("residents/memories/list_page", entity=entity, at=updated_at, key=key, limit=limit)
    return [_MEMORY.read(row) for row in rows]


def delete_memory(tx: Transaction, entity: int, key: str) -> bool:
    """Return False if there is no such memory."""
    return tx.execute("residents/memories/delete", entity=entity, key=key) == 1


def count_memories(tx: Reader, entity: int) -> int:
    return fetch_number(tx, "residents/memories/count", entity=entity)
