"""Entities, their names and aliases."""

from collections.abc import Iterable, Sequence
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import fold_text
from gatepost.directory.entity import Entity
from gatepost.stores.row_mapping import Mapper, fetch_number, group_rows

ENTITY: Final = Mapper(Entity, without="aliases")


def find_by_names(tx: Reader, names: Iterable[str]) -> dict[str, Entity]:
    """Return the entities with these names and aliases, by name or alias."""
    cache = tx.get_cache("entities names")
    if cache is None:
        return _find_by_names(tx, names)
    unique_names = set(names)
    if missing := unique_names.difference(cache):
        cache |= dict.fromkeys(missing) | _find_by_names(tx, missing)
    return {name: entity for name in unique_names if (entity := cache[name]) is not None}


def _find_by_names(tx: Reader, names: Iterable[str]) -> dict[str, Entity]:
    rows = tx.fetch_all("directory/entities/find_by_names", names=sorted(set(names)))
    return {row.matched_name: ENTITY.read(row) for row in rows}


def count_team(tx: Reader, team: str, role: str | None) -> int:
    """Count the live members of a team."""
    return fetch_number(tx, "directory/entities/count_team", team=team, role=role)


def read_aliases(tx: Reader, entities: Sequence[int]) -> dict[int, tuple[str, ...]]:
    return group_rows(tx.fetch_all("directory/names/list_aliases", entities=list(entities)))


def is_shown(tx: Reader, text: str) -> bool:
    """Return True if an entity, retired or not, is shown by a text that looks like this one."""
    return tx.fetch_one("directory/entities/find_shown", display_key=fold_text(text)) is not None


def lock(tx: Transaction, entity: int) -> None:
    """Lock the row until the commit."""
    tx.execute_later("directory/entities/lock", number=entity)
