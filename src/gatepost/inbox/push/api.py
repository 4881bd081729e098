"""Push: deliver events to inboxes, one, many, or as the call of a service."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Self

from msgspec import UNSET, DecodeError, Meta, Raw, UnsetType
from msgspec.structs import replace

from gatepost.core import address, typed_json
from gatepost.directory.entity_api import AttentionView
from gatepost.errors import Conflict, GatepostError, NotFound, TooLarge
from gatepost.inbox.event import Delivery, EventType, PushResult
from gatepost.inbox.event_api import RefSpec
from gatepost.inbox.push import dedup_keys as dedup
from gatepost.operations.access import ActAs, AnyEntity, TriggerKey
from gatepost.operations.encoding import encode_json, refuse_nan
from gatepost.operations.fields import Json, RecordView, Source, describe
from gatepost.operations.operation import Repetition, Request, RequestPart, View, write
from gatepost.operations.problems import build_problem

#: pushes of a batch
MAX_BATCH_LENGTH: Final = 1_000
_MAX_BATCH_BODY: Final = 8 * 1024 * 1024

#: decoded by itself, so that a wrong member does not spoil the others
RawPush = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/PushEvent"})]


class DeliveryView(RecordView[Delivery]):
    name: str
    event_id: Annotated[str, Source("event")]
    duplicate: bool
    times: Annotated[int, describe("how often an alert came while it was pending, if more than once")] | UnsetType = (
        UNSET
    )
    reachable: (
        Annotated[bool, describe("false if each of its sessions in another program is lost; the item waits")]
        | UnsetType
    ) = UNSET
    attention: Annotated[AttentionView, describe("what keeps the item from waking it until then")] | UnsetType = UNSET

    @classmethod
    def of(cls, record: Delivery, /, **values: Any) -> Self:
        times, reachable = record.times if record.times > 1 else UNSET, UNSET if record.reachable else False
        return super().of(record, times=times, reachable=reachable, **values)


class PushResultView(View):
    """The result of a push. A push without recipients has no event; a broadcast has no recipients yet."""

    event_id: str | None
    recipients: list[DeliveryView]
    broadcast: int | UnsetType = UNSET
    duplicate: bool | UnsetType = UNSET

    @classmethod
    def of(cls, result: PushResult) -> Self:
        return cls(**_list_fields(result))

    def without_duplicates(self) -> Self:
        """
        Return the result without duplicates: the client made a new key for this push, so a duplicate can only be an
        earlier try of the same push.
        """
        return replace(
            self,
            recipients=[replace(recipient, duplicate=False) for recipient in self.recipients],
            duplicate=UNSET if self.duplicate is UNSET else False,
        )


class PushOutcomeView(View, kw_only=True):
    """The outcome of one push of a batch: 201 with its result, or a problem."""

    type: str | UnsetType = UNSET
    title: str | UnsetType = UNSET
    status: int
    detail: str | UnsetType = UNSET
    hint: str | UnsetType = UNSET
    event_id: str | UnsetType | None = UNSET
    recipients: list[DeliveryView] | UnsetType = UNSET
    broadcast: int | UnsetType = UNSET
    duplicate: bool | UnsetType = UNSET

    @classmethod
    def of(cls, outcome: PushResult | GatepostError) -> Self:
        if isinstance(outcome, GatepostError):
            return cls(**build_problem(outcome))
        return cls(status=201, **_list_fields(outcome))

    def without_duplicates(self) -> Self:
        """Return the outcome without duplicates, as `PushResultView` does."""
        return replace(
            self,
            recipients=self.recipients
            if self.recipients is UNSET
            else [replace(recipient, duplicate=False) for recipient in self.recipients],
            duplicate=UNSET if self.duplicate is UNSET else False,
        )


class PushOutcomesView(View):
    items: list[PushOutcomeView]


class TriggeredView(View):
    event_id: str
    duplicate: bool

    def without_duplicates(self) -> Self:
        """Return the result of a call with a key of its own: a duplicate is its own first try."""
        return replace(self, duplicate=False)


def _list_fields(result: PushResult) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "event_id": result.event if result.deliveries or result.broadcast is not None else None,
        "recipients": [DeliveryView.of(delivery) for delivery in result.deliveries],
    }
    if result.broadcast:
        fields |= {"broadcast": result.broadcast, "duplicate": result.duplicate}
    return fields


class PushRoute(RequestPart):
    """Where a reply goes."""

    channel: str
    session_id: str


@write(
    "POST /api/inbox",
    access=ActAs("sender"),
    repetition=Repetition.DEDUP,
    lane="{to}",
    status=201,
    errors=(NotFound, Conflict, TooLarge),
    example={"to": "analyst", "content": "CI failed", "priority": "high"},
    checks_media=False,
)
class PushEvent(Request[PushResultView]):
    """Push an event. What is answered with 201 is on disk."""

    to: Annotated[str, Meta(examples=["analyst"], extra_json_schema={"minLength": 1, "maxLength": address.MAX_LENGTH})]
    type: Annotated[EventType, describe("type of the event")] = EventType.EVENT
    content: Annotated[str, describe("text")] = ""
    subject: Annotated[str | None, describe("a short title")] = None
    data: Annotated[Json, describe("any JSON")] = None
    priority: Annotated[int | str, describe("one of critical, high, normal, low, fyi; or 0 to 4")] = 2
    sender: Annotated[str | None, describe("entity that sends it; default: that of the credential")] = None
    source: Annotated[str | None, describe("system that it comes from")] = None
    dedup_key: Annotated[
        str | None,
        describe(
            "key by which a repeat is recognised; stored as `by:NAME:KEY`, the administrator's as it is",
            maxLength=dedup.MAX_LENGTH,
        ),
    ] = None
    occurred_at: Annotated[
        str | None, Meta(description="time at the source, RFC 3339", examples=["2026-02-18T15:06:55Z"])
    ] = None
    ttl: Annotated[str | None, describe("how long it is worth reading; then it expires")] = None
    ref: Annotated[RefSpec | None, describe("what it is about")] = None
    route: Annotated[PushRoute | None, describe("where a reply goes")] = None
    hops: Annotated[
        int,
        Meta(
            ge=0,
            le=10_000,
            description="number of events that led to this one; for an agent, at least as many as reached it lately",
        ),
    ] = 0

    @property
    def has_own_dedup_key(self) -> bool:
        """Whether a repeat is found without an idempotency key: by its dedup key or, of an alert, by its content."""
        return self.dedup_key is not None or self.type is EventType.ALERT


@write(
    "POST /api/inbox/batch",
    access=AnyEntity(),
    repetition=Repetition.NEVER,
    errors=(NotFound, Conflict, TooLarge),
    example={"pushes": [{"to": "analyst", "content": "CI failed"}]},
    max_body=_MAX_BATCH_BODY,
    checks_media=False,
)
class PushEvents(Request[PushOutcomesView]):
    """
    Push up to 1,000 events that make up to 10,000 items: one commit, and an outcome for each push. A push that is
    refused does not affect the others.
    """

    pushes: Annotated[tuple[RawPush, ...], Meta(max_length=MAX_BATCH_LENGTH)]

    @classmethod
    def of(cls, pushes: Sequence[PushEvent]) -> Self:
        for push in pushes:
            refuse_nan(push)
        return cls(pushes=tuple(Raw(encode_json(push)) for push in pushes))

    @property
    def has_own_dedup_key(self) -> bool:
        """Whether a repeat of every push is found: only then may a batch whose answer was lost be sent again."""
        try:
            return all(typed_json.decode(push, PushEvent).has_own_dedup_key for push in self.pushes)
        except (DecodeError, UnicodeDecodeError, RecursionError):
            return False


@write(
    "POST /api/agents/{name}/trigger",
    access=TriggerKey("name"),
    repetition=Repetition.DEDUP,
    lane="{name}",
    status=202,
    errors=(Conflict, TooLarge),
    example={"serviceName": "jira-webhook", "payload": {"issue": "PROJ-123", "action": "created"}},
    checks_media=False,
)
class TriggerAgent(Request[TriggeredView]):
    """Trigger an agent from a service. What is answered with 202 is on disk."""

    name: str
    service_name: Annotated[str, Meta(min_length=1, max_length=200, examples=["jira-webhook"])]
    payload: Json = None
