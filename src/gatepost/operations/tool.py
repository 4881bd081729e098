"""
A tool: an operation as a language model calls it, over MCP or in the cycle of a resident.

    @write("PUT /api/gates/{id}/resolution", access=..., tool=Tool(
        name="resolve_gate", title="Resolve a gate", answer=("id", "status", ...), own=("by",), renames={"id": "gate"},
        for_residents=ToolChanges(renames={"id": "gateId"}, answer=("id", "name", "status"))))

The arguments of a tool are the fields of its request: in snake case over MCP, in camel case for residents. The
declaration says only what differs: which fields are the caller's own name, which are not offered, which have another
name or another scale; and what of that is different for residents. A list is offered to residents without pages: they
get what fits. `operation_tool.py` makes schemas and requests of it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, TypedDict

import msgspec
from msgspec.structs import replace


class Door(StrEnum):
    """Where a model finds its tools."""

    MCP = "mcp"
    RESIDENT = "resident"


FOR_MCP: Final = (Door.MCP,)
FOR_RESIDENTS: Final = (Door.RESIDENT,)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """An integer argument that differs from its field: it is the value of the field plus `offset`."""

    minimum: int
    maximum: int
    offset: int
    default: int


class ToolChanges(TypedDict, total=False):
    """
    What a tool of residents has otherwise; `notes` are added to those of the tool, and `renames` name fields of the
    answer, too.
    """

    name: str
    description: str
    answer: tuple[str, ...]
    items: str
    hidden: tuple[str, ...]
    defaults: Mapping[str, Any]
    renames: Mapping[str, str]
    parts: Mapping[str, Mapping[str, str]]
    references: Mapping[str, tuple[str, str]]
    scales: Mapping[str, Scale]
    notes: Mapping[str, str]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """How an operation is offered as a tool."""

    name: str
    title: str = ""
    #: what the model is told; by default the docstring of the request
    description: str = ""
    #: the fields of the answer, or of each of its items, that a model gets; by default all. Of objects in a list,
    #: `recipients.name` is the names
    answer: tuple[str, ...] = ()
    #: the name of the list, if the answer is one
    items: str = "items"
    #: characters of one field of an answer, which is cut if it has more; only for residents, who keep it in their mind
    max_field: int = 32_000
    #: fields that are the caller's name; no model can give them
    own: tuple[str, ...] = ()
    #: fields that are the caller's name unless the model gives another
    own_by_default: tuple[str, ...] = ()
    #: fields that are not offered: they have their default
    hidden: tuple[str, ...] = ()
    #: fields that are not offered, and the values that they have
    fixed: Mapping[str, Any] = {}
    #: values of fields that a model leaves out, where they differ from those of others: a model reads all it gets
    defaults: Mapping[str, Any] = {}
    #: the names of arguments, where they differ from those of their fields
    renames: Mapping[str, str] = {}
    #: the names of fields of the answer, where they differ
    answer_names: Mapping[str, str] = {}
    #: arguments that are parts of a field, which is an object: by the field, the argument of each part
    parts: Mapping[str, Mapping[str, str]] = {}
    #: arguments that are written TYPE:ID, and where type and id go: to two fields, or to `ref.type` and `ref.id`
    references: Mapping[str, tuple[str, str]] = {}
    scales: Mapping[str, Scale] = {}
    #: descriptions of arguments that differ from those of their fields, by the argument or the field
    notes: Mapping[str, str] = {}
    #: a call with this argument is for this operation, and not for the one that has the tool by the same name
    takes_over_with: str = ""
    #: whether it can wait while its answer is empty; only over MCP
    waits: bool = False
    #: whether it reaches beyond Gatepost
    is_open_world: bool = False
    #: the skill that an agent needs for it; None if every agent has it
    skill: str | None = None
    doors: tuple[Door, ...] = (Door.MCP, Door.RESIDENT)
    for_residents: ToolChanges = {}

    def at(self, door: Door) -> "Tool | None":
        """Return the tool with what is different at a door; None if it is not offered there."""
        if door not in self.doors:
            return None
        if door is Door.MCP:
            return self
        notes = {**self.notes, **self.for_residents.get("notes", {})}
        names = {**self.answer_names, **self.for_residents.get("renames", {})}
        return replace(self, **{**self.for_residents, "notes": notes, "answer_names": names})
