"""
Receive updates of Telegram bots in webhook mode: `POST /channels/telegram/{bot}`.

    find the bot -> compare the secret -> receive the body -> commit -> 200

200 means committed; after anything else Telegram sends the update again. The body is received only if the head has the
secret of the bot, which is derived from its token and compared in constant time. A bot that is not in webhook mode
answers like one that does not exist. Wrong secrets are limited, a right one never (`gateway/attempt_limits.py`).
"""

from typing import Final

import msgspec

from gatepost.channels.telegram.api import ReceiveTelegramUpdate, TelegramUpdateView
from gatepost.channels.telegram.background.bots import OpenBot
from gatepost.errors import Invalid, Malformed, NotFound
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import HttpExchange

#: bytes of an update; the longest text has a few thousand
_MAX_UPDATE: Final = 1024 * 1024
_SECRET_HEADER: Final = "x-telegram-bot-api-secret-token"  # noqa: S105 (its name)


@ReceiveTelegramUpdate.raw_handler
async def receive_update(
    state: GatewayState, request: ReceiveTelegramUpdate, exchange: HttpExchange
) -> TelegramUpdateView:
    with state.attempt_limits.watch(exchange.scope, f"telegram:{request.bot}"):
        bot = await _authenticate(state, request.bot, exchange.headers.get(_SECRET_HEADER, ""))
    body = await exchange.read_body(_MAX_UPDATE)
    try:
        update = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Malformed("the body is not JSON") from None
    assert state.telegram is not None
    [outcome] = await state.telegram.take(bot, [update])
    return TelegramUpdateView(outcome=outcome.outcome.value)


async def _authenticate(state: GatewayState, name: str, secret: str) -> OpenBot:
    if state.telegram is None:
        raise NotFound("there is no such webhook")
    try:
        return await state.telegram.authenticate(name, secret)
    except (Invalid, NotFound):  # invalid, because not every text of a URL can be a name
        raise NotFound("there is no such webhook") from None
