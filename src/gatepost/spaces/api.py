"""Spaces: where people and agents talk."""

from typing import Annotated, Final

from msgspec import Meta

from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, NotFound, TooLarge
from gatepost.operations.access import ActAs, Administrator, AnyEntity, NamedEntity
from gatepost.operations.fields import Actor, After, Count, Json, Limit, Name, RecordView, Seq, Source, Time, describe
from gatepost.operations.operation import Page, Repetition, Request, Stream, read, stream, write
from gatepost.operations.tool import FOR_MCP, Tool
from gatepost.spaces.space import Member, Message, Space

Title = Annotated[str, describe("the name of the space", minLength=1, maxLength=200)]
ReadingMember = Annotated[str, describe("entity that reads; default: the caller", maxLength=200)] | None


class SpaceView(RecordView[Space]):
    id: str
    name: str
    last_seq: Count
    created_at: Time
    archived_at: Time | None


class ListedSpaceView(SpaceView, kw_only=True):
    """A space, and what has happened in it."""

    last_message_at: Time | None = None
    unread: Annotated[int | None, describe("messages that the member has not read; null if none is named")] = None


class SpacePage(Page[ListedSpaceView]):
    pass


class MemberView(RecordView[Member]):
    name: str
    display_name: Annotated[str, Source("display")]
    kind: EntityKind
    joined_at: Time
    read_seq: Count


class NewSpaceView(SpaceView):
    """A space with its members."""

    members: list[MemberView]


class MessageView(RecordView[Message]):
    id: str
    space: str
    seq: Annotated[int, Meta(ge=1)]
    sender: str
    sender_name: Annotated[str, Source("sender_display")]
    sender_type: Annotated[EntityKind, Source("sender_kind")]
    content: str
    data: Json
    created_at: Time


#: what a model gets of a message
_MESSAGE_ANSWER: Final = ("seq", "sender", "content", "data", "created_at")


class MessagePage(Page[MessageView]):
    """`next` is the `beforeSeq` of the page before or, after an `afterSeq`, the `afterSeq` of the page that follows."""


@write(
    "POST /api/spaces",
    access=Administrator(),
    lane="directory",
    status=201,
    errors=(NotFound, Conflict),
    example={"name": "Q4 report", "members": ["husam", "analyst"]},
)
class CreateSpace(Request[NewSpaceView]):
    """Create a space; its id is made from its name unless one is given."""

    name: Title
    id: Annotated[str | None, describe("its id; by default made from the name")] = None
    members: Annotated[tuple[str, ...], Meta(max_length=10_000)] = ()


@read("GET /api/spaces", access=ActAs("member"), errors=(NotFound,))
class ListSpaces(Request[SpacePage]):
    """List the spaces of the caller; for the administrator all, or those of a member."""

    member: Annotated[str | None, describe("only spaces with this member")] = None
    after: After = 0
    limit: Limit = 100


@read("GET /api/spaces/{id}", access=AnyEntity())
class ShowSpace(Request[SpaceView]):
    """Show a space that the caller is in; the administrator sees all."""

    id: str


@write(
    "PATCH /api/spaces/{id}",
    access=Administrator(),
    lane="space:{id}",
    errors=(Conflict,),
    example={"name": "Q4 report, final"},
)
class RenameSpace(Request[SpaceView]):
    """Give a space another name; its id stays."""

    id: str
    name: Title


@write("DELETE /api/spaces/{id}", access=Administrator(), lane="space:{id}", errors=(Conflict,))
class ArchiveSpace(Request[SpaceView]):
    """Archive a space: its members can read it, and nothing is posted any more."""

    id: str


@read("GET /api/spaces/{id}/members", access=AnyEntity())
class ListMembers(Request[Page[MemberView]]):
    """List the members, in the order in which they joined, and how far each has read."""

    id: str


@write(
    "POST /api/spaces/{id}/members",
    access=Administrator(),
    lane="space:{id}",
    status=201,
    errors=(Conflict,),
    example={"name": "designer"},
)
class AddMember(Request[MemberView]):
    """Add a member, who then sees all messages."""

    id: str
    name: Name


@write(
    "DELETE /api/spaces/{id}/members/{name}",
    access=NamedEntity("name"),
    lane="space:{id}",
    status=204,
    errors=(Conflict,),
)
class RemoveMember(Request[None]):
    """Remove a member, who reads nothing more. An entity's own credential can leave by itself."""

    id: str
    name: str


@read(
    "GET /api/spaces/{id}/messages",
    access=ActAs("member"),
    tool=Tool(
        name="read_space",
        title="Read a space",
        answer=_MESSAGE_ANSWER,
        description="Read messages of a space that you are in, oldest first: after a number, before one, or the last.",
        hidden=("member",),
        defaults={"limit": 20},
        renames={"id": "space"},
        doors=FOR_MCP,
    ),
)
class ReadMessages(Request[MessagePage]):
    """Read messages, oldest first: after a number, before one, or the last ones. The administrator may be a member."""

    id: str
    member: ReadingMember = None
    after_seq: Seq | None = None
    before_seq: Seq | None = None
    limit: Limit = 50


@write(
    "POST /api/spaces/{id}/messages",
    access=ActAs("sender", required=True),
    lane="space:{id}",
    status=201,
    errors=(Conflict, TooLarge),
    example={"content": "Pull the Q4 revenue numbers", "sender": "husam"},
    tool=Tool(
        name="post_to_space",
        title="Post to a space",
        answer=("seq", "created_at"),
        own=("sender",),
        hidden=("data",),
        renames={"id": "space"},
        doors=FOR_MCP,
    ),
)
class PostMessage(Request[MessageView]):
    """Post a message. Every other agent in the space has it in its inbox when this is answered."""

    id: str
    content: Annotated[str, Meta(max_length=300_000)]
    sender: Actor = None
    data: Json = None


@write(
    "PATCH /api/spaces/{id}/read",
    access=ActAs("name", required=True),
    needs_disk_space=False,
    repetition=Repetition.SAFE,
    lane="space:{id}",
    example={"seq": 1, "name": "husam"},
)
class MarkRead(Request[MemberView]):
    """Record how far a member has read; it never goes back."""

    id: str
    seq: Seq
    name: Annotated[str | None, describe("member; default: the caller")] = None


@stream("GET /api/spaces/{id}/stream", access=ActAs("member"), event="space.message")
class WatchSpace(Stream[MessageView]):
    """Watch messages as they are posted. Resumes from Last-Event-ID, which is a message's number."""

    id: str
    member: ReadingMember = None
