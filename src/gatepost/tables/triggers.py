"""Triggers. Only `read_secret` reads the secret of a webhook."""

from typing import Final

import msgspec

from gatepost.core.times import Instant
from gatepost.core.trigger import Trigger, TriggerConfig
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper, fetch_row

_ENCODER: Final = msgspec.json.Encoder()


def decode_config(text: str) -> TriggerConfig:
    return msgspec.json.decode(text, type=TriggerConfig)


_TRIGGER: Final = Mapper(Trigger, config=decode_config)


def insert(
    tx: Transaction,
    *,
    name: str,
    provider: str,
    scheme: str | None,
    secret: str | None,
    target: str | None,
    prompt: str | None,
    owner: str,
    config: TriggerConfig,
    active: bool,
    is_from_file: bool,
    next_at: Instant | None,
) -> bool:
    """Return False if the name is taken."""
    row_count = tx.execute(
        "triggers/insert",
        id=tx.new_id("trg"),
        name=name,
        provider=provider,
        scheme=scheme,
        secret=secret,
        target=target,
        prompt=prompt,
        owner=owner,
        config=_ENCODER.encode(config).decode(),
        active=active,
        is_from_file=is_from_file,
        next_at=next_at,
        now=tx.now,
    )
    return row_count == 1


def find(tx: Reader, name: str) -> Trigger | None:
    return _TRIGGER.fetch_one(tx, "triggers/find", name=name)


def read(tx: Reader, number: int) -> Trigger | None:
    return _TRIGGER.fetch_one(tx, "triggers/read", number=number)


def read_secret(tx: Reader, number: int) -> str | None:
    """Return the secret of a trigger; None if it has none, or was imported without it."""
    row = fetch_row(tx, "triggers/read_secret", number=number)
    secret: str | None = row.secret
    return secret


def set_secret(tx: Transaction, number: int, secret: str | None) -> None:
    tx.execute("triggers/set_secret", number=number, secret=secret)


def list_page(tx: Reader, *, provider: str | None, after: int, limit: int) -> list[Trigger]:
    """Return triggers in the order of creation."""
    return _TRIGGER.fetch_page(tx, "triggers/list_page", provider=provider, after=after, limit=limit)


def list_active(tx: Reader, provider: str) -> list[Trigger]:
    return _TRIGGER.fetch_all(tx, "triggers/list_active", provider=provider)


def update(tx: Transaction, trigger: Trigger) -> None:
    tx.execute(
        "triggers/update",
        number=trigger.number,
        target=trigger.target,
        prompt=trigger.prompt,
        owner=trigger.owner,
        config=_ENCODER.encode(trigger.config).decode(),
        active=trigger.active,
        next_at=trigger.next_at,
        scheme=trigger.scheme,
        is_from_file=trigger.is_from_file,
    )


def delete(tx: Transaction, number: int) -> None:
    tx.execute("triggers/delete", number=number)


def list_due(tx: Transaction, limit: int) -> list[Trigger]:
    """Return cron triggers that are due, and lock them until the commit."""
    return _TRIGGER.fetch_all(tx, "triggers/list_due", now=tx.now, limit=limit)


def find_next_due(tx: Reader) -> Instant | None:
    row = tx.fetch_one("triggers/find_next_due")
    return row.next_at if row else None


def set_next_at(tx: Transaction, number: int, next_at: Instant | None) -> None:
    tx.execute("triggers/set_next_at", number=number, next_at=next_at)
