"""The entries of the shared inbox."""

import json
from collections.abc import Mapping
from typing import Any, Final

from gatepost.core.shared_entry import EntryKind, QuestionStatus, SharedEntry
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Mapper, fetch_number, load_json

_ENTRY: Final = Mapper(SharedEntry, without="trigger sender asked_by decision", metadata=load_json)


def insert(
    tx: Transaction,
    kind: EntryKind,
    *,
    channel: str,
    session: str,
    trigger: int | None,
    sender: int | None,
    person: int | None,
    display: str | None,
    content: str,
    status: QuestionStatus | None = None,
    metadata: Mapping[str, str] | None = None,
    decision: int | None = None,
) -> tuple[int, str]:
    """Return the number and the id of the new entry; `person` is whose session it is."""
    number, id = fetch_number(tx, "shared_entries/take_number"), tx.new_id("entry")
    tx.execute(
        "shared_entries/insert",
        number=number,
        id=id,
        kind=kind,
        channel=channel,
        session=session,
        trigger=trigger,
        sender=sender,
        person=person,
        display=display,
        content=content,
        status=status,
        metadata=json.dumps(dict(metadata or {}), ensure_ascii=False),
        decision=decision,
        now=tx.now,
    )
    return number, id


def list_page(
    tx: Reader,
    *,
    person: int | None,
    channel: str | None,
    session: str | None,
    kind: EntryKind | None,
    pending: bool,
    after: int,
    limit: int,
) -> list[SharedEntry]:
    """Return entries, the oldest first; with `person`, those of the sessions of that person."""
    filters: dict[str, Any] = {
        "person": person,
        "channel": channel,
        "session": session,
        "kind": kind,
        "is_pending": pending,
    }
    return [_build(row) for row in tx.fetch_page("shared_entries/list_page", **filters, after=after, limit=limit)]


def list_changes(
    tx: Reader,
    *,
    person: int | None,
    channel: str | None,
    session: str | None,
    kind: EntryKind | None,
    after: int,
    limit: int,
) -> list[SharedEntry]:
    """Return entries that are new or have changed after a position, in the order of their positions."""
    filters: dict[str, Any] = {
        "person": person,
        "channel": channel,
        "session": session,
        "kind": kind,
    }
    return [_build(row) for row in tx.fetch_page("shared_entries/list_changes", **filters, after=after, limit=limit)]


def list_recent(
    tx: Reader,
    *,
    person: int | None,
    channel: str | None,
    session: str | None,
    kind: EntryKind | None,
    pending: bool,
    limit: int,
) -> list[SharedEntry]:
    """Return the last entries, the newest first."""
    filters: dict[str, Any] = {
        "person": person,
        "channel": channel,
        "session": session,
        "kind": kind,
        "is_pending": pending,
    }
    return [_build(row) for row in tx.fetch_page("shared_entries/list_recent", **filters, limit=limit)]


def list_pending(tx: Reader, *, channel: str, session: str, trigger: int | None, limit: int) -> list[SharedEntry]:
    """Return the questions on a route that wait for an answer, the oldest first."""
    rows = tx.fetch_all("shared_entries/list_pending", channel=channel, session=session, trigger=trigger, limit=limit)
    return [_build(row) for row in rows]


def list_by_decision(tx: Reader, decision: int) -> list[SharedEntry]:
    return [_build(row) for row in tx.fetch_all("shared_entries/list_by_decision", decision=decision)]


def end_question(tx: Transaction, number: int, status: QuestionStatus, answer: str | None) -> bool:
    """Return False if the question has ended before."""
    position = fetch_number(tx, "shared_entries/take_number")
    row_count = tx.execute(
        "shared_entries/end_question", number=number, status=status, answer=answer, position=position, now=tx.now
    )
    return row_count == 1


def find_last_position(tx: Reader) -> int:
    """Return the position of the last change; 0 if there is none."""
    return fetch_number(tx, "shared_entries/find_last_position")


def _build(row: Row) -> SharedEntry:
    is_question = row.kind == EntryKind.SYSTEM_QUESTION
    return _ENTRY.read(
        row,
        trigger=row.trigger_name,
        sender=row.sender_name,
        asked_by=row.sender_name if is_question else None,
        decision=row.decision_id,
    )
