"""Residents at rest."""

from collections.abc import Sequence
from typing import Final

from gatepost.core import config
from gatepost.core.agent import Config, Resident
from gatepost.core.entity import Entity
from gatepost.core.instants import Instant
from gatepost.ports.store import Reader, Row, Work
from gatepost.tables import entities
from gatepost.tables.rows import Columns

_RESIDENT: Final = Columns(
    Resident, "number name display config version paused_at cycles tokens failures rest_until cap"
)


def insert(work: Work, entity: int, wish: Config) -> bool:
    """Make an agent a resident; say whether it was none."""
    return work.run("agents/insert", entity=entity, config=config.encode(wish), now=work.now) == 1


def change(work: Work, entity: int, wish: Config) -> None:
    """Write another configuration; whatever kept the agent from thinking is forgiven."""
    work.run("agents/change", entity=entity, config=config.encode(wish), now=work.now)


def pause(work: Work, entity: int, at: Instant | None) -> None:
    work.run("agents/pause", entity=entity, at=at)


def rest(work: Work, resident: Resident) -> None:
    """Write how often its model has failed, until when it rests and how small its next batch must be."""
    work.run(
        "agents/rest",
        entity=resident.number,
        failures=resident.failures,
        until=resident.rest_until,
        cap=resident.cap,
    )


def end_rests(work: Work) -> None:
    """Let every resident that rests think again now."""
    work.run("agents/hurry", now=work.now)


def completed(work: Work, entity: int, *, cycles: int, tokens: int) -> None:
    """Write how many cycles it has completed and what its mind weighs; it thinks again as it should."""
    work.run("agents/completed", entity=entity, cycles=cycles, tokens=tokens)


def stirring(reader: Reader, entity: int, *, looking: bool) -> bool:
    """Whether it has something to think about now; `looking` when also what does not wake is enough."""
    return bool(
        reader.one(
            "agents/stirring",
            entity=entity,
            looking=looking,
            now=reader.now,
            fyi_before=reader.now - reader.limits.fyi_wait,
        )
    )


def read(reader: Reader, entity: int) -> Resident | None:
    row = reader.one("agents/read", entity=entity)
    return _resident(row) if row else None


def at_home(reader: Reader, name: str) -> tuple[Entity, Resident | None] | None:
    """Whoever has this name or alias, and how it stands if it is a resident."""
    row = reader.one("agents/at_home", name=name)
    if row is None:
        return None
    entity, config, standing = entities.of(row[:9]), row[9], row[10:]
    home = (entity.number, entity.name, entity.display, config, *standing)
    return entity, _resident(home) if config is not None else None


def among(reader: Reader, entities: Sequence[int]) -> dict[int, Resident]:
    """Those of these entities that are residents."""
    return {row[0]: _resident(row) for row in reader.all("agents/among", entities=list(entities))}


def _resident(row: Row) -> Resident:
    return _RESIDENT.read(row, config=config.decode(row[3]))
