"""Entities, their names and aliases."""

from collections.abc import Iterable, Sequence
from typing import Final

from gatepost.core.entity import Entity, EntityKind
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper, group_rows

#: the entity of a row
of: Final = Mapper(Entity, apart="aliases").read


def by_name(tx: Reader, name: str) -> Entity | None:
    """Whoever has this name or alias."""
    row = tx.fetch_one("entities/by_name", name=name)
    return of(row) if row else None


def by_names(tx: Reader, names: Iterable[str]) -> dict[str, Entity]:
    """Those of these names and aliases that somebody has."""
    rows = tx.fetch_all("entities/by_names", names=sorted(set(names)))
    return {row.called: of(row) for row in rows}


def of_team(tx: Reader, team: str, role: str | None) -> list[Entity]:
    """Everybody who is or was in a team."""
    return [of(row) for row in tx.fetch_all("entities/of_team", team=team, role=role)]


def count_team(tx: Reader, team: str, role: str | None) -> int:
    """Count the live members of a team."""
    row = tx.fetch_one("entities/count_team", team=team, role=role)
    assert row is not None
    return int(row.total)


def in_space(tx: Reader, space: int) -> list[Entity]:
    """The live agents among the members of a space."""
    return [of(row) for row in tx.fetch_all("entities/in_space", space=space)]


def at_work(tx: Reader, run: int) -> tuple[Entity, int, int]:
    """Return whose run it is, and its hops and its weight by now."""
    row = tx.fetch_one("entities/at_work", run=run)
    assert row is not None
    return of(row), row.hops, row.tokens


def page(
    tx: Reader, *, kind: EntityKind | None, team: str | None, retired: bool, after: int, limit: int
) -> list[Entity]:
    """Entities in order of registration, with their aliases."""
    rows = tx.fetch_page("entities/list", kind=kind, team=team, include_retired=retired, after=after, limit=limit)
    aliases = aliases_of(tx, [row.number for row in rows])
    return [of(row, aliases=aliases.get(row.number, ())) for row in rows]


def aliases_of(tx: Reader, entities: Sequence[int]) -> dict[int, tuple[str, ...]]:
    return group_rows(tx.fetch_all("names/aliases", entities=list(entities)))


def like(tx: Reader, name: str) -> list[str]:
    """Names to look for a near one in."""
    return [row.name for row in tx.fetch_all("names/like", name=name)]


def insert(
    tx: Transaction, *, name: str, kind: EntityKind, display: str, team: str | None, role: str | None, owner: int | None
) -> int | None:
    """Return the number of the new entity, or None when there was one of that name."""
    row = tx.fetch_one(
        "entities/insert", name=name, kind=kind, display=display, team=team, role=role, owner=owner, now=tx.now
    )
    return row.number if row else None


def give_name(tx: Transaction, name: str, entity: int, *, is_alias: bool) -> bool:
    """Say whether the name was free."""
    return tx.execute("names/insert", name=name, entity=entity, is_alias=is_alias) == 1


def take_name(tx: Transaction, name: str, entity: int) -> None:
    """An alias that the entity no longer has."""
    tx.execute("names/delete", name=name, entity=entity)


def lock(tx: Transaction, entity: int) -> None:
    """Keep the row until the commit."""
    tx.execute("entities/lock", number=entity)


def update(
    tx: Transaction, entity: int, *, display: str, team: str | None, role: str | None, owner: int | None
) -> None:
    tx.execute("entities/update", number=entity, display=display, team=team, role=role, owner=owner)


def retire(tx: Transaction, entity: int) -> bool:
    return tx.execute("entities/retire", number=entity, now=tx.now) == 1
