"""
The arguments that a model writes: the schemas of tools that tell it, and requests and answers made of them.

A model is decoded as every other caller is, by the same decoder and with the same sentences, but leniently: `"5"` is a
number, a list may come as JSON text, a single value as a list of one, and null means that nothing is said.

A model reads the list of tools before everything else, and each answer in full. So schemas are short: they have no
titles, and an answer is described by the names and types of its fields. And an answer has those fields of its view that
`answer` of its `McpTool` names and that have a value.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import msgspec
from msgspec import inspect

from gatepost.errors import GatepostError, Invalid, quote_value
from gatepost.operations.decoding import get_decoder, list_kinds
from gatepost.operations.encoding import check_path, encode_json, refuse_nan
from gatepost.operations.operation import Kind, McpTool, Operation, Repetition, Request, Scale, list_operations
from gatepost.operations.validation import relabel, suggest

#: the argument of tools that wait, and how long they wait at most, in seconds
WAIT: Final = "wait"
MAX_WAIT: Final = 50
_WAIT_SCHEMA: Final = {
    "type": "number",
    "minimum": 0,
    "maximum": MAX_WAIT,
    "description": "seconds to wait while there is nothing",
}
#: the arguments of lists, whose limits a model can do without
_LIMIT: Final = "limit"
_AFTER: Final = "after"
#: the field of a list, and other fields of its answer
_ITEMS: Final = "items"
_OUTER_FIELDS: Final = ("next", "held")
#: what a model gives where anything is taken; a program may drop an argument without a type, and its description
_ANYTHING: Final = ({"type": "string"}, {"type": "object"})
#: parts of a schema that a model can do without
_DROPPED: Final = ("title", "examples", "default", "additionalProperties", "maxLength", "minLength", "maxItems")


class McpToolSpec:
    """A tool with its operation: schemas, and requests from arguments."""

    def __init__(self, operation: Operation, tool: McpTool) -> None:
        self.operation = operation
        self.tool = tool
        self._fields = {field.name: field for field in msgspec.structs.fields(operation.request)}

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description or " ".join((self.operation.request.__doc__ or "").split())

    @cached_property
    def arguments(self) -> Mapping[str, str]:
        """The field of each argument."""
        tool = self.tool
        arguments: dict[str, str] = {}
        for name in self._fields:
            if name in tool.own or name in tool.hidden:
                continue
            for argument in tool.parts[name].values() if name in tool.parts else [tool.renames.get(name, name)]:
                arguments[argument] = name
        return arguments

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        required = [name for name, field in self.arguments.items() if self._is_required(field)]
        properties = {name: self._describe(name, field) for name, field in self.arguments.items()}
        if self.tool.waits:
            properties[WAIT] = dict(_WAIT_SCHEMA)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        return schema | ({"required": required} if required else {})

    def _is_required(self, name: str) -> bool:
        return self._fields[name].required and name not in self.tool.own_by_default

    def _describe(self, argument: str, name: str) -> dict[str, Any]:
        field, scale = self._fields[name], self.tool.scales.get(name)
        if name in self.tool.parts:
            schema: dict[str, Any] = {"type": "string"}
        elif scale is not None:
            schema = {"type": "integer", "minimum": scale.minimum, "maximum": scale.maximum, "default": scale.default}
        else:
            schema = _shorten(*_expand(field.type))
            if name in (_LIMIT, _AFTER):
                schema = {"type": schema["type"]}
            default = self.tool.defaults.get(name, field.default)
            if default not in (msgspec.NODEFAULT, None, "", (), False, msgspec.UNSET):
                schema["default"] = msgspec.to_builtins(default)
        if name == _AFTER:
            schema = {"type": schema["type"], "description": "`next` of the page before"}
        if not schema.keys() & {"type", "anyOf"}:
            schema["anyOf"] = [dict(kind) for kind in _ANYTHING]
        if note := self.tool.notes.get(argument):
            schema["description"] = note
        elif name in self.tool.own_by_default:
            schema["description"] = "default: you"
        return schema

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """None of the fields is required: one without a value is left out."""
        view, item = self.operation.answer, self._item
        properties = {
            field.encode_name: _outline(*_expand(field.type)) for field in _list_fields(item, self.tool.answer)
        }
        schema = {"type": "object", "properties": properties}
        if item is view:
            return schema
        outer = {field.encode_name: _outline(*_expand(field.type)) for field in _list_fields(view, _OUTER_FIELDS)}
        return {"type": "object", "properties": {_ITEMS: {"type": "array", "items": schema}, **outer}}

    @cached_property
    def _item(self) -> Any:
        """The view of an item, if the answer is a list, else that of the answer."""
        view = self.operation.answer
        for field in msgspec.structs.fields(view):
            if field.name == _ITEMS:
                kind = inspect.type_info(field.type)
                assert isinstance(kind, inspect.ListType)
                assert isinstance(kind.item_type, inspect.StructType)
                return kind.item_type.cls
        return view

    def encode(self, answer: Any) -> dict[str, Any]:
        """Return an answer as a model gets it."""
        if self._item is self.operation.answer:
            return self.encode_item(answer)
        items = [self.encode_item(item) for item in answer.items]
        return {_ITEMS: items, **_encode(answer, _OUTER_FIELDS)}

    def encode_item(self, view: Any) -> dict[str, Any]:
        """Return one item of a list, or an answer that is no list, as a model gets it."""
        return _encode(view, self.tool.answer)

    def describe_next(self, cursor: str) -> str:
        """Return how a model asks for the next page."""
        return f"give {_AFTER} {cursor}" if _AFTER in self.arguments else f"the next page begins at {cursor}"

    @property
    def annotations(self) -> dict[str, bool]:
        """What the tool does, in the words of MCP."""
        operation = self.operation
        if operation.kind is Kind.READ:
            return {"readOnlyHint": True, "openWorldHint": False}
        hints = {"destructiveHint": False, "openWorldHint": self.tool.is_open_world}
        return hints | ({"idempotentHint": True} if operation.repetition is Repetition.SAFE else {})

    def decode(self, arguments: Mapping[str, Any], caller: str) -> Request[Any]:
        """Return the request of a model's arguments for a caller; raise Invalid with the first thing that is wrong."""
        values: dict[str, Any] = dict.fromkeys((*self.tool.own, *self.tool.own_by_default), caller)
        values.update(self.tool.defaults)
        for argument, value in arguments.items():
            if argument not in self.arguments:
                names = [*self.arguments, *([WAIT] if self.tool.waits else [])]
                hint = suggest(argument, names) or (f"use {', '.join(names)}" if names else "leave it out")
                raise Invalid(f"{quote_value(argument)} is not a field of it", hint=hint)
            name = self.arguments[argument]
            if value is None and not self._is_required(name):
                continue
            if name in self.tool.parts:
                part = next(part for part, label in self.tool.parts[name].items() if label == argument)
                values.setdefault(name, {})[part] = value
            else:
                values[name] = self._loosen(argument, name, value)
        labels = {name: argument for argument, name in self.arguments.items() if name not in self.tool.parts}
        self._check_parts(values)
        decoder = get_decoder(self.operation)
        request = decoder.decode_text(values, labels)
        refuse_nan(request)
        check_path(request, labels)
        return decoder.decode_json(encode_json(request))  # what is no JSON deep inside is refused as everywhere

    def relabel(self, error: GatepostError) -> None:
        """Name the arguments in an error that names the fields of the request."""
        labels = {self._fields[name].encode_name: argument for argument, name in self.arguments.items()}
        relabel(error, labels, labels)

    def _check_parts(self, values: Mapping[str, Any]) -> None:
        """Refuse half of an object whose parts are arguments."""
        for name, parts in self.tool.parts.items():
            given = values.get(name, {})
            for part, argument in parts.items():
                if given and part not in given:
                    raise Invalid(f"{argument!r} is missing", hint=f"it goes with {parts[min(given)]!r}")
                if given and not isinstance(given[part], str):
                    raise Invalid(f"{argument}: {quote_value(given[part])} is not text")

    def _loosen(self, argument: str, name: str, value: Any) -> Any:
        """Return a value that a model wrote as a value of the type of its field, if it can be read as one."""
        kinds = list_kinds(self._fields[name].type)
        if isinstance(value, str):
            value = _parse_document(value, kinds)
        is_number = any(isinstance(kind, inspect.IntType) for kind in kinds)
        if is_number and isinstance(value, float) and value.is_integer():
            value = int(value)
        if name in self.tool.scales:
            value = _rescale(argument, value, self.tool.scales[name])
        if any(isinstance(kind, inspect.StrType) for kind in kinds) and not is_number and type(value) in (int, float):
            value = str(value)
        return value


def load_tools() -> dict[str, McpToolSpec]:
    """Return every tool by its name."""
    tools = [McpToolSpec(operation, operation.tool) for operation in list_operations() if operation.tool is not None]
    return {tool.name: tool for tool in tools}


def parse_wait(value: Any) -> float:
    """Return how many seconds a model wants to wait."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise Invalid(f"{WAIT}: {quote_value(value)} is not a number", hint="give seconds, such as 30") from None
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Invalid(f"{WAIT}: {quote_value(value)} is not a number", hint="give seconds, such as 30")
    if not 0 <= value <= MAX_WAIT:
        raise Invalid(
            f"{WAIT}: {quote_value(value)} is not between 0 and {MAX_WAIT}", hint="call it again to wait longer"
        )
    return float(value)


def _parse_document(text: str, kinds: Sequence[inspect.Type]) -> Any:
    """Return the list or the object that a model wrote as JSON text, where one is expected."""
    if any(isinstance(kind, inspect.ListType | inspect.VarTupleType) for kind in kinds):
        opening = "["
    elif any(isinstance(kind, inspect.StructType | inspect.DictType) for kind in kinds):
        opening = "{"
    else:
        return text
    if text.lstrip().startswith(opening):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def _rescale(argument: str, value: Any, scale: Scale) -> int:
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{argument}: {quote_value(value)} is not a whole number")
    if value < scale.minimum:
        raise Invalid(f"{argument}: {quote_value(value)} is less than {scale.minimum}")
    if value > scale.maximum:
        raise Invalid(f"{argument}: {quote_value(value)} is more than {scale.maximum}")
    return value - scale.offset


def _expand(kind: Any) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return the schema of a type, and the definitions that it refers to."""
    [schema], definitions = msgspec.json.schema_components([kind], ref_template="{name}")
    return schema, definitions


def _shorten(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument without what a model can do without, and without references."""
    schema = _resolve(schema, definitions)
    example = next(iter(schema.get("examples", ())), None)
    result: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "properties":
            result[name] = {key: _shorten(inner, definitions) for key, inner in value.items()}
        elif name == "items":
            result[name] = _shorten(value, definitions)
        elif name == "anyOf":
            result[name] = [_shorten(inner, definitions) for inner in value]
        elif name not in _DROPPED:
            result[name] = value
    if "enum" in result and "type" not in result:
        result = {"type": "string", **result}
    if example is not None and "description" in result:
        result["description"] += f", e.g. {example}"
    if result.get("type") == "object":
        result.pop("description", None)
    return result


def _outline(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of a field of an answer."""
    schema = _resolve(schema, definitions)
    if "anyOf" in schema or ("type" not in schema and "enum" not in schema):
        return {}
    return {"type": schema.get("type", "string")}


def _list_fields(view: Any, names: Sequence[str]) -> list[Any]:
    return [field for field in msgspec.structs.fields(view) if field.name in names]


def _encode(view: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return those fields of a view that have a value."""
    pairs = zip(view.__struct_fields__, view.__struct_encode_fields__, strict=True)
    values = {wire_name: getattr(view, name) for name, wire_name in pairs if name in names}
    return {
        name: msgspec.to_builtins(value) for name, value in values.items() if value not in (None, "", (), msgspec.UNSET)
    }


def _resolve(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema in the place of a reference, and of a value that may be null."""
    while True:
        if "$ref" in schema:
            own = {name: value for name, value in schema.items() if name != "$ref"}
            schema = {**definitions[schema["$ref"]], **own}
            continue
        kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
        if len(kinds) != 1:
            return {**schema, "anyOf": kinds} if kinds else schema
        own = {name: value for name, value in schema.items() if name != "anyOf"}
        schema = {**kinds[0], **own}
