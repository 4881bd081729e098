"""Residents."""

from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.residents import agent_config_json as agent_config
from gatepost.residents.agent_config import AgentConfig, Resident
from gatepost.stores.row_mapping import Mapper, get_columns

RESIDENT: Final = Mapper(Resident, config=agent_config.decode)


def insert(tx: Transaction, entity: int, config: AgentConfig) -> bool:
    """Make an agent a resident; return False if it is one already."""
    return tx.execute("residents/agents/insert", entity=entity, config=agent_config.encode(config), now=tx.now) == 1


def pause(tx: Transaction, entity: int, paused_at: Instant | None) -> None:
    tx.execute("residents/agents/pause", entity=entity, at=paused_at)


def set_rest(tx: Transaction, resident: Resident) -> None:
    """Save the failures of the model, the rest time and the limit of the next batch."""
    tx.execute("residents/agents/set_rest", **get_columns(resident, "number failures rest_until batch_limit"))


def end_rests(tx: Transaction) -> None:
    """End the rest time of every resident now."""
    tx.execute("residents/agents/end_rests", now=tx.now)


def record_cycles(tx: Transaction, resident: Resident) -> None:
    """Save the number of completed cycles and the size of the mind; reset failures, rest time and batch limit."""
    tx.execute("residents/agents/record_cycles", **get_columns(resident, "number cycles tokens"))


def is_ready(tx: Reader, entity: int, *, include_quiet: bool) -> bool:
    """Return True if a resident has something to think about; with `include_quiet` also items that do not wake it."""
    return bool(
        tx.fetch_one(
            "residents/agents/is_ready",
            entity=entity,
            include_quiet=include_quiet,
            now=tx.now,
            fyi_before=tx.now - tx.limits.fyi_wait,
        )
    )


def read(tx: Reader, entity: int) -> Resident | None:
    return RESIDENT.fetch_one(tx, "residents/agents/read", entity=entity)
