"""
The rules of Bot API 10.1 that need only a request: its parameters, its keyboards, and how often a bot may send.

A broken rule is a `Refusal`, and its words are those of the real server where they are known. To show mistakes, this
server is stricter than the real one. It refuses

- a parameter that the method does not have, or a field of `link_preview_options` (the real one ignores it),
- a number out of its range (the real one takes the nearest in range),
- a kind of update in `allowed_updates` that nobody here causes (the real one ignores it if it does not exist),
- entities that overlap (the real one splits or drops them), or that have no length (the real one drops them),
- a message over a limit at once: the FAQ speaks of short bursts that may be let through, and here none is. Only
  sendMessage is counted,
- the first of two getUpdates also if the second does not wait, and the second answer to a callback query.

It has the methods, parameters, kinds of updates and entities that Gatepost uses. Every other one is refused too, so a
client that begins to use one shows it: no parse modes, replies, keyboards but inline ones, media of bots, commands of
bots, and no way to send parameters but JSON.
"""

import json
import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any, Final

#: characters of a message, in UTF-16 code units
MAX_TEXT: Final = 4096
#: bytes of the text of a request
MAX_SOURCE: Final = 32_768
MAX_CALLBACK_DATA: Final = 64  # bytes
MAX_NOTIFICATION: Final = 200  # characters of the answer to a callback query
MAX_DOWNLOAD: Final = 20 * 1024 * 1024  # bytes
#: seconds; it is guaranteed for so long, and here it does not last longer
FILE_LINK_LIFETIME: Final = 3600
#: seconds that an update is kept
UPDATE_LIFETIME: Final = 24 * 3600
#: seconds that a callback query can be answered; no page tells it, and the real server drops such an update then
QUERY_LIFETIME: Final = 150
#: seconds; a longer wait is cut
MAX_POLL_TIMEOUT: Final = 50


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


PARAMETERS: Final[Mapping[str, frozenset[str]]] = {
    "getMe": _split(""),
    "getUpdates": _split("offset limit timeout allowed_updates"),
    "setWebhook": _split("url max_connections allowed_updates secret_token"),
    "deleteWebhook": _split("drop_pending_updates"),
    "sendMessage": _split("chat_id message_thread_id text entities link_preview_options reply_markup"),
    "editMessageText": _split("chat_id message_id text entities link_preview_options"),
    "answerCallbackQuery": _split("callback_query_id text show_alert"),
    "sendChatAction": _split("chat_id message_thread_id action"),
    "setMessageReaction": _split("chat_id message_id reaction"),
    "getFile": _split("file_id"),
}
#: what people here cause; a bot that has not said what it wants gets all of them
UPDATE_KINDS: Final = _split("message edited_message callback_query my_chat_member")
REACTIONS: Final = _split(
    "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤\u200d🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆"
    " 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨\u200d💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘"
    " 💊 🙊 😎 👾 🤷\u200d♂ 🤷 🤷\u200d♀ 😡"
)
_TITLES: Final = {400: "Bad Request", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}


class Refusal(Exception):
    """The answer to a request that breaks a rule."""

    def __init__(self, code: int, reason: str, **parameters: int) -> None:
        self.code = code
        self.description = f"{_TITLES[code]}: {reason}" if code in _TITLES else reason
        self.parameters = parameters
        super().__init__(self.description)


def refuse_for_now(seconds: float) -> Refusal:
    retry_after = max(1, math.ceil(seconds))
    return Refusal(429, f"Too Many Requests: retry after {retry_after}", retry_after=retry_after)


class Arguments:
    """The parameters of a request: text, as in a form, whichever way they were sent."""

    def __init__(self, method: str, values: Mapping[str, str]) -> None:
        self._values = values
        for name in values:
            if name not in PARAMETERS[method]:
                raise Refusal(400, f'unknown parameter "{name}" of {method}')

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def get_text(self, name: str) -> str:
        return self._values.get(name, "")

    def get_flag(self, name: str) -> bool:
        value = self._values.get(name, "").lower()
        if value not in {"", "0", "1", "true", "false", "yes", "no"}:
            raise Refusal(400, f"{name} must be a Boolean")
        return value in {"1", "true", "yes"}

    def get_integer(self, name: str, default: int = 0, low: int = -(2**63), high: int = 2**63) -> int:
        value = self._values.get(name, "")
        try:
            number = int(value) if value else default
        except ValueError:
            raise Refusal(400, f"{name} must be an Integer") from None
        if not low <= number <= high:
            raise Refusal(400, f"{name} must be between {low} and {high}, not {number}")
        return number

    def get_json(self, name: str, kind: type, label: str) -> Any:
        """Return a value that is sent as JSON, or None if it is missing."""
        value = self._values.get(name, "")
        if not value:
            return None
        try:
            decoded = json.loads(value)
        except ValueError:
            raise Refusal(400, f"can't parse {label} JSON object") from None
        if not isinstance(decoded, kind):
            expected = "object expected as" if kind is dict else "expected an Array of"
            raise Refusal(400, f"{expected} {label}")
        return decoded


def read_allowed_updates(arguments: Arguments) -> frozenset[str] | None:
    """Return the kinds of updates that a bot asks for, or None if it says nothing about them."""
    if not arguments.get_text("allowed_updates"):
        return None
    kinds = arguments.get_json("allowed_updates", list, "allowed updates")
    for kind in kinds:
        if kind not in UPDATE_KINDS:
            raise Refusal(400, f"unknown kind of update {kind!r} in allowed_updates")
    return frozenset(kinds) or UPDATE_KINDS


def read_markup(arguments: Arguments) -> dict[str, Any] | None:
    """Return the inline keyboard of a request, or None if it has none or one without buttons."""
    markup: dict[str, Any] | None = arguments.get_json("reply_markup", dict, "reply markup")
    if not markup:
        return None
    if set(markup) != {"inline_keyboard"}:
        raise Refusal(400, "inline keyboard expected")
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise Refusal(400, 'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays')
    buttons = [button for row in rows for button in row]
    for button in buttons:
        _check_button(button)
    return markup if buttons else None


def _check_button(button: Any) -> None:
    problem = "can't parse inline keyboard button: "
    if not isinstance(button, dict):
        raise Refusal(400, f"{problem}InlineKeyboardButton must be an Object")
    if not isinstance(button.get("text"), str):
        raise Refusal(400, f'{problem}Can\'t find field "text"')
    if not button["text"]:
        raise Refusal(400, "BUTTON_TEXT_INVALID")
    if unknown := button.keys() - {"text", "callback_data"}:
        raise Refusal(400, f"the test server has no buttons with {', '.join(sorted(unknown))}")
    data = button.get("callback_data", "")
    if not data:
        raise Refusal(400, f"{problem}Text buttons are unallowed in the inline keyboard")
    if not isinstance(data, str) or len(data.encode()) > MAX_CALLBACK_DATA:
        raise Refusal(400, "BUTTON_DATA_INVALID")


class RateLimits:
    """Counts what was sent by the clock of the server. What is refused does not count."""

    def __init__(self) -> None:
        self._sent: defaultdict[str, deque[float]] = defaultdict(deque)

    def admit(self, now: float, limits: Iterable[tuple[str, int, float]]) -> None:
        """Count one more message under each limit (a key, a number, seconds), or refuse it and count nothing."""
        limits = list(limits)
        wait = 0.0
        for key, count, window in limits:
            times = self._sent[key]
            while times and times[0] <= now - window:
                times.popleft()
            if len(times) >= count:
                wait = max(wait, times[-count] + window - now)
        if wait:
            raise refuse_for_now(wait)
        for key, _, _ in limits:
            self._sent[key].append(now)
