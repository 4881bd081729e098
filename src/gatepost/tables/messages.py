"""Messages: what was said in a space."""

import json
from typing import Final

from gatepost.core.entity import EntityKind
from gatepost.core.space import Message, MessageRow, Space
from gatepost.ports import Reader, Row, Transaction

#: by its name; to ask the class takes as long as everything else about a message
_KINDS: Final = {kind.value: kind for kind in EntityKind}


def insert(tx: Transaction, message: Message, *, space: int, sender: int, data: str | None) -> None:
    """Store a message with the numbers of its space and its sender, and its data as JSON."""
    tx.execute(
        "messages/insert",
        space=space,
        seq=message.seq,
        id=message.id,
        sender=sender,
        content=message.content,
        data=data,
        created_at=message.created_at,
    )


def after(tx: Reader, space: Space, *, after: int, before: int, limit: int) -> list[Message]:
    """The first messages after a number and before another, oldest first."""
    rows = tx.fetch_page("messages/after", space=space.number, after=after, before=before, limit=limit)
    return [_message(row, space.id) for row in rows]


def before(tx: Reader, space: Space, *, before: int, limit: int) -> list[Message]:
    """The last messages before a number, oldest first."""
    rows = tx.fetch_page("messages/before", space=space.number, before=before, limit=limit)
    return [_message(row, space.id) for row in reversed(rows)]


def said(tx: Reader, space: Space, *, before: int, limit: int) -> list[MessageRow]:
    """The same, as agents are told them."""
    rows = tx.fetch_all("messages/said", space=space.number, before=before, limit=limit)
    return rows[::-1]


def _message(row: Row, space: str) -> Message:
    id, seq, sender, display, kind, content, data, created_at = row
    return Message(
        id=id,
        space=space,
        seq=seq,
        sender=sender,
        sender_display=display,
        sender_kind=_KINDS[kind],
        content=content,
        data=json.loads(data) if data is not None else None,
        created_at=created_at,
    )
