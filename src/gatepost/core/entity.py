"""Who has an inbox: an agent, a human or a service."""

from dataclasses import dataclass
from enum import StrEnum

from gatepost.core.times import Instant


class EntityKind(StrEnum):
    AGENT = "agent"
    HUMAN = "human"
    SERVICE = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    #: what other rows refer to; never shown
    number: int
    name: str
    kind: EntityKind
    display: str
    team: str | None = None
    role: str | None = None
    #: the name of whoever is told when something is wrong with it
    owner: str | None = None
    aliases: tuple[str, ...] = ()
    created_at: Instant
    retired_at: Instant | None = None

    @property
    def is_live(self) -> bool:
        return self.retired_at is None
