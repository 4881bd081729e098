"""
Receive webhooks of services (`POST /hooks/{trigger}`), and updates of Telegram bots (`POST /channels/telegram/{bot}`).

    find the trigger -> check the head -> receive the body -> verify -> parse -> store -> 202
    find the bot -> compare the secret -> receive the body -> commit -> 200

Neither has a credential of ours. A body is read only for a trigger or a bot that exists, and only if the head proves as
much as a head can: it has the secret, or else a signature, which cannot be verified without the body. Bodies whose
signature is not verified yet have a limit of their own, and one for all of them together. The secret of a bot is
derived from its token; both kinds are compared in constant time.

Nothing of a request is trusted before it is verified, and the bytes that are verified are those that came: only then
are they parsed as JSON. Each step refuses by raising, so nothing is stored of a request that is refused. 202 and 200
mean committed, and a request with several events has all of them stored or none; after anything else Telegram sends the
update again. An inactive trigger, or a bot that is not in webhook mode, answers like one that does not exist. Wrong
secrets and signatures are limited, right ones never (`gateway/attempt_limits.py`).
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

import msgspec

from gatepost.channels.telegram.api import ReceiveTelegramUpdate, TelegramUpdateView
from gatepost.channels.telegram.background.bots import OpenBot
from gatepost.channels.triggers.api import ReceivedEventView, ReceiveWebhook, WebhookView
from gatepost.channels.triggers.trigger import WakeMode
from gatepost.channels.webhooks import delivery_actions as webhooks, verification as webhook
from gatepost.channels.webhooks.verification import Challenge, WebhookRefusal
from gatepost.core.ports import Store
from gatepost.core.text import parse_field
from gatepost.errors import Invalid, Malformed, NotFound, TooLarge, Unauthorized, Unavailable
from gatepost.gateway.http_exchange import HttpAnswer, HttpExchange

if TYPE_CHECKING:
    from gatepost.gateway.gateway_state import GatewayState

#: bytes of a body whose signature is not verified yet
_MAX_UNVERIFIED: Final = 1024 * 1024
#: bytes of all such bodies that are held at the same time
_MAX_ALL_UNVERIFIED: Final = 16 * 1024 * 1024
_TEXT: Final = "text/plain; charset=utf-8"
#: bytes of an update of Telegram; the longest text has a few thousand
_MAX_UPDATE: Final = 1024 * 1024
_SECRET_HEADER: Final = "x-telegram-bot-api-secret-token"  # noqa: S105 (its name)


class UnverifiedBodies:
    """Limits the bytes of all webhooks together that are held while their signature is not verified yet."""

    def __init__(self) -> None:
        self._size = 0

    @contextmanager
    def reserve(self) -> Iterator[Callable[[int], None]]:
        """Yield the function to call with the size of each part before it is kept; at the end all parts are free."""
        reserved = 0

        def count_part(size: int) -> None:
            nonlocal reserved
            if self._size + size > _MAX_ALL_UNVERIFIED:
                raise Unavailable("too many webhooks are being received", hint="send it again in a moment")
            reserved += size
            self._size += size

        try:
            yield count_part
        finally:
            self._size -= reserved


@ReceiveWebhook.raw_handler
async def receive_webhook(
    state: "GatewayState", request: ReceiveWebhook, exchange: HttpExchange
) -> WebhookView | HttpAnswer:
    headers = exchange.list_headers()
    with state.attempt_limits.watch(exchange.scope, f"hooks:{request.trigger}"):
        limit, is_verified = await check_head(request.trigger, headers, state.store)
        async with state.large_bodies.admit(exchange, f"hooks:{request.trigger}", limit):
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
    events = [
        ReceivedEventView(event_id=event, duplicate=result.duplicate) for result in results for event in result.events
    ]
    if len(events) != 1:
        return WebhookView(events=events)
    return WebhookView(event_id=events[0].event_id, duplicate=events[0].duplicate, events=events)


def _parse_wake(query: bytes) -> WakeMode:
    """Return what the query says of waking. Services add parameters of their own, which mean nothing here."""
    modes = [value for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True) if name == "wake"]
    if len(modes) > 1:
        raise Invalid("'wake' is given more than once", hint="give it once")
    return parse_field("wake", next(iter(modes), WakeMode.NOW), WakeMode.parse)


@ReceiveTelegramUpdate.raw_handler
async def receive_telegram_update(
    state: "GatewayState", request: ReceiveTelegramUpdate, exchange: HttpExchange
) -> TelegramUpdateView:
    with state.attempt_limits.watch(exchange.scope, f"telegram:{request.bot}"):
        bot = await _authenticate_bot(state, request.bot, exchange.headers.get(_SECRET_HEADER, ""))
    body = await exchange.read_body(_MAX_UPDATE)
    try:
        update = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Malformed("the body is not JSON") from None
    assert state.channels is not None
    [outcome] = await state.channels.intake.take(bot, [update])
    return TelegramUpdateView(outcome=outcome.outcome.value)


async def _authenticate_bot(state: "GatewayState", name: str, secret: str) -> OpenBot:
    if state.channels is None:
        raise NotFound("there is no such webhook")
    try:
        return await state.channels.intake.authenticate(name, secret)
    except (Invalid, NotFound):  # invalid, because not every text of a URL can be a name
        raise NotFound("there is no such webhook") from None
