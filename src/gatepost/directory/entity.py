"""
An entity: an agent, a human or a service that has an inbox; and what happens to entities, for the rooms that react
(`reactions.py`).
"""

from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import Struct

from gatepost.core.times import Instant

#: aliases of one entity
MAX_ALIASES: Final = 50


class EntityKind(StrEnum):
    AGENT = "agent"
    HUMAN = "human"
    SERVICE = "service"

    @property
    def phrase(self) -> str:
        """How sentences name it: `a person`."""
        return {EntityKind.AGENT: "an agent", EntityKind.HUMAN: "a person", EntityKind.SERVICE: "a service"}[self]


class Entity(Struct, frozen=True, kw_only=True):
    #: the number that other rows refer to; never shown
    number: int
    name: str
    kind: EntityKind
    display: str
    team: str | None = None
    role: str | None = None
    #: the name of the entity that is alerted when something is wrong with this one
    owner: str | None = None
    aliases: tuple[str, ...] = ()
    created_at: Instant
    retired_at: Instant | None = None

    @property
    def is_live(self) -> bool:
        return self.retired_at is None


class Registering(NamedTuple):
    """An entity is about to be stored."""

    name: str


class Registered(NamedTuple):
    entity: Entity


class Renamed(NamedTuple):
    """It has another display name; `entity` has the old one."""

    entity: Entity
    display: str


class Retired(NamedTuple):
    entity: Entity
