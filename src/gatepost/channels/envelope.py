"""
An envelope: what reaches Gatepost through a trigger, the same for every channel.

It says on which channel and in which session something came (its route), and holds the channel's own ids, so that a
reply finds its way back; who reads the event sees them as metadata (`channels/user_message_actions.py`). A trigger can
require more, and an envelope that lacks it is kept as unrouted (`find_missing`). A reset says so in its metadata, on
every channel.

A session on a channel with chats is one person in one chat, and in one thread of it (`channels/provider.py`). `/reset`
ends it for good: the next generation has another name.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from gatepost.channels.provider import Recording
from gatepost.channels.wording import dotted_path
from gatepost.channels.wording.dotted_path import MISSING
from gatepost.core.json_limits import Json
from gatepost.core.text import ParsedEnum, check_storable, check_text
from gatepost.errors import Invalid, quote_value

#: the metadata that a reset has, and its value
RESET_FIELD: Final = "reset_session"
RESET_VALUE: Final = "true"

#: characters of the channel, and of the session; the limit of a route
_MAX_ROUTE_LENGTH: Final = 256


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
    #: the channel's id of the chat, and of a thread in it
    chat: str | None = None
    thread: str | None = None
    #: the channel's id of the message that it replies to, and of the one that it is the new text of
    reply_to: str | None = None
    replaces: str | None = None
    is_forwarded: bool = False
    recording: Recording | None = None


def find_missing(envelope: Envelope, required: Sequence[str]) -> str | None:
    """
    Return the first of the required paths at which an envelope has nothing, neither in its metadata nor in its payload;
    None if it has all. Null and an empty text are nothing.
    """
    route: Json = {"channel": envelope.channel, "session_id": envelope.session, **envelope.metadata}
    for name in required:
        path = dotted_path.parse_path(name)
        values = [dotted_path.read_path(document, path) for document in (route, envelope.payload)]
        if all(value in (MISSING, None, "") for value in values):
            return name
    return None


def check_envelope(envelope: Envelope) -> Envelope:
    """Return the envelope if it has a route, and texts that can be stored. The payload is not checked here."""
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
    if envelope.kind is EnvelopeKind.RESET and envelope.metadata.get(RESET_FIELD) != RESET_VALUE:
        raise Invalid(
            f"{RESET_FIELD} is {quote_value(envelope.metadata.get(RESET_FIELD))} in the metadata of a reset",
            hint=f"it must be {RESET_VALUE!r}",
        )
    return envelope
