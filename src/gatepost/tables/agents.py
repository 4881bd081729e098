"""Residents at rest."""

from collections.abc import Sequence
from typing import Final

from gatepost.core import agent_config
from gatepost.core.agent import AgentConfig, Resident
from gatepost.core.entity import Entity
from gatepost.core.times import Instant
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables import entities
from gatepost.tables.rows import Mapper

_RESIDENT: Final = Mapper(Resident, apart="config")


def insert(tx: Transaction, entity: int, wish: AgentConfig) -> bool:
    """Make an agent a resident; say whether it was none."""
    return tx.execute("agents/insert", entity=entity, config=agent_config.encode(wish), now=tx.now) == 1


def change(tx: Transaction, entity: int, wish: AgentConfig) -> None:
    """Write another configuration; whatever kept the agent from thinking is forgiven."""
    tx.execute("agents/change", entity=entity, config=agent_config.encode(wish), now=tx.now)


def pause(tx: Transaction, entity: int, at: Instant | None) -> None:
    tx.execute("agents/pause", entity=entity, at=at)


def rest(tx: Transaction, resident: Resident) -> None:
    """Write how often its model has failed, until when it rests and how small its next batch must be."""
    tx.execute(
        "agents/rest",
        entity=resident.number,
        failures=resident.failures,
        until=resident.rest_until,
        cap=resident.batch_limit,
    )


def end_rests(tx: Transaction) -> None:
    """Let every resident that rests think again now."""
    tx.execute("agents/hurry", now=tx.now)


def completed(tx: Transaction, entity: int, *, cycles: int, tokens: int) -> None:
    """Write how many cycles it has completed and what its mind weighs; it thinks again as it should."""
    tx.execute("agents/completed", entity=entity, cycles=cycles, tokens=tokens)


def stirring(tx: Reader, entity: int, *, looking: bool) -> bool:
    """Whether it has something to think about now; `looking` when also what does not wake is enough."""
    return bool(
        tx.fetch_one(
            "agents/stirring",
            entity=entity,
            include_quiet=looking,
            now=tx.now,
            fyi_before=tx.now - tx.limits.fyi_wait,
        )
    )


def read(tx: Reader, entity: int) -> Resident | None:
    row = tx.fetch_one("agents/read", entity=entity)
    return _resident(row) if row else None


def at_home(tx: Reader, name: str) -> tuple[Entity, Resident | None] | None:
    """Whoever has this name or alias, and how it stands if it is a resident."""
    row = tx.fetch_one("agents/at_home", name=name)
    if row is None:
        return None
    return entities.of(row), _resident(row) if row.config is not None else None


def among(tx: Reader, entities: Sequence[int]) -> dict[int, Resident]:
    """Those of these entities that are residents."""
    return {row.number: _resident(row) for row in tx.fetch_all("agents/among", entities=list(entities))}


def _resident(row: Row) -> Resident:
    return _RESIDENT.read(row, config=agent_config.decode(row.config))
