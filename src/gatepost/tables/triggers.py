"""Triggers. Only `read_secret` reads their secrets."""

from typing import Final

from gatepost.core.webhook import Provider, Scheme, Trigger
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper

_build_trigger: Final = Mapper(Trigger).read


def insert(
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


def find(tx: Reader, name: str) -> Trigger | None:
    row = tx.fetch_one("triggers/read", name=name)
    return _build_trigger(row) if row else None


def read_secret(tx: Reader, number: int) -> str | None:
    """Return the secret of a trigger; None if it was imported without one."""
    row = tx.fetch_one("triggers/read_secret", number=number)
    assert row is not None
    secret: str | None = row.secret
    return secret


def list_page(tx: Reader, *, owner: str | None, after: int, limit: int) -> list[Trigger]:
    """Return triggers in the order of creation."""
    return [_build_trigger(row) for row in tx.fetch_page("triggers/list_page", owner=owner, after=after, limit=limit)]


def set_active(tx: Transaction, number: int, *, is_active: bool) -> None:
    tx.execute("triggers/set_active", number=number, is_active=is_active)


def delete(tx: Transaction, number: int) -> None:
    tx.execute("triggers/delete", number=number)
