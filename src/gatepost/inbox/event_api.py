"""Events, and their state for each recipient."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Self

from msgspec import UNSET, UnsetType

from gatepost.core.times import format_rfc3339, parse_instant
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict
from gatepost.inbox import event as records
from gatepost.inbox.event import (
    Event,
    EventType,
    Item,
    ItemState,
    PlanDue,
    Posted,
    Receipt,
    Ref,
    Route,
    Sender,
    ServiceCalled,
    Trust,
    parse_body,
)
from gatepost.operations.access import ActAs, AnyEntity
from gatepost.operations.fields import Count, Json, Parse, Priority, RecordView, Source, Time, describe
from gatepost.operations.operation import Request, RequestPart, View, read, write

#: the group of these operations in OpenAPI
TAG = "events"

Times = Annotated[int, describe("how often an alert came while it was pending, if more than once")] | UnsetType
Recipient = Annotated[str | None, describe("one recipient; default: all")]


class RefSpec(RequestPart):
    """A subject in another system."""

    type: str
    id: str


Reference = Annotated[RefSpec | None, Parse(lambda ref: Ref(ref.type, ref.id))]
PriorityWord = Annotated[
    int | str, describe("one of critical, high, normal, low, fyi; or 0 to 4"), Parse(records.Priority.parse)
]


class RefView(RecordView[Ref]):
    """A subject in another system."""

    type: str
    id: str


class EventRouteView(RecordView[Route]):
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
    dedup_key: Annotated[str | None, Source("event.dedup_key")]
    created_at: Annotated[Time, Source("event.created_at")]
    occurred_at: Annotated[Time, Source("event.occurred_at")]
    expires_at: Annotated[Time | None, Source("event.expires_at")]
    ref: Annotated[RefView | None, Source("event.ref")]
    route: Annotated[EventRouteView | None, Source("event.route")]
    hops: Annotated[Count, Source("event.hops")]
    trust: Annotated[Trust, Source("event.trust")]
    wakes: Annotated[bool, Source("event.wakes")]
    sender: str | None
    sender_name: str | None
    sender_type: EntityKind | None
    timestamp: Annotated[Time, Source("event.occurred_at")]
    data: Json
    extra: dict[str, Any] | UnsetType = UNSET
    times: Annotated[int, describe("how often an alert came while it was pending, if more than once")] | UnsetType = (
        UNSET
    )

    @classmethod
    def of(cls, record: Item, /, **values: Any) -> Self:
        sender = record.event.sender
        data, extra = _split_data(record.event)
        return super().of(
            record,
            sender=None if sender is None else sender.name,
            sender_name=None if sender is None else sender.display,
            sender_type=None if sender is None else sender.kind,
            data=data,
            extra=extra or UNSET,
            times=record.event.times if record.event.times > 1 else UNSET,
            **values,
        )

    def to_event(self) -> Event:
        """Return the event that this is a view of. Its arrival is 0, because no view has it."""
        source_time = parse_instant(self.occurred_at) if self.occurred_at != self.created_at else None
        return Event(
            id=self.event_id,
            type=self.type,
            source=self.source,
            sender=self._build_sender(),
            subject=self.subject,
            content=self.content,
            data=self._merge_data(),
            priority=records.Priority(self.priority),
            dedup_key=self.dedup_key,
            created_at=parse_instant(self.created_at),
            source_time=source_time,
            expires_at=None if self.expires_at is None else parse_instant(self.expires_at),
            ref=None if self.ref is None else Ref(self.ref.type, self.ref.id),
            route=None if self.route is None else Route(self.route.channel, self.route.session_id),
            hops=self.hops,
            trust=self.trust,
            wakes=self.wakes,
            times=self.times or 1,
        )

    def _build_sender(self) -> Sender | None:
        if self.sender is None or self.sender_name is None or self.sender_type is None:
            return None
        return Sender(self.sender, self.sender_name, self.sender_type)

    def _merge_data(self) -> Json:
        """Return the data with the fields in `extra`; times become microseconds."""
        if not self.extra:
            return self.data
        extra = self.extra
        if self.type is EventType.PLAN and "dueAt" in extra:
            extra = extra | {"dueAt": parse_instant(extra["dueAt"])}
        return self.data | extra


class ItemView(EventView, kw_only=True):
    """An event with its state for one recipient."""

    recipient: str
    state: ItemState
    attempts: Count
    seen_at: Time | None
    ended_at: Time | None
    receipt: ReceiptView | None
    hidden_until: Annotated[Time | UnsetType, describe("until when a snoozed item is hidden")] = UNSET
    awaits: Annotated[str | UnsetType, describe("the event that shows a snoozed item before")] = UNSET


#: what a model gets of an event, and of an item
EVENT_ANSWER: Final = (
    "event_id",
    "type",
    "sender",
    "subject",
    "content",
    "priority",
    "created_at",
    "ref",
    "trust",
    "data",
)
ITEM_ANSWER: Final = (*EVENT_ANSWER, "state")


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
    hidden_until: Time | UnsetType = UNSET
    awaits: str | UnsetType = UNSET

    @classmethod
    def of(cls, item: ItemView) -> Self:
        return cls(
            name=item.recipient,
            event_id=item.event_id,
            state=item.state,
            attempts=item.attempts,
            seen_at=item.seen_at,
            ended_at=item.ended_at,
            receipt=item.receipt,
            hidden_until=item.hidden_until,
            awaits=item.awaits,
        )


class EventDetailView(EventView):
    """An event with its state for each recipient."""

    state: Annotated[str, describe("of all recipients; `mixed` if they differ")]
    recipients: list[RecipientView]

    @classmethod
    def merge(cls, items: Sequence[ItemView]) -> Self:
        """Return the event of the first item, with the state of every item."""
        states = {item.state for item in items}
        return cls(
            **{name: getattr(items[0], name) for name in EventView.__struct_fields__},
            state=items[0].state.value if len(states) == 1 else "mixed",
            recipients=[RecipientView.of(item) for item in items],
        )


def _split_data(event: Event) -> tuple[Json, dict[str, Any]]:
    """
    Return the data of an event: the fields that other programs know, and the rest. The data of a space message, a plan
    and a service has exactly the fields that programs written for such events expect.
    """
    fields: dict[str, Any] = event.data if isinstance(event.data, dict) else {}
    match parse_body(event):
        case Posted() as posted_message:
            data = {
                "spaceId": posted_message.space,
                "spaceName": posted_message.space_name,
                "messageId": posted_message.message,
                **_write_posted_sender(event, posted_message),
                "content": posted_message.text,
            }
        case PlanDue() as due_plan:
            data = {"planId": due_plan.plan, "planName": due_plan.name, "instruction": due_plan.instruction}
            fields = fields | ({"dueAt": format_rfc3339(due_plan.due_at)} if due_plan.due_at is not None else {})
        case ServiceCalled() as service_call:
            data = {"serviceName": service_call.service, "payload": service_call.payload}
            if "payload" not in fields:
                fields = {}  # all of the data is the payload
        case _:
            return event.data, {}
    return data, {name: value for name, value in fields.items() if name not in data}


def _write_posted_sender(event: Event, posted_message: Posted) -> dict[str, Any]:
    """Return the sender of a message: an entity of ours, or the name that an outside source gives."""
    if event.sender is not None:
        id, name, kind = event.sender.name, event.sender.display, event.sender.kind.value
        return {"senderEntityId": id, "senderName": name, "senderType": kind}
    outsider = posted_message.outsider
    return {
        "senderEntityId": outsider and (outsider.id or None),
        "senderName": outsider and (outsider.name or None),
        "senderType": outsider and (outsider.kind or None),
    }


@read("GET /api/events/{id}", access=AnyEntity())
class ShowEvent(Request[EventDetailView]):
    """Show an event with its state for each recipient; an entity's own credential sees its own state."""

    id: str


@write("POST /api/events/{id}/replay", access=ActAs("name"), errors=(Conflict,), example={"name": "analyst"})
class ReplayEvent(Request[ItemsView]):
    """Make dead, expired and discarded items pending again; a delivered item comes as a new event."""

    id: str
    name: Recipient = None


@write(
    "POST /api/events/{id}/discard",
    access=ActAs("name"),
    needs_disk_space=False,
    errors=(Conflict,),
    example={"name": "analyst"},
)
class DiscardEvent(Request[ItemsView]):
    """Discard pending and dead items."""

    id: str
    name: Recipient = None


@write(
    "POST /api/events/{id}/done",
    access=ActAs("name"),
    needs_disk_space=False,
    errors=(Conflict,),
    example={"name": "husam"},
)
class MarkDone(Request[ItemsView]):
    """Mark a person's item as done; the administrator's own, unless another person is named."""

    id: str
    name: Annotated[str | None, describe("person; default: the caller")] = None
