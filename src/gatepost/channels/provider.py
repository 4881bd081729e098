"""
The port of providers: how a package brings another channel, or another source of events.

A package names its provider as an entry point of the group `gatepost.providers`; the name of the entry point is the
provider of a trigger (`gatepost trigger add desk --provider mailbox`). A provider receives, sends, or does both:

    receives             something outside happens: each occurrence is an event of the type `service`, as of a webhook
    sends and receives   people write there: what they write is in the shared inbox, and is replied to there

A worker calls `receive` for each active trigger, in one process at a time, and cancels it when the trigger changes or
the process ends. A provider takes its time, and confirms nothing before `intake.take` has returned: then it is stored.
What is taken again, with the same id, changes nothing for a day.

How `send` fails says what becomes of the message:

    Unavailable     it is sent again, as long as it takes, and later messages of the chat wait; `retry_after` counts
    SendRefused     it is never sent, and the owner of the trigger is told
    ChatClosed      neither it nor anything else that waits for this chat is sent, and the owner is told
    another error   as Unavailable: it is logged; also if it has not ended after 30 seconds
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from msgspec import UNSET, Struct, UnsetType

from gatepost.core.json_limits import Json
from gatepost.core.text import check_text
from gatepost.errors import Invalid, Refused, Unavailable

#: all that a provider imports of Gatepost
__all__ = [
    "BoundTrigger",
    "Button",
    "ChatClosed",
    "Invalid",
    "MessageToSend",
    "Provider",
    "ProviderIntake",
    "Recording",
    "SendRefused",
    "ServiceEvent",
    "Unavailable",
    "UserMessage",
    "build_chat_session",
    "check_channel_id",
]

#: characters of an id of a channel
_MAX_ID_LENGTH: Final = 100


class SendRefused(Refused):
    """The channel does not take this message, and would not take it later."""

    type = "send-refused"


class ChatClosed(SendRefused):
    """Nothing can be sent to this chat any more."""

    type = "chat-closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTrigger:
    """A trigger as its provider sees it."""

    name: str
    options: Mapping[str, Json]
    #: the token of the trigger, if it has one; it is in no log and no repr
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Something that can be heard. The channel keeps it until it is transcribed."""

    #: the channel's own id of its file
    file: str
    #: None if the channel does not say
    mime_type: str | None = None
    #: in bytes
    size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage:
    """What somebody has written, said or shown on a channel."""

    #: the channel's own id of the message: the same when the channel brings it again, and never that of another one
    id: str
    #: the channel's own id of the writer, which nobody else can have or choose
    user: str
    #: what was written; of a recording, or of something that is shown, its caption
    text: str
    #: the channel's own id of a chat with others; None for the private chat of the writer
    chat: str | None = None
    thread: str | None = None
    #: how the channel names the writer
    display: str | None = None
    #: the name by which others find the writer on the channel; it is shown to whoever lets the writer in
    handle: str | None = None
    #: the id of an earlier message, as `send` returned it, that this one replies to
    reply_to: str | None = None
    #: the channel's own id of an earlier message that this one is the new text of
    replaces: str | None = None
    #: in a chat with others: whether it is for the agent
    is_addressed: bool = True
    #: whether somebody else may have written the text: it is no command, and answers nothing
    is_forwarded: bool = False
    #: whether others write under the same id of a user: no pairing can let them in
    is_anonymous: bool = False
    #: the name of the command that it is, such as `reset`; by default the text says it: `/reset`
    command: str | UnsetType | None = UNSET
    #: the id of the button under a reply that was pressed; the text is its label
    button: str | None = None
    recording: Recording | None = None
    #: the kind of what is shown, if it is neither text nor a recording: `photo`
    media: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceEvent:
    """What has happened outside, where nobody writes."""

    #: as that of a message
    id: str
    payload: Json
    #: what kind of event it is, in the words of the service
    kind: str | None = None


class Button(Struct, frozen=True):
    #: the id of an option
    id: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageToSend:
    #: the same each time it is sent: a channel that knows ids sends it once, although Gatepost may send it twice
    id: str
    #: the id of a chat with others or, in a private chat, of the user
    chat: str
    thread: str | None = None
    #: Markdown
    text: str
    #: the answers to a question, or what a reply offers. A press on a button is a `UserMessage` whose text is the id of
    #: the option; it replies to this message
    options: Sequence[Button] = ()
    #: whether an answer in other words is taken, too
    takes_words: bool = False
    #: the id of a sent message that this one is the new text of: a channel that cannot change messages sends it anew
    replaces: str | None = None

    @property
    def text_with_options(self) -> str:
        """The text and the answers, for a channel without buttons. Only where no other words count, numbers do."""
        marks = ["-" if self.takes_words else f"{place}." for place in range(1, len(self.options) + 1)]
        lines = [f"{mark} {option.label}" for mark, option in zip(marks, self.options, strict=True)]
        return "\n\n".join(part for part in (self.text, "\n".join(lines)) if part)


class ProviderIntake(Protocol):
    async def take(self, message: UserMessage | ServiceEvent, /) -> None:
        """
        Store a message, or an event of a provider that does not send. When this returns it is stored, or left out for
        good: blocked, malformed. Raise Unavailable if the store cannot do it now: do not confirm it then.
        """


@runtime_checkable
class Provider(Protocol):
    """The entry point names a class, or a function, that returns a provider and takes no arguments."""

    @property
    def receives(self) -> bool: ...

    @property
    def sends(self) -> bool: ...

    def check_options(self, options: Mapping[str, Json]) -> None:
        """Raise Invalid if a trigger cannot have these options. It is asked before a trigger is stored: do no I/O."""

    async def receive(self, trigger: BoundTrigger, intake: ProviderIntake) -> None:
        """
        Take what comes through a trigger, in its order, until cancelled. After an error the call is repeated with a
        growing pause. Raise Unavailable if the other side is away, and another error of `gatepost.errors` for what only
        people can change: the owner of the trigger is told.
        """

    async def send(self, trigger: BoundTrigger, message: MessageToSend) -> str:
        """Send a message, and return the id that the channel has given to it."""


def build_chat_session(chat: str, user: str, thread: str | None = None) -> str:
    """
    Return the session of a user in a chat, and in a thread of it. Different ids never make the same session: their
    colons are escaped.
    """
    topic = f":topic-{_escape(thread)}" if thread is not None else ""
    return f"chat-{_escape(chat)}{topic}:user-{_escape(user)}"


def check_channel_id(noun: str, id: object) -> str:
    """Return the text if it can be an id of a channel."""
    if not isinstance(id, str) or not id.strip():
        raise Invalid(f"the {noun} of a message is missing", hint="a provider gives it as a text")
    return check_text(noun, id, _MAX_ID_LENGTH)


def _escape(id: str) -> str:
    return id.replace("%", "%25").replace(":", "%3A")
