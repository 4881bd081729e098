"""
Channels, on which people write: their conversations, and the users who are let in. Only the administrator lets users
in.
"""

from typing import Annotated

from msgspec import Meta

from gatepost.channels.conversation import ChannelSession, ChannelStatus, Pairing, PairingState
from gatepost.channels.triggers.trigger import DeliveryMode
from gatepost.errors import Conflict, NotFound, TooManyAttempts
from gatepost.operations.access import Administrator, AnyEntity
from gatepost.operations.fields import After, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read, write

#: the group of these operations in OpenAPI
TAG = "channels"

Code = Annotated[str, Meta(max_length=100, description="the code that the user was given, or the id of the request")]


class ChannelStatusView(RecordView[ChannelStatus]):
    """A channel: a bot, or one that is built in."""

    name: str
    provider: str
    mode: Annotated[DeliveryMode | None, describe("how a bot gets messages")]
    active: bool
    error: Annotated[str | None, describe("why a bot does not work")]
    sessions: Annotated[int, describe("how many conversations it has")]
    requests: Annotated[int, describe("how many users wait to be let in")]


@read("GET /api/channels", access=Administrator())
class ListChannels(Request[Page[ChannelStatusView]]):
    """List the channels on which people write: those that are built in, and the bots."""

    after: After = 0
    limit: Limit = 100


class ChannelSessionView(RecordView[ChannelSession]):
    """A conversation."""

    session_id: Annotated[str, Source("id")]
    channel: str
    trigger: Annotated[str | None, describe("the bot; null on a channel that is built in")]
    person: Annotated[str | None, describe("who writes there; null if it is nobody here")]
    user_name: Annotated[str | None, describe("the name of the user on the channel"), Source("display")]
    user_id: str | None
    chat: str | None
    thread: str | None
    created_at: Time
    last_at: Time


@read("GET /api/channels/sessions", access=AnyEntity(own=("person",)))
class ListChannelSessions(Request[Page[ChannelSessionView]]):
    """List conversations, in the order in which they began: those of the caller, for the administrator all."""

    channel: Annotated[str, Meta(max_length=256, description="only this channel, or this bot")] | None = None
    person: Annotated[str | None, describe("only those of this person")] = None
    after: After = 0
    limit: Limit = 100


class PairingView(RecordView[Pairing]):
    """A user of a bot who asked to be let in; once approved, the person that it is. Its code is never shown."""

    id: str
    trigger: Annotated[str, describe("the bot")]
    user_name: Annotated[str, describe("the name that the user gives itself"), Source("display")]
    user_id: str
    chat: str
    state: PairingState
    person: str | None
    answered_by: Annotated[str | None, describe("null if the allow list has let the user in")]
    expires_at: Annotated[Time, describe("when a request ends that nobody has answered")]
    created_at: Time
    answered_at: Time | None


@read("GET /api/channels/pairings", access=Administrator())
class ListPairings(Request[Page[PairingView]]):
    """List the users who asked to be let in, in the order in which they asked."""

    state: Annotated[PairingState | None, describe("only those in this state")] = None
    after: After = 0
    limit: Limit = 100


@write(
    "POST /api/channels/pairings",
    access=Administrator(),
    errors=(NotFound, Conflict, TooManyAttempts),
    limits_guesses=True,
    example={"code": "K7M2QX4R", "person": "husam"},
)
class ApprovePairing(Request[PairingView]):
    """
    Let a user in. The code proves that the user who asks here is the one who wrote to the bot: a name on a channel
    proves nothing. From then on what the user writes is from the person.
    """

    code: Code
    person: Annotated[str | None, describe("who the user is; by default a new person")] = None


@write(
    "POST /api/channels/pairings/refuse",
    access=Administrator(),
    needs_disk_space=False,
    errors=(NotFound, Conflict, TooManyAttempts),
    limits_guesses=True,
    example={"code": "K7M2QX4R"},
)
class RefusePairing(Request[PairingView]):
    """Refuse to let a user in. The user is not told."""

    code: Code


@write("DELETE /api/channels/pairings/{id}", access=Administrator(), errors=(Conflict,))
class EndPairing(Request[PairingView]):
    """End a pairing: the user has to ask again, and nothing more is sent to its chat."""

    id: str
