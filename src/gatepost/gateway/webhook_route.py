"""
Receive webhooks: `POST /hooks/{trigger}`.

    find the trigger -> check the head -> receive the body -> verify -> parse -> store -> 202

A webhook has no credential of ours. Its body is read only for a trigger that exists, and only if the head proves as
much as a head can: it has the secret, or else a signature, which cannot be verified without the body. Bodies whose
signature is not verified yet have a limit of their own, and one for all of them together.

Nothing of a request is trusted before it is verified, and the bytes that are verified are those that came: only then
are they parsed as JSON. Each step refuses by raising, so nothing is stored of a request that is refused. 202 means
committed, and a request with several events has all of them stored or none. An inactive trigger answers like one that
does not exist. Wrong secrets and signatures are limited, right ones never (`gateway/attempt_limits.py`).
"""

from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import parse_qsl

from gatepost.channels.intake_actions import Received
from gatepost.channels.triggers.api import ReceivedEventView, ReceiveWebhook, WebhookView
from gatepost.channels.triggers.trigger import WakeMode
from gatepost.channels.webhooks import actions as webhooks, verification as webhook
from gatepost.channels.webhooks.verification import Challenge, WebhookRefusal
from gatepost.core.ports import Store
from gatepost.core.text import parse_field
from gatepost.errors import Invalid, TooLarge, Unauthorized
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import HttpAnswer, HttpExchange

#: bytes of a body whose signature is not verified yet
_MAX_UNVERIFIED: Final = 1024 * 1024
_TEXT: Final = "text/plain; charset=utf-8"


@ReceiveWebhook.raw_handler
async def receive_webhook(
    state: GatewayState, request: ReceiveWebhook, exchange: HttpExchange
) -> WebhookView | HttpAnswer:
    headers = exchange.list_headers()
    with state.attempt_limits.watch(exchange.scope, f"hooks:{request.trigger}"):
        limit, is_verified = await check_head(request.trigger, headers, state.store)
        with state.unverified_bodies.reserve() as count_part:
            body = await exchange.read_body(limit, None if is_verified else count_part)
            return await receive(request.trigger, headers, body, state.store, exchange.query)


async def check_head(name: str, headers: Iterable[tuple[str, str]], store: Store) -> tuple[int, bool]:
    """
    Return how many bytes of body to receive for a trigger, and whether its caller is verified by the head alone; raise
    an error if the body must not be received at all.
    """
    trigger = await store.read(webhooks.find_open_trigger, name)
    scheme = trigger.trigger.scheme
    assert scheme is not None
    refusal = webhook.check_head(scheme, trigger.stored_secret, webhook.merge_headers(headers), trigger.now)
    if refusal is not None:
        raise Unauthorized(refusal.reason)
    is_verified = scheme.signature_header is None
    return (trigger.body_limit if is_verified else min(trigger.body_limit, _MAX_UNVERIFIED)), is_verified


async def receive(
    name: str, headers: Iterable[tuple[str, str]], body: bytes, store: Store, query: bytes = b""
) -> WebhookView | HttpAnswer:
    """Store the events of a request to a trigger, or answer its challenge; raise an error if it is refused."""
    merged_headers = webhook.merge_headers(headers)
    open_trigger = await store.read(webhooks.find_open_trigger, name)
    trigger = open_trigger.trigger
    assert trigger.scheme is not None
    if len(body) > open_trigger.body_limit:
        raise TooLarge(f"the body is {len(body)} bytes, over the limit of {open_trigger.body_limit}")
    verification = webhook.verify(trigger.scheme, open_trigger.stored_secret, merged_headers, body, open_trigger.now)
    if isinstance(verification, WebhookRefusal):
        raise Unauthorized(verification.reason)
    content = webhook.parse_request(trigger.scheme, verification, merged_headers, body)
    if isinstance(content, Challenge):
        return HttpAnswer(content.text.encode(), media_type=_TEXT)
    results = await store.run(
        webhooks.receive,
        *(trigger, content, verification.signature),
        headers=merged_headers,
        wakes=_parse_wake(query) is WakeMode.NOW,
        lane=trigger.target or trigger.name,
    )
    return _build_view(results)


def _parse_wake(query: bytes) -> WakeMode:
    """Return what the query says of waking. Services add parameters of their own, which mean nothing here."""
    modes = [value for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True) if name == "wake"]
    if len(modes) > 1:
        raise Invalid("'wake' is given more than once", hint="give it once")
    return parse_field("wake", next(iter(modes), WakeMode.NOW), WakeMode.parse)


def _build_view(results: Sequence[Received]) -> WebhookView:
    events = [
        ReceivedEventView(event_id=event, duplicate=result.duplicate) for result in results for event in result.events
    ]
    if len(events) != 1:
        return WebhookView(events=events)
    return WebhookView(event_id=events[0].event_id, duplicate=events[0].duplicate, events=events)
