"""
The entries of the shared inbox: add, read and end them. `channels/question_actions.py` shows questions there, and
matches answers to them.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, TypedDict, Unpack

from gatepost.channels.shared_inbox.api import EntryKind, QuestionStatus, SharedEntry
from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.directory import entity_actions as directory
from gatepost.errors import NotFound, quote_value
from gatepost.inbox.event import Route
from gatepost.stores.row_mapping import Mapper, fetch_number, load_json

_ENTRY: Final = Mapper(SharedEntry, without="trigger sender asked_by decision", metadata=load_json)


class EntryFields(TypedDict, total=False):
    """
    Which entries are read; a field that is None or left out excludes nothing. A `viewer` sees what was in sessions of
    its own; the administrator (None) sees all.
    """

    viewer: str | None
    channel: str | None
    session: str | None
    kind: EntryKind | None
    pending: bool


def record(
    tx: Transaction,
    kind: EntryKind,
    route: Route,
    content: str,
    *,
    trigger: int | None,
    person: int | None,
    sender: int | None = None,
    display: str | None = None,
    metadata: Mapping[str, str] | None = None,
    decision: int | None = None,
) -> str:
    """
    Add a prompt, a response or, with the number of its `decision`, a question that waits for an answer; return the id
    of the entry. `person` is whose session it is.
    """
    number, id = fetch_number(tx, "channels/shared_entries/take_number"), tx.new_id("entry")
    tx.execute_later(
        "channels/shared_entries/insert",
        number=number,
        id=id,
        kind=kind,
        channel=route.channel,
        session=route.session,
        trigger=trigger,
        sender=sender,
        person=person,
        display=display,
        content=content,
        status=QuestionStatus.PENDING if decision is not None else None,
        metadata=_encode(metadata or {}),
        decision=decision,
        now=tx.now,
    )
    _signal(tx, route.channel, route.session, number)
    return id


def list_page(tx: Reader, *, after: int = 0, limit: int = 100, **fields: Unpack[EntryFields]) -> list[SharedEntry]:
    """Return entries, the oldest first; `after` is the number of the last one seen."""
    return _fetch_page(tx, "channels/shared_entries/list_page", fields, after=after, limit=limit)


def show(tx: Reader, id: str, *, viewer: str | None = None) -> SharedEntry:
    """Return an entry; for a `viewer`, those of the sessions of others do not exist."""
    row = tx.fetch_one("channels/shared_entries/find", id=id, person=directory.find_number(tx, viewer))
    if row is None:
        raise NotFound(f"there is no entry {quote_value(id)}", hint="`gatepost inbox shared` lists the last ones")
    return _build(row)


def list_changes(tx: Reader, *, after: int = 0, limit: int = 100, **fields: Unpack[EntryFields]) -> list[SharedEntry]:
    """
    Return entries that are new or have changed, in the order of their positions; `after` is the last position seen. A
    question is there when it is asked, and again, with its answer, when it has ended.
    """
    return _fetch_page(tx, "channels/shared_entries/list_changes", fields, after=after, limit=limit)


def list_recent(
    tx: Reader, *, before: int | None = None, limit: int = 100, **fields: Unpack[EntryFields]
) -> list[SharedEntry]:
    """Return the last entries, the newest first; `before` is the number of the last one seen."""
    return _fetch_page(tx, "channels/shared_entries/list_recent", fields, before=before, limit=limit)


def list_pending(tx: Reader, route: Route, *, trigger: int | None, limit: int) -> list[SharedEntry]:
    """Return the questions on a route that wait for an answer, the oldest first."""
    bounds: dict[str, Any] = {"channel": route.channel, "session": route.session, "trigger": trigger, "limit": limit}
    return [_build(row) for row in tx.fetch_all("channels/shared_entries/list_pending", **bounds)]


def list_by_decision(tx: Reader, decision: int) -> list[SharedEntry]:
    """Return the questions about a decision, also those that have ended."""
    return [_build(row) for row in tx.fetch_all("channels/shared_entries/list_by_decision", decision=decision)]


def end_question(tx: Transaction, entry: SharedEntry, status: QuestionStatus, answer: str | None) -> None:
    """End a question, unless it has ended before."""
    row_count = tx.execute(
        "channels/shared_entries/end_question",
        number=entry.number,
        status=status,
        answer=answer,
        position=fetch_number(tx, "channels/shared_entries/take_number"),
        now=tx.now,
    )
    if row_count:
        _signal(tx, entry.channel, entry.session, entry.number)


def _signal(tx: Transaction, channel: str, session: str, number: int) -> None:
    tx.after_commit(Signal(Topic("shared", f"{channel}:{session}"), str(number), wakes=False))


def set_metadata(tx: Transaction, number: int, metadata: Mapping[str, str]) -> None:
    """Change the metadata of an entry; it is no change for those who follow the entries."""
    tx.execute_later("channels/shared_entries/set_metadata", number=number, metadata=_encode(metadata))


def find_last_position(tx: Reader) -> int:
    """Return the position of the last change; 0 if there is none."""
    return fetch_number(tx, "channels/shared_entries/find_last_position")


def _fetch_page(tx: Reader, statement: str, fields: EntryFields, **bounds: int | None) -> list[SharedEntry]:
    rows = tx.fetch_page(
        statement,
        person=directory.find_number(tx, fields.get("viewer")),
        channel=fields.get("channel"),
        session=fields.get("session"),
        kind=fields.get("kind"),
        is_pending=fields.get("pending", False),
        **bounds,
    )
    return [_build(row) for row in rows]


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
