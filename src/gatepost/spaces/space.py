"""A space: where people and agents talk. Its messages are numbered 1, 2, 3... without gaps."""

from msgspec import Struct

from gatepost.core.json_limits import Json
from gatepost.core.times import Instant
from gatepost.directory.entity import EntityKind


class Space(Struct, frozen=True, kw_only=True):
    #: a name like that of an entity, made from the title; addresses and lines use it
    id: str
    #: the title
    name: str
    #: the number of its last message
    last_seq: int
    created_at: Instant
    #: since then it is read-only
    archived_at: Instant | None = None
    number: int = 0


class SpaceActivity(Struct, frozen=True, kw_only=True):
    """What has happened in a space, for one of its members or for nobody."""

    #: None if it has no messages
    last_message_at: Instant | None
    #: None unless it is for a member
    read_seq: int | None


class Member(Struct, frozen=True, kw_only=True):
    name: str
    display: str
    kind: EntityKind
    joined_at: Instant
    #: the number of the last message that the member has read
    read_seq: int = 0


class MemberFacts(Struct, frozen=True, kw_only=True):
    """What a prompt says of a member."""

    name: str
    display: str
    kind: EntityKind


class Message(Struct, frozen=True, kw_only=True):
    id: str
    space: str
    seq: int
    sender: str
    sender_display: str
    sender_kind: EntityKind
    content: str
    data: Json = None
    created_at: Instant


#: a message for a tool of an agent: id, display name and kind of the sender, content, time
MessageRow = tuple[str, str, str, str, Instant]
