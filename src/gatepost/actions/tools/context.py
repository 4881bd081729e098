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
MAX_RESULT_SIZE: Final = 64_000

#: what a character may take as JSON
MAX_CHAR_SIZE: Final = 6
_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True, kw_only=True)
class ToolContext:
    tx: Transaction
    agent: Entity
    run: Run
    #: the same when the same call is made again, and no other call's
    call: str
    #: the space that the agent is in
    active_space: str | None = None
    #: bytes of a result that the cycle has room for
    max_bytes: int = MAX_RESULT_SIZE
    #: what was taken from the inbox into the run
    taken_items: list[Item] = field(default_factory=list)

    @property
    def hops(self) -> int:
        """Of whatever the agent sends: one more than of what it was sent."""
        return self.run.outgoing_hops


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """
    A tool of ours: a function over a desk. Its docstring and the words beside its parameters are what a model is told
    of it; there `space_id` is called `spaceId`.
    """

    function: Callable[..., Json]
    #: whether it changes anything that others, or the agent's later self, would see
    has_effect: bool


def optional(description: str) -> Any:
    """A field of what a model gives that it may leave out, and what the model is told of it."""
    return field(default=None, metadata={"description": description})


def check_count(values: Sequence[object], limit: int, noun: str) -> None:
    """Refuse more at once than a call may be about."""
    if len(values) > limit:
        raise Invalid(f"{len(values)} {noun} are too many at once", hint=f"use at most {limit}")


def take_fitting(documents: list[Json]) -> list[Json]:
    """As many as there is room for, from the first on; the first always."""
    if measure_json(documents) <= MAX_RESULT_SIZE:
        return documents
    free_size = MAX_RESULT_SIZE
    result: list[Json] = []
    for document in documents:
        free_size -= measure_json(document)
        if result and free_size < 0:
            break
        result.append(document)
    return result


def shorten(text: str, max_size: int) -> str:
    """As much of a text as takes no more than so many characters as JSON."""
    if measure_json(text) <= max_size:
        return text
    return texts.shorten(
        text, bisect_right(range(len(text)), max_size, key=lambda length: measure_json(texts.shorten(text, length))) - 1
    )


def measure_json(document: Json) -> int:
    """The characters that it takes as JSON."""
    return len(_encode(document).decode())
