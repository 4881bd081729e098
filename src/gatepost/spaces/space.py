"""
A space: where people and agents talk. Its messages are numbered 1, 2, 3... without gaps. What its id and its title may
be, and the id that is made from a title: `q4-report` for `Q4 Report`.
"""

import re
import unicodedata
from typing import Final

from msgspec import Struct

from gatepost.core import address
from gatepost.core.json_limits import Json
from gatepost.core.times import Instant
from gatepost.directory.entity import EntityKind
from gatepost.errors import Invalid, quote_value

_MAX_TITLE_LENGTH: Final = 200


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


def check_title(text: str) -> str:
    """Return the text if it can be the title of a space."""
    if len(text) > _MAX_TITLE_LENGTH or not text.strip() or not text.isprintable():
        raise Invalid(
            f"{quote_value(text)} is not a title of a space", hint=f"use up to {_MAX_TITLE_LENGTH} printable characters"
        )
    return text


def check_id(id: str) -> str:
    """Return the text if it can be the id of a space."""
    return address.check_name(id, "id of a space")


def is_id(text: str) -> bool:
    """Return True if the text can be the id of a space."""
    try:
        return bool(check_id(text))
    except Invalid:
        return False


def make_id(title: str) -> str | None:
    """Return the id for a title; None if no character of it may be in an id."""
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9._]+", "-", ascii_title).strip("-._")
    return words[: address.MAX_NAME_LENGTH].rstrip("-._") or None
