"""Keys, by their hashes."""

from typing import Final

from gatepost.core import key
from gatepost.core.key import Key
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper, get_columns

_key: Final = Mapper(Key).read


def insert(tx: Transaction, made: Key, *, hash: str, entity: int | None) -> bool:
    """Say whether it is new."""
    row = tx.fetch_one(
        "keys/insert", **get_columns(made, "id prefix kind trigger name"), hash=hash, entity=entity, now=made.created_at
    )
    return row is not None


def in_force(tx: Reader, hash: str) -> Key | None:
    """The key with this hash, unless it was revoked or whoever it stands for is retired."""
    row = tx.fetch_one("keys/by_hash", hash=hash)
    return _key(row) if row and key.is_same_digest(row.hash, hash) else None


def called(tx: Reader, text: str) -> list[Key]:
    """Those with this id or this prefix."""
    return [_key(row) for row in tx.fetch_all("keys/called", id_or_prefix=text)]


def page(tx: Reader, *, after: int, limit: int) -> list[Key]:
    """Keys in the order in which they were made."""
    return [_key(row) for row in tx.fetch_page("keys/list", after=after, limit=limit)]


def revoke(tx: Transaction, number: int) -> bool:
    return tx.execute("keys/revoke", number=number, now=tx.now) == 1
