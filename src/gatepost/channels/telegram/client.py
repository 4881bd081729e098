"""
The Telegram Bot API over HTTP (`channels/telegram/bot_port.py`).

The token is a part of every URL. So URLs stay in here: no error and no log line has one. Errors of the HTTP library may
quote them, and are replaced by sentences at one point (`_translate_errors`); its log lines are dropped. No redirect is
followed.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from gatepost.channels.provider import ChatClosed
from gatepost.channels.telegram.bot_port import (
    MAX_FILE_SIZE,
    ChatMoved,
    KeyboardButton,
    PollingConflict,
    RequestRefused,
    TokenRefused,
)
from gatepost.channels.telegram.message_parts import FormattedText, TextEntity, clean_text
from gatepost.channels.telegram.update import ALLOWED_UPDATES, BotIdentity
from gatepost.core import typed_json
from gatepost.core.json_limits import Json
from gatepost.errors import Invalid, Unavailable, quote_value
from gatepost.telemetry import hide_secrets

DEFAULT_API: Final = "https://api.telegram.org"

#: bytes of an answer: a hundred updates with long texts and many entities have less
_MAX_ANSWER: Final = 16 * 1024 * 1024
#: updates of one answer
_MAX_UPDATES: Final = 100
#: seconds
_MAX_RETRY_AFTER: Final = 3_600.0
_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_NOT_MODIFIED: Final = "message is not modified"
#: descriptions of a 400 that say that a chat is gone
_GONE: Final = ("chat not found", "group chat was deactivated", "user is deactivated", "peer_id_invalid")

S = TypeVar("S", bound=Struct)


class _Parameters(Struct):
    retry_after: float | None = None
    migrate_to_chat_id: int | None = None


class _Answer(Struct):
    ok: bool
    result: Any = None
    description: str = ""
    error_code: int = 0
    parameters: _Parameters | None = None


class _Me(Struct):
    id: int
    username: str = ""


class _Message(Struct):
    message_id: int


class _File(Struct):
    file_path: str = ""
    file_size: int = 0


class TelegramClient:
    """The API with the token of one bot. `repr` does not show the token."""

    def __init__(self, token: str, *, url: str = DEFAULT_API, timeout: float = 15.0) -> None:
        """`timeout` is in seconds; a wait for updates comes on top of it."""
        if not token or not token.isascii() or not token.isprintable() or set(token) & set("/?#% \\"):
            raise Invalid(
                "the token of the bot has a character in it that no token has", hint="copy it from @BotFather"
            )
        try:
            base = httpx2.URL(url.rstrip("/"))
        except httpx2.InvalidURL:
            base = httpx2.URL()
        if base.scheme not in ("http", "https") or not base.host:
            raise Invalid(
                f"{quote_value(hide_secrets(url))} is not the URL of a Bot API", hint=f"the usual one is {DEFAULT_API}"
            )
        self._token = token
        self._timeout = timeout
        self._client = httpx2.AsyncClient(
            base_url=base,
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
            timeout=timeout,
            trust_env=base.host not in _LOCAL_HOSTS,
            verify=base.scheme == "https",
            follow_redirects=False,
        )

    def __repr__(self) -> str:
        return f"TelegramClient({str(self._client.base_url)!r})"

    async def get_me(self) -> BotIdentity:
        me = await self._call_for(_Me, "getMe")
        return BotIdentity(me.id, me.username)

    async def get_updates(self, *, offset: int | None, wait: float) -> list[Json]:
        values: dict[str, Json] = {
            "limit": _MAX_UPDATES,
            "timeout": int(wait),
            "allowed_updates": list(ALLOWED_UPDATES),
        }
        if offset is not None:
            values["offset"] = offset
        updates = await self._call("getUpdates", values, wait=wait)
        if not isinstance(updates, list):
            raise Unavailable("the answer of Telegram to getUpdates is not a list")
        return updates

    async def set_webhook(self, url: str, secret: str) -> None:
        await self._call(
            "setWebhook",
            {"url": url, "secret_token": secret, "max_connections": 1, "allowed_updates": list(ALLOWED_UPDATES)},
        )

    async def delete_webhook(self) -> None:
        await self._call("deleteWebhook", {"drop_pending_updates": False})

    async def send_message(
        self,
        chat: int,
        content: FormattedText,
        *,
        thread: int | None = None,
        buttons: Sequence[KeyboardButton] = (),
    ) -> int:
        values: dict[str, Json] = {"chat_id": chat, **_format_text(content)}
        if thread is not None:
            values["message_thread_id"] = thread
        if buttons:
            values["reply_markup"] = {
                "inline_keyboard": [
                    [{"text": button.text, "callback_data": button.callback_data}] for button in buttons
                ]
            }
        message = await self._call_for(_Message, "sendMessage", values)
        return message.message_id

    async def edit_message(self, chat: int, message: int, content: FormattedText) -> None:
        try:
            await self._call("editMessageText", {"chat_id": chat, "message_id": message, **_format_text(content)})
        except RequestRefused as error:
            if _NOT_MODIFIED not in error.message:
                raise

    async def answer_press(self, query_id: str, text: str, *, is_alert: bool = False) -> None:
        values: dict[str, Json] = {"callback_query_id": query_id}
        if text:
            values |= {"text": text, "show_alert": is_alert}
        await self._call("answerCallbackQuery", values)

    async def show_typing(self, chat: int, *, thread: int | None = None) -> None:
        values: dict[str, Json] = {"chat_id": chat, "action": "typing"}
        if thread is not None:
            values["message_thread_id"] = thread
        await self._call("sendChatAction", values)

    async def set_reaction(self, chat: int, message: int, emoji: str | None) -> None:
        reactions: list[Json] = [{"type": "emoji", "emoji": emoji}] if emoji is not None else []
        await self._call("setMessageReaction", {"chat_id": chat, "message_id": message, "reaction": reactions})

    async def download(self, file_id: str) -> bytes:
        file = await self._call_for(_File, "getFile", {"file_id": file_id})
        if file.file_size > MAX_FILE_SIZE:
            raise RequestRefused(f"the file has {file.file_size} bytes, over the limit of {MAX_FILE_SIZE}")
        path = httpx2.URL(path=f"/file/bot{self._token}/{file.file_path}").raw_path.decode()
        status, content = await self._request("GET", path, "the download", limit=MAX_FILE_SIZE)
        if status == 404:
            raise RequestRefused("Telegram has no such file any more")
        if status != 200:
            raise Unavailable(f"Telegram answered to the download with the status {status}")
        return content

    async def close(self) -> None:
        await self._client.aclose()

    async def _call_for(self, kind: type[S], method: str, values: Mapping[str, Json] | None = None) -> S:
        """Call a method, and return its result as a record."""
        result = await self._call(method, values or {})
        try:
            return typed_json.convert(result, kind)
        except msgspec.ValidationError as error:
            raise Unavailable(f"the answer of Telegram to {method} cannot be read: {error}") from None

    async def _call(self, method: str, values: Mapping[str, Json], *, wait: float = 0.0) -> Any:
        status, content = await self._request("POST", f"/bot{self._token}/{method}", method, body=values, wait=wait)
        try:
            answer = typed_json.decode(content, _Answer)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise Unavailable(f"Telegram answered to {method} with the status {status}, and not in JSON") from None
        if answer.ok and status < 300:
            return answer.result
        raise _build_error(method, answer.error_code or status, answer)

    async def _request(
        self,
        verb: str,
        path: str,
        name: str,
        *,
        body: Mapping[str, Json] | None = None,
        wait: float = 0.0,
        limit: int = _MAX_ANSWER,
    ) -> tuple[int, bytes]:
        """Return the status and the content of an answer. `name` stands for the URL in errors."""
        if self._client.is_closed:
            raise Unavailable("the client of Telegram is closed")
        with _translate_errors(name):
            options: dict[str, Any] = {"json": body} if body is not None else {}
            async with (
                asyncio.timeout(self._timeout + wait),
                self._client.stream(verb, path, timeout=self._timeout + wait, **options) as response,
            ):
                content = bytearray()
                async for part in response.aiter_raw():
                    content += part
                    if len(content) > limit:
                        raise Unavailable(f"the answer of Telegram to {name} is too long")
                return response.status_code, bytes(content)


def _format_text(content: FormattedText) -> dict[str, Json]:
    values: dict[str, Json] = {"text": content.text, "link_preview_options": {"is_disabled": True}}
    if content.entities:
        values["entities"] = [_format_entity(entity) for entity in content.entities]
    return values


def _format_entity(entity: TextEntity) -> Json:
    value: Json = msgspec.to_builtins(entity)
    return value


def _build_error(method: str, code: int, answer: _Answer) -> Exception:
    """Return the error of an answer that is not ok."""
    description = clean_text(answer.description)[:300]
    text = f"Telegram refused {method}: {quote_value(description, 300)}"
    parameters = answer.parameters or _Parameters()
    if parameters.migrate_to_chat_id is not None:
        return ChatMoved(text, parameters.migrate_to_chat_id)
    if code == 429 or code >= 500 or parameters.retry_after is not None:
        error = Unavailable(text)
        if parameters.retry_after is not None:
            error.retry_after = min(max(parameters.retry_after, 0.0), _MAX_RETRY_AFTER)
        return error
    if code == 401 or (code == 404 and description.lower().endswith("not found") and "message" not in description):
        # An unknown token, or one that cannot be parsed, is a path that does not exist.
        return TokenRefused(f"Telegram does not know the token of the bot ({method})", hint="set the token again")
    if code == 409:
        return PollingConflict(text, hint="stop the other program that uses the token of this bot")
    if code == 403 or (code == 400 and any(words in description.lower() for words in _GONE)):
        return ChatClosed(text)
    return RequestRefused(text)


def _has_no_token(record: logging.LogRecord) -> bool:
    """Return False for a log line of the HTTP library about a request of a bot: it has the URL in it."""
    return "/bot" not in record.getMessage()


logging.getLogger("httpx2").addFilter(_has_no_token)


@contextmanager
def _translate_errors(name: str) -> Iterator[None]:
    """Turn what the HTTP library raises into errors that do not quote the URL."""
    try:
        yield
    except TimeoutError:
        raise Unavailable(f"Telegram did not answer to {name} in time") from None
    except (httpx2.HTTPError, httpx2.StreamError) as error:
        raise Unavailable(f"Telegram cannot be reached for {name}: {type(error).__name__}") from None
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise RequestRefused(f"{name} cannot be asked for: {type(error).__name__}") from None
