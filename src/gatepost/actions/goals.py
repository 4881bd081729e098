"""What agents work towards. A goal belongs to whoever set it; to everybody else it is not there."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gatepost.actions import directory
from gatepost.core import goal as rules
from gatepost.core import ids
from gatepost.core.entity import Entity
from gatepost.core.goal import Goal, GoalWish, Status
from gatepost.errors import Invalid, NotFound
from gatepost.ports import Reader, Transaction
from gatepost.tables import goals


def set(tx: Transaction, name: str, wishes: Sequence[GoalWish]) -> list[Goal]:
    """Make goals or, with an id, change them. All of them, or none."""
    whose = directory.find_live(tx, name).number
    wished = [_made(tx, wish) if wish.id is None else _changed(tx, _own(tx, whose, wish.id), wish) for wish in wishes]
    new = sum(wish.id is None for wish in wishes)
    if new and goals.count(tx, whose) + new > rules.MOST:
        raise Invalid(f"that would be more than {rules.MOST} goals", hint="delete those that are over")
    for wish, goal in zip(wishes, wished, strict=True):
        if wish.id is None:
            goals.insert(tx, whose, goal)
        else:
            goals.change(tx, goal)
    return wished


def page(tx: Reader, name: str | Entity, *, status: Status | None = None, limit: int = rules.MOST) -> list[Goal]:
    """The goals of an agent, the most important first."""
    return goals.page(tx, directory.find(tx, name).number, status=status, most=limit)


def delete(tx: Transaction, name: str, given: Iterable[str]) -> int:
    """Delete goals by their ids; return how many. All of them, or none."""
    whose = directory.find_live(tx, name).number
    own = [_own(tx, whose, id) for id in dict.fromkeys(given)]
    return sum(goals.delete(tx, whose, goal.id) for goal in own)


def _made(tx: Transaction, wish: GoalWish) -> Goal:
    return Goal(
        id=tx.new_id("goal"),
        description=rules.described(wish.description),
        status=wish.status or Status.ACTIVE,
        priority=rules.ranked(wish.priority or 0),
        created_at=tx.now,
        updated_at=tx.now,
    )


def _changed(tx: Transaction, goal: Goal, wish: GoalWish) -> Goal:
    return replace(
        goal,
        description=goal.description if wish.description is None else rules.described(wish.description),
        status=wish.status or goal.status,
        priority=goal.priority if wish.priority is None else rules.ranked(wish.priority),
        updated_at=tx.now,
    )


def _own(tx: Reader, whose: int, id: str) -> Goal:
    found = goals.read(tx, whose, ids.check("goal", id))
    if found is None:
        raise NotFound(f"you have no goal {id!r}")
    return found
