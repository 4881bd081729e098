"""Webhooks: what services outside send to a trigger."""

import msgspec

from gatepost.api.access import Open
from gatepost.api.operation import Request, View, raw
from gatepost.errors import Conflict, NotFound, Refused, Unauthorized, Unavailable


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
        200: {
            "description": "The answer to a challenge",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        }
    },
    example={"action": "opened", "number": 1},
)
class ReceiveWebhook(Request[WebhookView]):
    """Receive a webhook. It is accepted if it is signed as the scheme of its trigger says; 202 means committed."""

    trigger: str
