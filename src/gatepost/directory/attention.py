"""
Attention and presence: what may wake an agent or disturb a person now, and what it is doing.

Attention is what an entity has said. It decides what starts a turn, a cycle or a notice, and nothing else: every item
stays in the inbox, and a turn that runs shows what waits. It ends by itself at its time. Presence is never said: it is
seen in sessions, runs and the use of the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from gatepost.core.text import ParsedEnum
from gatepost.core.times import DAY, HOUR, MINUTE, Duration, Instant
from gatepost.directory.entity import Entity
from gatepost.reactions import RoomQuestion

#: how far ahead attention may end
MAX_LENGTH: Final = 30 * DAY
#: the least urgent priority
_LAST_PRIORITY: Final = 4
#: how long after the last use of the page a person counts as at work, and as there
_PERSON_WORKS: Final[Duration] = 10 * MINUTE
_PERSON_IS_THERE: Final[Duration] = HOUR


class AttentionLevel(ParsedEnum, description="a level of attention"):
    #: whatever wakes
    ALL = "all"
    #: critical items wake, others wait
    FOCUS = "focus"
    #: nothing wakes
    DO_NOT_DISTURB = "do_not_disturb"

    @property
    def max_priority(self) -> int:
        """The number of the least urgent priority that wakes; -1 if none does."""
        return {AttentionLevel.FOCUS: 0, AttentionLevel.DO_NOT_DISTURB: -1}.get(self, _LAST_PRIORITY)


class Attention(Struct, frozen=True):
    level: AttentionLevel
    until: Instant


class AttentionChanged(NamedTuple):
    """A person has said what may disturb them, until a time or for good (None)."""

    entity: Entity
    until: Instant | None


class Presence(StrEnum):
    WORKING = "working"
    IDLE = "idle"
    AWAY = "away"


@dataclass(frozen=True, slots=True)
class FindPresences(RoomQuestion[Mapping[int, Presence]]):
    """What these agents are doing, by their numbers; without those of which nothing is known."""

    agents: Sequence[Entity]


def judge_person(seen_at: Instant | None, now: Instant) -> Presence:
    """Return what a person is doing who last used the page at this time, as far as is recorded."""
    silence = now - seen_at if seen_at is not None else _PERSON_IS_THERE + 1
    if silence <= _PERSON_WORKS:
        return Presence.WORKING
    return Presence.IDLE if silence <= _PERSON_IS_THERE else Presence.AWAY
