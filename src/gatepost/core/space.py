"""A space: where people and agents talk. Its messages are numbered 1, 2, 3... without gaps."""

from dataclasses import dataclass

from gatepost.core.entity import Kind
from gatepost.core.event import Json
from gatepost.core.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    #: a name like an entity's, made from the title; what addresses and lines use
    id: str
    #: the title, as it was given
    name: str
    #: the number of its last message
    last_seq: int
    created_at: Instant
    archived_at: Instant | None = None
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    name: str
    display: str
    kind: Kind
    joined_at: Instant
    #: the number of the last message it has read
    read_seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    id: str
    space: str
    seq: int
    sender: str
    sender_display: str
    sender_kind: Kind
    content: str
    data: Json = None
    created_at: Instant
