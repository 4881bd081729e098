"""Events, and their state for each recipient."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from msgspec import UNSET, Meta, UnsetType

from gatepost.api.access import ActAs, Anybody
from gatepost.api.fields import Count, Json, Priority, RecordView, RefView, Source, Time
from gatepost.api.operation import Page, Request, View, read, write
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Item, ItemState, Receipt, Route, Trust
from gatepost.core.event_data import split_data
from gatepost.errors import Conflict, NotFound

Recipient = Annotated[str | None, Meta(description="one recipient; all of them, if it is not given")]


class RouteView(RecordView[Route]):
    channel: str
    session_id: Annotated[str, Source("session")]


class ReceiptView(RecordView[Receipt]):
    kind: str
    owner: str
    at: Time


class EventView(RecordView[Item], kw_only=True):
    """The event of an item."""

    event_id: Annotated[str, Source("event.id")]
    type: Annotated[EventType, Source("event.type")]
    source: Annotated[str, Source("event.source")]
    subject: Annotated[str | None, Source("event.subject")]
    content: Annotated[str, Source("event.content")]
    priority: Annotated[Priority, Source("event.priority")]
    dedup_key: Annotated[str | None, Source("event.key")]
    created_at: Annotated[Time, Source("event.created_at")]
    occurred_at: Annotated[Time, Source("event.occurred_at")]
    expires_at: Annotated[Time | None, Source("event.expires_at")]
    ref: Annotated[RefView | None, Source("event.ref")]
    route: Annotated[RouteView | None, Source("event.route")]
    hops: Annotated[Count, Source("event.hops")]
    trust: Annotated[Trust, Source("event.trust")]
    wakes: Annotated[bool, Source("event.wakes")]
    sender: str | None
    sender_name: str | None
    sender_type: EntityKind | None
    timestamp: Annotated[Time, Source("event.occurred_at")]
    data: Json
    extra: dict[str, Any] | UnsetType = UNSET

    @classmethod
    def of(cls, record: Item, /, **values: Any) -> Self:
        sender = record.event.sender
        data, extra = split_data(record.event)
        return super().of(
            record,
            sender=None if sender is None else sender.name,
            sender_name=None if sender is None else sender.display,
            sender_type=None if sender is None else sender.kind,
            data=data,
            extra=extra or UNSET,
            **values,
        )


class ItemView(EventView):
    """An event with its state for one recipient."""

    recipient: str
    state: ItemState
    attempts: Count
    seen_at: Time | None
    ended_at: Time | None
    receipt: ReceiptView | None


class ItemPage(Page[ItemView]):
    pass


class ItemsView(View):
    items: list[ItemView]

    @classmethod
    def of(cls, items: Sequence[Item]) -> Self:
        return cls(items=[ItemView.of(item) for item in items])


class RecipientView(RecordView[Item]):
    name: Annotated[str, Source("recipient")]
    event_id: Annotated[str, Source("event.id")]
    state: ItemState
    attempts: Count
    seen_at: Time | None
    ended_at: Time | None
    receipt: ReceiptView | None


class EventDetailView(EventView):
    """An event with its state for each recipient."""

    state: Annotated[str, Meta(description="of all recipients; `mixed` if they differ")]
    recipients: list[RecipientView]


@read("GET /api/events/{id}", access=Anybody(), errors=(NotFound,))
class ShowEvent(Request[EventDetailView]):
    """Show an event with its state for each recipient; an entity's own credential sees its own state."""

    id: str


@write("POST /api/events/{id}/replay", access=ActAs("name"), errors=(NotFound, Conflict), example={"name": "analyst"})
class ReplayEvent(Request[ItemsView]):
    """Make dead, expired and discarded items pending again; a delivered item comes as a new event."""

    id: str
    name: Recipient = None


@write("POST /api/events/{id}/discard", access=ActAs("name"), errors=(NotFound, Conflict), example={"name": "analyst"})
class DiscardEvent(Request[ItemsView]):
    """Discard pending and dead items."""

    id: str
    name: Recipient = None


@write(
    "POST /api/events/{id}/done",
    access=ActAs("name"),
    errors=(NotFound, Conflict),
    example={"name": "husam"},
)
class MarkDone(Request[ItemsView]):
    """Mark a person's item as done; the administrator's own, unless another person is named."""

    id: str
    name: Annotated[str | None, Meta(description="the person; the caller itself, if it is not given")] = None
