"""What happens to entities, for the rooms that react to it (`reactions.py`)."""

from typing import NamedTuple

from gatepost.directory.entity import Entity


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
