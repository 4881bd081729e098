"""What channels ask about agents, which residents know (`reactions.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from gatepost.directory.entity import Entity
from gatepost.reactions import RoomQuestion


@dataclass(frozen=True, slots=True)
class FindSkills(RoomQuestion[Sequence[str]]):
    """The skills in an agent's configuration; none if it is a guest."""

    agent: Entity


@dataclass(frozen=True, slots=True)
class CountGoals(RoomQuestion[int]):
    """The number of an agent's active goals, counted up to a limit."""

    agent: Entity
    limit: int
