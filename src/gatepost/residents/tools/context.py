"""The context of a built-in tool (its transaction, agent and run), and the limits of its input and its result."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from gatepost.core import text as texts
from gatepost.core.json_limits import Json
from gatepost.core.ports import Transaction
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid
from gatepost.inbox.event import Item
from gatepost.residents.runs.run import Run

#: characters of one result; a longer one would push everything else out of the mind
MAX_RESULT_SIZE: Final = 64_000
#: characters that one character takes at most as JSON
MAX_CHAR_SIZE: Final = 6
_encode: Final = msgspec.json.Encoder().encode


@dataclass(slots=True, kw_only=True)
class ToolContext:
    tx: Transaction
    agent: Entity
    run: Run
    #: a unique key of the call; a repeat of the same call has the same key
    call: str
    #: the id of the space that the agent has entered
    active_space: str | None = None
    #: bytes of a result that fit into the cycle
    max_bytes: int = MAX_RESULT_SIZE
    #: items that the tool took from the inbox into the run
    taken_items: list[Item] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ToolFunction:
    """
    A built-in tool: a function over a `ToolContext`. The model reads its docstring and the text beside its parameters;
    a parameter `space_id` is called `spaceId` there.
    """

    function: Callable[..., Json]
    #: True if it changes something that others, or later cycles of the agent, can see
    has_effect: bool
    #: the skill that an agent needs for it; None if every resident has it
    skill: str | None = None


def optional(description: str) -> Any:
    """Return a dataclass field of a tool's input that the model may leave out, with the description that it reads."""
    return field(default=None, metadata={"description": description})


def check_count(values: Sequence[object], limit: int, noun: str) -> None:
    """Refuse more values in one call than `limit`."""
    if len(values) > limit:
        raise Invalid(f"{len(values)} {noun} are too many at once", hint=f"use at most {limit}")


def take_fitting(documents: list[Json]) -> list[Json]:
    """Return the first documents that fit into a result; the first one always."""
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
    """Return the text, shortened so that it takes at most `max_size` characters as JSON."""
    if measure_json(text) <= max_size:
        return text
    return texts.shorten(
        text, bisect_right(range(len(text)), max_size, key=lambda length: measure_json(texts.shorten(text, length))) - 1
    )


def measure_json(document: Json) -> int:
    """Return the number of characters of a document as JSON."""
    return len(_encode(document).decode())
