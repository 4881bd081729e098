"""Memories at rest."""

from gatepost.core.memory import Memory
from gatepost.core.times import MAX_INSTANT, Instant
from gatepost.ports import Reader, Transaction


def set(tx: Transaction, entity: int, key: str, value: str) -> None:
    tx.execute("memories/set", entity=entity, key=key, value=value, now=tx.now)


def read(tx: Reader, entity: int, key: str) -> Memory | None:
    row = tx.fetch_one("memories/read", entity=entity, key=key)
    return Memory(key=row[0], value=row[1], updated_at=row[2]) if row else None


def page(tx: Reader, entity: int, after: tuple[Instant, str] | None, limit: int) -> list[Memory]:
    """The memories of an entity, the newest first; `after` says when the last one seen was set, and its key."""
    at, key = after if after is not None else (MAX_INSTANT, "")
    rows = tx.fetch_page("memories/list", entity=entity, at=at, key=key, limit=limit)
    return [Memory(key=key, value=value, updated_at=at) for key, value, at in rows]


def delete(tx: Transaction, entity: int, key: str) -> bool:
    """Say whether it was there."""
    return tx.execute("memories/delete", entity=entity, key=key) == 1


def count(tx: Reader, entity: int) -> int:
    row = tx.fetch_one("memories/count", entity=entity)
    assert row is not None
    return int(row[0])
