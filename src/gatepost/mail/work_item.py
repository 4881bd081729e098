"""
Work items: tasks, phases, stages and projects, with the notes and events that are posted on them.

An event of a work item has a name of two parts, such as `task.blocked`; `notification_rule.py` says who gets it.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from msgspec import Struct, field

from gatepost.core.text import ParsedEnum, check_label
from gatepost.core.times import Instant
from gatepost.errors import Invalid, TooLarge, quote_value
from gatepost.inbox.event import Priority, Ref
from gatepost.mail.sent_record import PRIORITY_OFFSET, LedgerPriority, SentRecord

MAX_ID_LENGTH: Final = 128
MAX_TITLE_LENGTH: Final = 200
MAX_REASON_LENGTH: Final = 4_000
#: the events after which nothing is left to do on a work item
CLOSING_EVENTS: Final = ("complete", "completed", "done", "closed", "cancelled", "canceled", "abandoned")
#: addresses that one note or rule names
MAX_ADDRESSES: Final = 50

EVENT_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class WorkType(ParsedEnum, description="a type of work item"):
    TASK = "task"
    PHASE = "phase"
    STAGE = "stage"
    PROJECT = "project"


class WorkItem(Struct, frozen=True, kw_only=True):
    number: int
    type: WorkType
    id: str
    title: str
    parent: Ref | None
    #: its topic on a ledger
    topic: str | None
    #: its last event; None if it had none
    status: str | None
    made_by: str
    created_at: Instant
    updated_at: Instant

    @property
    def ref(self) -> Ref:
        return Ref(self.type.value, self.id)


class WorkItemSpec(Struct, frozen=True, kw_only=True):
    """A work item as it is asked for."""

    type: WorkType
    id: str
    title: str | None = None
    parent: Ref | None = None
    topic: str | None = None


class NoteData(Struct, frozen=True, kw_only=True):
    """What a ledger has of a note on a work item."""

    kind: ClassVar = "note"

    #: with the type of the item: `task.note`
    type: str
    from_agent: str
    #: Markdown
    note: str
    #: addresses
    notify: tuple[str, ...] = ()
    uid: str | None = None
    ledger_priority: LedgerPriority = field(name="priority")
    ts: str = ""

    @property
    def priority(self) -> Priority:
        return Priority(self.ledger_priority - PRIORITY_OFFSET)


class EventData(Struct, frozen=True, kw_only=True):
    """What a ledger has of something that happened to a work item."""

    kind: ClassVar = "event"

    #: with the type of the item: `task.blocked`
    type: str
    from_agent: str
    reason: str
    uid: str | None = None
    ts: str = ""


Note = SentRecord[NoteData]
WorkEvent = SentRecord[EventData]


def check_id(text: str) -> str:
    """Return the text if it can be the id, or the topic, of a work item."""
    if len(text) > MAX_ID_LENGTH:
        raise TooLarge(f"the id has {len(text)} characters, over the limit of {MAX_ID_LENGTH}")
    if not _ID.fullmatch(text):
        raise Invalid(
            f"{text!r} is not the id of a work item",
            hint="use letters, digits, dots, dashes and underscores, a letter or digit first",
        )
    return text


def check_title(text: str) -> str:
    return check_label("a title", text, MAX_TITLE_LENGTH)


def parse_event(type: WorkType, text: str) -> str:
    """Return the name of an event without the type of its item: both `blocked` and `task.blocked` are `blocked`."""
    head, dot, tail = text.partition(".")
    if dot and head in tuple(WorkType) and head != type:
        raise Invalid(f"{text!r} is an event of a {head}, and the work item is a {type}")
    event = tail if dot and head == type else text
    if not EVENT_NAME.fullmatch(event):
        raise Invalid(
            f"{quote_value(text)} is not an event of a work item",
            hint="use a word such as started, blocked, complete, in lower-case letters, digits and dashes",
        )
    if event == "note":
        raise Invalid("a note is not an event", hint="post a note instead")
    return event


def check_addresses(addresses: Sequence[str]) -> tuple[str, ...]:
    """Return the addresses without repeats; refuse too many."""
    unique_addresses = tuple(dict.fromkeys(addresses))
    if len(unique_addresses) > MAX_ADDRESSES:
        raise Invalid(f"{len(unique_addresses)} addresses are too many", hint=f"use at most {MAX_ADDRESSES}, or a team")
    return unique_addresses
