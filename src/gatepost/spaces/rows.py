"""Spaces, their members and their messages."""

import json
from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.directory.entity import EntityKind
from gatepost.spaces.space import Member, MemberFacts, Message, MessageRow, Space, SpaceActivity
from gatepost.stores.row_mapping import Mapper, get_columns, load_json

_SPACE: Final = Mapper(Space)
_MEMBER: Final = Mapper(Member)
_ACTIVITY: Final = Mapper(SpaceActivity)
_MESSAGE: Final = Mapper(Message, without="space", data=load_json)


def insert(tx: Transaction, id: str, name: str) -> Space | None:
    """Return the new space, or None if the id is taken."""
    row = tx.fetch_one("spaces/spaces/insert", id=id, name=name, now=tx.now)
    return Space(id=id, name=name, last_seq=0, created_at=tx.now, number=row.number) if row else None


def read(tx: Reader, id: str, entity: int | None = None) -> tuple[Space, bool] | None:
    """Return a space, and whether an entity is a member of it."""
    row = tx.fetch_one("spaces/spaces/read", id=id, entity=entity)
    return (_SPACE.read(row), row.is_member) if row else None


def find_by_name(tx: Reader, name: str) -> Space | None:
    """Return the oldest space of this name."""
    return _SPACE.fetch_one(tx, "spaces/spaces/find_by_name", name=name)


def list_page(tx: Reader, *, entity: int | None, after: int, limit: int) -> list[Space]:
    """Return spaces in the order of creation: all, or those of an entity."""
    if entity is None:
        rows = tx.fetch_page("spaces/spaces/list_page", after=after, limit=limit)
    else:
        rows = tx.fetch_all("spaces/spaces/list_by_entity", entity=entity, after=after, limit=limit)
    return [_SPACE.read(row) for row in rows]


def list_newest(tx: Reader, *, entity: int | None, limit: int) -> list[Space]:
    """Return the newest spaces, all or those of an entity; archived ones come last."""
    return [_SPACE.read(row) for row in tx.fetch_all("spaces/spaces/list_newest", entity=entity, limit=limit)]


def list_activity(tx: Reader, ids: Sequence[str], entity: int | None) -> dict[str, SpaceActivity]:
    """Return what has happened in spaces, by their ids, for a member (None for nobody)."""
    rows = tx.fetch_all("spaces/spaces/list_activity", spaces=list(ids), entity=entity) if ids else []
    return {row.id: _ACTIVITY.read(row) for row in rows}


def lock(tx: Transaction, id: str, *, increment: int) -> Space | None:
    """
    Lock a space until the commit, and take the next number of a message (`increment` 1) or none (`increment` 0). Every
    change of a space, its members or its messages begins with this, so transactions take turns.
    """
    return _SPACE.fetch_one(tx, "spaces/spaces/lock", id=id, increment=increment)


def update(tx: Transaction, space: int, *, name: str, archived_at: Instant | None) -> None:
    tx.execute("spaces/spaces/update", number=space, name=name, archived_at=archived_at)


def list_members(tx: Reader, space: int) -> list[Member]:
    """Return the live members, in the order in which they joined."""
    return _MEMBER.fetch_all(tx, "spaces/members/list_live", space=space)


def list_first_members(tx: Reader, spaces: Sequence[int], limit: int) -> dict[int, list[MemberFacts]]:
    """Return the first live members of each space, at a cost that does not grow with the number of members."""
    rows = tx.fetch_all("spaces/members/list_first", spaces=list(spaces), limit=limit) if spaces else []
    return {
        row.space: [
            MemberFacts(name=name, display=display, kind=EntityKind(kind))
            for name, display, kind in json.loads(row.members)
        ]
        for row in rows
        if row.members is not None
    }


def read_member(tx: Reader, space: int, entity: int) -> Member | None:
    return _MEMBER.fetch_one(tx, "spaces/members/read", space=space, entity=entity)


def insert_members(tx: Transaction, space: Space, entities: Sequence[int]) -> None:
    """Add entities that are not members yet; older messages count as read."""
    count = len(entities)
    tx.execute_many(
        "spaces/members/insert",
        {
            "space": [space.number] * count,
            "entity": list(entities),
            "joined_at": [tx.now] * count,
            "read_seq": [space.last_seq] * count,
        },
    )


def delete_member(tx: Transaction, space: int, entity: int) -> bool:
    """Return False if the entity is not a member."""
    return tx.execute("spaces/members/delete", space=space, entity=entity) == 1


def advance_read_seq(tx: Transaction, space: int, entity: int, seq: int, *, min_seq: int = 0) -> None:
    """Save that a member has read up to a message, if it has read up to `min_seq`; never move back."""
    tx.execute("spaces/members/advance", space=space, entity=entity, seq=seq, min_seq=min_seq)


def count_unread(tx: Reader, entity: int) -> dict[str, int]:
    """Count the messages that an entity has not read, by the id of the space."""
    return {row.id: row.unread for row in tx.fetch_all("spaces/members/count_unread", entity=entity)}


def insert_message(tx: Transaction, message: Message, *, space: int, sender: int, data: str | None) -> None:
    """Store a message with the numbers of its space and its sender, and its data as JSON."""
    tx.execute(
        "spaces/messages/insert",
        **get_columns(message, "seq id content created_at"),
        space=space,
        sender=sender,
        data=data,
    )


def list_messages_after(tx: Reader, space: Space, *, after: int, before: int, limit: int) -> list[Message]:
    """Return the first messages after a number and before another, oldest first."""
    rows = tx.fetch_page("spaces/messages/list_after", space=space.number, after=after, before=before, limit=limit)
    return [_MESSAGE.read(row, space=space.id) for row in rows]


def find_last_seq_before(tx: Reader, space: Space, time: Instant) -> int:
    """Return the number of the last message before a time; 0 if there is none."""
    row = tx.fetch_one("spaces/messages/find_last_before", space=space.number, time=time)
    return row.seq if row is not None else 0


def list_messages_before(tx: Reader, space: Space, *, before: int, limit: int) -> list[Message]:
    """Return the last messages before a number, oldest first."""
    rows = tx.fetch_page("spaces/messages/list_before", space=space.number, before=before, limit=limit)
    return [_MESSAGE.read(row, space=space.id) for row in reversed(rows)]


def list_message_rows(tx: Reader, space: Space, *, before: int, limit: int) -> list[MessageRow]:
    """Return the last messages before a number, oldest first, with the columns that a prompt needs."""
    rows = tx.fetch_all("spaces/messages/list_rows_before", space=space.number, before=before, limit=limit)
    return [(row.id, row.display, row.kind, row.content, row.created_at) for row in reversed(rows)]
