"""Goals at rest."""

from typing import Final

from gatepost.core.goal import Goal, Status
from gatepost.ports.store import Reader, Work
from gatepost.tables.rows import Columns, columns

_goal: Final = Columns(Goal, "number id description status priority created_at updated_at").read


def insert(work: Work, entity: int, goal: Goal) -> None:
    work.run("goals/insert", **columns(goal, "id description status priority"), entity=entity, now=goal.created_at)


def change(work: Work, goal: Goal) -> None:
    work.run("goals/change", **columns(goal, "number description status priority"), now=goal.updated_at)


def read(reader: Reader, entity: int, id: str) -> Goal | None:
    """A goal of that entity; nobody else's."""
    row = reader.one("goals/read", entity=entity, id=id)
    return _goal(row) if row else None


def page(reader: Reader, entity: int, *, status: Status | None, most: int) -> list[Goal]:
    """The goals of an entity, the most important first."""
    return [_goal(row) for row in reader.all("goals/list", entity=entity, status=status, most=most)]


def delete(work: Work, entity: int, id: str) -> bool:
    """Say whether the entity had it."""
    return work.run("goals/delete", entity=entity, id=id) == 1


def count(reader: Reader, entity: int) -> int:
    row = reader.one("goals/count", entity=entity)
    assert row is not None
    return int(row[0])
