"""Triggers at rest. Their secrets are read by one function, and by nothing else."""

from typing import Final

from gatepost.core.trigger import Provider, Trigger
from gatepost.core.webhook import Scheme
from gatepost.ports.store import Reader, Work
from gatepost.tables.rows import Columns

_trigger: Final = Columns(Trigger, "number id name provider scheme target prompt owner active created_at").read


def insert(
    work: Work, *, name: str, scheme: Scheme, secret: str, target: str, prompt: str | None, owner: int | None
) -> bool:
    """Say whether the name was free."""
    stored = work.run(
        "triggers/insert",
        id=work.id("trg"),
        name=name,
        provider=Provider.WEBHOOK.value,
        scheme=scheme.value,
        secret=secret,
        target=target,
        prompt=prompt,
        owner=owner,
        active=True,
        now=work.now,
    )
    return stored == 1


def find(reader: Reader, name: str) -> Trigger | None:
    row = reader.one("triggers/read", name=name)
    return _trigger(row) if row else None


def secret(reader: Reader, number: int) -> str | None:
    """What is kept of a trigger's secret; None for one that was imported without."""
    row = reader.one("triggers/secret", number=number)
    assert row is not None
    kept: str | None = row[0]
    return kept


def page(reader: Reader, *, owner: str | None, after: int, most: int) -> list[Trigger]:
    """Triggers in the order they were added."""
    return [_trigger(row) for row in reader.page("triggers/list", owner=owner, after=after, most=most)]


def activate(work: Work, number: int, *, active: bool) -> None:
    work.run("triggers/activate", number=number, active=active)


def delete(work: Work, number: int) -> None:
    work.run("triggers/delete", number=number)
