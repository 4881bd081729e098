"""
Triggers: named webhooks, and the addresses that get their events. The administrator manages them; services outside send
to them.
"""

from typing import Annotated

import msgspec

from gatepost.api.access import Administrator, Open
from gatepost.api.fields import After, Limit, NewName, RecordView, Time, describe
from gatepost.api.operation import Page, Request, View, raw, read, write
from gatepost.core import webhook
from gatepost.core.webhook import MAX_PROMPT_LENGTH, Provider, Scheme, Trigger
from gatepost.errors import Conflict, NotFound, Refused, TooLarge, Unauthorized, Unavailable


class TriggerView(RecordView[Trigger]):
    """A webhook, without its secret."""

    name: str
    provider: Provider
    scheme: Scheme
    target: str
    prompt: str | None
    owner: str | None
    active: bool
    created_at: Time


class TriggerPage(Page[TriggerView]):
    pass


@write(
    "POST /api/triggers",
    access=Administrator(),
    status=201,
    errors=(NotFound, Conflict, TooLarge),
    example={"name": "github-main", "scheme": "github", "secret": "a-long-shared-secret", "target": "analyst"},
)
class AddTrigger(Request[TriggerView]):
    """Add a webhook. Its secret is never shown again."""

    secret_fields = frozenset({"secret"})

    name: NewName
    scheme: Annotated[Scheme, describe("how callers prove who they are")]
    secret: Annotated[str, describe(minLength=webhook.MIN_SECRET_LENGTH, maxLength=webhook.MAX_SECRET_LENGTH)]
    target: Annotated[str, describe("the address that gets the events")]
    prompt: Annotated[str | None, describe("added to every event as context", maxLength=MAX_PROMPT_LENGTH)] = None
    owner: Annotated[str | None, describe("who gets alerts about it; by default admin")] = None


@read("GET /api/triggers", access=Administrator())
class ListTriggers(Request[TriggerPage]):
    """List the webhooks, without their secrets."""

    after: After = 0
    limit: Limit = 100


@read("GET /api/triggers/{name}", access=Administrator(), errors=(NotFound,))
class ShowTrigger(Request[TriggerView]):
    """Show a webhook, without its secret."""

    name: str


@write("PATCH /api/triggers/{name}", access=Administrator(), errors=(NotFound, Conflict), example={"active": False})
class ChangeTrigger(Request[TriggerView]):
    """Activate or deactivate a webhook; an inactive one answers as if it did not exist."""

    name: str
    active: Annotated[bool, describe("whether it accepts webhooks")]


@write("DELETE /api/triggers/{name}", access=Administrator(), status=204, errors=(NotFound,))
class DeleteTrigger(Request[None]):
    """Delete a webhook; the events that it received stay."""

    name: str


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
    access=Open(),
    status=202,
    requires_body=True,
    checks_media=False,
    errors=(Unauthorized, Refused, NotFound, Conflict, Unavailable),
    responses={
        200: {"description": "The answer to a challenge", "content": {"text/plain": {"schema": {"type": "string"}}}}
    },
    example={"action": "opened", "number": 1},
)
class ReceiveWebhook(Request[WebhookView]):
    """Receive a webhook. It is accepted if it is signed as the scheme of its trigger says; 202 means committed."""

    trigger: str
