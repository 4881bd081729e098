"""Spaces and their members."""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.entity import EntityKind
from gatepost.core.prompt import MemberFacts
from gatepost.core.space import Member, Space
from gatepost.core.times import Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables.rows import Mapper

_space: Final = Mapper(Space).read
_member: Final = Mapper(Member).read


def insert(tx: Transaction, id: str, name: str) -> Space | None:
    """Return the new space, or None when there was one with that id."""
    row = tx.fetch_one("spaces/insert", id=id, name=name, now=tx.now)
    return Space(id=id, name=name, last_seq=0, created_at=tx.now, number=row.number) if row else None


def read(tx: Reader, id: str, entity: int | None = None) -> tuple[Space, bool] | None:
    """A space, and whether an entity is a member of it."""
    row = tx.fetch_one("spaces/read", id=id, entity=entity)
    return (_space(row), row.is_member) if row else None


def by_name(tx: Reader, name: str) -> Space | None:
    """The oldest space of that title."""
    row = tx.fetch_one("spaces/by_name", name=name)
    return _space(row) if row else None


def page(tx: Reader, *, entity: int | None, after: int, limit: int) -> list[Space]:
    """Spaces in the order in which they were made: all, or those of an entity."""
    if entity is None:
        rows = tx.fetch_page("spaces/list", after=after, limit=limit)
    else:
        rows = tx.fetch_all("spaces/of_entity", entity=entity, after=after, limit=limit)
    return [_space(row) for row in rows]


def take(tx: Transaction, id: str, *, by: int) -> Space | None:
    """
    Lock a space until the commit, and give it the next number of a message (`by` 1) or none (`by` 0). Whoever posts,
    joins, leaves or changes a space does this first, so they take turns, and each sees what those before it did.
    """
    row = tx.fetch_one("spaces/take", id=id, increment=by)
    return _space(row) if row else None


def update(tx: Transaction, space: int, *, name: str, archived_at: Instant | None) -> None:
    tx.execute("spaces/update", number=space, name=name, archived_at=archived_at)


def members(tx: Reader, space: int) -> list[Member]:
    """The live members, in the order in which they joined."""
    return [_member(row) for row in tx.fetch_all("members/list", space=space)]


def some_members(tx: Reader, spaces: Sequence[int], limit: int) -> dict[int, list[MemberFacts]]:
    """Of each space the first live members, at a cost that does not grow with how many there are."""
    rows = tx.fetch_all("members/some", spaces=list(spaces), limit=limit) if spaces else []
    return {
        row.space: [
            MemberFacts(name=name, display=display, kind=EntityKind(kind))
            for name, display, kind in json.loads(row.members)
        ]
        for row in rows
        if row.members is not None
    }


def member(tx: Reader, space: int, entity: int) -> Member | None:
    row = tx.fetch_one("members/read", space=space, entity=entity)
    return _member(row) if row else None


def join(tx: Transaction, space: Space, entities: Sequence[int]) -> None:
    """Add those who are not members yet; what was said before counts as read."""
    count = len(entities)
    tx.execute_many(
        "members/insert",
        {
            "space": [space.number] * count,
            "entity": list(entities),
            "joined_at": [tx.now] * count,
            "read_seq": [space.last_seq] * count,
        },
    )


def leave(tx: Transaction, space: int, entity: int) -> bool:
    """Say whether it was a member."""
    return tx.execute("members/delete", space=space, entity=entity) == 1


def advance(tx: Transaction, space: int, entity: int, seq: int, *, least: int = 0) -> None:
    """Note that a member has read up to a message, if it had read at least so far; never back."""
    tx.execute("members/advance", space=space, entity=entity, seq=seq, min_seq=least)


def unread(tx: Reader, entity: int) -> dict[str, int]:
    """How many messages an entity has not read, for each of its spaces."""
    return {row.id: row.unread for row in tx.fetch_all("members/unread", entity=entity)}
