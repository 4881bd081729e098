"""The messages of spaces."""

import json
from typing import Final

from gatepost.core.space import Message, MessageRow, Space
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Mapper

_MESSAGE: Final = Mapper(Message, without="space data")


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


def list_after(tx: Reader, space: Space, *, after: int, before: int, limit: int) -> list[Message]:
    """Return the first messages after a number and before another, oldest first."""
    rows = tx.fetch_page("messages/list_after", space=space.number, after=after, before=before, limit=limit)
    return [_build_message(row, space.id) for row in rows]


def list_before(tx: Reader, space: Space, *, before: int, limit: int) -> list[Message]:
    """Return the last messages before a number, oldest first."""
    rows = tx.fetch_page("messages/list_before", space=space.number, before=before, limit=limit)
    return [_build_message(row, space.id) for row in reversed(rows)]


def list_rows_before(tx: Reader, space: Space, *, before: int, limit: int) -> list[MessageRow]:
    """Return the last messages before a number, oldest first, with the columns that a prompt needs."""
    rows = tx.fetch_all("messages/list_rows_before", space=space.number, before=before, limit=limit)
    return [(row.id, row.display, row.kind, row.content, row.created_at) for row in reversed(rows)]


def _build_message(row: Row, space: str) -> Message:
    return _MESSAGE.read(row, space=space, data=json.loads(row.data) if row.data is not None else None)
