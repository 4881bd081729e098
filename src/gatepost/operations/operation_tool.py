"""
An operation as a tool at one door: the schemas that tell a model how to call it, requests made of what it writes, and
answers as it gets them (`tool.py` says how a tool is declared).

A model is decoded as every other caller is, by the same decoder and with the same sentences, but leniently
(`lenient_arguments.py`), and null means that nothing is said.

A model reads the list of tools before everything else, and each answer in full. So schemas are short: they have no
titles, and an answer is described by the names and types of its fields. And an answer has those fields of its view that
`answer` of its `Tool` names; over MCP, only those that have a value.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final

import msgspec
from msgspec import inspect

from gatepost.errors import GatepostError, Invalid, quote_value
from gatepost.operations.decoding import get_decoder
from gatepost.operations.encoding import check_path, encode_json, refuse_nan
from gatepost.operations.fields import MAX_SEQ
from gatepost.operations.lenient_arguments import loosen, parse_scaled, split_reference
from gatepost.operations.operation import MAX_WAIT, WAIT, Kind, Operation, Repetition, Request, list_operations
from gatepost.operations.synonyms import find_meant_field
from gatepost.operations.tool import Door, Tool
from gatepost.operations.validation import relabel, suggest

_WAIT_SCHEMA: Final = {
    "type": "number",
    "minimum": 0,
    "maximum": MAX_WAIT,
    "description": "seconds to wait if there is nothing",
}
_REFERENCE_SCHEMA: Final = {"type": "string", "description": "what it is about, as TYPE:ID, e.g. task:0.0.123"}
#: the arguments of lists, whose limits a model can do without
_LIMIT: Final = "limit"
_AFTER: Final = "after"
#: the greatest limit of a list
_MAX_LIMIT: Final = 1_000
#: the field of a list, and other fields of its answer
_ITEMS: Final = "items"
_OUTER_FIELDS: Final = ("next", "held")
#: what a model gives where anything is taken; a program may drop an argument without a type, and its description
_ANYTHING: Final = ({"type": "string"}, {"type": "object"})
#: parts of a schema that a model can do without
_DROPPED: Final = ("title", "examples", "default", "additionalProperties", "maxLength", "minLength", "maxItems")
#: what a field has that is left out of an answer, at each door
_NO_VALUES: Final = {Door.MCP: (None, "", (), msgspec.UNSET), Door.RESIDENT: (msgspec.UNSET,)}


class OperationTool:
    """A tool at a door: schemas, requests from arguments, and answers."""

    def __init__(self, operation: Operation, tool: Tool, door: Door) -> None:
        self.operation = operation
        self.tool = tool
        self.door = door
        #: the tools of the same name that take the call over if their argument is given
        self.substitutes: list[OperationTool] = []
        self._fields = {field.name: field for field in msgspec.structs.fields(operation.request)}
        self._references = {
            target.partition(".")[0]: argument for argument, targets in tool.references.items() for target in targets
        }

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def description(self) -> str:
        return self.tool.description or " ".join((self.operation.request.__doc__ or "").split())

    @property
    def skill(self) -> str | None:
        return self.tool.skill

    @property
    def has_effect(self) -> bool:
        return self.operation.kind is not Kind.READ

    @cached_property
    def arguments(self) -> Mapping[str, str]:
        """The field of each argument; of a reference to two fields, the first."""
        tool = self.tool
        arguments: dict[str, str] = {}
        for name, field in self._fields.items():
            if name in tool.own or name in tool.hidden or name in tool.fixed or name in self._page_fields:
                continue
            if name in tool.parts:
                arguments.update(dict.fromkeys(tool.parts[name].values(), name))
            elif name in self._references:
                arguments.setdefault(self._references[name], name)
            else:
                arguments[tool.renames.get(name, name if self.door is Door.MCP else field.encode_name)] = name
        return arguments

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        required = [name for name, field in self.arguments.items() if self._is_required(field)]
        properties = {name: self._describe(name, field) for name, field in self.arguments.items()}
        for other in self.substitutes:
            argument = other.tool.takes_over_with
            properties[argument] = other._describe(argument, other.arguments[argument])
        if self._can_wait:
            properties[WAIT] = dict(_WAIT_SCHEMA)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if self.door is Door.RESIDENT:
            schema["additionalProperties"] = False
        return schema | ({"required": required} if required else {})

    @property
    def _page_fields(self) -> tuple[str, ...]:
        """The fields of a list that are not offered, because a list of residents has no pages."""
        if self.door is Door.MCP:
            return ()
        return (_AFTER,) if _LIMIT in self.tool.defaults else (_AFTER, _LIMIT)

    @property
    def _can_wait(self) -> bool:
        return self.tool.waits and self.door is Door.MCP

    def _is_required(self, name: str) -> bool:
        return self._fields[name].required and name not in self.tool.own_by_default

    def _describe(self, argument: str, name: str) -> dict[str, Any]:
        field, scale = self._fields[name], self.tool.scales.get(name)
        if name in self.tool.parts:
            schema: dict[str, Any] = {"type": "string"}
        elif argument in self.tool.references:
            schema = dict(_REFERENCE_SCHEMA)
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
            schema = {"type": schema["type"], "description": "`next` of the last page"}
        if not schema.keys() & {"type", "anyOf"}:
            schema["anyOf"] = [dict(kind) for kind in _ANYTHING]
        if note := self.tool.notes.get(argument) or self.tool.notes.get(name):
            schema["description"] = note
        elif name in self.tool.own_by_default:
            schema["description"] = "default: you"
        return schema

    def decode(self, arguments: Mapping[str, Any], caller: str) -> Request[Any]:
        """Return the request of a model's arguments for a caller; raise Invalid with the first thing that is wrong."""
        for other in self.substitutes:
            if arguments.get(other.tool.takes_over_with) is not None:
                unneeded = self.arguments.keys() - other.arguments.keys()
                return other.decode({name: arguments[name] for name in arguments if name not in unneeded}, caller)
        values: dict[str, Any] = dict.fromkeys((*self.tool.own, *self.tool.own_by_default), caller)
        values.update(self.tool.defaults)
        if _LIMIT in self._fields and _LIMIT in self._page_fields:
            values[_LIMIT] = _MAX_LIMIT
        for argument, value in self._name_arguments(arguments):
            name = self.arguments[argument]
            if value is None and not self._is_required(name):
                continue
            if name in self.tool.parts:
                part = next(part for part, label in self.tool.parts[name].items() if label == argument)
                values.setdefault(name, {})[part] = value
            elif argument in self.tool.references:
                for target, text in zip(self.tool.references[argument], split_reference(argument, value), strict=True):
                    field, _, part = target.partition(".")
                    values[field] = {**values.get(field, {}), part: text} if part else text
            elif name in self.tool.scales:
                values[name] = parse_scaled(argument, value, self.tool.scales[name])
            else:
                values[name] = loosen(value, self._fields[name].type)
        self._check_parts(values)
        values.update(self.tool.fixed)
        if self.operation.method == "PATCH" and values.keys() <= set(self.operation.path_fields):
            raise Invalid("nothing to change", hint=f"give one of {', '.join(list(self.arguments)[1:])}")
        labels = {name: argument for argument, name in self.arguments.items() if name not in self.tool.parts}
        decoder = get_decoder(self.operation)
        request = decoder.decode_text(values, labels)
        refuse_nan(request)
        check_path(request, labels)
        return decoder.decode_json(encode_json(request))  # what is no JSON deep inside is refused as everywhere

    def _name_arguments(self, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the arguments by their names; a resident, and a function in its place, may use snake case."""
        for argument, value in arguments.items():
            field = self._fields.get(argument)
            name = field.encode_name if field is not None and self.door is Door.RESIDENT else argument
            name = argument if argument in self.arguments else name
            if self.operation.has_body:
                name = find_meant_field(name, self.arguments, arguments)
            if name not in self.arguments:
                names = [*self.arguments, *([WAIT] if self._can_wait else [])]
                hint = suggest(argument, names) or (f"use {', '.join(names)}" if names else "leave it out")
                raise Invalid(f"{quote_value(argument)} is not a field of it", hint=hint)
            yield name, value

    def _check_parts(self, values: Mapping[str, Any]) -> None:
        """Refuse half of an object whose parts are arguments."""
        for name, parts in self.tool.parts.items():
            text_parts = values.get(name, {})
            for part, argument in parts.items():
                if text_parts and part not in text_parts:
                    raise Invalid(f"{argument!r} is missing", hint=f"it is needed with {parts[min(text_parts)]!r}")
                if text_parts and not isinstance(text_parts[part], str):
                    raise Invalid(f"{argument}: {quote_value(text_parts[part])} is not text")

    def relabel(self, error: GatepostError) -> None:
        """Name the arguments in an error that names the fields of the request."""
        labels = {self._fields[name].encode_name: argument for argument, name in self.arguments.items()}
        relabel(error, labels, labels)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """
        None of the fields is required: one without a value is left out. An answer that is no list does not describe
        again what the model has written.
        """
        view, item = self.operation.answer, self._item
        properties = {
            field.encode_name: _outline(*_expand(field.type))
            for field in _list_fields(item, self.tool.answer)
            if item is not view or field.name not in self.arguments
        }
        schema = {"type": "object", "properties": properties}
        if item is view:
            return schema
        outer = {field.encode_name: _outline(*_expand(field.type)) for field in _list_fields(view, _OUTER_FIELDS)}
        return {"type": "object", "properties": {_ITEMS: {"type": "array", "items": schema}, **outer}}

    @property
    def is_list(self) -> bool:
        return self._item is not self.operation.answer

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
        if not self.is_list:
            return self.encode_item(answer)
        items = [self.encode_item(item) for item in answer.items]
        return {self.tool.items: items, **self._encode(answer, _OUTER_FIELDS)}

    def encode_item(self, view: Any) -> dict[str, Any]:
        """Return one item of a list, or an answer that is no list, as a model gets it."""
        return self._encode(view, self.tool.answer or view.__struct_fields__)

    def _encode(self, view: Any, paths: Sequence[str]) -> dict[str, Any]:
        """Return those fields of a view that have a value."""
        inner_names = dict(path.partition(".")[::2] for path in paths)
        labels = self.tool.answer_names
        document: dict[str, Any] = {}
        for name, wire_name in zip(view.__struct_fields__, view.__struct_encode_fields__, strict=True):
            if name in inner_names and (value := getattr(view, name)) not in _NO_VALUES[self.door]:
                inner = inner_names[name]
                encoded = [getattr(item, inner) for item in value] if inner else msgspec.to_builtins(value)
                document[labels.get(name, wire_name)] = encoded
        return document

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


@cache
def load_tools(door: Door = Door.MCP) -> Mapping[str, OperationTool]:
    """Return every tool of a door by its name."""
    tools = [
        OperationTool(operation, declared, door)
        for operation in list_operations()
        for tool in operation.tools
        if (declared := tool.at(door)) is not None
    ]
    tools_by_name = {tool.name: tool for tool in tools if not tool.tool.takes_over_with}
    for substitute in tools:
        if substitute.tool.takes_over_with:
            tools_by_name[substitute.name].substitutes.append(substitute)
    return tools_by_name


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
        elif name not in _DROPPED and value != MAX_SEQ:
            result[name] = value
    if "enum" in result and "type" not in result:
        result = {"type": "string", **result}
    if example is not None and "description" in result:
        result["description"] += f", e.g. {example}"
    if "properties" in result:  # the docstring of a class: the fields explain it
        result.pop("description", None)
    return result


def _outline(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the type of a field of an answer."""
    schema = _resolve(schema, definitions)
    if "anyOf" in schema or ("type" not in schema and "enum" not in schema):
        return {}
    return {"type": schema.get("type", "string")}


def _list_fields(view: Any, names: Sequence[str]) -> list[Any]:
    return [field for field in msgspec.structs.fields(view) if field.name in names or not names]


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
