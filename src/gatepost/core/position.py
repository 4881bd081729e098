"""
A place in the order of all events from which a reader goes on: the transaction that stored an event, and its arrival.

An arrival alone would do if arrivals became visible in their order. On PostgreSQL they do not (7 may commit after 8),
so there the number of the transaction comes first; on SQLite, with its one writer, it is always 0.
"""

import re
from typing import Final

from msgspec import Struct

from gatepost.errors import Invalid

_POSITION_FORM: Final = re.compile(r"(0|[1-9][0-9]{0,18})-(0|[1-9][0-9]{0,18})", re.ASCII)
_MAX_NUMBER: Final = 2**63


class Position(Struct, frozen=True, order=True):
    """Later is greater; the default is before everything."""

    transaction: int = 0
    arrival: int = 0

    def __str__(self) -> str:
        return f"{self.transaction}-{self.arrival}"

    @staticmethod
    def parse(text: str) -> "Position":
        match = _POSITION_FORM.fullmatch(text)
        if match is None or int(match[1]) >= _MAX_NUMBER or int(match[2]) >= _MAX_NUMBER:
            raise Invalid(f"{text[:60]!r} is not a place to resume from", hint="send the last `id:` back as it was")
        return Position(int(match[1]), int(match[2]))
