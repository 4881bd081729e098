"""
What answers look like, for the OpenAPI. `core/wire.py` writes them; a test holds every answer against these.

Times are RFC 3339 in UTC. What is absent is null, so that a reader finds every field.
"""

from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from msgspec import Meta

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"}, examples=["2026-02-18T15:07:00.123456Z"])]
Count = Annotated[int, Meta(ge=0)]
Cursor = Annotated[str, Meta(description="where the next page begins; null on the last", examples=["41"])]
Kind = Literal["agent", "human", "service"]


class Entity(TypedDict):
    name: str
    kind: Kind
    displayName: str
    team: str | None
    role: str | None
    owner: str | None
    aliases: list[str]
    createdAt: Time
    retiredAt: Time | None


class Session(TypedDict):
    id: str
    agent: str
    host: str
    state: Literal["working", "idle", "ended"]
    hops: Count
    startedAt: Time
    seenAt: Time


class Ref(TypedDict):
    type: str
    id: str


class Route(TypedDict):
    channel: str
    sessionId: str


class Receipt(TypedDict):
    kind: str
    owner: str
    at: Time


class Event(TypedDict):
    eventId: str
    type: str
    timestamp: Time
    source: str
    sender: str | None
    senderName: str | None
    senderType: Kind | None
    subject: str | None
    content: str
    data: Any
    priority: Annotated[int, Meta(ge=0, le=4)]
    dedupKey: str | None
    createdAt: Time
    expiresAt: Time | None
    ref: Ref | None
    route: Route | None
    hops: Count
    trust: Literal["owner", "member", "external"]
    wakes: bool
    extra: NotRequired[dict[str, Any]]


class _Standing(TypedDict):
    attempts: Count
    seenAt: Time | None
    endedAt: Time | None
    receipt: Receipt | None


class Item(Event, _Standing):
    """An event as it stands with one recipient."""

    recipient: str
    state: Literal["pending", "claimed", "delivered", "expired", "dead", "discarded"]


class Recipient(_Standing):
    name: str
    eventId: str
    state: str


class Shown(Event):
    """An event as it stands with each of its recipients."""

    state: str
    recipients: list[Recipient]


class Items(TypedDict):
    items: list[Item]


class ItemPage(Items):
    next: Cursor | None


class EntityPage(TypedDict):
    items: list[Entity]
    next: Cursor | None


class Delivery(TypedDict):
    name: str
    eventId: str
    duplicate: bool


class Pushed(TypedDict):
    """What a push came to. A push that was for nobody has no event; a broadcast has no recipients yet."""

    eventId: str | None
    recipients: list[Delivery]
    broadcast: NotRequired[int]
    duplicate: NotRequired[bool]


class Answer(TypedDict):
    """What one push of a batch came to: 201 and what it is, or a problem."""

    status: int
    eventId: NotRequired[str | None]
    recipients: NotRequired[list[Delivery]]
    broadcast: NotRequired[int]
    duplicate: NotRequired[bool]
    type: NotRequired[str]
    title: NotRequired[str]
    detail: NotRequired[str]
    hint: NotRequired[str]


class Answers(TypedDict):
    items: list[Answer]


class Triggered(TypedDict):
    eventId: str
    duplicate: bool


class Hooked(TypedDict):
    """What came of a webhook; for one that brought a single event, also as the trigger route has it."""

    events: list[Triggered]
    eventId: NotRequired[str]
    duplicate: NotRequired[bool]


class Woken(TypedDict):
    name: str
    woken: bool


class Claim(TypedDict):
    claimId: str
    recipient: str
    kind: str
    owner: str
    fence: Count
    takenAt: Time
    deadline: Time | None


class Batch(TypedDict):
    """A batch as data and, in `text`, as an agent reads it. Without a claim nothing waited."""

    claim: Claim | None
    items: list[Item]
    held: Annotated[int, Meta(ge=0, description="how many more wait")]
    text: str


class Account(TypedDict):
    """What an inbox accepted, which is the sum of what became of it."""

    name: str
    accepted: Count
    pending: Count
    claimed: Count
    delivered: Count
    expired: Count
    dead: Count
    discarded: Count
    balanced: bool


class Acked(TypedDict):
    delivered: Count


class Released(TypedDict):
    released: Count


class Seen(TypedDict):
    seen: Count


class Space(TypedDict):
    id: str
    name: str
    lastSeq: Count
    createdAt: Time
    archivedAt: Time | None


class Member(TypedDict):
    name: str
    displayName: str
    kind: Kind
    joinedAt: Time
    readSeq: Count


class SpaceMade(Space):
    members: list[Member]


class SpacePage(TypedDict):
    items: list[Space]
    next: Cursor | None


class MemberPage(TypedDict):
    items: list[Member]
    next: Cursor | None


class Message(TypedDict):
    id: str
    space: str
    seq: Annotated[int, Meta(ge=1)]
    sender: str
    senderName: str
    senderType: Kind
    content: str
    data: Any
    createdAt: Time


class MessagePage(TypedDict):
    """`next` is the `beforeSeq` of the page before or, after an `afterSeq`, the `afterSeq` of the page that follows."""

    items: list[Message]
    next: Cursor | None


class Plan(TypedDict):
    id: str
    owner: str
    name: str
    instruction: str
    cron: str | None
    timeZone: str | None
    catchUp: Literal["once", "skip", "all"]
    isRecurring: bool
    scheduledAt: Time | None
    onGate: str | None
    hops: Count
    nextRunAt: Time | None
    lastRunAt: Time | None
    status: Literal["pending", "completed", "cancelled"]
    fired: Count
    createdAt: Time
    endedAt: Time | None


class PlanPage(TypedDict):
    items: list[Plan]
    next: Cursor | None


class Trigger(TypedDict):
    """A webhook, without its secret."""

    name: str
    provider: str
    scheme: str
    target: str
    prompt: str | None
    owner: str | None
    active: bool
    createdAt: Time


class TriggerPage(TypedDict):
    items: list[Trigger]
    next: Cursor | None


class Key(TypedDict):
    """A key by its prefix."""

    id: str
    prefix: str
    kind: Literal["admin", "agent", "trigger", "public"]
    entity: str | None
    trigger: str | None
    name: str
    createdAt: Time
    revokedAt: Time | None


class KeyMade(Key):
    key: Annotated[str, Meta(description="the key itself, shown this once")]


class KeyPage(TypedDict):
    items: list[Key]
    next: Cursor | None


class Streamed(TypedDict):
    """One event of a stream. `data` is JSON; what can be resumed from has an `id`."""

    event: Annotated[str, Meta(examples=["space.message"])]
    data: str
    id: NotRequired[str]


class Transport(TypedDict):
    name: str
    degraded: bool
    reason: str | None


class Accounting(TypedDict):
    balanced: bool


class Health(TypedDict):
    status: Literal["ok", "degraded", "unavailable"]
    live: bool
    ready: bool
    transport: Transport
    version: NotRequired[str]
    accounting: NotRequired[Accounting]
    lagSeconds: NotRequired[float]
    reason: NotRequired[str]


#: what routes answer with; the shapes within them come along
ALL: Final = (
    Entity,
    EntityPage,
    Items,
    ItemPage,
    Shown,
    Pushed,
    Answers,
    Triggered,
    Hooked,
    Woken,
    Batch,
    Account,
    Acked,
    Released,
    Seen,
    Space,
    SpaceMade,
    SpacePage,
    Member,
    MemberPage,
    Message,
    MessagePage,
    Plan,
    PlanPage,
    Trigger,
    TriggerPage,
    Key,
    KeyMade,
    KeyPage,
    Streamed,
    Health,
)


def shaped(shape: type, status: int = 200, what: str = "Done") -> dict[int | str, dict[str, Any]]:
    """An answer of a route, for its OpenAPI."""
    content = {"application/json": {"schema": {"$ref": reference(shape)}}}
    return {status: {"description": what, "content": content}}


def reference(shape: type) -> str:
    return f"#/components/schemas/{shape.__name__}"
