"""Something an agent has told itself to keep in mind, under a key of its own choosing."""

from dataclasses import dataclass
from typing import Final

from gatepost.core import text
from gatepost.core.instants import Instant
from gatepost.errors import Invalid, TooLarge

#: memories that one agent may have
MOST: Final = 1_000
LONGEST_KEY: Final = 200
#: bytes of a value, as UTF-8
LARGEST_VALUE: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    key: str
    value: str
    updated_at: Instant


def key(given: str) -> str:
    """Return the text if it can be the key of a memory."""
    if not given.strip() or len(given) > LONGEST_KEY or not given.isprintable():
        raise Invalid(f"{given!r:.60} is not the key of a memory", hint=f"use up to {LONGEST_KEY} printable characters")
    return given


def value(given: str) -> str:
    """Return the text if it can be the value of a memory."""
    if (size := len(text.storable("value of a memory", given).encode())) > LARGEST_VALUE:
        raise TooLarge(f"the value of a memory is {size} bytes, over the limit of {LARGEST_VALUE}")
    return given
