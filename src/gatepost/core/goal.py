"""A goal of an agent, in its own words."""

from typing import Final

from msgspec import Struct

from gatepost.core import text
from gatepost.core.enums import ParsedEnum
from gatepost.core.times import Instant
from gatepost.errors import Invalid

#: goals that one agent may have, ended ones included
MAX_GOALS: Final = 200
MAX_DESCRIPTION_LENGTH: Final = 4_000
_MAX_PRIORITY: Final = 1_000


class GoalStatus(ParsedEnum, description="a status of a goal"):
    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class Goal(Struct, frozen=True, kw_only=True):
    id: str
    description: str
    status: GoalStatus = GoalStatus.ACTIVE
    #: higher is more important
    priority: int = 0
    created_at: Instant
    updated_at: Instant
    number: int = 0


class GoalSpec(Struct, frozen=True, kw_only=True):
    """A goal to make or, with an id, to change: fields that are None stay as they are."""

    id: str | None = None
    description: str | None = None
    status: GoalStatus | None = None
    priority: int | None = None


def check_description(description: str | None) -> str:
    """Return the text if it can be the description of a goal."""
    if description is None or not description.strip():
        raise Invalid("a goal needs a description")
    if len(description) > MAX_DESCRIPTION_LENGTH:
        raise Invalid(
            f"the description of a goal has {len(description)} characters, over the limit of {MAX_DESCRIPTION_LENGTH}"
        )
    return text.check_storable("description of a goal", description)


def check_priority(priority: int) -> int:
    """Return the number if it can be the priority of a goal."""
    if not -_MAX_PRIORITY <= priority <= _MAX_PRIORITY:
        raise Invalid(
            f"{priority} is not a priority of a goal", hint=f"use -{_MAX_PRIORITY} to {_MAX_PRIORITY}, higher is more"
        )
    return priority
