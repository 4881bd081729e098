"""
The door for webhooks: `POST /hooks/{trigger}`.

    find the trigger -> check the head -> receive the body -> verify -> read -> store -> 202

Nothing of a request is believed before it is verified, and the bytes that are verified are those that came: only then
are they read as JSON. Each step refuses by raising, so that nothing is stored of what is refused; 202 means committed,
and a request that brings several events has all of them stored or none. A trigger that is closed answers like one that
was never there.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final

from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from gatepost.actions import triggers, webhooks
from gatepost.core import webhook
from gatepost.core.event import PushResult
from gatepost.core.webhook import Challenge, WebhookRefusal
from gatepost.errors import TooLarge, Unauthorized
from gatepost.gateway.office import office
from gatepost.ports import Store

#: status, headers, body
Answer = tuple[int, dict[str, str], bytes]

#: bytes of a body whose signature is not verified yet
_MAX_UNVERIFIED: Final = 1024 * 1024
_JSON: Final = {"content-type": "application/json"}
_TEXT: Final = {"content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff"}


async def admit(name: str, headers: Iterable[tuple[str, str]], store: Store) -> tuple[int, bool]:
    """
    Return how many bytes of body to receive for a trigger, and whether its caller is known from the head alone; raise
    why not to receive it at all.
    """
    opened = await store.read(triggers.find_open, name)
    scheme = opened.trigger.scheme
    refusal = webhook.check_head(scheme, opened.stored_secret, webhook.merge_headers(headers), opened.now)
    if refusal is not None:
        raise Unauthorized(refusal.reason)
    is_known = scheme.signature_header is None
    return (opened.body_limit if is_known else min(opened.body_limit, _MAX_UNVERIFIED)), is_known


async def take(name: str, method: str, headers: Iterable[tuple[str, str]], body: bytes, store: Store) -> Answer:
    """Take in what came to a trigger, as it came; return what to answer, or raise why not."""
    if method != "POST":
        return 405, {"allow": "POST"}, b""
    given = webhook.merge_headers(headers)
    opened = await store.read(triggers.find_open, name)
    trigger = opened.trigger
    if len(body) > opened.body_limit:
        raise TooLarge(f"the body is {len(body)} bytes, over the limit of {opened.body_limit}")
    verified = webhook.verify(trigger.scheme, opened.stored_secret, given, body, opened.now)
    if isinstance(verified, WebhookRefusal):
        raise Unauthorized(verified.reason)
    read = webhook.parse_request(trigger.scheme, verified, given, body)
    if isinstance(read, Challenge):
        return 200, dict(_TEXT), read.text.encode()
    return _accepted(await store.run(webhooks.receive, trigger, read, verified.signature, lane=trigger.target))


class Plain(Route):
    """A route without FastAPI's reading and checking; like FastAPI's, it can be told by its template."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self} if match is not Match.NONE else found


async def hook(request: Request) -> Response:
    """Receive a webhook."""
    status, headers, body = await take(
        request.path_params["trigger"],
        request.method,
        request.headers.items(),
        await request.body(),
        office(request).store,
    )
    return Response(body, status, headers)


def install(app: FastAPI) -> None:
    app.router.routes.append(Plain("/hooks/{trigger}", hook, methods=["POST"], include_in_schema=False))


def _accepted(pushed: Sequence[PushResult]) -> Answer:
    """Every event, and for a request that brought one also its id where the trigger route has it."""
    events = [{"eventId": each.event, "duplicate": webhooks.is_repeat(each)} for each in pushed]
    first = events[0] if len(events) == 1 else {}
    return 202, dict(_JSON), json.dumps(first | {"events": events}).encode()
