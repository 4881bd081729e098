"""Triggers. Only `read_secret` reads the secret of a webhook."""

from typing import Final

import msgspec

from gatepost.channels.triggers.trigger import Trigger, TriggerConfig
from gatepost.core import typed_json
from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.times import Instant
from gatepost.stores.row_mapping import Mapper, fetch_row, get_columns


def encode_config(config: TriggerConfig) -> str:
    return msgspec.json.encode(config).decode()


def decode_config(text: str) -> TriggerConfig:
    return typed_json.decode(text, TriggerConfig)


_TRIGGER: Final = Mapper(Trigger, config=decode_config)


def find(tx: Reader, name: str) -> Trigger | None:
    return _TRIGGER.fetch_one(tx, "channels/triggers/find", name=name)


def read(tx: Reader, number: int) -> Trigger | None:
    return _TRIGGER.fetch_one(tx, "channels/triggers/read", number=number)


def build(row: Row) -> Trigger:
    """Return the trigger of a row that has all columns of the table."""
    return _TRIGGER.read(row)


def read_secret(tx: Reader, number: int) -> str | None:
    """Return the secret of a trigger; None if it has none, or was imported without it."""
    row = fetch_row(tx, "channels/triggers/read_secret", number=number)
    secret: str | None = row.secret
    return secret


def list_page(tx: Reader, *, provider: str | None, after: int, limit: int) -> list[Trigger]:
    """Return triggers in the order of creation."""
    return _TRIGGER.fetch_page(tx, "channels/triggers/list_page", provider=provider, after=after, limit=limit)


def count(tx: Reader) -> int:
    row = fetch_row(tx, "channels/triggers/count")
    total: int = row.total
    return total


def list_active(tx: Reader, provider: str) -> list[Trigger]:
    return _TRIGGER.fetch_all(tx, "channels/triggers/list_active", provider=provider)


def list_from_file(tx: Reader) -> list[Trigger]:
    return _TRIGGER.fetch_all(tx, "channels/triggers/list_from_file")


def update(tx: Transaction, trigger: Trigger) -> None:
    columns = get_columns(trigger, "number target prompt owner active next_at scheme is_from_file")
    tx.execute_later("channels/triggers/update", **columns, config=encode_config(trigger.config))


def delete(tx: Transaction, number: int) -> None:
    """Delete a trigger; its unrouted messages stay, without it."""
    tx.execute_later("channels/route_rules/forget_trigger", trigger=number)
    tx.execute_later("channels/triggers/delete", number=number)


def lock_due(tx: Transaction, number: int) -> Trigger | None:
    """Lock a trigger that is due, and return it; None if another transaction has it, or it is not due any more."""
    return _TRIGGER.fetch_one(tx, "channels/triggers/lock_due", number=number, now=tx.now)


def find_next_due(tx: Reader) -> Instant | None:
    row = tx.fetch_one("channels/triggers/find_next_due")
    return row.next_at if row else None


def set_next_at(tx: Transaction, number: int, next_at: Instant | None) -> None:
    tx.execute_later("channels/triggers/set_next_at", number=number, next_at=next_at)


def list_scheduled(tx: Reader, after: int, limit: int) -> list[Trigger]:
    """Return active triggers that have a next time which is not due yet, in the order of creation."""
    return _TRIGGER.fetch_all(tx, "channels/triggers/list_scheduled", now=tx.now, after=after, limit=limit)
