"""
Build the schema of a function for a model, and parse and check the arguments that the model writes.

The schema comes from the signature: the types of the parameters, their defaults, and `Annotated[int, "what it means"]`
for what a name cannot say; the docstring is the description. A parameter of type `ToolContext` or `ToolCaller` is
filled in by Gatepost, and is not in the schema. Built-in tools, which have a `ToolContext`, have names in camel case
(`spaceId`); other functions keep the names of their parameters.

Parsing is strict about names and structure, and lenient about how a value is written: "5" is accepted as a number, and
5 as a text. An integer has 64 bits at most, as in a database. An error is one sentence that lets the model correct its
call.

The arguments of a tool that is no function here are checked against its JSON Schema (`check_value`), by the keywords
that matter: type, enum, const, properties, required, additionalProperties, items, anyOf and oneOf. Other keywords guide
the model, and the program that runs the tool checks them. A schema that makes no sense accepts everything.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

from gatepost.core import json_limits as strict
from gatepost.core.json_limits import Json
from gatepost.core.text import find_unstorable
from gatepost.errors import Invalid, Malformed, TooLarge, quote_value
from gatepost.residents.model_port import ToolCaller, ToolSpec
from gatepost.residents.tools import ToolContext

if TYPE_CHECKING:
    from pydantic import TypeAdapter

#: bytes of the arguments of a call, as the model wrote them
MAX_ARGUMENT_BYTES: Final = 256 * 1024

_INT64_LIMIT: Final = 2**63
_INJECTED_TYPES: Final = (ToolContext, ToolCaller)
_TYPES: Final[Mapping[str, Callable[[Json], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}
_OBJECT_HINT: Final = 'write them as one JSON object, {"name": value}'


@dataclass(frozen=True, slots=True)
class _ArgumentModel:
    """The parameters of a function as one type that parses JSON."""

    adapter: "TypeAdapter[Any]"
    schema: Json
    names: tuple[str, ...]


@cache
def build_spec(name: str, function: Callable[..., Any]) -> ToolSpec:
    return ToolSpec(name, inspect.getdoc(function) or "", _build_model(function).schema)


def parse_arguments(function: Callable[..., Any], text: str) -> dict[str, Any]:
    """Return the arguments of a call; raise Invalid if they do not fit the function."""
    from pydantic_core import ValidationError

    model = _build_model(function)
    raw_arguments = parse_document(text)
    try:
        instance = model.adapter.validator.validate_json(text if text.strip() else "{}")
    except ValidationError as error:
        raise _build_error(error.errors(include_url=False), model.names) from None
    parsed_arguments: dict[str, Any] = vars(instance)
    for name, value in zip(model.names, parsed_arguments.values(), strict=True):
        if name in raw_arguments:
            _check_integers(value, (name,))
    return parsed_arguments


def parse_document(text: str) -> dict[str, Any]:
    """Return the arguments as a JSON object, which is {} for an empty text; raise Malformed, TooLarge or Invalid."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise Malformed("the arguments are not valid Unicode") from None
    if len(raw) > MAX_ARGUMENT_BYTES:
        raise TooLarge(
            f"the arguments are {len(raw)} bytes, over the limit of {MAX_ARGUMENT_BYTES}", hint="send less at once"
        )
    try:
        value = strict.parse_json(raw, "the text of the arguments") if raw.strip() else {}
    except Malformed as error:
        raise Malformed(error.message, hint=_OBJECT_HINT) from None
    if "\\u" in text and find_unstorable(json.dumps(value, ensure_ascii=False)):
        raise Malformed("the arguments have half of a surrogate pair in them", hint=_OBJECT_HINT)
    if not isinstance(value, dict):
        raise Invalid(f"the arguments are {quote_value(value)}, not an object", hint=_OBJECT_HINT)
    return value


def find_caller_parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters of type `ToolCaller`."""
    return [name for name, annotation in _get_hints(function).items() if _strip_annotated(annotation) is ToolCaller]


@cache
def _build_model(function: Callable[..., Any]) -> _ArgumentModel:
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.alias_generators import to_camel

    hints = _get_hints(function)
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if _strip_annotated(hints.get(parameter.name)) not in _INJECTED_TYPES
    ]
    is_camel = any(_strip_annotated(annotation) is ToolContext for annotation in hints.values())
    arguments_class = make_dataclass(
        "Arguments", [_build_field(parameter, hints.get(parameter.name, Any)) for parameter in parameters], kw_only=True
    )
    arguments_class.__pydantic_config__ = ConfigDict(  # type: ignore[attr-defined]
        extra="forbid",
        coerce_numbers_to_str=True,
        arbitrary_types_allowed=True,
        alias_generator=to_camel if is_camel else None,
    )
    adapter: TypeAdapter[Any] = TypeAdapter(arguments_class)
    names = tuple(to_camel(parameter.name) if is_camel else parameter.name for parameter in parameters)
    return _ArgumentModel(adapter, _inline_schema(adapter.json_schema()), names)


def _get_hints(function: Callable[..., Any]) -> dict[str, Any]:
    return {
        name: annotation
        for name, annotation in get_type_hints(function, include_extras=True).items()
        if name != "return"
    }


def _strip_annotated(annotation: Any) -> Any:
    return get_args(annotation)[0] if get_origin(annotation) is Annotated else annotation


def _build_field(parameter: inspect.Parameter, annotation: Any) -> tuple[str, Any, Any]:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise Invalid(f"a tool cannot have the parameter {str(parameter)!r}", hint="give each argument a name")
    notes = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    descriptions = [note for note in notes if isinstance(note, str)]
    metadata = {"description": " ".join(descriptions)} if descriptions else {}
    default = parameter.default
    if default is parameter.empty:
        return parameter.name, annotation, field(metadata=metadata)
    if default.__class__.__hash__ is None:
        return parameter.name, annotation, field(default_factory=lambda: default, metadata=metadata)
    return parameter.name, annotation, field(default=default, metadata=metadata)


def _inline_schema(schema: dict[str, Any]) -> Json:
    """Return the schema without titles, and with references replaced by definitions: not every model follows them."""
    definitions = schema.pop("$defs", {})

    def inline(value: Any, parents: tuple[str, ...] = ()) -> Any:
        if isinstance(value, list):
            return [inline(child, parents) for child in value]
        if not isinstance(value, dict):
            return value
        value = _drop_null_option(value)
        name = str(value.get("$ref", "")).removeprefix("#/$defs/")
        if name in definitions and name not in parents:
            value = definitions[name] | {key: child for key, child in value.items() if key != "$ref"}
            parents = (*parents, name)
        properties = value.get("properties")
        inner = {key: inline(child, parents) for key, child in value.items() if key not in ("title", "properties")}
        return inner | (
            {"properties": {key: inline(child, parents) for key, child in properties.items()}} if properties else {}
        )

    result = {"type": "object", "properties": {}} | inline(schema)
    # A definition that refers to itself cannot be inlined, and stays in `$defs`.
    return result | {"$defs": definitions} if "$ref" in json.dumps(result) else result


def _drop_null_option(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional parameter without the option null: it can be left out instead."""
    match schema:
        case {"anyOf": [dict() as option, {"type": "null"}], "default": None}:
            return option | {key: value for key, value in schema.items() if key not in ("anyOf", "default")}
        case _:
            return schema


def _build_error(errors: Sequence[Any], names: Iterable[str]) -> Invalid:
    """Return an error with one sentence about the first problem."""
    error = errors[0]
    path = _format_path(error["loc"])
    names_text = ", ".join(names) if len(error["loc"]) == 1 else ""
    names_hint = f"the arguments are {names_text}" if names_text else None
    match error["type"]:
        case "missing" | "missing_argument":
            return Invalid(f"the argument {path!r} is missing", hint=names_hint)
        case "extra_forbidden" | "unexpected_keyword_argument":
            return Invalid(f"there is no argument {quote_value(path, 100)}", hint=names_hint)
        case "int_parsing_size":
            return _build_size_error(path, error["input"])
        case "json_invalid":
            return Malformed("the text of the arguments is not JSON", hint=str(error["msg"])[:200])
        case _:
            message = str(error["msg"]).removeprefix("Value error, ")
            return Invalid(
                f"{_describe_argument(path)} is {quote_value(error['input'])}: {message[:1].lower()}{message[1:300]}"
            )


def _check_integers(value: Any, path: tuple[str | int, ...]) -> None:
    """Raise Invalid if there is an integer of more than 64 bits, at any depth."""
    if isinstance(value, int) and not -_INT64_LIMIT <= value < _INT64_LIMIT:
        raise _build_size_error(_format_path(path), value)
    children: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list | tuple):
        children = enumerate(value)
    elif is_dataclass(value):
        children = ((attribute.name, getattr(value, attribute.name)) for attribute in fields(value))
    for name, child in children:
        _check_integers(child, (*path, name))


def _build_size_error(path: str, value: Any) -> Invalid:
    return Invalid(f"the argument {quote_value(path, 100)} is {quote_value(value)}: it has more than 64 bits")


def _format_path(parts: Iterable[str | int]) -> str:
    """Return a path in the arguments, such as `plans[2].runAfter`."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def check_value(schema: Json, value: Json, path: str = "") -> None:
    """Raise Invalid with one sentence about the first part that does not conform."""
    if not isinstance(schema, dict):
        return
    schema_type = schema.get("type")
    kinds = [
        kind for kind in (schema_type if isinstance(schema_type, list) else [schema_type]) if isinstance(kind, str)
    ]
    if kinds and not any(_TYPES.get(kind, lambda _: True)(value) for kind in kinds):
        raise Invalid(f"{_describe_argument(path)} is {quote_value(value)}, not of the type {' or '.join(kinds)}")
    _check_choices(schema, value, path)
    if isinstance(value, dict):
        _check_members(schema, value, path)
    if isinstance(value, list):
        for index, item in enumerate(value):
            check_value(schema.get("items"), item, f"{path}[{index}]")


def _check_choices(schema: Mapping[str, Json], value: Json, path: str) -> None:
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(_is_equal(value, choice) for choice in choices):
        raise Invalid(f"{_describe_argument(path)} is {quote_value(value)}, not one of {quote_value(choices, 200)}")
    if "const" in schema and not _is_equal(value, schema["const"]):
        raise Invalid(f"{_describe_argument(path)} is {quote_value(value)}, not {quote_value(schema['const'])}")
    for keyword in ("anyOf", "oneOf"):
        alternatives = schema.get(keyword)
        if (
            isinstance(alternatives, list)
            and alternatives
            and not any(_is_valid(choice, value) for choice in alternatives)
        ):
            raise Invalid(
                f"{_describe_argument(path)} is {quote_value(value)}, which matches none of the allowed forms"
            )


def _check_members(schema: Mapping[str, Json], value: Mapping[str, Json], path: str) -> None:
    raw_properties = schema.get("properties")
    properties: Mapping[str, Json] = raw_properties if isinstance(raw_properties, dict) else {}
    required_names = schema.get("required")
    for name in required_names if isinstance(required_names, list) else ():
        if name not in value:
            raise Invalid(f"{_describe_argument(_join_path(path, str(name)))} is missing")
    for name, member in value.items():
        member_path = _join_path(path, name)
        if name in properties:
            check_value(properties[name], member, member_path)
        elif schema.get("additionalProperties") is False:
            property_names = ", ".join(properties)
            raise Invalid(
                f"there is no argument {quote_value(member_path, 100)}",
                hint=f"there are {property_names}" if property_names else None,
            )
        else:
            check_value(schema.get("additionalProperties"), member, member_path)


def _is_valid(schema: Json, value: Json) -> bool:
    try:
        check_value(schema, value)
    except Invalid:
        return False
    return True


def _is_equal(left_value: Json, right_value: Json) -> bool:
    """Return True if both are the same JSON; true is not 1."""
    if isinstance(left_value, list) and isinstance(right_value, list):
        return len(left_value) == len(right_value) and all(map(_is_equal, left_value, right_value))
    if isinstance(left_value, dict) and isinstance(right_value, dict):
        return left_value.keys() == right_value.keys() and all(
            _is_equal(value, right_value[name]) for name, value in left_value.items()
        )
    return bool(left_value == right_value) and isinstance(left_value, bool) == isinstance(right_value, bool)


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _describe_argument(path: str) -> str:
    return f"the argument {quote_value(path, 100)}" if path else "what the tool was given"
