"""Entities, their names and aliases."""

from collections.abc import Iterable, Sequence
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import fold_text
from gatepost.directory.entity import Entity, EntityKind
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row, group_rows

ENTITY: Final = Mapper(Entity, without="aliases")


def find_by_name(tx: Reader, name: str) -> Entity | None:
    """Return the entity with this name or alias."""
    return ENTITY.fetch_one(tx, "directory/entities/find_by_name", name=name)


def find_by_names(tx: Reader, names: Iterable[str]) -> dict[str, Entity]:
    """Return the entities with these names and aliases, by name or alias."""
    rows = tx.fetch_all("directory/entities/find_by_names", names=sorted(set(names)))
    return {row.matched_name: ENTITY.read(row) for row in rows}


def list_team(tx: Reader, team: str, role: str | None) -> list[Entity]:
    """Return the members of a team, the retired ones too."""
    return ENTITY.fetch_all(tx, "directory/entities/list_team", team=team, role=role)


def count_team(tx: Reader, team: str, role: str | None) -> int:
    """Count the live members of a team."""
    return fetch_number(tx, "directory/entities/count_team", team=team, role=role)


def list_agents_in_space(tx: Reader, space: int) -> list[Entity]:
    """Return the live agents among the members of a space."""
    return ENTITY.fetch_all(tx, "directory/entities/list_agents_in_space", space=space)


def find_by_run(tx: Reader, run: int) -> tuple[Entity, int]:
    """Return the agent of a run, and the tokens of the run."""
    row = fetch_row(tx, "directory/entities/find_by_run", run=run)
    return ENTITY.read(row), row.tokens


def list_page(
    tx: Reader, *, kind: EntityKind | None, team: str | None, include_retired: bool, after: int, limit: int
) -> list[Entity]:
    """Return entities in the order of registration, with their aliases."""
    rows = tx.fetch_page(
        "directory/entities/list_page", kind=kind, team=team, include_retired=include_retired, after=after, limit=limit
    )
    aliases = read_aliases(tx, [row.number for row in rows])
    return [ENTITY.read(row, aliases=aliases.get(row.number, ())) for row in rows]


def read_aliases(tx: Reader, entities: Sequence[int]) -> dict[int, tuple[str, ...]]:
    return group_rows(tx.fetch_all("directory/names/list_aliases", entities=list(entities)))


def list_similar_names(tx: Reader, name: str) -> list[str]:
    """Return names that may be similar to this one, the likely ones first."""
    return [row.name for row in tx.fetch_all("directory/names/list_similar", name=name)]


def is_shown(tx: Reader, text: str) -> bool:
    """Return True if an entity, retired or not, is shown by a text that looks like this one."""
    return tx.fetch_one("directory/entities/find_shown", display_key=fold_text(text)) is not None


def insert(
    tx: Transaction, *, name: str, kind: EntityKind, display: str, team: str | None, role: str | None, owner: int | None
) -> int | None:
    """Return the number of the new entity, or None if the name is taken."""
    row = tx.fetch_one(
        "directory/entities/insert",
        name=name,
        kind=kind,
        display=display,
        display_key=fold_text(display),
        team=team,
        role=role,
        owner=owner,
        now=tx.now,
    )
    return row.number if row else None


def insert_name(tx: Transaction, name: str, entity: int, *, is_alias: bool) -> bool:
    """Return False if the name is taken."""
    return tx.execute("directory/names/insert", name=name, entity=entity, is_alias=is_alias) == 1


def delete_alias(tx: Transaction, name: str, entity: int) -> None:
    """Delete an alias of an entity."""
    tx.execute("directory/names/delete", name=name, entity=entity)


def lock(tx: Transaction, entity: int) -> None:
    """Lock the row until the commit."""
    tx.execute("directory/entities/lock", number=entity)


def update(
    tx: Transaction, entity: int, *, display: str, team: str | None, role: str | None, owner: int | None
) -> None:
    tx.execute(
        "directory/entities/update",
        number=entity,
        display=display,
        display_key=fold_text(display),
        team=team,
        role=role,
        owner=owner,
    )


def retire(tx: Transaction, entity: int) -> bool:
    return tx.execute("directory/entities/retire", number=entity, now=tx.now) == 1
