"""Keys, of which the store has only hashes."""

import hmac
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.directory.key import Key
from gatepost.stores.row_mapping import Mapper, get_columns

_KEY: Final = Mapper(Key)


def insert(tx: Transaction, new_key: Key, *, hash: str, entity: int | None) -> bool:
    """Return False if the store has this hash already."""
    row = tx.fetch_one(
        "directory/keys/insert",
        **get_columns(new_key, "id prefix kind trigger name expires_at"),
        hash=hash,
        entity=entity,
        now=new_key.created_at,
    )
    return row is not None


def find_by_hash(tx: Reader, hash: str) -> Key | None:
    """
    Return the key with this hash, unless it is revoked or has ended, or its entity is retired; compare in constant
    time.
    """
    row = tx.fetch_one("directory/keys/find_by_hash", hash=hash, now=tx.now)
    return _KEY.read(row) if row and hmac.compare_digest(row.hash, hash) else None


def find_by_id_or_prefix(tx: Reader, id_or_prefix: str) -> list[Key]:
    """Return the keys with this id or this prefix."""
    return _KEY.fetch_all(tx, "directory/keys/find_by_id_or_prefix", id_or_prefix=id_or_prefix)


def list_page(tx: Reader, *, after: int, limit: int) -> list[Key]:
    """Return keys in the order of creation."""
    return _KEY.fetch_page(tx, "directory/keys/list_page", after=after, limit=limit)


def revoke(tx: Transaction, number: int) -> bool:
    return tx.execute("directory/keys/revoke", number=number, now=tx.now) == 1


def extend(tx: Transaction, number: int, expires_at: Instant) -> None:
    """Set when a key ends that is valid now."""
    tx.execute("directory/keys/extend", number=number, expires_at=expires_at, now=tx.now)


def delete(tx: Transaction, number: int) -> bool:
    return tx.execute("directory/keys/delete", number=number) == 1


def delete_expired(tx: Transaction) -> None:
    tx.execute("directory/keys/delete_expired", now=tx.now)
