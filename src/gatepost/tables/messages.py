"""Messages: what was said in a space."""

import json
from typing import Final

from gatepost.core.space import Message, MessageRow, Space
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Mapper

_MESSAGE: Final = Mapper(Message, apart="space data")


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
    return [(row.id, row.display, row.kind, row.content, row.created_at) for row in reversed(rows)]


def _message(row: Row, space: str) -> Message:
    return _MESSAGE.read(row, space=space, data=json.loads(row.data) if row.data is not None else None)
