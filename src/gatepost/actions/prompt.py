"""What a resident has before it when a cycle begins, beside its batch; bounded, however much there is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from gatepost.actions import goals, journal, memories, plans
from gatepost.actions.journal import Mind
from gatepost.core import prompt as words
from gatepost.core.agent import Config
from gatepost.core.entity import Entity
from gatepost.core.goal import Status as GoalStatus
from gatepost.core.plan import Status as PlanStatus
from gatepost.core.prompt import Facts, Place
from gatepost.core.run import Run
from gatepost.core.space import Space
from gatepost.ports import Reader
from gatepost.tables import spaces as rooms

#: spaces whose readers are told when an agent thinks, and those of them that the agent is told of
_SPACES: Final = 1_000
_PLACES: Final = 50
_MEMBERS: Final = 20
_GOALS: Final = 50
_MEMORIES: Final = 100
_PLANS: Final = 50

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Remembered:
    """The system prompt, what the agent has in mind, and the spaces it is in."""

    system: str
    mind: Mind
    places: tuple[Space, ...]


def remembered(tx: Reader, me: Entity, config: Config, run: Run) -> Remembered:
    places = rooms.page(tx, entity=me.number, after=0, most=_SPACES)
    system = words.system(facts(tx, me, config, places), tx.now)
    return Remembered(system, journal.mind_before(tx, run, me.number), tuple(places))


def facts(tx: Reader, me: Entity, config: Config, spaces: Sequence[Space] | None = None) -> Facts:
    """
    Of each kind, the first few; one more than those is read, to know whether there are others. Its spaces need not be
    read where they are known.
    """
    if spaces is None:
        spaces = rooms.page(tx, entity=me.number, after=0, most=_PLACES + 1)
    more: set[str] = set()

    def few(section: str, most: int, given: Sequence[T]) -> tuple[T, ...]:
        if len(given) > most:
            more.add(section)
        return tuple(given[:most])

    return Facts(
        name=me.name,
        display=me.display,
        team=me.team,
        role=me.role,
        description=config.description,
        instructions=config.instructions,
        places=tuple(_places(tx, few("places", _PLACES, spaces))),
        goals=few("goals", _GOALS, goals.page(tx, me, status=GoalStatus.ACTIVE, limit=_GOALS + 1)),
        memories=few("memories", _MEMORIES, memories.page(tx, me, limit=_MEMORIES + 1)),
        plans=few("plans", _PLANS, plans.page(tx, me, status=PlanStatus.PENDING, limit=_PLANS + 1)),
        more=frozenset(more),
    )


def _places(tx: Reader, spaces: Sequence[Space]) -> Iterator[Place]:
    members = rooms.some_members(tx, [space.number for space in spaces], _MEMBERS + 1)
    for space in spaces:
        some = members.get(space.number, [])
        yield Place(
            id=space.id,
            name=space.name,
            members=tuple(some[:_MEMBERS]),
            more=len(some) > _MEMBERS,
            archived=space.archived_at is not None,
        )
