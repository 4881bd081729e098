"""
What Gatepost asks of the Telegram Bot API, how the API refuses, and what is derived from the token of a bot.

    Unavailable        it cannot be reached, is too busy (429) or broken (5xx): try again, after `retry_after` seconds
    TokenRefused       the token is not, or no longer, the token of a bot
    PollingConflict    something else reads the updates of the bot: another process, or a webhook
    ChatClosed         the bot cannot write to a chat any more: it was blocked or removed, or the chat is gone (this
                       one is in `channels/provider.py`)
    ChatMoved          the chat has another id from now on
    RequestRefused     it refuses this request, and would refuse it again

A token is a password that is part of every URL of the API. So no error quotes a URL, and `TelegramApi` has no method
that returns the token. What others may see is derived from it by HMAC: the secret of the webhook, the key of buttons.
"""

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, Protocol

from msgspec import Struct

from gatepost.channels.telegram.message_parts import FormattedText
from gatepost.channels.telegram.update import BotIdentity
from gatepost.core.json_limits import Json
from gatepost.errors import Conflict, Invalid, Unauthorized

#: bytes of a file that a bot can download
MAX_FILE_SIZE: Final = 20 * 1024 * 1024
#: characters of a token; a shorter one is none
_MIN_TOKEN_LENGTH: Final = 16


class TokenRefused(Unauthorized):
    type = "telegram-token"


class PollingConflict(Conflict):
    type = "telegram-reader"


class ChatMoved(Conflict):
    type = "telegram-chat-moved"

    def __init__(self, message: str, new_chat: int) -> None:
        super().__init__(message)
        self.new_chat = new_chat


class RequestRefused(Invalid):
    type = "telegram-request"


class BotKeys(Struct, frozen=True):
    """What is derived from a token."""

    #: the secret that Telegram sends with every request to a webhook
    webhook_secret: str
    #: the key that signs buttons
    button_key: bytes

    def __repr__(self) -> str:
        return "BotKeys(...)"


class KeyboardButton(Struct, frozen=True):
    text: str
    #: at most 64 bytes
    callback_data: str


class TelegramApi(Protocol):
    """The Bot API, with the token of one bot."""

    async def get_me(self) -> BotIdentity: ...

    async def get_updates(self, *, offset: int | None, wait: float) -> list[Json]:
        """
        Return updates, the oldest first; wait up to `wait` seconds for the first one. An `offset` confirms all
        updates before it: Telegram forgets them.
        """

    async def set_webhook(self, url: str, secret: str) -> None:
        """Have updates sent to a URL, one at a time."""

    async def delete_webhook(self) -> None: ...

    async def send_message(
        self,
        chat: int,
        content: FormattedText,
        *,
        thread: int | None = None,
        buttons: Sequence[KeyboardButton] = (),
    ) -> int:
        """Send a message, with a row for each button; return its id."""

    async def edit_message(self, chat: int, message: int, content: FormattedText) -> None:
        """Change the text of a message, and remove its buttons. A message that has this text already is left."""

    async def answer_press(self, query_id: str, text: str, *, is_alert: bool = False) -> None:
        """Answer the press of a button; the text has at most 200 characters."""

    async def show_typing(self, chat: int, *, thread: int | None = None) -> None: ...

    async def set_reaction(self, chat: int, message: int, emoji: str | None) -> None: ...

    async def download(self, file_id: str) -> bytes:
        """Return a file of at most `MAX_FILE_SIZE` bytes."""

    async def close(self) -> None: ...


def derive_keys(token: str) -> BotKeys:
    """Return what is derived from a token; refuse a text that is too short to be one: anybody could guess its keys."""
    if len(token) < _MIN_TOKEN_LENGTH:
        raise Invalid("the token of the bot is too short", hint="@BotFather gives you one, such as 123456:AAF...")
    key = token.encode(errors="surrogatepass")
    return BotKeys(
        webhook_secret=hmac.new(key, b"gatepost telegram webhook", sha256).hexdigest(),
        button_key=hmac.digest(key, b"gatepost telegram buttons", sha256),
    )


def is_webhook_secret(keys: BotKeys, secret: str) -> bool:
    """Compare in constant time what a request has sent as its secret."""
    return hmac.compare_digest(secret.encode(errors="surrogatepass"), keys.webhook_secret.encode())
