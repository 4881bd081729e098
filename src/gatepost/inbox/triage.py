"""
Triage: what a person does with many items at once. Items that are alike make a group, and a snoozed item may wait for
an event, which is written as a text:

    from:NAME            whatever this sender sends, or this source
    about:TYPE:ID        whatever is about this subject
    TYPE, TYPE:SOURCE    an event of this type; of this sender or source only
"""

from typing import Final

from msgspec import Struct

from gatepost.core.times import Instant
from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import Event, EventType, Item, Priority, Ref

_FORMS: Final = "write from:NAME, about:TYPE:ID, TYPE or TYPE:SOURCE, such as from:quinn or service:jira"
_MAX_LENGTH: Final = 512


class TriageResult(Struct, frozen=True):
    """How many items were changed, and whether the filter lets more through."""

    count: int
    has_more: bool
    #: the id of the receipt, for `undo`
    receipt: str | None = None


class ItemGroup(Struct, frozen=True, kw_only=True):
    """Items of one type by one sender, or of one source."""

    type: EventType
    origin: str
    count: int
    #: of the most urgent one
    priority: Priority
    first_at: Instant
    latest: Item


def check_awaited(text: str) -> str:
    """Return the text if it names an event to wait for."""
    head, colon, rest = text.partition(":")
    if len(text) > _MAX_LENGTH or not text.isprintable() or (colon and not rest):
        raise Invalid(f"{quote_value(text)} is not an event to wait for", hint=_FORMS)
    if head == "about":
        Ref.parse(rest)
    elif head != "from":
        try:
            EventType.parse(head)
        except Invalid:
            raise Invalid(f"{quote_value(text)} is not an event to wait for", hint=_FORMS) from None
    elif not rest:
        raise Invalid(f"{quote_value(text)} names no sender", hint=_FORMS)
    return text


def is_awaited(text: str, event: Event) -> bool:
    """Return True if this is the event that is waited for."""
    head, colon, rest = text.partition(":")
    senders = (event.sender.name if event.sender is not None else None, event.source)
    if head == "about":
        return event.ref is not None and str(event.ref) == rest
    if head == "from":
        return rest in senders
    return event.type == head and (not colon or rest in senders)
