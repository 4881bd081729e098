"""
An event: one thing that happened, as it is told to everybody it concerns.

An event is stored once; each recipient has an `Item` that says where it stands with them. What kind of thing happened
is its `type`; `body(event)` reads type, content and data together as one of a closed union, so that whoever handles
events can `match` on them and be told by the type checker what was forgotten.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Final

from msgspec import Struct

from gatepost.core.entity import EntityKind
from gatepost.core.enums import ParsedEnum
from gatepost.core.times import MAX_INSTANT, Duration, Instant
from gatepost.errors import Invalid

Json = Any


class Priority(IntEnum):
    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3
    FYI = 4

    @staticmethod
    def parse(text: str | int) -> "Priority":
        """Read `0` to `4` or a word (`critical`, `high`, `normal`, `low`, `fyi`)."""
        word = str(text).strip().lower()
        for priority in Priority:
            if word in (str(priority.value), priority.name.lower()):
                return priority
        raise Invalid(f"{text!r} is not a priority", hint="use 0 to 4, or critical, high, normal, low, fyi")


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
    """How far the text may be trusted; it is always data, never an instruction of ours."""

    OWNER = "owner"
    MEMBER = "member"
    EXTERNAL = "external"


#: what Gatepost itself tells of; whoever else tells of it is outside
_GATEPOST_TYPES: Final = frozenset((EventType.SPACE_MESSAGE, EventType.PLAN, EventType.SERVICE))


def get_trust(type: EventType, sender: str | None) -> Trust:
    """Return the trust of what somebody pushes; only Gatepost's own verbs give another."""
    return Trust.EXTERNAL if type in _GATEPOST_TYPES and sender is None else Trust.MEMBER


class ItemState(ParsedEnum, description="a state"):
    PENDING = "pending"
    CLAIMED = "claimed"
    DELIVERED = "delivered"
    EXPIRED = "expired"
    DEAD = "dead"
    DISCARDED = "discarded"


class Ref(Struct, frozen=True):
    """What an event is about, such as `task:0.0.123`."""

    type: str
    id: str

    def __str__(self) -> str:
        return f"{self.type}:{self.id}"

    @staticmethod
    def parse(text: str) -> "Ref":
        kind, colon, ref_id = text.partition(":")
        if not (kind and colon and ref_id):
            raise Invalid(f"{text!r} is not a reference", hint="write it as TYPE:ID, such as task:0.0.123")
        return Ref(kind, ref_id)


class Route(Struct, frozen=True):
    """Where a reply has to go: a channel and a session on it."""

    channel: str
    session: str


class Sender(Struct, frozen=True):
    name: str
    display: str
    kind: EntityKind


class Outsider(Struct, frozen=True, kw_only=True):
    """Who a source outside says it was. It is no entity of ours, whatever it is called."""

    id: str
    name: str
    #: `human`, `agent`, or whatever the source calls it
    kind: str


class Event(Struct, frozen=True, kw_only=True):
    id: str
    type: EventType
    #: the program or system it came through; the sender is who it came from
    source: str
    sender: Sender | None = None
    subject: str | None = None
    content: str = ""
    data: Json = None
    priority: Priority = Priority.NORMAL
    key: str | None = None
    created_at: Instant
    #: when it happened, where its source says so
    source_time: Instant | None = None
    expires_at: Instant | None = None
    ref: Ref | None = None
    route: Route | None = None
    #: how many events led to this one
    hops: int = 0
    trust: Trust = Trust.MEMBER
    wakes: bool = True
    #: its place in the order of all events
    arrival: int = 0

    @property
    def occurred_at(self) -> Instant:
        """When it happened: the source's own time, else when it was created."""
        return self.created_at if self.source_time is None else self.source_time


class Receipt(Struct, frozen=True, kw_only=True):
    """Who took an item, and when."""

    #: `drain`, `session`, `run` or `person`
    kind: str
    #: the session, the run or the person
    owner: str
    at: Instant


class Item(Struct, frozen=True, kw_only=True):
    """Where one event stands with one recipient."""

    event: Event
    recipient: str
    state: ItemState = ItemState.PENDING
    attempts: int = 0
    seen_at: Instant | None = None
    ended_at: Instant | None = None
    receipt: Receipt | None = None


class Push(Struct, frozen=True, kw_only=True):
    """A wish to tell somebody something; it becomes an event when it is accepted."""

    to: str
    type: EventType = EventType.EVENT
    source: str
    #: the name of the entity it is from
    sender: str | None = None
    subject: str | None = None
    content: str = ""
    data: Json = None
    priority: Priority = Priority.NORMAL
    #: a repeat of this key for the same recipient is recognised
    key: str | None = None
    #: what the key is stored behind, so that nobody else can take it first (`core/dedup.py`)
    key_prefix: str = ""
    #: the source's own time, where it has one
    occurred_at: Instant | None = None
    ttl: Duration | None = None
    #: in place of a `ttl`, for what was on its way before it came here
    expires_at: Instant | None = None
    ref: Ref | None = None
    route: Route | None = None
    #: how many events led to it; if an agent sends it, at least as many as reached that one lately
    hops: int = 0
    trust: Trust = Trust.MEMBER


class Delivery(Struct, frozen=True):
    """What a push meant for one recipient: with a duplicate, the event is the one that was there first."""

    name: str
    event: str
    duplicate: bool


class PushResult(Struct, frozen=True):
    """What a push came to. A broadcast has no deliveries yet: each agent takes it when it next looks."""

    event: str
    deliveries: tuple[Delivery, ...] = ()
    #: of a broadcast: its number, and whether it was there before
    broadcast: int | None = None
    duplicate: bool = False


class Posted(Struct, frozen=True, kw_only=True):
    space: str
    space_name: str
    message: str
    seq: int | None
    text: str
    #: who said it, if it came from outside
    outsider: Outsider | None = None


class Due(Struct, frozen=True, kw_only=True):
    plan: str
    name: str
    instruction: str
    due_at: Instant | None


class Called(Struct, frozen=True, kw_only=True):
    service: str
    payload: Json


class Returned(Struct, frozen=True, kw_only=True):
    tool: str
    call: str
    result: Json


class Mailed(Struct, frozen=True, kw_only=True):
    mail: str
    subject: str
    text: str


class Noted(Struct, frozen=True, kw_only=True):
    about: str
    text: str


class Heard(Struct, frozen=True, kw_only=True):
    channel: str
    session: str
    text: str


class Answered(Struct, frozen=True, kw_only=True):
    decision: str
    #: `answered`, `rejected`, `expired` or `withdrawn`
    outcome: str
    by: str
    text: str


class Ended(Struct, frozen=True):
    gate: str
    #: `resolved`, `expired`, `orphaned` or `withdrawn`
    outcome: str
    text: str


class Told(Struct, frozen=True, kw_only=True):
    """An alert, an event, a word from an agent or from the system: a source and a text."""

    type: EventType
    source: str
    text: str


Body = Posted | Due | Called | Returned | Mailed | Noted | Heard | Answered | Ended | Told


class _Data(Struct, frozen=True):
    """The data of an event, read with defaults for what is missing and an error for what is of the wrong kind."""

    type: EventType
    fields: Mapping[str, Json] = {}

    def text(self, name: str, default: str = "") -> str:
        value = self.fields.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise Invalid(f"data.{name} of a {self.type} must be a string, not {value!r:.60}")
        return value

    def number(self, name: str) -> int | None:
        value = self.fields.get(name)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool):
            raise Invalid(f"data.{name} of a {self.type} must be a whole number, not {value!r:.60}")
        return value

    def instant(self, name: str) -> Instant | None:
        value = self.number(name)
        if value is not None and not 0 <= value <= MAX_INSTANT:
            raise Invalid(f"data.{name} of a {self.type} must be a time in microseconds since 1970, not {value!r:.60}")
        return value


def parse_body(event: "Event | Push") -> Body:
    """Read an event as what it is. Missing fields fall back on source, subject and content."""
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
            return Due(
                plan=plan,
                name=data.text("planName", event.subject or plan or event.source),
                instruction=event.content or data.text("instruction"),
                due_at=data.instant("dueAt"),
            )
        case EventType.SERVICE:
            payload = data.fields.get("payload", event.data)
            return Called(
                service=data.text("serviceName", event.source), payload=event.content if payload is None else payload
            )
        case EventType.TOOL_RESULT:
            result = data.fields.get("result", event.data)
            return Returned(
                tool=data.text("toolName", event.source),
                call=data.text("toolCallId"),
                result=event.content if result is None else result,
            )
        case EventType.MAIL:
            return Mailed(mail=data.text("mailId"), subject=event.subject or "", text=event.content)
        case EventType.NOTE:
            about = f"{event.ref.type} {event.ref.id}" if event.ref else event.source
            return Noted(about=about, text=event.content)
        case EventType.CHANNEL:
            route = event.route
            return Heard(
                channel=route.channel if route else event.source,
                session=route.session if route else "",
                text=event.content,
            )
        case EventType.DECISION:
            decision = data.text("decisionId", event.ref.id if event.ref else event.source)
            return Answered(
                decision=decision, outcome=data.text("outcome", "answered"), by=data.text("by"), text=event.content
            )
        case EventType.GATE:
            gate = data.text("gateId", event.ref.id if event.ref else event.source)
            return Ended(gate, data.text("outcome", "resolved"), event.content)
        case EventType.ALERT | EventType.EVENT | EventType.AGENT | EventType.SYSTEM:
            return Told(type=event.type, source=event.source, text=event.content)


def _read_outsider(data: _Data) -> Outsider | None:
    outsider = Outsider(id=data.text("senderEntityId"), name=data.text("senderName"), kind=data.text("senderType"))
    return outsider if outsider.id or outsider.name else None
