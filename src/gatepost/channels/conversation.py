"""
Conversations on channels: the sessions in which people write, and the pairings of users who are let in.

A session of the command line or of the page belongs to one person. No two persons share one: no name has an `@` in it.

    cli-main            of the administrator
    cli-{person}        of another person; `cli-@main` of a person whose name is `main`
    ...@{session}       another session of the same person
    ...:reset-{number}  the same session after resets
"""

from typing import Final

from msgspec import Struct

from gatepost.channels.triggers.trigger import DeliveryMode
from gatepost.core import address
from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant
from gatepost.inbox.event import Event, EventType, PromptReceived, parse_body

#: in place of the name of the administrator in a session
_MAIN: Final = "main"
#: the type of the reference from a message that was passed on to the event that it was
PASSED_REF: Final = "event"
#: the commands that a channel answers itself: `/ping`
COMMANDS: Final = ("start", "help", "ping", "reset")
#: the content of the event about a reset
RESET_TEXT: Final = "The user began a new conversation."
#: between a session and its generation
GENERATION_MARK: Final = ":reset-"


class ChannelStatus(Struct, frozen=True, kw_only=True):
    """A way on which people write: that of a trigger, or one that is built in."""

    number: int
    #: the name of the trigger; `cli` and `web` are built in
    name: str
    provider: str
    #: how a bot gets messages
    mode: DeliveryMode | None = None
    active: bool = True
    #: why it does not work, if it does not
    error: str | None = None
    sessions: int
    #: users who wait to be let in
    requests: int = 0


class ChannelSession(Struct, frozen=True, kw_only=True):
    number: int
    channel: str
    trigger: str | None
    #: the session without its generation
    base: str
    generation: int
    #: the name of the person who writes there; None if it is nobody here
    person: str | None
    #: as the channel names them
    chat: str | None
    user_id: str | None
    thread: str | None
    display: str | None
    created_at: Instant
    last_at: Instant

    @property
    def id(self) -> str:
        """The session as routes name it."""
        return build_session(self.base, self.generation)


class Conversation(Struct, frozen=True):
    """Where a reply on a channel is read, and the person who reads it there."""

    channel: str
    session: str
    person: str


class PairingState(ParsedEnum, description="a state of a pairing"):
    REQUESTED = "requested"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"


class Pairing(Struct, frozen=True, kw_only=True):
    """A user of a channel who asked to be let in; once approved, the person that it is."""

    number: int
    id: str
    trigger: str
    chat: str
    user_id: str
    display: str
    state: PairingState
    person: str | None
    answered_by: str | None
    expires_at: Instant
    created_at: Instant
    answered_at: Instant | None


def build_session(base: str, generation: int) -> str:
    """Return a session with its generation; the first one is the base alone."""
    return base if generation == 0 else f"{base}{GENERATION_MARK}{generation}"


def parse_command(text: str) -> str | None:
    """Return the name of the command that a text is; None if it is something else."""
    name = text.strip().lower()
    return name[1:] if name.startswith("/") and name[1:] in COMMANDS else None


def parse_base(session: str) -> str:
    """Return a session without its generation."""
    base, _, generation = session.rpartition(GENERATION_MARK)
    return base if base and generation.isdecimal() else session


def build_own_session(channel: str, person: str, name: str | None, *, administrator: str) -> str:
    """Return the session of a person on the command line or on the page; `name` is that of another session."""
    owner = _MAIN if person == administrator else f"@{person}" if person == _MAIN else person
    suffix = f"@{address.check_name(name, 'name of a session')}" if name is not None else ""
    return f"{channel}-{owner}{suffix}"


def is_user_prompt(event: Event) -> bool:
    """Return True if a person wrote an event on a channel, and can be answered there; a reset is no prompt."""
    if event.type is not EventType.CHANNEL or event.route is None:
        return False
    body = parse_body(event)
    return isinstance(body, PromptReceived) and not body.is_reset
