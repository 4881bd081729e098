"""Inboxes: read the items, and claim them in batches."""

from functools import partial
from typing import Annotated, Final

from msgspec import Meta

from gatepost.core.signals import Topic
from gatepost.errors import Conflict, NotFound, TooLarge
from gatepost.inbox.account_api import AccountView
from gatepost.inbox.claimed_batch import Batch, Claim
from gatepost.inbox.event import MAX_REF_LENGTH, EventType, ItemState
from gatepost.inbox.event_api import EVENT_ANSWER, ITEM_ANSWER, ItemView
from gatepost.operations.access import Administrator, AnyEntity, NamedEntity
from gatepost.operations.fields import (
    CLAIM_ID,
    EVENT_ID,
    After,
    Count,
    Cursor,
    Limit,
    RecordView,
    Seq,
    Source,
    Time,
    describe,
)
from gatepost.operations.operation import (
    MAX_WAIT,
    FieldSet,
    Page,
    Repetition,
    Request,
    Stream,
    StreamedView,
    View,
    Waiting,
    read,
    stream,
    write,
)
from gatepost.operations.tool import FOR_MCP, Tool

#: the group of these operations in OpenAPI
TAG = "inbox"

Budget = Annotated[int, Meta(ge=600, le=4_000_000, description="maximum number of UTF-8 bytes")]
Wait = Annotated[float, Meta(ge=0, le=MAX_WAIT, description="seconds to wait while the inbox is empty")]
OwnerName = Annotated[str, Meta(min_length=1, max_length=200)]

_CLAIM_EXAMPLE: Final = {"claimId": CLAIM_ID, "owner": "session-1", "fence": 1}

MessageType = Annotated[str, Meta(max_length=300, description="only mail of this type")] | None
HiddenFilter = Annotated[bool | None, describe("only snoozed items; with false, only others")]
Names = Annotated[tuple[str, ...], Meta(max_length=100)]
#: declares what changes the items of one inbox: it stores nothing new
change_inbox: Final = partial(write, access=NamedEntity("name"), needs_disk_space=False, lane="{name}")


class FilterFields(FieldSet, kw_only=True):
    """A filter of items."""

    state: Annotated[ItemState | None, describe("only items in this state")] = None
    type: Annotated[EventType | None, describe("only events of this type")] = None
    message_type: MessageType = None
    priority: Annotated[int, Meta(ge=0, le=4, description="only events of this priority")] | None = None
    sender: Annotated[str, Meta(max_length=300, description="only events of this sender")] | None = None
    ref: Annotated[
        str | None,
        describe("only events about this subject", maxLength=2 * MAX_REF_LENGTH + 1),
        Meta(examples=["task:0.0.123"]),
    ] = None
    since: Annotated[
        str | None, Meta(description="only items that arrived since this time", examples=["2026-02-18T15:07:00Z"])
    ] = None
    until: Annotated[str, Meta(max_length=300, description="only items that arrived before this time")] | None = None
    text: Annotated[str, Meta(max_length=300, description="only events whose subject or content has it")] | None = None
    channel: Annotated[str, Meta(max_length=300, description="only events that came through this channel")] | None = (
        None
    )
    origin: Annotated[
        str | None, describe("only events of this sender, or of this source without a sender", maxLength=300)
    ] = None
    hidden: HiddenFilter = None


class ClaimView(RecordView[Claim]):
    claim_id: Annotated[str, Source("id")]
    recipient: str
    kind: str
    owner: str
    fence: Count
    taken_at: Time
    deadline: Time | None


class BatchView(RecordView[Batch]):
    """A batch as data and, in `text`, as an agent reads it. Without a claim nothing was pending."""

    claim: ClaimView | None
    items: list[ItemView]
    held: Annotated[int, Meta(ge=0, description="number of other pending items"), Source("deferred_count")]
    text: Annotated[str, Source(lambda batch: str(batch) if batch.items else "")]


_WAITING: Final = Waiting(lambda request: Topic("inbox", request.name), lambda batch: batch.claim is None)


class AckedView(View):
    delivered: Count


class ReleasedView(View):
    released: Count


class SeenView(View):
    seen: Count


class ItemsRequest(Request[Page[ItemView]], FilterFields, kw_only=True):
    """A request for those items of one inbox, or of all, that a filter lets through."""

    newest_first: Annotated[bool, describe("list the last arrivals first")] = False


@read("GET /api/inbox", access=Administrator(), errors=(NotFound, TooLarge))
class ListItems(ItemsRequest):
    """List the items of all inboxes in order of arrival."""

    after: Cursor = None
    limit: Limit = 100


@read(
    "GET /api/inbox/{name}",
    access=NamedEntity("name"),
    errors=(TooLarge,),
    tool=Tool(
        name="read_inbox",
        title="Read an inbox",
        answer=ITEM_ANSWER,
        description="List the items of your inbox in order of arrival, also delivered ones. Nothing changes.",
        own_by_default=("name",),
        hidden=("since", "until", "priority", "channel", "newest_first", "origin", "hidden"),
        defaults={"limit": 20},
        renames={"sender": "from"},
        doors=FOR_MCP,
    ),
)
class ListInbox(ItemsRequest):
    """List the items of an inbox in order of arrival, in every state."""

    name: str
    after: After = 0
    limit: Limit = 100


@read("GET /api/inbox/{name}/account", access=NamedEntity("name"))
class ShowAccount(Request[AccountView]):
    """Show how many items an inbox accepted, and how many are in each state."""

    name: str


@read("GET /api/inbox/{name}/peek", access=NamedEntity("name"))
class PeekInbox(Request[Page[ItemView]]):
    """List the pending items, most urgent first; nothing changes."""

    name: str
    after: Cursor = None
    limit: Limit = 20


@change_inbox(
    "POST /api/inbox/{name}/drain",
    repetition=Repetition.NEVER,
    errors=(Conflict,),
    example={"limit": 20, "session": "session-1"},
    tool=Tool(
        name="drain_inbox",
        title="Drain an inbox",
        answer=EVENT_ANSWER,
        description="Take the pending items out of your inbox, most urgent first. They count as delivered once you"
        " have this answer.",
        own_by_default=("name",),
        hidden=("budget", "session", "wait"),
        waits=True,
        doors=FOR_MCP,
    ),
    waiting=_WAITING,
)
class DrainInbox(Request[BatchView]):
    """
    Claim the next batch and mark it as delivered once this answer has been sent. If the connection breaks before that,
    the items come again.
    """

    name: str
    limit: Limit = 20
    budget: Budget = 9_000
    session: Annotated[OwnerName | None, describe("owner of the claim")] = None
    wait: Wait = 0


@change_inbox(
    "POST /api/inbox/{name}/claim",
    repetition=Repetition.NEVER,
    errors=(Conflict,),
    example={"owner": "session-1", "limit": 20, "hold": "5m"},
    waiting=_WAITING,
)
class ClaimBatch(Request[BatchView]):
    """Claim the next batch for some time; ack or release it."""

    name: str
    owner: OwnerName
    limit: Limit = 20
    budget: Budget = 9_000
    hold: Annotated[str | None, describe("duration of the claim, unless it is acked or released before")] = None
    wait: Wait = 0
    events: Annotated[
        tuple[str, ...], Meta(max_length=1000, description="only these events; default: the most urgent")
    ] = ()


@change_inbox("POST /api/inbox/{name}/ack", errors=(Conflict,), example=_CLAIM_EXAMPLE)
class AckClaim(Request[AckedView]):
    """Mark the items of a claim as delivered: they were read."""

    name: str
    claim_id: str
    owner: str
    fence: Seq


@change_inbox("POST /api/inbox/{name}/release", errors=(Conflict,), example=_CLAIM_EXAMPLE | {"failed": [EVENT_ID]})
class ReleaseClaim(Request[ReleasedView]):
    """Make the items of a claim pending again; a failure is counted for those that `failed`."""

    name: str
    claim_id: str
    owner: str
    fence: Seq
    failed: Annotated[
        tuple[str, ...],
        Meta(max_length=1000, description="events that failed by themselves; each failure is counted"),
    ] = ()


@change_inbox("POST /api/inbox/{name}/seen", repetition=Repetition.SAFE, example={"events": [EVENT_ID]})
class MarkSeen(Request[SeenView]):
    """Record that items were seen."""

    name: str
    events: Annotated[tuple[str, ...], Meta(min_length=1, max_length=1000)]


@stream("GET /api/inbox/{name}/stream", access=NamedEntity("name"), event="inbox.item")
class WatchInbox(Stream[ItemView]):
    """Watch new items as they come. Resumes from Last-Event-ID."""

    name: str


@stream("GET /api/stream", access=AnyEntity(), errors=(NotFound,))
class WatchAll(Stream[StreamedView]):
    """
    Watch spaces and inboxes in one stream: those named, or all of the caller's own, with its shared inbox. Resumes from
    Last-Event-ID. Where nothing is named, the administrator sees all spaces, its own inbox, the whole shared inbox, all
    gates and decisions, and which agents are thinking. Of more than 200 spaces the stream has the 200 newest.
    """

    space: Names = ()
    inbox: Names = ()
