"""The entries of the shared inbox."""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from gatepost.channels.shared_inbox.entry import EntryKind, QuestionStatus, SharedEntry
from gatepost.core.ports import Reader, Row, Transaction
from gatepost.stores.row_mapping import Mapper, fetch_number, load_json

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
    number, id = fetch_number(tx, "channels/shared_entries/take_number"), tx.new_id("entry")
    tx.execute(
        "channels/shared_entries/insert",
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
        metadata=_encode(metadata or {}),
        decision=decision,
        now=tx.now,
    )
    return number, id


class EntryFilter(NamedTuple):
    """Which entries are read; None is all."""

    #: the number of the person whose sessions they are in
    person: int | None = None
    channel: str | None = None
    session: str | None = None
    kind: EntryKind | None = None
    is_pending: bool = False


def list_page(tx: Reader, filter: EntryFilter, *, after: int, limit: int) -> list[SharedEntry]:
    """Return entries, the oldest first."""
    return _fetch_page(tx, "channels/shared_entries/list_page", filter, after=after, limit=limit)


def find(tx: Reader, id: str, *, person: int | None) -> SharedEntry | None:
    """Return an entry; with `person`, only one of the sessions of that person."""
    row = tx.fetch_one("channels/shared_entries/find", id=id, person=person)
    return _build(row) if row is not None else None


def list_changes(tx: Reader, filter: EntryFilter, *, after: int, limit: int) -> list[SharedEntry]:
    """Return entries that are new or have changed after a position, in the order of their positions."""
    return _fetch_page(tx, "channels/shared_entries/list_changes", filter, after=after, limit=limit)


def list_recent(tx: Reader, filter: EntryFilter, *, before: int | None, limit: int) -> list[SharedEntry]:
    """Return the last entries before a number, the newest first."""
    return _fetch_page(tx, "channels/shared_entries/list_recent", filter, before=before, limit=limit)


def _fetch_page(tx: Reader, statement: str, filter: EntryFilter, **bounds: int | None) -> list[SharedEntry]:
    return [_build(row) for row in tx.fetch_page(statement, **filter._asdict(), **bounds)]


def list_pending(tx: Reader, *, channel: str, session: str, trigger: int | None, limit: int) -> list[SharedEntry]:
    """Return the questions on a route that wait for an answer, the oldest first."""
    rows = tx.fetch_all(
        "channels/shared_entries/list_pending", channel=channel, session=session, trigger=trigger, limit=limit
    )
    return [_build(row) for row in rows]


def list_by_decision(tx: Reader, decision: int) -> list[SharedEntry]:
    return [_build(row) for row in tx.fetch_all("channels/shared_entries/list_by_decision", decision=decision)]


def end_question(tx: Transaction, number: int, status: QuestionStatus, answer: str | None) -> bool:
    """Return False if the question has ended before."""
    position = fetch_number(tx, "channels/shared_entries/take_number")
    row_count = tx.execute(
        "channels/shared_entries/end_question",
        number=number,
        status=status,
        answer=answer,
        position=position,
        now=tx.now,
    )
    return row_count == 1


def set_metadata(tx: Transaction, number: int, metadata: Mapping[str, str]) -> None:
    """Change the metadata of an entry; it is no change for those who follow the entries."""
    tx.execute("channels/shared_entries/set_metadata", number=number, metadata=_encode(metadata))


def find_last_position(tx: Reader) -> int:
    """Return the position of the last change; 0 if there is none."""
    return fetch_number(tx, "channels/shared_entries/find_last_position")


def _encode(metadata: Mapping[str, str]) -> str:
    return json.dumps(dict(metadata), ensure_ascii=False)


def _build(row: Row) -> SharedEntry:
    is_question = row.kind == EntryKind.SYSTEM_QUESTION
    return _ENTRY.read(
        row,
        trigger=row.trigger_name,
        sender=row.sender_name,
        asked_by=row.sender_name if is_question else None,
        decision=row.decision_id,
    )
