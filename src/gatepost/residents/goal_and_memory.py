"""What an agent notes for itself: goals, in its own words, and memories, which are texts under keys."""

from typing import Final

from msgspec import Struct

from gatepost.core import text
from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant
from gatepost.errors import Invalid, TooLarge, quote_value

#: memories that one agent may have
MAX_MEMORIES: Final = 1_000
MAX_KEY_LENGTH: Final = 200
#: bytes of a value, as UTF-8
MAX_VALUE_BYTES: Final = 16 * 1024
#: goals that one agent may have, ended ones included
MAX_GOALS: Final = 200
MAX_GOAL_LENGTH: Final = 4_000
_MAX_GOAL_PRIORITY: Final = 1_000


class Memory(Struct, frozen=True, kw_only=True):
    """A text that an agent stores for itself under a key."""

    key: str
    value: str
    updated_at: Instant


def check_key(key: str) -> str:
    """Return the text if it can be the key of a memory."""
    if not key.strip() or len(key) > MAX_KEY_LENGTH or not key.isprintable():
        raise Invalid(
            f"{quote_value(key)} is not the key of a memory", hint=f"use up to {MAX_KEY_LENGTH} printable characters"
        )
    return key


def check_value(value: str) -> str:
    """Return the text if it can be the value of a memory."""
    if (size := len(text.check_storable("value of a memory", value).encode())) > MAX_VALUE_BYTES:
        raise TooLarge(f"the value of a memory is {size} bytes, over the limit of {MAX_VALUE_BYTES}")
    return value


class GoalStatus(ParsedEnum, description="a status of a goal"):
    ACTIVE = "active"
    COMPLETED = "completed"
    ABANDONED = "abandoned"


class Goal(Struct, frozen=True, kw_only=True):
    """A goal of an agent, in its own words."""

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


def check_goal(description: str | None) -> str:
    """Return the text if it can be the description of a goal."""
    if description is None or not description.strip():
        raise Invalid("a goal needs a description")
    return text.check_text("description of a goal", description, MAX_GOAL_LENGTH)


def check_goal_priority(priority: int) -> int:
    """Return the number if it can be the priority of a goal."""
    if not -_MAX_GOAL_PRIORITY <= priority <= _MAX_GOAL_PRIORITY:
        raise Invalid(
            f"{priority} is not a priority of a goal",
            hint=f"use -{_MAX_GOAL_PRIORITY} to {_MAX_GOAL_PRIORITY}, higher is more",
        )
    return priority
