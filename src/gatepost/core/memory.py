"""A memory: a text that an agent stores for itself under a key."""

from typing import Final

from msgspec import Struct

from gatepost.core import text
from gatepost.core.times import Instant
from gatepost.errors import Invalid, TooLarge

#: memories that one agent may have
MAX_MEMORIES: Final = 1_000
MAX_KEY_LENGTH: Final = 200
#: bytes of a value, as UTF-8
MAX_VALUE_BYTES: Final = 16 * 1024


class Memory(Struct, frozen=True, kw_only=True):
    key: str
    value: str
    updated_at: Instant


def check_key(key: str) -> str:
    """Return the text if it can be the key of a memory."""
    if not key.strip() or len(key) > MAX_KEY_LENGTH or not key.isprintable():
        raise Invalid(
            f"{key!r:.60} is not the key of a memory", hint=f"use up to {MAX_KEY_LENGTH} printable characters"
        )
    return key


def check_value(value: str) -> str:
    """Return the text if it can be the value of a memory."""
    if (size := len(text.check_storable("value of a memory", value).encode())) > MAX_VALUE_BYTES:
        raise TooLarge(f"the value of a memory is {size} bytes, over the limit of {MAX_VALUE_BYTES}")
    return value
