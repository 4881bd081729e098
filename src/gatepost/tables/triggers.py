"""Triggers at rest. Their secrets are read by one function, and by nothing else."""

from typing import Final

from gatepost.core.trigger import Provider, Trigger
from gatepost.core.webhook import Scheme
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper

_trigger: Final = Mapper(Trigger).read


def insert(
    tx: Transaction, *, name: str, scheme: Scheme, secret: str, target: str, prompt: str | None, owner: int | None
) -> bool:
    """Say whether the name was free."""
    stored = tx.execute(
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
    return stored == 1


def find(tx: Reader, name: str) -> Trigger | None:
    row = tx.fetch_one("triggers/read", name=name)
    return _trigger(row) if row else None


def secret(tx: Reader, number: int) -> str | None:
    """What is kept of a trigger's secret; None for one that was imported without."""
    row = tx.fetch_one("triggers/secret", number=number)
    assert row is not None
    stored: str | None = row.secret
    return stored


def page(tx: Reader, *, owner: str | None, after: int, limit: int) -> list[Trigger]:
    """Triggers in the order they were added."""
    return [_trigger(row) for row in tx.fetch_page("triggers/list", owner=owner, after=after, limit=limit)]


def activate(tx: Transaction, number: int, *, active: bool) -> None:
    tx.execute("triggers/activate", number=number, is_active=active)


def delete(tx: Transaction, number: int) -> None:
    tx.execute("triggers/delete", number=number)
