"""Records of what was sent, in the table `outgoing`: mail, and the notes and events of work items."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from gatepost.core import typed_json
from gatepost.core.ports import Reader, Row, Transaction
from gatepost.core.times import DAY, Instant
from gatepost.errors import Invalid, LimitReached
from gatepost.inbox.event import ItemState, Ref
from gatepost.mail.sent_record import AckState, D, Mail, MailData, MailRecipient, SentRecord
from gatepost.mail.work_item import EventData, NoteData
from gatepost.stores.row_mapping import Mapper, fetch_number, get_columns, make_row_type, zip_columns

#: recipients that are shown of one mail
MAX_RECIPIENTS: Final = 100
_RECIPIENT: Final = Mapper(MailRecipient)
_SENT_RECORD: Final = Mapper(
    SentRecord,
    without="data ref recipients states notified has_added_item",
    targets=typed_json.make_decoder(tuple[str, ...]),
)
_DATA_TYPES: Final = {data_type.kind: data_type for data_type in (MailData, NoteData, EventData)}
_COLUMNS: Final = "id kind thread reply_to event ack ack_deadline dedup_key hops post deliver_at"
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def insert(tx: Transaction, record: SentRecord[D], sender: int, recipients: Sequence[str]) -> SentRecord[D]:
    """
    Insert a record with the names of its recipients; return it with its number. An entity may send only so many in 24
    hours (`limits.sent`).
    """
    limit = tx.policy.sent
    first = tx.fetch_one("mail/outgoing/find_time_sent", sender=sender, skipped=limit - 1)
    if first is not None and first.created_at > tx.now - DAY:
        raise LimitReached(
            f"{record.sender!r} has sent {limit} mails, notes and work events in 24 hours, the limit for one entity",
            hint="wait, or raise limits.sent",
        )
    number = fetch_number(
        tx,
        "mail/outgoing/insert",
        **get_columns(record, _COLUMNS),
        sender=sender,
        targets=_encode(record.targets),
        data=_encode(record.build_data()),
        ref_type=record.ref.type if record.ref else None,
        ref_id=record.ref.id if record.ref else None,
        now=tx.now,
    )
    if recipients:
        tx.execute_later("mail/outgoing/insert_recipients", outgoing=number, names=sorted(recipients))
    return replace(record, number=number)


def read(tx: Reader, id: str) -> SentRecord[Any] | None:
    row = tx.fetch_one("mail/outgoing/find", id=id)
    return _build_record(row) if row else None


def lock(tx: Transaction, id: str) -> SentRecord[Any] | None:
    """Read a record and lock it until the commit."""
    return read(tx, id) if tx.fetch_one("mail/outgoing/lock", id=id) else None


def find_mail(tx: Reader, id: str) -> Mail | None:
    """Return the mail with this id, or with this event, and the states of its recipients."""
    if id.startswith("evt_"):
        row = tx.fetch_one("mail/outgoing/find_by_event", event=id)
    else:
        row = tx.fetch_one("mail/outgoing/find", id=id)
    return _build_mails(tx, [row])[0] if row and row.kind == MailData.kind else None


def has_work(tx: Reader, sender: int, dedup_key: str) -> bool:
    """Return True if a sender has made a note or an event with this key."""
    return tx.fetch_one("mail/outgoing/has_work", sender=sender, dedup_key=dedup_key) is not None


def list_page(
    tx: Reader, statement: str, *, ref: Ref | None = None, message_type: str | None = None, **filters: Any
) -> list[Mail]:
    """Return mail, the newest first, as one of the statements `list_sent` and `list_thread` finds it."""
    parts = {"ref_type": ref.type if ref else None, "ref_id": ref.id if ref else None}
    return _build_mails(tx, tx.fetch_page(statement, **parts, message_type=message_type, **filters))


def list_posts(tx: Reader, data_type: type[D], item: Ref, *, after: int, limit: int) -> list[SentRecord[D]]:
    """Return the notes or the events of a work item, the oldest first."""
    rows = tx.fetch_page(
        "mail/outgoing/list_posts", kind=data_type.kind, ref_type=item.type, ref_id=item.id, after=after, limit=limit
    )
    return [_build_record(row) for row in rows]


def list_unread(tx: Reader, number: int) -> list[str]:
    """Return the names of the recipients who have not read a mail."""
    return [row.name for row in tx.fetch_all("mail/outgoing/list_unread", number=number)]


def set_ack(tx: Transaction, number: int, ack: AckState) -> None:
    tx.execute_later("mail/outgoing/set_ack", number=number, ack=ack)


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
        tx.execute_many_later("mail/outgoing/keep_states", zip_columns("outgoing recipient state ended_at", rows))


def list_recipients(tx: Reader, number: int) -> list[str]:
    return [row.name for row in tx.fetch_all("mail/outgoing/list_recipients", number=number)]


def end_recipient(tx: Transaction, number: int, recipient: int) -> None:
    """Save that a recipient that has no inbox here has got it."""
    tx.execute_later("mail/outgoing/end_recipient", number=number, recipient=recipient, now=tx.now)


def list_unposted(tx: Reader, sender: int, number: int, limit: int) -> list[str]:
    """Return the ids of a sender's records up to this one that are not on the ledger yet, the oldest first."""
    rows = tx.fetch_all("mail/outgoing/list_unposted", sender=sender, number=number, limit=limit)
    return [row.id for row in rows]


def set_posted(tx: Transaction, number: int) -> None:
    """Save that a record is on the ledger."""
    tx.execute_later("mail/outgoing/set_posted", number=number, now=tx.now)


def set_failed(tx: Transaction, number: int) -> None:
    """Save that a record will never be on the ledger."""
    tx.execute_later("mail/outgoing/set_failed", number=number)


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
    return [
        replace(_build_record(row), recipients=recipients.get(row.number, ()), states=states.get(row.number, {}))
        for row in rows
    ]


def check_row(columns: Mapping[str, Any]) -> None:
    """Raise Invalid, or ValueError for its data, if a row with these columns could not be read."""
    names = (*_SENT_RECORD.fields, "kind", "data", "ref_type", "ref_id")
    _build_record(make_row_type(names)(columns.get(name) for name in names))


def _build_record(row: Row) -> SentRecord[Any]:
    record = _SENT_RECORD.read(
        row,
        data=typed_json.decode(row.data, _DATA_TYPES[row.kind]),
        ref=Ref(row.ref_type, row.ref_id) if row.ref_type else None,
    )
    if record.kind == MailData.kind and (not record.targets or record.thread is None):
        raise Invalid("mail needs a recipient and a thread")
    if record.kind != MailData.kind and record.ref is None:
        raise Invalid("a note or an event needs a work item")
    return record
