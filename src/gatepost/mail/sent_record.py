"""
The record of what was sent: of mail, and of the notes and events of work items (`work_item.py`). The table `outgoing`
has them all; the `data` of a record are what a ledger posts.

Mail is a message from one entity to others, outside of all spaces. Its text is `payload.text`. A payload without a text
is shown as compact JSON. Mail that replies to an event belongs to the thread of that event; other mail begins a thread,
whose id is the id of the mail. On a ledger, and in the MCP tool `send_message`, priorities are 1 to 5; everywhere else
they are 0 to 4.
"""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, ClassVar, Final, Generic, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct, field

from gatepost.core.json_limits import Json
from gatepost.core.quoting import render_json
from gatepost.core.text import ParsedEnum, has_visible_text
from gatepost.core.times import DAY, Duration, Instant
from gatepost.errors import Invalid, TooLarge, quote_value
from gatepost.inbox.event import ItemState, Priority, Ref

#: the usual types; a sender may use another
MESSAGE_TYPES: Final = (
    "task.blocked",
    "task.complete",
    "task.note",
    "phase.note",
    "stage.note",
    "project.note",
    "feedback",
    "fyi",
    "review.request",
)
MAX_TYPE_LENGTH: Final = 64
MAX_SUBJECT_LENGTH: Final = 1_000
#: how long the recipients have to read mail that its sender wants acknowledged
DEFAULT_ACK_WITHIN: Final[Duration] = DAY
#: the highest priority is 1 on a ledger and in the MCP tool, and 0 here
PRIORITY_OFFSET: Final = 1

LedgerPriority = Annotated[int, Meta(ge=min(Priority) + PRIORITY_OFFSET, le=max(Priority) + PRIORITY_OFFSET)]
_TYPE: Final = re.compile(rf"[a-z0-9](?:[a-z0-9._-]{{0,{MAX_TYPE_LENGTH - 2}}}[a-z0-9])?")


class AckRequest(ParsedEnum, description="a kind of acknowledgement"):
    """Whether the sender wants to know that mail was read."""

    NONE = "none"
    REQUIRED = "required"


class AckState(StrEnum):
    """How far the acknowledgement of mail is: `overdue` after its deadline, `read` once all have read it."""

    PENDING = "pending"
    OVERDUE = "overdue"
    READ = "read"


class PostState(StrEnum):
    """Whether what was sent is on the ledger; `failed` if it never will be."""

    UNPOSTED = "unposted"
    POSTED = "posted"
    FAILED = "failed"


class SentData(Protocol):
    """What a ledger has of mail, a note or an event."""

    kind: ClassVar[str]


D = TypeVar("D", bound=SentData)


class MailSpec(Struct, frozen=True, kw_only=True):
    """Mail as it is asked for."""

    #: an address; None for a reply, which goes to the sender of what it replies to
    to: str | None = None
    subject: str | None = None
    payload: Json = None
    message_type: str | None = None
    context: Json = None
    ref: Ref | None = None
    priority: Priority = Priority.NORMAL
    #: the id of an event, or of mail
    reply_to: str | None = None
    ack: AckRequest = AckRequest.NONE
    ack_within: Duration = DEFAULT_ACK_WITHIN


class MailRecipient(Struct, frozen=True, kw_only=True):
    """The state of mail for one recipient."""

    name: str
    state: ItemState
    seen_at: Instant | None
    ended_at: Instant | None


class MailData(Struct, frozen=True, kw_only=True):
    """What a ledger has of mail."""

    kind: ClassVar = "mail"

    #: the id of the mail
    uid: str | None = None
    message_type: str
    subject: str | None
    payload: dict[str, Json]
    context: Json
    ref_id: str | None = None
    ref_type: str | None = None
    ledger_priority: LedgerPriority = field(name="priority")

    @property
    def priority(self) -> Priority:
        return Priority(self.ledger_priority - PRIORITY_OFFSET)

    @property
    def text(self) -> str:
        return show_payload(self.payload)


class SentRecord(Struct, Generic[D], frozen=True, kw_only=True):
    """
    What was sent: mail, or a note or an event of a work item; and how far its posting to a ledger and its delivery are.
    """

    number: int = 0
    id: str
    sender: str
    #: the addresses as they were given
    targets: tuple[str, ...]
    #: what a ledger has of it
    data: D
    #: of a note and an event: the work item
    ref: Ref | None
    #: of mail: the id of the first mail of the thread
    thread: str | None = None
    #: the event that it replies to
    reply_to: str | None = None
    #: the event in the inboxes
    event: str | None
    #: None if its sender does not want an acknowledgement
    ack: AckState | None = None
    ack_deadline: Instant | None = None
    created_at: Instant
    #: its sender can send it again with the same key
    dedup_key: str | None = None
    hops: int = 0
    #: None if it is not for the ledger
    post: PostState | None
    posted_at: Instant | None = None
    #: when mail that waits for the ledger is delivered at the latest
    deliver_at: Instant | None = None
    #: of mail: the first ones by name; of a broadcast, those that have taken it
    recipients: Sequence[MailRecipient] = ()
    #: the number of recipients in each state
    states: Mapping[ItemState, int] = {}
    #: the names of those who got a note or an event; only of one that was sent now
    notified: tuple[str, ...] = ()
    #: whether a note or an event added its work item; only of one that was sent now
    has_added_item: bool = False

    @property
    def kind(self) -> str:
        return self.data.kind

    @property
    def to(self) -> str:
        return self.targets[0]

    def build_data(self) -> dict[str, Json]:
        """Return what a ledger posts."""
        document: dict[str, Json] = msgspec.to_builtins(self.data)
        return document


Mail = SentRecord[MailData]


def build_payload(text: str | None, payload: Json) -> dict[str, Json]:
    """Return the payload of mail; a text, or a payload that is a text, becomes `payload.text`."""
    if isinstance(payload, str):
        payload = {"text": payload}
    if payload is not None and not isinstance(payload, dict):
        raise Invalid(f"the payload is {quote_value(payload)}, not an object", hint="send an object or a text")
    fields = dict(payload or {})
    if text is not None:
        if "text" in fields and fields["text"] != text:
            raise Invalid("the payload has a text of its own", hint="give the text once")
        fields["text"] = text
    return fields


def show_payload(payload: Mapping[str, Json]) -> str:
    """Return the text of a payload; if it has none, return the payload as compact JSON."""
    text = payload.get("text")
    if isinstance(text, str) and (has_visible_text(text) or len(payload) == 1):
        return text
    return render_json(payload) if payload else ""


def check_type(text: str) -> str:
    """Return the text if it can be the type of a message."""
    if len(text) > MAX_TYPE_LENGTH:
        raise TooLarge(f"the message type has {len(text)} characters, over the limit of {MAX_TYPE_LENGTH}")
    if not _TYPE.fullmatch(text):
        raise Invalid(
            f"{text!r} is not a message type",
            hint=f"use one of {', '.join(MESSAGE_TYPES)}, or your own in lower-case letters, digits, dots and dashes",
        )
    return text
