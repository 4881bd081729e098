"""What an agent works towards, in its own words."""

from dataclasses import dataclass
from typing import Final

from gatepost.core import text
from gatepost.core.instants import Instant
from gatepost.core.word import Word
from gatepost.errors import Invalid

#: goals that one agent may have, ended ones included
MOST: Final = 200
LONGEST: Final = 4_000
_FARTHEST: Final = 1_000


class Status(Word, what="a status of a goal"):
    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    id: str
    description: str
    status: Status = Status.ACTIVE
    #: higher is more
    priority: int = 0
    created_at: Instant
    updated_at: Instant
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalWish:
    """A goal to make or, with an id, what to change of one: whatever is None stays as it is."""

    id: str | None = None
    description: str | None = None
    status: Status | None = None
    priority: int | None = None


def described(given: str | None) -> str:
    """Return the text if it can say what a goal is."""
    if given is None or not given.strip():
        raise Invalid("a goal needs a description")
    if len(given) > LONGEST:
        raise Invalid(f"the description of a goal has {len(given)} characters, over the limit of {LONGEST}")
    return text.storable("description of a goal", given)


def ranked(given: int) -> int:
    """Return the number if it can be the priority of a goal."""
    if not -_FARTHEST <= given <= _FARTHEST:
        raise Invalid(f"{given} is not a priority of a goal", hint=f"use -{_FARTHEST} to {_FARTHEST}, higher is more")
    return given
