"""
Triggers: how something outside reaches agents. Their owners and the administrator manage them; services outside send to
webhooks.
"""

from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from gatepost.channels.routing.api import UnroutedReason
from gatepost.channels.skills import ROUTING
from gatepost.channels.triggers.trigger import (
    BUILT_IN_PROVIDERS,
    MAX_PROMPT_LENGTH,
    DeliveryMode,
    GroupMode,
    Heartbeat,
    Trigger,
    TriggerSchedule,
    TriggerSettings,
    WakeMode,
)
from gatepost.channels.webhooks import verification as webhook
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.json_limits import Json
from gatepost.core.times import format_duration
from gatepost.errors import Conflict, NotFound, Refused, TooLarge, TooManyAttempts, Unauthorized, Unavailable
from gatepost.operations.access import AnyEntity, Public
from gatepost.operations.fields import (
    After,
    Format,
    Limit,
    NewName,
    Priority,
    RecordView,
    Setting,
    Source,
    Time,
    derive_settings,
    derive_view,
    describe,
)
from gatepost.operations.operation import Page, Request, RequestPart, View, raw, read, write
from gatepost.operations.tool import Tool, ToolChanges

Interval = Annotated[str, Format(format_duration), Meta(examples=["30m"])]


class ScheduleView(RecordView[TriggerSchedule]):
    cron: str | None
    zone: str
    every: Interval | None
    at: Time | None


class HeartbeatView(RecordView[Heartbeat]):
    active_hours: list[int] | None


class _TriggerHead(RecordView[Trigger], kw_only=True):
    name: str
    provider: str
    scheme: Scheme | None
    target: str | None
    prompt: str | None
    owner: str


if TYPE_CHECKING:

    class _ShownSettings(_TriggerHead, TriggerSettings, kw_only=True): ...

else:
    _ShownSettings = derive_view(_TriggerHead, TriggerSettings, "config")


class TriggerView(_ShownSettings, kw_only=True):
    """A trigger, without its secret or token."""

    mode: Annotated[  # type: ignore[assignment]  # not every trigger has one
        DeliveryMode | None, Source(lambda trigger: trigger.config.mode if trigger.is_built_in_channel else None)
    ]
    groups: Annotated[  # type: ignore[assignment]
        GroupMode | None, Source(lambda trigger: trigger.config.groups if trigger.is_channel else None)
    ]
    schedule: Annotated[ScheduleView | None, Source("config.schedule")]
    heartbeat: Annotated[HeartbeatView | None, Source("config.heartbeat")]
    token: Annotated[str | None, describe("where the token of a bot is, if it is not stored"), Source("config.token")]
    active: bool
    is_from_file: Annotated[bool, describe("whether it is set in gatepost.toml, and can only be changed there")]
    next_at: Annotated[Time | None, describe("when a schedule fires next")]
    error: Annotated[
        str | None,
        describe("why a bot does not work"),
        Source(lambda trigger: trigger.error if trigger.active else None),
    ]
    created_at: Time
    problem: Annotated[
        str | UnsetType, describe("why its provider cannot be used, if it cannot"), Source(lambda _: None)
    ] = UNSET


#: what a model gets of a trigger
_ANSWER: Final = (
    *("name", "provider", "target", "prompt", "owner", "session", "schedule", "heartbeat"),
    *("active", "next_at"),
)


class ScheduleSpec(RequestPart):
    """When a trigger fires: one of `cron`, `every` and `at`."""

    cron: Annotated[str | None, describe("five fields, or a word such as @daily")] = None
    zone: Annotated[str | None, describe("the time zone of cron and of active hours; by default UTC")] = None
    every: Annotated[str | None, Meta(description="an interval", examples=["30m"])] = None
    at: Annotated[str | None, Meta(description="once, at this time", examples=["2026-02-20T10:00:00Z"])] = None


class HeartbeatSpec(RequestPart):
    """Only fire if the target has something to do: unread fyi items, open work items or active goals."""

    active_hours: Annotated[
        tuple[int, int] | None, Meta(description="the first and the last hour in which it fires", examples=[[8, 22]])
    ] = None


class _GivenHead(Request[TriggerView], kw_only=True):
    secret_fields = frozenset({"secret", "token"})

    scheme: Setting[Annotated[Scheme, describe("how callers of a webhook prove who they are; by default header")]] = (
        UNSET
    )
    secret: Setting[
        Annotated[
            str,
            describe(
                "the secret of the callers of a webhook",
                minLength=webhook.MIN_SECRET_LENGTH,
                maxLength=webhook.MAX_SECRET_LENGTH,
            ),
        ]
    ] = UNSET
    token: Setting[Annotated[str, describe("the token of a bot, or env:VARIABLE for one that is not stored")]] = UNSET
    target: Setting[Annotated[str, describe("the address that gets what no rule is about")]] = UNSET
    prompt: Setting[Annotated[str, describe("added to every event as context", maxLength=MAX_PROMPT_LENGTH)]] = UNSET
    owner: Setting[
        Annotated[str, describe("the address that manages it and gets alerts about it; by default team:root/system3")]
    ] = UNSET


if TYPE_CHECKING:

    class _GivenSettings(_GivenHead, TriggerSettings, kw_only=True): ...

else:
    _GivenSettings = derive_settings(_GivenHead, TriggerSettings)


class TriggerFields(_GivenSettings, kw_only=True):
    """What a request says of a trigger. A field that is null gets its default."""

    schedule: Setting[Annotated[ScheduleSpec, describe("when a cron trigger fires")]] = UNSET
    heartbeat: Setting[Annotated[HeartbeatSpec, describe("only fire if the target has something to do")]] = UNSET


@write(
    "POST /api/triggers",
    access=AnyEntity(),
    status=201,
    errors=(NotFound, Conflict, TooLarge),
    example={"name": "github-main", "scheme": "github", "secret": "a-long-shared-secret", "target": "analyst"},
)
class AddTrigger(TriggerFields, kw_only=True):
    """
    Add a trigger. Its secret or token is never shown again. Besides the administrator, agents with the skill `routing`
    and those who own triggers by default can add their own.
    """

    name: NewName
    provider: Annotated[str, describe(f"{', '.join(BUILT_IN_PROVIDERS)}, or that of a package")] = "webhook"


@read(
    "GET /api/triggers",
    access=AnyEntity(),
    tool=Tool(
        name="list_triggers",
        description="Read the triggers that you own, without their secrets.",
        answer=_ANSWER,
        for_residents=ToolChanges(items="triggers"),
        hidden=("provider",),
        skill=ROUTING,
    ),
)
class ListTriggers(Request[Page[TriggerView]]):
    """List the triggers of the caller, without secrets; for the administrator all."""

    provider: Annotated[str | None, describe("only triggers of this provider")] = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/triggers/{name}", access=AnyEntity())
class ShowTrigger(Request[TriggerView]):
    """Show a trigger to its owners and the administrator, without its secret."""

    name: str


@write(
    "PATCH /api/triggers/{name}",
    access=AnyEntity(),
    errors=(Conflict, TooLarge),
    example={"active": False},
    tool=Tool(
        name="disable_trigger",
        description="Let nothing come through a trigger any more. It is kept.",
        answer=_ANSWER,
        hidden=tuple(name for name in TriggerFields.__struct_fields__ if name != "name"),
        fixed={"active": False},
        notes={"name": "a trigger that you own"},
        skill=ROUTING,
        for_residents=ToolChanges(
            description="Let nothing come through a trigger any more. It is kept, and set_trigger can activate it."
        ),
    ),
)
class ChangeTrigger(TriggerFields, kw_only=True):
    """Change what is named in the body; the rest stays. An inactive webhook answers as if it did not exist."""

    name: str
    active: Annotated[bool | UnsetType, describe("whether anything comes through it")] = UNSET


@write("DELETE /api/triggers/{name}", access=AnyEntity(), status=204, errors=(Conflict,))
class DeleteTrigger(Request[None]):
    """Delete a trigger; the events that came through it stay. One that has conversations can only be deactivated."""

    name: str


class PreviewedEventView(View):
    """An event that a payload would become."""

    content: str
    subject: str | None
    session: str
    priority: Annotated[Priority | None, describe("if a template says one")]
    targets: Annotated[list[str], describe("who would get it")]
    rule: Annotated[str | None, describe("the rule that decides; null if the trigger does, or the default")]
    reason: Annotated[UnroutedReason | None, describe("why nobody would get it")]


class TriggerPreviewView(View):
    """What would happen to a payload."""

    events: list[PreviewedEventView]
    skipped: Annotated[str | None, describe("why there would be no event")]


@read(
    "POST /api/triggers/{name}/test",
    access=AnyEntity(),
    is_dry_run=True,
    example={"payload": {"action": "opened", "number": 7}, "headers": {"X-GitHub-Event": "pull_request"}},
)
class PreviewTrigger(Request[TriggerPreviewView]):
    """Show what a trigger would make of a payload, and who would get it. Nothing is changed."""

    name: str
    payload: Annotated[
        Json,
        describe("what the service would send; of a channel {content, session, metadata}, or an update of a bot"),
    ]
    headers: Annotated[dict[str, str], describe("the headers of the request")] = field(default_factory=dict)


class ReceivedEventView(View):
    event_id: str
    duplicate: bool


class WebhookView(View, kw_only=True):
    """The events of a webhook; if there is one, its id also where the answer of an agent's trigger has it."""

    event_id: str | msgspec.UnsetType = msgspec.UNSET
    duplicate: bool | msgspec.UnsetType = msgspec.UNSET
    events: list[ReceivedEventView]


@raw(
    "POST /hooks/{trigger}",
    access=Public(),
    status=202,
    requires_body=True,
    checks_media=False,
    errors=(Unauthorized, Refused, Conflict, TooManyAttempts, Unavailable),
    responses={
        200: {"description": "The answer to a challenge", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
    example={"action": "opened", "number": 1},
)
class ReceiveWebhook(Request[WebhookView]):
    """Receive a webhook. It is accepted if it is signed as the scheme of its trigger says; 202 means committed."""

    trigger: str
    wake: Annotated[WakeMode, describe("next: it is fyi, and waits until something else wakes the recipient")] = (
        WakeMode.NOW
    )
