"""
Lists of who may write on a channel: ids of users and of chats together, as whole numbers with a sign. The id of a group
is negative.

    on the block list              blocked, even if it is on the other list too
    on the allow list              allowed
    on neither, or no lists        unknown: pairing decides

A message counts as listed if its user or its chat is. So a blocked user stays blocked in an allowed group, and an
allowed group lets all its members write.
"""

import re
from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final, TypeVar

from gatepost.errors import Invalid, quote_value

_ID: Final = re.compile(r"-?[0-9]{1,19}")
_MAX_ID: Final = 2**63 - 1

Id = TypeVar("Id", int, str)


class ListVerdict(StrEnum):
    ALLOWED = "allowed"
    BLOCKED = "blocked"
    #: no list says anything
    UNKNOWN = "unknown"


def parse_ids(source: str | Iterable[str | int]) -> tuple[int, ...]:
    """Return the ids of a list, or of a text with commas or spaces between them, each once and in their order."""
    items = re.split(r"[\s,;]+", source.strip(" \t\r\n,;")) if isinstance(source, str) else source
    return tuple(dict.fromkeys(_parse_id(item) for item in items if item != ""))


def _parse_id(item: str | int) -> int:
    text = item.strip() if isinstance(item, str) else str(item)
    if isinstance(item, bool) or not _ID.fullmatch(text) or abs(int(text)) > _MAX_ID:
        raise Invalid(
            f"{quote_value(item)} is not the id of a chat or a user",
            hint="write whole numbers, such as 12345, and -1001234567890 for a group; names do not count",
        )
    return int(text)


def decide(allow: Collection[Id], block: Collection[Id], chat: Id, user: Id | None) -> ListVerdict:
    """Return what the lists say about a user in a chat; without a user only the chat counts."""
    ids = {chat} if user is None else {chat, user}
    if not ids.isdisjoint(block):
        return ListVerdict.BLOCKED
    return ListVerdict.UNKNOWN if ids.isdisjoint(allow) else ListVerdict.ALLOWED
