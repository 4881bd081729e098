"""What a built-in tool has before it: the transaction it works in, whose hands it is in, and the run it is used in."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from gatepost.core.entity import Entity
from gatepost.core.event import Item, Json
from gatepost.core.run import Run
from gatepost.errors import Invalid
from gatepost.ports.store import Work

#: characters of one result: more would push everything else out of the mind
ROOM: Final = 64_000

T = TypeVar("T")

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(slots=True, kw_only=True)
class Desk:
    work: Work
    me: Entity
    run: Run
    #: the same when the same call is made again, and no other call's
    call: str
    #: the space that the agent is in
    active: str | None = None
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


def fitting(given: Iterable[T], shown: Callable[[T], Json]) -> list[Json]:
    """As many as there is room for, as JSON, from the first on; the first always."""
    whole = [shown(one) for one in given]
    if len(_encode(whole)) <= ROOM:
        return whole
    room = ROOM
    fit: list[Json] = []
    for written in whole:
        room -= len(_encode(written))
        if fit and room < 0:
            break
        fit.append(written)
    return fit
