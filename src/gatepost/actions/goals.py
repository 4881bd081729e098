"""What agents work towards. A goal belongs to whoever set it; to everybody else it is not there."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gatepost.actions import directory
from gatepost.core import goal as rules
from gatepost.core import ids
from gatepost.core.entity import Entity
from gatepost.core.goal import Goal, GoalWish, Status
from gatepost.errors import Invalid, NotFound
from gatepost.ports.store import Reader, Work
from gatepost.tables import goals


def set(work: Work, name: str, wishes: Sequence[GoalWish]) -> list[Goal]:
    """Make goals or, with an id, change them. All of them, or none."""
    whose = directory.find_live(work, name).number
    wished = [
        _made(work, wish) if wish.id is None else _changed(work, _own(work, whose, wish.id), wish) for wish in wishes
    ]
    new = sum(wish.id is None for wish in wishes)
    if new and goals.count(work, whose) + new > rules.MOST:
        raise Invalid(f"that would be more than {rules.MOST} goals", hint="delete those that are over")
    for wish, goal in zip(wishes, wished, strict=True):
        if wish.id is None:
            goals.insert(work, whose, goal)
        else:
            goals.change(work, goal)
    return wished


def page(reader: Reader, name: str | Entity, *, status: Status | None = None, limit: int = rules.MOST) -> list[Goal]:
    """The goals of an agent, the most important first."""
    return goals.page(reader, directory.find(reader, name).number, status=status, most=limit)


def delete(work: Work, name: str, given: Iterable[str]) -> int:
    """Delete goals by their ids; return how many. All of them, or none."""
    whose = directory.find_live(work, name).number
    own = [_own(work, whose, id) for id in dict.fromkeys(given)]
    return sum(goals.delete(work, whose, goal.id) for goal in own)


def _made(work: Work, wish: GoalWish) -> Goal:
    return Goal(
        id=work.id("goal"),
        description=rules.described(wish.description),
        status=wish.status or Status.ACTIVE,
        priority=rules.ranked(wish.priority or 0),
        created_at=work.now,
        updated_at=work.now,
    )


def _changed(work: Work, goal: Goal, wish: GoalWish) -> Goal:
    return replace(
        goal,
        description=goal.description if wish.description is None else rules.described(wish.description),
        status=wish.status or goal.status,
        priority=goal.priority if wish.priority is None else rules.ranked(wish.priority),
        updated_at=work.now,
    )


def _own(reader: Reader, whose: int, id: str) -> Goal:
    found = goals.read(reader, whose, ids.check("goal", id))
    if found is None:
        raise NotFound(f"you have no goal {id!r}")
    return found
