"""Events, and their state for each recipient."""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from msgspec import UNSET, Meta, UnsetType

from gatepost.api.access import ActAs, Anybody
from gatepost.api.fields import Count, Json, Priority, RefView, Time
from gatepost.api.operation import Page, Request, View, read, write
from gatepost.core.entity import EntityKind
from gatepost.core.event import Event, EventType, Item, ItemState, Receipt, Trust
from gatepost.core.event_data import split_data
from gatepost.core.times import Instant, format_rfc3339
from gatepost.errors import Conflict, NotFound

Recipient = Annotated[str | None, Meta(description="one recipient; all of them, if it is not given")]


class RouteView(View):
    channel: str
    session_id: str


class ReceiptView(View):
    kind: str
    owner: str
    at: Time

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        return cls(kind=receipt.kind, owner=receipt.owner, at=format_rfc3339(receipt.at))


class EventView(View, kw_only=True):
    event_id: str
    type: EventType
    source: str
    subject: str | None
    content: str
    priority: Priority
    dedup_key: str | None
    created_at: Time
    occurred_at: Time
    expires_at: Time | None
    ref: RefView | None
    route: RouteView | None
    hops: Count
    trust: Trust
    wakes: bool
    sender: str | None
    sender_name: str | None
    sender_type: EntityKind | None
    timestamp: Time
    data: Json
    extra: dict[str, Any] | UnsetType = UNSET


class ItemView(EventView):
    """An event with its state for one recipient."""

    recipient: str
    state: ItemState
    attempts: Count
    seen_at: Time | None
    ended_at: Time | None
    receipt: ReceiptView | None

    @classmethod
    def of(cls, item: Item) -> Self:
        return cls(
            **_list_fields(item.event),
            recipient=item.recipient,
            state=item.state,
            attempts=item.attempts,
            seen_at=_format_time(item.seen_at),
            ended_at=_format_time(item.ended_at),
            receipt=None if item.receipt is None else ReceiptView.of(item.receipt),
        )


class ItemPage(Page[ItemView]):
    pass


class ItemsView(View):
    items: list[ItemView]

    @classmethod
    def of(cls, items: Sequence[Item]) -> Self:
        return cls(items=[ItemView.of(item) for item in items])


class RecipientView(View):
    name: str
    event_id: str
    state: ItemState
    attempts: Count
    seen_at: Time | None
    ended_at: Time | None
    receipt: ReceiptView | None

    @classmethod
    def of(cls, item: Item) -> Self:
        return cls(
            name=item.recipient,
            event_id=item.event.id,
            state=item.state,
            attempts=item.attempts,
            seen_at=_format_time(item.seen_at),
            ended_at=_format_time(item.ended_at),
            receipt=None if item.receipt is None else ReceiptView.of(item.receipt),
        )


class EventDetailView(EventView):
    """An event with its state for each recipient."""

    state: Annotated[str, Meta(description="of all recipients; `mixed` if they differ")]
    recipients: list[RecipientView]

    @classmethod
    def of(cls, items: Sequence[Item]) -> Self:
        states = {item.state for item in items}
        return cls(
            **_list_fields(items[0].event),
            state=items[0].state.value if len(states) == 1 else "mixed",
            recipients=[RecipientView.of(item) for item in items],
        )


def _list_fields(event: Event) -> dict[str, Any]:
    data, extra = split_data(event)
    sender = event.sender
    occurred_at = format_rfc3339(event.occurred_at)
    return {
        "event_id": event.id,
        "type": event.type,
        "source": event.source,
        "subject": event.subject,
        "content": event.content,
        "priority": event.priority.value,
        "dedup_key": event.key,
        "created_at": format_rfc3339(event.created_at),
        "occurred_at": occurred_at,
        "expires_at": _format_time(event.expires_at),
        "ref": None if event.ref is None else RefView.of(event.ref),
        "route": None
        if event.route is None
        else RouteView(channel=event.route.channel, session_id=event.route.session),
        "hops": event.hops,
        "trust": event.trust,
        "wakes": event.wakes,
        "sender": None if sender is None else sender.name,
        "sender_name": None if sender is None else sender.display,
        "sender_type": None if sender is None else sender.kind,
        "timestamp": occurred_at,
        "data": data,
        "extra": extra or UNSET,
    }


def _format_time(instant: Instant | None) -> str | None:
    return None if instant is None else format_rfc3339(instant)


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
