"""Memories at rest."""

from typing import Final

from gatepost.core.memory import Memory
from gatepost.core.times import MAX_INSTANT, Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper

_memory: Final = Mapper(Memory).read


def set(tx: Transaction, entity: int, key: str, value: str) -> None:
    tx.execute("memories/set", entity=entity, key=key, value=value, now=tx.now)


def read(tx: Reader, entity: int, key: str) -> Memory | None:
    row = tx.fetch_one("memories/read", entity=entity, key=key)
    return _memory(row) if row else None


def page(tx: Reader, entity: int, after: tuple[Instant, str] | None, limit: int) -> list[Memory]:
    """The memories of an entity, the newest first; `after` says when the last one seen was set, and its key."""
    at, key = after if after is not None else (MAX_INSTANT, "")
    rows = tx.fetch_page("memories/list", entity=entity, at=at, key=key, limit=limit)
    return [_memory(row) for row in rows]


def delete(tx: Transaction, entity: int, key: str) -> bool:
    """Say whether it was there."""
    return tx.execute("memories/delete", entity=entity, key=key) == 1


def count(tx: Reader, entity: int) -> int:
    row = tx.fetch_one("memories/count", entity=entity)
    assert row is not None
    return int(row.total)
