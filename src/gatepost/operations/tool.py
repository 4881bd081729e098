"""
A tool: an operation as a language model calls it, over MCP.

    @write("POST /api/spaces/{id}/messages", access=..., tool=McpTool(
        name="post_to_space", title="Post to a space", answer=("seq", ...), own=("sender",), renames={"id": "space"}))

The arguments of a tool are the fields of its request, in snake case. The declaration says only what differs: which
fields are the caller's own name, which are not offered, which have another name or another scale. A model is decoded
as every other caller is, by the same decoder and with the same sentences, but leniently: `"5"` is a number, a list may
come as JSON text, a single value as a list of one, and null means that nothing is said.

A model reads the list of tools before everything else, and each answer in full. So schemas are short: they have no
titles, and an answer is described by the names and types of its fields. And an answer has those fields of its view that
`answer` names and that have a value. `tool_spec.py` does this; commands import only the declaration.
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Whole numbers that count from elsewhere: the argument is the value of the field plus `offset`."""

    minimum: int
    maximum: int
    offset: int
    default: int


class McpTool(msgspec.Struct, frozen=True, kw_only=True):
    """How an operation is offered as a tool."""

    name: str
    title: str
    #: what the model is told; by default the docstring of the request
    description: str = ""
    #: the fields of the answer, or of each of its items, that a model gets
    answer: tuple[str, ...]
    #: fields that are the caller's name; no model can give them
    own: tuple[str, ...] = ()
    #: fields that are the caller's name unless the model gives another
    own_by_default: tuple[str, ...] = ()
    #: fields that are not offered: they have their default
    hidden: tuple[str, ...] = ()
    #: values of fields that a model leaves out, where they differ from those of others: a model reads all it gets
    defaults: Mapping[str, Any] = {}
    #: the names of arguments, where they differ from those of their fields
    renames: Mapping[str, str] = {}
    #: arguments that are parts of a field, which is an object: by the field, the argument of each part
    parts: Mapping[str, Mapping[str, str]] = {}
    scales: Mapping[str, Scale] = {}
    #: descriptions of arguments that differ from those of their fields
    notes: Mapping[str, str] = {}
    #: whether it can wait while its answer is empty
    waits: bool = False
    #: whether it reaches beyond Gatepost
    is_open_world: bool = False
