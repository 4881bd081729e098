"""Triage: what a person does with many items of an inbox at once, and what can be undone."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from gatepost.errors import Conflict, Refused
from gatepost.inbox.event import EventType
from gatepost.inbox.event_api import ItemView
from gatepost.inbox.item_api import FilterFields, HiddenFilter, change_inbox
from gatepost.inbox.triage import ItemGroup
from gatepost.operations.access import NamedEntity
from gatepost.operations.fields import CLAIM_ID, EVENT_ID, Count, Priority, RecordView, Time, describe
from gatepost.operations.operation import Request, RequestPart, View, read

#: the group of these operations in OpenAPI
TAG = "inbox"

Events = Annotated[tuple[str, ...], Meta(max_length=1000, description="these items")]

_EXAMPLE: Final = {"events": [EVENT_ID]}


class Matching(RequestPart, FilterFields, kw_only=True):
    """A filter, as of the list of items; by default it lets pending items through that are not snoozed."""

    hidden: HiddenFilter = False


Filter = Annotated[Matching | None, describe("instead of `events`: the items that this filter lets through")]


class TriageView(View):
    """How many items were changed."""

    count: Count
    more: Annotated[bool, describe("the filter lets more items through: repeat the request")]
    receipt: Annotated[str | UnsetType, describe("of items that are done: what `undo` takes")] = UNSET
    hidden_until: Annotated[Time | UnsetType, describe("when snoozed items are shown again at the latest")] = UNSET


class ItemGroupView(RecordView[ItemGroup]):
    """Items of one type by one sender, or of one source if they have no sender."""

    type: EventType
    origin: Annotated[str, describe("the name of the sender, else the source; a filter takes it")]
    count: Count
    priority: Annotated[Priority, describe("of the most urgent one")]
    first_at: Time
    latest: ItemView


class ItemGroupsView(View):
    groups: list[ItemGroupView]
    total: Annotated[int, Meta(ge=0, description="number of items in these groups")]
    at: Annotated[Time, describe("when they were counted; as `until` it leaves out what came since")]


@read("GET /api/inbox/{name}/groups", access=NamedEntity("name"))
class ListItemGroups(Request[ItemGroupsView], FilterFields, kw_only=True):
    """
    Count the items of an inbox that a filter lets through, those alike as one group: at most 200 groups, the most
    urgent first, then the largest.
    """

    name: str
    hidden: HiddenFilter = False


@change_inbox("POST /api/inbox/{name}/done", errors=(Conflict, Refused), example=_EXAMPLE)
class CompleteItems(Request[TriageView]):
    """Mark items of a person as done: these, or up to 1,000 that a filter lets through."""

    name: str
    events: Events = ()
    matching: Filter = None


@change_inbox("POST /api/inbox/{name}/undo", errors=(Conflict,), example={"receipt": CLAIM_ID})
class UndoDone(Request[TriageView]):
    """
    Make items pending again that a person was done with in the last 10 seconds: these, or all of one receipt. The
    senders of mail have heard that it was read.
    """

    name: str
    events: Events = ()
    receipt: str | None = None


@change_inbox("POST /api/inbox/{name}/discard", errors=(Conflict,), example=_EXAMPLE)
class DiscardItems(Request[TriageView]):
    """Discard pending or dead items: these, or up to 1,000 that a filter lets through. Questions stay."""

    name: str
    events: Events = ()
    matching: Filter = None


@change_inbox("POST /api/inbox/{name}/snooze", errors=(Conflict, Refused), example=_EXAMPLE | {"within": "3h"})
class SnoozeItems(Request[TriageView]):
    """
    Hide pending items until a time or an event, whichever comes first: these, or up to 1,000 that a filter lets
    through. They stay pending; nobody reads them meanwhile, and they wake their recipient when they are shown again.
    """

    name: str
    events: Events = ()
    matching: Filter = None
    until: Annotated[str | None, describe("the time when they are shown again")] = None
    within: Annotated[str | None, describe("instead of `until`: a duration, such as 3h")] = None
    awaits: Annotated[
        str | None,
        describe(
            "the event that shows them again, for people: from:NAME, about:TYPE:ID, TYPE or TYPE:SOURCE;"
            " after 30 days they are shown again without it"
        ),
    ] = None


@change_inbox("POST /api/inbox/{name}/unsnooze", errors=(Conflict,), example=_EXAMPLE)
class UnsnoozeItems(Request[TriageView]):
    """Show snoozed items again now: these, or up to 1,000 that a filter lets through."""

    name: str
    events: Events = ()
    matching: Filter = None
