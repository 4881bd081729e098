"""Keys, of which the store has only hashes, and triggers, whose secrets only `read_trigger_secret` reads."""

import hmac
from typing import Final

from gatepost.core.key import Key
from gatepost.core.webhook import Provider, Scheme, Trigger
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper, fetch_row, get_columns

_KEY: Final = Mapper(Key)
_TRIGGER: Final = Mapper(Trigger)


def insert(tx: Transaction, new_key: Key, *, hash: str, entity: int | None) -> bool:
    """Return False if the store has this hash already."""
    row = tx.fetch_one(
        "keys/insert",
        **get_columns(new_key, "id prefix kind trigger name"),
        hash=hash,
        entity=entity,
        now=new_key.created_at,
    )
    return row is not None


def find_by_hash(tx: Reader, hash: str) -> Key | None:
    """Return the key with this hash, unless it is revoked or its entity is retired; compare in constant time."""
    row = tx.fetch_one("keys/find_by_hash", hash=hash)
    return _KEY.read(row) if row and hmac.compare_digest(row.hash, hash) else None


def find_by_id_or_prefix(tx: Reader, id_or_prefix: str) -> list[Key]:
    """Return the keys with this id or this prefix."""
    return _KEY.fetch_all(tx, "keys/find_by_id_or_prefix", id_or_prefix=id_or_prefix)


def list_page(tx: Reader, *, after: int, limit: int) -> list[Key]:
    """Return keys in the order of creation."""
    return _KEY.fetch_page(tx, "keys/list_page", after=after, limit=limit)


def revoke(tx: Transaction, number: int) -> bool:
    return tx.execute("keys/revoke", number=number, now=tx.now) == 1


def insert_trigger(
    tx: Transaction, *, name: str, scheme: Scheme, secret: str, target: str, prompt: str | None, owner: int | None
) -> bool:
    """Return False if the name is taken."""
    row_count = tx.execute(
        "triggers/insert",
        id=tx.new_id("trg"),
        name=name,
        provider=Provider.WEBHOOK.value,
        scheme=scheme.value,
        secret=secret,
        target=target,
        prompt=prompt,
        owner=owner,
        active=True,
        now=tx.now,
    )
    return row_count == 1


def find_trigger(tx: Reader, name: str) -> Trigger | None:
    return _TRIGGER.fetch_one(tx, "triggers/read", name=name)


def read_trigger_secret(tx: Reader, number: int) -> str | None:
    """Return the secret of a trigger; None if it was imported without one."""
    row = fetch_row(tx, "triggers/read_secret", number=number)
    secret: str | None = row.secret
    return secret


def list_triggers(tx: Reader, *, after: int, limit: int) -> list[Trigger]:
    """Return triggers in the order of creation."""
    return _TRIGGER.fetch_page(tx, "triggers/list_page", after=after, limit=limit)


def set_trigger_active(tx: Transaction, number: int, *, is_active: bool) -> None:
    tx.execute("triggers/set_active", number=number, is_active=is_active)


def delete_trigger(tx: Transaction, number: int) -> None:
    tx.execute("triggers/delete", number=number)
