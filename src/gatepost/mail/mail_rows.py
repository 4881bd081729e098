"""
Records of what was sent, in the table `outgoing`: mail, and the notes and events of work items.

A `Post` is such a record as a ledger posts it, and how far its posting and its delivery are.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.times import Instant
from gatepost.errors import Invalid
from gatepost.inbox.event import ItemState, Priority, Ref
from gatepost.mail.sent_mail import PRIORITY_OFFSET, AckState, Mail, MailRecipient, PostState
from gatepost.mail.work_item import Note, WorkEvent
from gatepost.stores.row_mapping import Mapper, fetch_number, load_json, zip_columns

#: recipients that are shown of one mail
MAX_RECIPIENTS: Final = 100
_RECIPIENT: Final = Mapper(MailRecipient)
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

_Priority = Annotated[int, Meta(ge=min(Priority) + PRIORITY_OFFSET, le=max(Priority) + PRIORITY_OFFSET)]


class Post(Struct, frozen=True, kw_only=True):
    """What was sent, as a ledger posts it."""

    number: int
    id: str
    #: mail, note or event
    kind: str
    sender: str
    #: the addresses as they were given
    targets: Sequence[str]
    data: dict[str, Any]
    #: of a note and an event: the work item
    ref_type: str | None
    ref_id: str | None
    event: str | None
    dedup_key: str | None
    hops: int
    post: PostState | None
    deliver_at: Instant | None


class _MailData(Struct):
    """What the data of mail must have; those of notes and events are below."""

    message_type: str
    subject: str | None
    payload: dict[str, Any]
    context: Any
    priority: _Priority


class _NoteData(Struct):
    note: str
    priority: _Priority


class _EventData(Struct):
    type: str
    reason: str


_POST: Final = Mapper(Post, targets=load_json, data=load_json)
_DATA_TYPES: Final = {"mail": _MailData, "note": _NoteData, "event": _EventData}


def insert_mail(
    tx: Transaction,
    mail: Mail,
    sender: int,
    recipients: Sequence[str],
    *,
    hops: int = 0,
    deliver_at: Instant | None = None,
) -> int:
    """Insert mail. What waits for the ledger is delivered at `deliver_at` at the latest, with `hops`."""
    return _insert(
        tx,
        recipients,
        id=mail.id,
        kind="mail",
        sender=sender,
        targets=_encode([mail.to]),
        data=_encode(mail.build_data()),
        ref=mail.ref,
        thread=mail.thread,
        reply_to=mail.reply_to,
        event=mail.event,
        ack=mail.ack,
        ack_deadline=mail.ack_deadline,
        post=mail.post,
        hops=hops,
        deliver_at=deliver_at,
    )


def insert_note(tx: Transaction, note: Note, author: int, dedup_key: str | None = None) -> int:
    return _insert(
        tx,
        note.recipients,
        id=note.id,
        kind="note",
        sender=author,
        targets=_encode(note.notify),
        data=_encode(note.build_data()),
        ref=note.item,
        event=note.event,
        post=note.post,
        dedup_key=dedup_key,
    )


def insert_event(
    tx: Transaction,
    event: WorkEvent,
    author: int,
    targets: Sequence[str],
    id: str | None,
    dedup_key: str | None = None,
) -> int:
    """Insert an event of a work item; `id` is the event in the inboxes."""
    return _insert(
        tx,
        event.recipients,
        id=event.id,
        kind="event",
        sender=author,
        targets=_encode(targets),
        data=_encode(event.build_data()),
        ref=event.item,
        event=id,
        post=event.post,
        dedup_key=dedup_key,
    )


def _insert(tx: Transaction, recipients: Sequence[str], *, ref: Ref | None, **columns: Any) -> int:
    optional_columns = dict.fromkeys(("thread", "reply_to", "ack", "ack_deadline", "dedup_key", "deliver_at"))
    number = fetch_number(
        tx,
        "mail/outgoing/insert",
        **(optional_columns | {"hops": 0} | columns),
        ref_type=ref.type if ref else None,
        ref_id=ref.id if ref else None,
        now=tx.now,
    )
    if recipients:
        tx.execute("mail/outgoing/insert_recipients", outgoing=number, names=sorted(recipients))
    return number


def read_mail(tx: Reader, id: str) -> Mail | None:
    row = tx.fetch_one("mail/outgoing/find", id=id)
    return _build_mails(tx, [row])[0] if row and row.kind == "mail" else None


def lock_mail(tx: Transaction, id: str) -> Mail | None:
    """Read mail and lock it until the commit."""
    return read_mail(tx, id) if tx.fetch_one("mail/outgoing/lock", id=id) else None


def find_mail_by_event(tx: Reader, event: str) -> Mail | None:
    row = tx.fetch_one("mail/outgoing/find_by_event", event=event)
    return _build_mails(tx, [row])[0] if row and row.kind == "mail" else None


def list_sent(
    tx: Reader, sender: int, *, thread: str | None, ref: Ref | None, before: int | None, limit: int
) -> list[Mail]:
    """Return the mail of a sender, the newest first."""
    rows = tx.fetch_page(
        "mail/outgoing/list_sent",
        sender=sender,
        thread=thread,
        ref_type=ref.type if ref else None,
        ref_id=ref.id if ref else None,
        before=before,
        limit=limit,
    )
    return _build_mails(tx, rows)


def list_thread(
    tx: Reader, viewer: int | None, *, thread: str | None, ref: Ref | None, before: int | None, limit: int
) -> list[Mail]:
    """Return the mail of a thread, or about a reference, the newest first; with a viewer, only what it sent or got."""
    rows = tx.fetch_page(
        "mail/outgoing/list_thread",
        viewer=viewer,
        thread=thread,
        ref_type=ref.type if ref else None,
        ref_id=ref.id if ref else None,
        before=before,
        limit=limit,
    )
    return _build_mails(tx, rows)


def list_notes(tx: Reader, item: Ref, *, after: int, limit: int) -> list[Note]:
    """Return the notes on a work item, the oldest first."""
    rows = tx.fetch_page(
        "mail/outgoing/list_posts", kind="note", ref_type=item.type, ref_id=item.id, after=after, limit=limit
    )
    return [_build_note(row) for row in rows]


def list_events(tx: Reader, item: Ref, *, after: int, limit: int) -> list[WorkEvent]:
    """Return the events of a work item, the oldest first."""
    rows = tx.fetch_page(
        "mail/outgoing/list_posts", kind="event", ref_type=item.type, ref_id=item.id, after=after, limit=limit
    )
    return [_build_event(row) for row in rows]


def list_awaited(tx: Reader, claim: int) -> list[str]:
    """Return the ids of mails in a claim whose senders wait to hear that they were read."""
    return [row.id for row in tx.fetch_all("mail/outgoing/list_awaited", claim=claim)]


def take_overdue(tx: Transaction, limit: int) -> list[str]:
    """Return the ids of mails that were not acknowledged in time, and lock them until the commit."""
    return [row.id for row in tx.fetch_all("mail/outgoing/take_overdue", now=tx.now, limit=limit)]


def list_unread(tx: Reader, number: int) -> list[str]:
    """Return the names of the recipients who have not read a mail."""
    return [row.name for row in tx.fetch_all("mail/outgoing/list_unread", number=number)]


def set_ack(tx: Transaction, number: int, ack: AckState) -> None:
    tx.execute("mail/outgoing/set_ack", number=number, ack=ack)


def keep_states(tx: Transaction, removed_items: Sequence[tuple[int, int, str, Instant]]) -> None:
    """Save how items of sent records ended that were removed: recipient, arrival, state and time of each."""
    arrivals = sorted({arrival for _, arrival, _, _ in removed_items})
    numbers = {row.arrival: row.number for row in tx.fetch_all("mail/outgoing/list_arrivals", arrivals=arrivals)}
    rows = [
        (numbers[arrival], recipient, state, ended_at)
        for recipient, arrival, state, ended_at in removed_items
        if arrival in numbers
    ]
    if rows:
        tx.execute_many("mail/outgoing/keep_states", zip_columns("outgoing recipient state ended_at", rows))


def check_record(kind: str, data: str, targets: str, thread: str | None, ref_type: str | None) -> None:
    """Raise an error if a record with these columns cannot be read: Invalid, or ValueError for its data."""
    msgspec.json.decode(data, type=_DATA_TYPES[kind])
    if kind == "mail" and (not load_json(targets) or thread is None):
        raise Invalid("mail needs a recipient and a thread")
    if kind != "mail" and ref_type is None:
        raise Invalid("a note or an event needs a work item")


def read_post(tx: Reader, id: str) -> Post | None:
    return _POST.fetch_one(tx, "mail/outgoing/find", id=id)


def find_work_by_key(tx: Reader, sender: int, dedup_key: str) -> Post | None:
    """Return the note or the event that a sender has made with this key."""
    return _POST.fetch_one(tx, "mail/outgoing/find_by_key", sender=sender, dedup_key=dedup_key)


def lock_post(tx: Transaction, id: str) -> Post | None:
    """Read a record and lock it until the commit."""
    return read_post(tx, id) if tx.fetch_one("mail/outgoing/lock", id=id) else None


def list_recipients(tx: Reader, number: int) -> list[str]:
    return [row.name for row in tx.fetch_all("mail/outgoing/list_recipients", number=number)]


def end_recipient(tx: Transaction, number: int, recipient: int) -> None:
    """Save that a recipient that has no inbox here has got it."""
    tx.execute("mail/outgoing/end_recipient", number=number, recipient=recipient, now=tx.now)


def set_delivered(tx: Transaction, number: int, event: str) -> None:
    """Save the event that mail became in the inboxes."""
    tx.execute("mail/outgoing/set_delivered", number=number, event=event)


def set_deliver_at(tx: Transaction, number: int, deliver_at: Instant) -> None:
    tx.execute("mail/outgoing/set_deliver_at", number=number, deliver_at=deliver_at)


def list_undelivered(tx: Reader, limit: int) -> list[str]:
    """Return the ids of mails that have waited for the ledger long enough."""
    return [row.id for row in tx.fetch_all("mail/outgoing/list_undelivered", now=tx.now, limit=limit)]


def find_next_delivery(tx: Reader) -> Instant | None:
    """Return when the next mail that waits for the ledger has waited long enough."""
    row = tx.fetch_one("mail/outgoing/find_next_delivery")
    return row.deliver_at if row else None


def list_unposted(tx: Reader, sender: int, number: int, limit: int) -> list[str]:
    """Return the ids of a sender's records up to this one that are not on the ledger yet, the oldest first."""
    rows = tx.fetch_all("mail/outgoing/list_unposted", sender=sender, number=number, limit=limit)
    return [row.id for row in rows]


def set_posted(tx: Transaction, number: int) -> None:
    """Save that a record is on the ledger."""
    tx.execute("mail/outgoing/set_posted", number=number, now=tx.now)


def set_failed(tx: Transaction, number: int) -> None:
    """Save that a record will never be on the ledger."""
    tx.execute("mail/outgoing/set_failed", number=number)


def _build_mails(tx: Reader, rows: Sequence[Row]) -> list[Mail]:
    if not rows:
        return []
    recipients: dict[int, list[MailRecipient]] = {}
    states: dict[int, dict[ItemState, int]] = {}
    numbers = [row.number for row in rows]
    for row in tx.fetch_all("mail/outgoing/list_states", numbers=numbers, now=tx.now, limit=MAX_RECIPIENTS):
        states.setdefault(row.outgoing, {})[ItemState(row.state)] = row.total
        if row.place <= MAX_RECIPIENTS:
            recipients.setdefault(row.outgoing, []).append(_RECIPIENT.read(row))
    return [_build_mail(row, recipients.get(row.number, ()), states.get(row.number, {})) for row in rows]


def _build_mail(row: Row, recipients: Sequence[MailRecipient], states: dict[ItemState, int]) -> Mail:
    data = load_json(row.data)
    return Mail(
        number=row.number,
        id=row.id,
        event=row.event,
        sender=row.sender,
        to=load_json(row.targets)[0],
        message_type=data["message_type"],
        subject=data["subject"],
        payload=data["payload"],
        context=data["context"],
        ref=Ref(row.ref_type, row.ref_id) if row.ref_type else None,
        priority=Priority(data["priority"] - PRIORITY_OFFSET),
        thread=row.thread,
        reply_to=row.reply_to,
        ack=AckState(row.ack) if row.ack else None,
        ack_deadline=row.ack_deadline,
        created_at=row.created_at,
        post=PostState(row.post) if row.post else None,
        posted_at=row.posted_at,
        recipients=recipients,
        states=states,
    )


def _build_note(row: Row) -> Note:
    data = load_json(row.data)
    return Note(
        number=row.number,
        id=row.id,
        item=Ref(row.ref_type, row.ref_id),
        author=row.sender,
        text=data["note"],
        notify=tuple(load_json(row.targets)),
        priority=Priority(data["priority"] - PRIORITY_OFFSET),
        event=row.event,
        created_at=row.created_at,
        post=PostState(row.post) if row.post else None,
        posted_at=row.posted_at,
    )


def _build_event(row: Row) -> WorkEvent:
    data = load_json(row.data)
    return WorkEvent(
        number=row.number,
        id=row.id,
        item=Ref(row.ref_type, row.ref_id),
        event=data["type"].partition(".")[2],
        author=row.sender,
        reason=data["reason"],
        created_at=row.created_at,
        post=PostState(row.post) if row.post else None,
        posted_at=row.posted_at,
    )
