"""
An envelope: what reaches Gatepost through a trigger, the same for every channel.

It says on which channel and in which session something came (its route), and holds the channel's own ids as metadata,
so that a reply finds its way back. `check_envelope` refuses an envelope in which one is missing: a guessed id would
send a reply to the wrong person.

    Telegram           metadata
    event              telegram_chat_id
    text, and others   telegram_chat_id, telegram_message_id
    callback           ... and telegram_callback_id, telegram_callback_data
    voice              ... and telegram_file_id
    reset              ... and reset_session, which is "true" (on every channel)

A session on Telegram is one person in one chat, and in one topic if the chat has topics. `/reset` ends it for good: the
next generation has another name.

    chat-{chat}:user-{user}
    chat-{chat}:topic-{topic}:user-{user}
    ...:reset-{generation}                   from generation 1 on
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from gatepost.core.json_limits import Json
from gatepost.core.text import ParsedEnum, check_storable, check_text
from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import TELEGRAM

#: the metadata that a reset has, and its value
RESET_FIELD: Final = "reset_session"
RESET_VALUE: Final = "true"

#: characters of the channel, and of the session; the limit of a route
_MAX_ROUTE_LENGTH: Final = 256
_MAX_ID: Final = 2**63 - 1
_ID: Final = r"(?:0|-?[1-9][0-9]{0,18})"
_COUNT: Final = r"[1-9][0-9]{0,18}"
_TELEGRAM_SESSION: Final = re.compile(
    rf"chat-(?P<chat>{_ID})(?::topic-(?P<thread>{_COUNT}))?:user-(?P<user>{_ID})(?::reset-(?P<generation>{_COUNT}))?"
)


class EnvelopeKind(ParsedEnum, description="a kind of envelope"):
    TEXT = "text"
    #: the press of a button
    CALLBACK = "callback"
    VOICE = "voice"
    #: a new version of an earlier text
    EDIT = "edit"
    #: a command that begins a new session
    RESET = "reset"
    #: another command
    COMMAND = "command"
    #: a picture, a file, a place; the content is its caption
    MEDIA = "media"
    #: nobody wrote it: a call of a service, a schedule, news about the chat itself
    EVENT = "event"


_TELEGRAM_TEXT_FIELDS: Final = ("telegram_chat_id", "telegram_message_id")
#: the metadata of the kinds that differ from a text
_TELEGRAM_FIELDS: Final[Mapping[EnvelopeKind, tuple[str, ...]]] = {
    EnvelopeKind.EVENT: ("telegram_chat_id",),
    EnvelopeKind.CALLBACK: (*_TELEGRAM_TEXT_FIELDS, "telegram_callback_id", "telegram_callback_data"),
    EnvelopeKind.VOICE: (*_TELEGRAM_TEXT_FIELDS, "telegram_file_id"),
}


class Envelope(Struct, frozen=True, kw_only=True):
    channel: str
    session: str
    kind: EnvelopeKind
    content: str
    #: what the source sent, if it sent more than a text
    payload: Json = None
    metadata: Mapping[str, str] = {}
    #: the name of the user on the channel
    display: str | None = None
    #: the channel's id of the user
    user: str | None = None
    #: the channel's id of the chat
    chat: str | None = None


class TelegramSession(Struct, frozen=True, kw_only=True):
    chat: int
    user: int
    #: the topic of a chat that has topics
    thread: int | None = None
    #: how often the session was reset
    generation: int = 0


def check_envelope(envelope: Envelope, required: Sequence[str] = ()) -> Envelope:
    """
    Return the envelope if it has a route, the ids of its channel and the metadata that its trigger requires; raise
    Invalid that names the first missing one. An empty text is missing. The payload is not checked here.
    """
    for field, text in (("channel", envelope.channel), ("session", envelope.session)):
        if not text:
            raise Invalid(f"the envelope has no {field}")
        check_text(f"{field} of the envelope", text, _MAX_ROUTE_LENGTH)
    for field, optional_text in (
        ("content", envelope.content),
        ("display", envelope.display),
        ("user", envelope.user),
        ("chat", envelope.chat),
    ):
        check_storable(f"{field} of the envelope", optional_text or "")
    metadata: Mapping[Any, Any] = envelope.metadata  # the provider of another package may not have checked it
    for name, value in metadata.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise Invalid(f"{quote_value(name)} in the metadata must be a string, not {quote_value(value)}")
        check_storable("name of the metadata", name)
        check_storable(f"metadata {quote_value(name)}", value)
    for name in (*_list_channel_fields(envelope), *required):
        if not envelope.metadata.get(name):
            raise Invalid(
                f"{quote_value(name)} is missing in the metadata of the {envelope.kind} from {envelope.channel}"
            )
    if envelope.kind is EnvelopeKind.RESET and envelope.metadata[RESET_FIELD] != RESET_VALUE:
        raise Invalid(
            f"{RESET_FIELD} is {quote_value(envelope.metadata[RESET_FIELD])} in the metadata of a reset",
            hint=f"it must be {RESET_VALUE!r}",
        )
    return envelope


def _list_channel_fields(envelope: Envelope) -> tuple[str, ...]:
    ids = _TELEGRAM_FIELDS.get(envelope.kind, _TELEGRAM_TEXT_FIELDS) if envelope.channel == TELEGRAM else ()
    return (*ids, RESET_FIELD) if envelope.kind is EnvelopeKind.RESET else ids


def build_telegram_session(chat: int, user: int, thread: int | None = None, generation: int = 0) -> str:
    """Return the name of a session on Telegram. `thread` is the topic, and `generation` counts the resets."""
    topic = f":topic-{thread}" if thread is not None else ""
    reset = f":reset-{generation}" if generation else ""
    return f"chat-{chat}{topic}:user-{user}{reset}"


def parse_telegram_session(text: str) -> TelegramSession:
    """Return what the name of a session on Telegram says; raise Invalid if it is not one."""
    match = _TELEGRAM_SESSION.fullmatch(text)
    numbers = {name: int(digits) for name, digits in match.groupdict().items() if digits} if match else {}
    if not numbers or any(abs(number) > _MAX_ID for number in numbers.values()):
        raise Invalid(
            f"{quote_value(text)} is not a session on Telegram",
            hint="it is written chat-1:user-2 or chat-1:topic-3:user-2",
        )
    return TelegramSession(**numbers)
