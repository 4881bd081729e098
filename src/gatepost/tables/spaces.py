"""Spaces and their members."""

import json
from collections.abc import Sequence

from gatepost.core.entity import Kind
from gatepost.core.instants import Instant
from gatepost.core.prompt import Companion
from gatepost.core.space import Member, Space
from gatepost.ports.store import Reader, Row, Work


def insert(work: Work, id: str, name: str) -> Space | None:
    """Return the new space, or None when there was one with that id."""
    row = work.one("spaces/insert", id=id, name=name, now=work.now)
    return Space(id=id, name=name, last_seq=0, created_at=work.now, number=row[0]) if row else None


def read(reader: Reader, id: str, entity: int | None = None) -> tuple[Space, bool] | None:
    """A space, and whether an entity is a member of it."""
    row = reader.one("spaces/read", id=id, entity=entity)
    return (_space(row[:-1]), bool(row[-1])) if row else None


def by_name(reader: Reader, name: str) -> Space | None:
    """The oldest space of that title."""
    row = reader.one("spaces/by_name", name=name)
    return _space(row) if row else None


def page(reader: Reader, *, entity: int | None, after: int, most: int) -> list[Space]:
    """Spaces in the order in which they were made: all, or those of an entity."""
    if entity is None:
        rows = reader.page("spaces/list", after=after, most=most)
    else:
        rows = reader.all("spaces/of_entity", entity=entity, after=after, most=most)
    return [_space(row) for row in rows]


def take(work: Work, id: str, *, by: int) -> Space | None:
    """
    Lock a space until the commit, and give it the next number of a message (`by` 1) or none (`by` 0). Whoever posts,
    joins, leaves or changes a space does this first, so they take turns, and each sees what those before it did.
    """
    row = work.one("spaces/take", id=id, by=by)
    return _space(row) if row else None


def update(work: Work, space: int, *, name: str, archived_at: Instant | None) -> None:
    work.run("spaces/update", number=space, name=name, archived_at=archived_at)


def members(reader: Reader, space: int) -> list[Member]:
    """The live members, in the order in which they joined."""
    return [_member(row) for row in reader.all("members/list", space=space)]


def some_members(reader: Reader, spaces: Sequence[int], most: int) -> dict[int, list[Companion]]:
    """Of each space the first live members, at a cost that does not grow with how many there are."""
    rows = reader.all("members/some", spaces=list(spaces), most=most) if spaces else []
    return {
        space: [Companion(name=name, display=display, kind=Kind(kind)) for name, display, kind in json.loads(found)]
        for space, found in rows
        if found is not None
    }


def member(reader: Reader, space: int, entity: int) -> Member | None:
    row = reader.one("members/read", space=space, entity=entity)
    return _member(row) if row else None


def join(work: Work, space: Space, entities: Sequence[int]) -> None:
    """Add those who are not members yet; what was said before counts as read."""
    count = len(entities)
    work.many(
        "members/insert",
        {
            "space": [space.number] * count,
            "entity": list(entities),
            "joined_at": [work.now] * count,
            "read_seq": [space.last_seq] * count,
        },
    )


def leave(work: Work, space: int, entity: int) -> bool:
    """Say whether it was a member."""
    return work.run("members/delete", space=space, entity=entity) == 1


def advance(work: Work, space: int, entity: int, seq: int, *, least: int = 0) -> None:
    """Note that a member has read up to a message, if it had read at least so far; never back."""
    work.run("members/advance", space=space, entity=entity, seq=seq, least=least)


def unread(reader: Reader, entity: int) -> dict[str, int]:
    """How many messages an entity has not read, for each of its spaces."""
    return {id: int(count) for id, count in reader.all("members/unread", entity=entity)}


def _space(row: Row) -> Space:
    number, id, name, last_seq, created_at, archived_at = row
    return Space(id=id, name=name, last_seq=last_seq, created_at=created_at, archived_at=archived_at, number=number)


def _member(row: Row) -> Member:
    name, display, kind, joined_at, read_seq = row
    return Member(name=name, display=display, kind=Kind(kind), joined_at=joined_at, read_seq=read_seq)
