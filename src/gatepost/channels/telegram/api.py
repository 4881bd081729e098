"""The webhook of Telegram bots: Telegram sends updates there, one at a time, with a secret in a header."""

from gatepost.errors import Malformed, TooManyAttempts, Unauthorized, Unavailable
from gatepost.operations.access import Public
from gatepost.operations.operation import Request, View, raw


class TelegramUpdateView(View):
    """What became of an update."""

    outcome: str


@raw(
    "POST /channels/telegram/{bot}",
    access=Public(),
    status=200,
    requires_body=True,
    checks_media=False,
    errors=(Malformed, Unauthorized, TooManyAttempts, Unavailable),
    example={"update_id": 1, "message": {}},
)
class ReceiveTelegramUpdate(Request[TelegramUpdateView]):
    """Receive an update of a Telegram bot in webhook mode. It needs the secret that the bot's webhook has."""

    bot: str
