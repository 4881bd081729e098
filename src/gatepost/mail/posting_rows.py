"""What was sent, as a ledger posts it: the rows of `outgoing`, and how far their posting and delivery are."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.mail.sent_mail import PostState
from gatepost.stores.row_mapping import Mapper, load_json


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


_POST: Final = Mapper(Post, targets=load_json, data=load_json)


def read(tx: Reader, id: str) -> Post | None:
    return _POST.fetch_one(tx, "mail/outgoing/find", id=id)


def find_work_by_key(tx: Reader, sender: int, dedup_key: str) -> Post | None:
    """Return the note or the event that a sender has made with this key."""
    return _POST.fetch_one(tx, "mail/outgoing/find_by_key", sender=sender, dedup_key=dedup_key, is_mail=False)


def lock(tx: Transaction, id: str) -> Post | None:
    """Read a record and lock it until the commit."""
    return read(tx, id) if tx.fetch_one("mail/outgoing/lock", id=id) else None


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
