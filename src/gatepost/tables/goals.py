"""Goals at rest."""

from typing import Final

from gatepost.core.goal import Goal, GoalStatus
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper, get_columns

_goal: Final = Mapper(Goal).read


def insert(tx: Transaction, entity: int, goal: Goal) -> None:
    tx.execute(
        "goals/insert", **get_columns(goal, "id description status priority"), entity=entity, now=goal.created_at
    )


def change(tx: Transaction, goal: Goal) -> None:
    tx.execute("goals/change", **get_columns(goal, "number description status priority"), now=goal.updated_at)


def read(tx: Reader, entity: int, id: str) -> Goal | None:
    """A goal of that entity; nobody else's."""
    row = tx.fetch_one("goals/read", entity=entity, id=id)
    return _goal(row) if row else None


def page(tx: Reader, entity: int, *, status: GoalStatus | None, limit: int) -> list[Goal]:
    """The goals of an entity, the most important first."""
    return [_goal(row) for row in tx.fetch_all("goals/list", entity=entity, status=status, limit=limit)]


def delete(tx: Transaction, entity: int, id: str) -> bool:
    """Say whether the entity had it."""
    return tx.execute("goals/delete", entity=entity, id=id) == 1


def count(tx: Reader, entity: int) -> int:
    row = tx.fetch_one("goals/count", entity=entity)
    assert row is not None
    return int(row.total)
