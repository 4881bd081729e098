"""
An event: one thing that happened.

An event is stored once; each recipient has an `Item` with its own state. The `type` says what kind of thing happened.
`UrgentEventPushed`, `PersonsReached`, `ItemsRead` and `ItemsDiscarded` tell other rooms what happens in inboxes,
`FindSentEvent` asks one of them (`reactions.py`).
`parse_body` reads type, content and data together as a member of a closed union, so that a handler can `match` on it
and the type checker finds a case that is missing.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from msgspec import Struct

from gatepost.core.json_limits import Json
from gatepost.core.text import ParsedEnum
from gatepost.core.times import MAX_INSTANT, MINUTE, Duration, Instant
from gatepost.directory.attention import Attention
from gatepost.directory.entity import Entity, EntityKind
from gatepost.errors import Invalid, quote_value
from gatepost.reactions import RoomQuestion

#: the channels on which people write without a trigger: their credential says who they are
OWN_CHANNELS: Final = ("cli", "web")
TELEGRAM: Final = "telegram"
#: the channels that are built in and that people write on
USER_CHANNELS: Final = (TELEGRAM, *OWN_CHANNELS)

#: characters of the type and of the id of a reference
MAX_REF_LENGTH: Final = 256
#: the largest number of hops that is counted
MAX_HOPS: Final = 10_000
#: after a pause of this length a new chain begins: an agent that looks again every ten minutes is no runaway
CHAIN_PAUSE: Final[Duration] = 5 * MINUTE
#: the type of mail whose sender gave it none
DEFAULT_MESSAGE_TYPE: Final = "message"
#: the beginning of the dedup keys of decisions
DECISION_KEY: Final = "decision:"
#: the metadata of a message that its sender has forwarded: somebody else may have written it
_FORWARDED_FIELDS: Final = frozenset(("forwarded", f"{TELEGRAM}_forwarded"))
_BUTTON_FIELDS: Final = ("callback_data", f"{TELEGRAM}_callback_data")


class Priority(IntEnum):
    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3
    FYI = 4

    @staticmethod
    def parse(text: str | int) -> "Priority":
        """Return the priority of `0` to `4` or of a word (`critical`, `high`, `normal`, `low`, `fyi`)."""
        priority = _PRIORITIES.get(text if isinstance(text, str) else str(text))
        priority = _PRIORITIES.get(str(text).strip().lower()) if priority is None else priority
        if priority is None:
            raise Invalid(
                f"{quote_value(text)} is not a priority", hint="use 0 to 4, or critical, high, normal, low, fyi"
            )
        return priority


#: by what people write
_PRIORITIES: Final = {word: priority for priority in Priority for word in (str(priority.value), priority.name.lower())}


class EventType(ParsedEnum, description="a type of event"):
    SPACE_MESSAGE = "space_message"
    PLAN = "plan"
    SERVICE = "service"
    TOOL_RESULT = "tool_result"
    MAIL = "mail"
    NOTE = "note"
    CHANNEL = "channel"
    DECISION = "decision"
    GATE = "gate"
    ALERT = "alert"
    EVENT = "event"
    AGENT = "agent"
    SYSTEM = "system"


class Trust(ParsedEnum, description="a trust"):
    """How far the text may be trusted. It is always data, never an instruction of Gatepost."""

    OWNER = "owner"
    MEMBER = "member"
    EXTERNAL = "external"


#: the types that Gatepost itself sends; from anybody else they are external
_GATEPOST_TYPES: Final = frozenset((EventType.SPACE_MESSAGE, EventType.PLAN, EventType.SERVICE))


def get_trust(type: EventType, sender: str | None) -> Trust:
    """Return the trust of a push from outside. Only verbs of Gatepost set another trust."""
    return Trust.EXTERNAL if type in _GATEPOST_TYPES and sender is None else Trust.MEMBER


class ItemState(ParsedEnum, description="a state"):
    PENDING = "pending"
    CLAIMED = "claimed"
    DELIVERED = "delivered"
    EXPIRED = "expired"
    DEAD = "dead"
    DISCARDED = "discarded"


class Ref(Struct, frozen=True):
    """The subject of an event in another system, such as `task:0.0.123`."""

    type: str
    id: str

    def __str__(self) -> str:
        return f"{self.type}:{self.id}"

    @staticmethod
    def parse(text: str) -> "Ref":
        kind, colon, ref_id = text.partition(":")
        if not (kind and colon and ref_id):
            raise Invalid(f"{quote_value(text)} is not a reference", hint="write it as TYPE:ID, such as task:7")
        return Ref(kind, ref_id)


class Route(Struct, frozen=True):
    """Where a reply goes: a channel, and a channel session."""

    channel: str
    session: str


class Sender(Struct, frozen=True):
    name: str
    display: str
    kind: EntityKind


class Outsider(Struct, frozen=True, kw_only=True):
    """The sender that an outside source names. It is never an entity of ours, whatever its name."""

    id: str
    name: str
    #: `human`, `agent`, or another word of the source
    kind: str


class Event(Struct, frozen=True, kw_only=True):
    id: str
    type: EventType
    #: the program or system that it came through; the sender is the author
    source: str
    sender: Sender | None = None
    subject: str | None = None
    content: str = ""
    data: Json = None
    priority: Priority = Priority.NORMAL
    dedup_key: str | None = None
    created_at: Instant
    #: when it happened, if its source says so
    source_time: Instant | None = None
    expires_at: Instant | None = None
    ref: Ref | None = None
    route: Route | None = None
    #: the number of events that led to this one
    hops: int = 0
    trust: Trust = Trust.MEMBER
    wakes: bool = True
    #: of an alert without a key of its own: how often it came while it was pending
    times: int = 1
    #: its place in the order of all events
    arrival: int = 0

    @property
    def occurred_at(self) -> Instant:
        """When it happened: the time of its source, or else when it was created."""
        return self.created_at if self.source_time is None else self.source_time


def compute_next_hops(hops: int) -> int:
    """Return the hops of the next event of a chain."""
    return min(hops + 1, MAX_HOPS)


class Receipt(Struct, frozen=True, kw_only=True):
    """Who received an item, and when."""

    #: `drain`, `session`, `run` or `person`
    kind: str
    #: the guest session, the run or the person
    owner: str
    at: Instant


class Item(Struct, frozen=True, kw_only=True):
    """One event in the inbox of one recipient."""

    event: Event
    recipient: str
    state: ItemState = ItemState.PENDING
    attempts: int = 0
    seen_at: Instant | None = None
    ended_at: Instant | None = None
    receipt: Receipt | None = None
    #: while it is snoozed: until when, and the event that ends it before
    hidden_until: Instant | None = None
    awaits: str | None = None


class Push(Struct, frozen=True, kw_only=True):
    """A request to deliver something. It becomes an event when it is accepted."""

    to: str
    type: EventType = EventType.EVENT
    source: str
    #: the name of the sending entity
    sender: str | None = None
    subject: str | None = None
    content: str = ""
    data: Json = None
    priority: Priority = Priority.NORMAL
    #: a second push with this key to the same recipient is a repeat
    dedup_key: str | None = None
    #: is stored in front of the key, so that no other caller can use the key first (`inbox/push/dedup_keys.py`)
    key_prefix: str = ""
    #: when it happened, if the source says so
    source_time: Instant | None = None
    ttl: Duration | None = None
    #: instead of `ttl`, for an event that was created before it came here
    expires_at: Instant | None = None
    ref: Ref | None = None
    route: Route | None = None
    #: the number of events that led to it; for an agent, at least as many as reached its inbox lately
    hops: int = 0
    #: what Gatepost pushes it because of: `event` and an id, or `agent` and a name; it continues that chain of events
    cause: Ref | None = None
    trust: Trust = Trust.MEMBER


class Delivery(Struct, frozen=True):
    """The result of a push for one recipient. Of a duplicate, `event` is the first event."""

    name: str
    event: str
    duplicate: bool
    #: of an alert without a key of its own: how often it has come
    times: int = 1
    #: False if it is an agent in another program, and each of its sessions is lost
    reachable: bool = True
    #: what keeps the item from waking its recipient now
    attention: Attention | None = None


class PushResult(Struct, frozen=True):
    """The result of a push. A broadcast has no deliveries yet: each agent takes it at its next claim."""

    event: str
    deliveries: tuple[Delivery, ...] = ()
    #: of a broadcast: its number
    broadcast: int | None = None
    #: of a broadcast: whether it was pushed before
    duplicate: bool = False


class UrgentEventPushed(NamedTuple):
    """An urgent event was stored; `persons` are the numbers of those who had not got it before."""

    event: Event
    persons: Sequence[int]


class PersonsReached(NamedTuple):
    """Events were stored, each for people who had not got it before."""

    events: Sequence[tuple[Event, Sequence[Entity]]]


class FindSentEvent(RoomQuestion[str | None]):
    """The id of the event that mail, a note or a work event became; None if it is in no inbox."""

    def __init__(self, id: str) -> None:
        self.id = id


class ItemsRead(NamedTuple):
    """The items of a claim were read; some are mail whose sender waits to hear it."""

    claim: int


class ItemsDiscarded(NamedTuple):
    """These items of one event are about to be discarded."""

    items: Sequence[Item]


class Posted(Struct, frozen=True, kw_only=True):
    space: str
    space_name: str
    message: str
    seq: int | None
    text: str
    #: the author, if it came from outside
    outsider: Outsider | None = None


class PlanDue(Struct, frozen=True, kw_only=True):
    plan: str
    name: str
    instruction: str
    due_at: Instant | None


class ServiceCalled(Struct, frozen=True, kw_only=True):
    service: str
    payload: Json


class ToolReturned(Struct, frozen=True, kw_only=True):
    tool: str
    call: str
    result: Json


class Mailed(Struct, frozen=True, kw_only=True):
    mail: str
    #: such as `review.request`; empty if its sender gave it none
    message_type: str
    subject: str
    text: str


class Noted(Struct, frozen=True, kw_only=True):
    about: str
    text: str


class PromptReceived(Struct, frozen=True, kw_only=True):
    channel: str
    session: str
    text: str
    #: whether it begins the channel session anew, and is no prompt
    is_reset: bool = False
    #: whether its sender has only passed it on
    is_forwarded: bool = False
    #: the name that its sender has on the channel, if the sender is nobody here
    unknown_user: str | None = None
    #: the id of the button that was pressed
    button: str | None = None


class Answered(Struct, frozen=True, kw_only=True):
    decision: str
    #: `answered`, `rejected`, `expired` or `withdrawn`
    outcome: str
    by: str
    text: str
    #: the channel session by which the answer came
    session: str | None = None


class GateEnd(Struct, frozen=True):
    gate: str
    #: `resolved`, `expired`, `orphaned` or `withdrawn`
    outcome: str
    text: str


class Notified(Struct, frozen=True, kw_only=True):
    """An alert, an event, or a text from an agent or from the system."""

    type: EventType
    source: str
    text: str


Body = Posted | PlanDue | ServiceCalled | ToolReturned | Mailed | Noted | PromptReceived | Answered | GateEnd | Notified


class _Data(Struct, frozen=True):
    """The data of an event. A missing field has a default; a field of the wrong type is an error."""

    type: EventType
    fields: Mapping[str, Json] = {}

    def text(self, name: str, default: str = "") -> str:
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise Invalid(f"data.{name} of a {self.type} must be a string, not {quote_value(value)}")
        return value

    def number(self, name: str) -> int | None:
        value = self.fields.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise Invalid(f"data.{name} of a {self.type} must be a whole number, not {quote_value(value)}")
        return value

    def instant(self, name: str) -> Instant | None:
        value = self.number(name)
        if value is not None and not 0 <= value <= MAX_INSTANT:
            raise Invalid(
                f"data.{name} of a {self.type} must be a time in microseconds since 1970, not {quote_value(value)}"
            )
        return value


def parse_body(event: "Event | Push") -> Body:
    """Return the typed body of an event. Missing fields fall back on source, subject and content."""
    data = _Data(event.type, event.data if isinstance(event.data, Mapping) else {})
    match event.type:
        case EventType.SPACE_MESSAGE:
            space = data.text("spaceId", event.source)
            return Posted(
                space=space,
                space_name=data.text("spaceName", space),
                message=data.text("messageId"),
                seq=data.number("seq"),
                text=event.content or data.text("content"),
                outsider=_read_outsider(data) if event.sender is None else None,
            )
        case EventType.PLAN:
            plan = data.text("planId")
            return PlanDue(
                plan=plan,
                name=data.text("planName", event.subject or plan or event.source),
                instruction=event.content or data.text("instruction"),
                due_at=data.instant("dueAt"),
            )
        case EventType.SERVICE:
            payload = data.fields.get("payload", event.data)
            # What came through a trigger has a line that says what the payload means.
            has_line = event.content and event.route is not None
            return ServiceCalled(
                service=data.text("serviceName", event.source),
                payload=event.content if payload is None or has_line else payload,
            )
        case EventType.TOOL_RESULT:
            result = data.fields.get("result", event.data)
            return ToolReturned(
                tool=data.text("toolName", event.source),
                call=data.text("toolCallId"),
                result=event.content if result is None else result,
            )
        case EventType.MAIL:
            message_type = data.fields.get("messageType")  # whoever pushes mail may write anything there
            is_typed = isinstance(message_type, str) and message_type != DEFAULT_MESSAGE_TYPE
            return Mailed(
                mail=data.text("mailId"),
                message_type=str(message_type) if is_typed else "",
                subject=event.subject or "",
                text=event.content,
            )
        case EventType.NOTE:
            about = f"{event.ref.type} {event.ref.id}" if event.ref else event.source
            return Noted(about=about, text=event.content)
        case EventType.CHANNEL:
            route, metadata, name = event.route, data.fields.get("metadata"), data.fields.get("senderName")
            return PromptReceived(
                channel=route.channel if route else event.source,
                session=route.session if route else "",
                text=event.content,
                is_reset=isinstance(metadata, dict) and "reset_session" in metadata,
                is_forwarded=isinstance(metadata, dict) and not _FORWARDED_FIELDS.isdisjoint(metadata),
                unknown_user=name if event.sender is None and isinstance(name, str) and name else None,
                button=_find_button(metadata),
            )
        case EventType.DECISION:
            decision = data.text("decisionId", event.ref.id if event.ref else event.source)
            return Answered(
                decision=decision,
                outcome=data.text("outcome", "answered"),
                by=data.text("by"),
                text=event.content,
                session=event.route.session if event.route else None,
            )
        case EventType.GATE:
            gate = data.text("gateId", event.ref.id if event.ref else event.source)
            return GateEnd(gate, data.text("outcome", "resolved"), event.content)
        case EventType.ALERT | EventType.EVENT | EventType.AGENT | EventType.SYSTEM:
            return Notified(type=event.type, source=event.source, text=event.content)


def _find_button(metadata: Json) -> str | None:
    """Return the id of the button that the metadata of a prompt names."""
    fields = metadata if isinstance(metadata, dict) else {}
    return next((value for name in _BUTTON_FIELDS if isinstance(value := fields.get(name), str)), None)


def _read_outsider(data: _Data) -> Outsider | None:
    outsider = Outsider(id=data.text("senderEntityId"), name=data.text("senderName"), kind=data.text("senderType"))
    return outsider if outsider.id or outsider.name else None
