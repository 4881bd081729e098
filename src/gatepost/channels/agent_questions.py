"""What channels ask about agents, which residents know (`reactions.py`)."""

from collections.abc import Sequence
from dataclasses import dataclass

from gatepost.directory.entity import Entity
from gatepost.reactions import Question


@dataclass(frozen=True, slots=True)
class FindSkills(Question[Sequence[str]]):
    """The skills in an agent's configuration; none if it is a guest."""

    agent: Entity


@dataclass(frozen=True, slots=True)
class CountGoals(Question[int]):
    """The number of an agent's active goals, counted up to a limit."""

    agent: Entity
    limit: int
