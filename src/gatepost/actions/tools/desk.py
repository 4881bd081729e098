"""What a built-in tool has before it: the transaction it works in, whose hands it is in, and the run it is used in."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from gatepost.core import text as texts
from gatepost.core.entity import Entity
from gatepost.core.event import Item, Json
from gatepost.core.run import Run
from gatepost.errors import Invalid
from gatepost.ports import Transaction

#: characters of one result: more would push everything else out of the mind
ROOM: Final = 64_000

#: what a character may take as JSON
WIDEST: Final = 6
_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True, kw_only=True)
class Desk:
    tx: Transaction
    me: Entity
    run: Run
    #: the same when the same call is made again, and no other call's
    call: str
    #: the space that the agent is in
    active: str | None = None
    #: bytes of a result that the cycle has room for
    room: int = ROOM
    #: what was taken from the inbox into the run
    taken: list[Item] = field(default_factory=list)

    @property
    def hops(self) -> int:
        """Of whatever the agent sends: one more than of what it was sent."""
        return self.run.onward


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """
    A tool of ours: a function over a desk. Its docstring and the words beside its parameters are what a model is told
    of it; there `space_id` is called `spaceId`.
    """

    function: Callable[..., Json]
    #: whether it changes anything that others, or the agent's later self, would see
    effect: bool


def optional(meaning: str) -> Any:
    """A field of what a model gives that it may leave out, and what the model is told of it."""
    return field(default=None, metadata={"description": meaning})


def few(given: Sequence[object], most: int, what: str) -> None:
    """Refuse more at once than a call may be about."""
    if len(given) > most:
        raise Invalid(f"{len(given)} {what} are too many at once", hint=f"use at most {most}")


def fitting(given: list[Json]) -> list[Json]:
    """As many as there is room for, from the first on; the first always."""
    if size(given) <= ROOM:
        return given
    room = ROOM
    fit: list[Json] = []
    for one in given:
        room -= size(one)
        if fit and room < 0:
            break
        fit.append(one)
    return fit


def brief(text: str, room: int) -> str:
    """As much of a text as takes no more than so many characters as JSON."""
    if size(text) <= room:
        return text
    return texts.cut(text, bisect_right(range(len(text)), room, key=lambda most: size(texts.cut(text, most))) - 1)


def size(document: Json) -> int:
    """The characters that it takes as JSON."""
    return len(_encode(document).decode())
