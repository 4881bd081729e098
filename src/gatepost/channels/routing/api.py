"""
Routing rules, which say who gets what comes through channels, and unrouted messages, which nobody got. The
administrator manages them, and agents with the skill `routing`, each its own rules.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Struct, UnsetType, field

from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.routing.rule import MAX_RANK, RouteRule
from gatepost.channels.skills import ROUTING
from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant
from gatepost.errors import Conflict, NotFound
from gatepost.inbox.event import USER_CHANNELS, Priority, Ref
from gatepost.operations.access import AnyEntity
from gatepost.operations.fields import After, Json, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Repetition, Request, View, read, write
from gatepost.operations.tool import Tool, ToolChanges

#: the group of these operations in OpenAPI
TAG = "routes"

Name = Annotated[str, describe("the name of the rule", minLength=1, maxLength=100)]
Channel = Annotated[str, describe(f"the channel that it is about, such as {USER_CHANNELS[0]} or webhook; * is any")]
Filters = Annotated[
    dict[str, Json],
    Meta(
        description="dotted paths into the message, and the value that must be there",
        examples=[{"payload.repository.name": "shop"}],
    ),
]
Targets = Annotated[tuple[str, ...], describe("the addresses that get what matches", minItems=1, maxItems=20)]
Rank = Annotated[int, Meta(ge=-MAX_RANK, le=MAX_RANK, description="of the rules that match, the highest rank decides")]
Active = Annotated[bool, describe("whether it decides about anything")]

#: the tools are offered to residents with the skill
_FOR_ROUTERS: Final[dict[str, Any]] = {"skill": ROUTING}
#: what a model is told
_NOTES: Final = {
    "targets": "who gets what matches: names, team:NAME or team:NAME/ROLE",
    "filters": "dotted paths and the values that must be there, such as {'payload.repository.name': 'shop'}; paths"
    " begin with trigger, channel, session, kind, content, metadata or payload",
}
_RULE_NOTE: Final = "the id or the name of a rule"
_UNROUTED_NOTE: Final = "the id of the message, such as dead_..."


class RouteView(RecordView[RouteRule]):
    """A routing rule."""

    id: str
    name: str
    channel: str
    filters: dict[str, Json]
    targets: list[str]
    rank: int
    active: bool
    made_by: str
    created_at: Time
    updated_at: Time


@write(
    "POST /api/routes",
    access=AnyEntity(),
    status=201,
    errors=(NotFound, Conflict),
    example={
        "name": "shop issues",
        "channel": "webhook",
        "filters": {"payload.repository.name": "shop"},
        "targets": ["analyst"],
        "rank": 10,
    },
    tool=Tool(
        name="create_route",
        description="Make a rule that says who gets what comes through a channel. Without filters it matches everything"
        " there.",
        hidden=("active",),
        notes=_NOTES,
        **_FOR_ROUTERS,
    ),
)
class CreateRoute(Request[RouteView]):
    """Make a rule. Its filters are exact; of the rules that match, the one with the highest rank decides."""

    name: Name
    targets: Targets
    channel: Channel = "*"
    filters: Filters = field(default_factory=dict)
    rank: Rank = 0
    active: Active = True


@read(
    "GET /api/routes",
    access=AnyEntity(),
    tool=Tool(
        name="list_routes",
        description="Read all rules. Of those that match, the one with the highest rank decides, and of equal ones the"
        " oldest.",
        for_residents=ToolChanges(items="routes"),
        **_FOR_ROUTERS,
    ),
)
class ListRoutes(Request[Page[RouteView]]):
    """List the rules, in the order in which they were made."""

    after: After = 0
    limit: Limit = 100


@read("GET /api/routes/{id}", access=AnyEntity())
class ShowRoute(Request[RouteView]):
    """Show a rule, by its id or its name."""

    id: str


@write(
    "PATCH /api/routes/{id}",
    access=AnyEntity(),
    errors=(Conflict,),
    example={"rank": 20},
    tool=(
        Tool(
            name="update_route",
            description="Change a rule that you have made. What you leave out stays; filters and targets are replaced"
            " as a whole.",
            renames={"id": "route"},
            notes={**_NOTES, "route": _RULE_NOTE},
            **_FOR_ROUTERS,
        ),
        Tool(
            name="disable_route",
            description="Let a rule that you have made decide about nothing any more. It is kept, and update_route can"
            " activate it.",
            hidden=("name", "targets", "channel", "filters", "rank"),
            fixed={"active": False},
            renames={"id": "route"},
            notes={"route": _RULE_NOTE},
            **_FOR_ROUTERS,
        ),
    ),
)
class ChangeRoute(Request[RouteView]):
    """Change what is named in the body; the rest stays. Only its maker and the administrator may."""

    id: str
    name: Name | UnsetType = UNSET
    targets: Targets | UnsetType = UNSET
    channel: Channel | UnsetType = UNSET
    filters: Filters | UnsetType = UNSET
    rank: Rank | UnsetType = UNSET
    active: Active | UnsetType = UNSET


@write("DELETE /api/routes/{id}", access=AnyEntity(), status=204)
class DeleteRoute(Request[None]):
    """Delete a rule."""

    id: str


class UnroutedReason(ParsedEnum, description="a reason"):
    #: no rule, trigger or default has a target
    NO_ROUTE = "no_route"
    #: there is a target, and nobody is there
    NO_TARGET = "no_target"
    #: it lacks what its trigger requires
    MISSING_METADATA = "missing_metadata"


class UnroutedOutcome(ParsedEnum, description="a way to end a kept message"):
    REPLAYED = "replayed"
    DISCARDED = "discarded"


class EventFields(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the event of a message says besides the envelope."""

    subject: str | None = None
    ref: Ref | None = None
    #: None for that of its kind
    priority: Priority | None = None
    #: part of its data
    details: Mapping[str, Json] = {}


class UnroutedMessage(Struct, frozen=True, kw_only=True):
    """A message that came through a channel, and that nobody got; tools call it `dead_letter`."""

    number: int
    id: str
    #: the name of the trigger that it came by; None if that is gone
    trigger: str | None
    #: the name of the person who wrote it; None if it is nobody here
    sender: str | None
    envelope: Envelope
    event: EventFields
    reason: UnroutedReason
    created_at: Instant
    #: when it was replayed or discarded, by whom, and which
    handled_at: Instant | None
    handled_by: str | None
    outcome: UnroutedOutcome | None

    @property
    def replayed_at(self) -> Instant | None:
        return self.handled_at if self.outcome is UnroutedOutcome.REPLAYED else None

    @property
    def replayed_by(self) -> str | None:
        return self.handled_by if self.outcome is UnroutedOutcome.REPLAYED else None

    @property
    def discarded_at(self) -> Instant | None:
        return self.handled_at if self.outcome is UnroutedOutcome.DISCARDED else None

    @property
    def discarded_by(self) -> str | None:
        return self.handled_by if self.outcome is UnroutedOutcome.DISCARDED else None


class UnroutedMessageView(RecordView[UnroutedMessage]):
    """An unrouted message: it came through a channel, and nobody got it."""

    id: str
    trigger: Annotated[str | None, describe("the trigger that it came by; null if that is gone")]
    channel: Annotated[str, Source("envelope.channel")]
    session_id: Annotated[str, Source("envelope.session")]
    kind: Annotated[EnvelopeKind, Source("envelope.kind")]
    sender: Annotated[str | None, describe("the person who wrote it; null if it is nobody here")]
    sender_name: Annotated[str | None, describe("the name of the user on the channel"), Source("envelope.display")]
    content: Annotated[str, Source("envelope.content")]
    payload: Annotated[Json, Source("envelope.payload")]
    metadata: Annotated[dict[str, str], Source("envelope.metadata")]
    reason: UnroutedReason
    created_at: Time
    replayed_at: Time | None
    replayed_by: str | None
    discarded_at: Time | None
    discarded_by: str | None


@read(
    "GET /api/routes/dead-letters",
    access=AnyEntity(),
    tool=Tool(
        name="list_dead_letters",
        for_residents=ToolChanges(items="deadLetters"),
        max_field=4_000,
        hidden=("replayed",),
        **_FOR_ROUTERS,
    ),
)
class ListDeadLetters(Request[Page[UnroutedMessageView]]):
    """List unrouted messages, which nobody got, the oldest first."""

    replayed: Annotated[bool, describe("include those that were replayed or discarded")] = False
    after: After = 0
    limit: Limit = 100


class ReplayedMessageView(View):
    id: str
    event_ids: list[str]
    targets: Annotated[list[str], describe("the addresses that it went to")]


@write(
    "POST /api/routes/dead-letters/{id}/replay",
    access=AnyEntity(),
    repetition=Repetition.KEYED,
    errors=(Conflict,),
    tool=Tool(
        name="replay_dead_letter",
        answer=("id", "targets"),
        notes={"id": _UNROUTED_NOTE},
        **_FOR_ROUTERS,
    ),
)
class ReplayDeadLetter(Request[ReplayedMessageView]):
    """Route an unrouted message again, by the current rules; refused if it still has no recipient."""

    id: str


@write(
    "POST /api/routes/dead-letters/{id}/discard",
    access=AnyEntity(),
    needs_disk_space=False,
    repetition=Repetition.KEYED,
    errors=(Conflict,),
    tool=Tool(
        name="discard_dead_letter",
        description="Discard an unrouted message: nobody will get it. This cannot be undone.",
        answer=("id",),
        notes={"id": _UNROUTED_NOTE},
        **_FOR_ROUTERS,
    ),
)
class DiscardDeadLetter(Request[UnroutedMessageView]):
    """Discard an unrouted message: it is marked as handled, and not routed."""

    id: str
