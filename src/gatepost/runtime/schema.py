"""
What a model is told of a function, and how what the model writes becomes its arguments.

A function's signature is its schema: the types of its parameters, their defaults, and `Annotated[int, "what it means"]`
for what a name cannot say; its docstring is the description. A parameter that is a `Desk` or a `Caller` is for us to
fill in, and no model hears of it. Built-in tools, which are over a desk, are spoken to in camel case (`spaceId`);
other functions by the names that their parameters have.

Reading is strict about names and shapes, and friendly about how a value is written: "5" is a number, and 5 a text. A
whole number has 64 bits at the most, as in a database. Whatever is wrong comes back as one sentence, from which a model
can mend its call.
"""

import inspect
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_origin, get_type_hints

from gatepost.actions.tools import Desk
from gatepost.core import strict
from gatepost.core.event import Json
from gatepost.core.model import Caller, ToolSpec
from gatepost.errors import Invalid, Malformed, TooLarge

if TYPE_CHECKING:
    from pydantic import TypeAdapter

#: bytes of the arguments of a call, as the model wrote them
LARGEST: Final = 256 * 1024

_MOST: Final = 2**63
_OURS: Final = (Desk, Caller)
_QUOTED: Final = 60
_AS_OBJECT: Final = 'write them as one JSON object, {"name": value}'


@dataclass(frozen=True, slots=True)
class _Form:
    """The parameters of a function as one type, which reads JSON."""

    adapter: "TypeAdapter[Any]"
    schema: Json
    names: tuple[str, ...]


@cache
def spec(name: str, function: Callable[..., Any]) -> ToolSpec:
    return ToolSpec(name, inspect.getdoc(function) or "", _form(function).schema)


def arguments(function: Callable[..., Any], text: str) -> dict[str, Any]:
    """Read a call's arguments; raises Invalid with what is wrong with them."""
    from pydantic_core import ValidationError

    form = _form(function)
    written = document(text)
    try:
        read = form.adapter.validator.validate_json(text if text.strip() else "{}")
    except ValidationError as error:
        raise _explained(error.errors(include_url=False), form.names) from None
    found: dict[str, Any] = vars(read)
    for name, value in zip(form.names, found.values(), strict=True):
        if name in written:
            _measure(value, (name,))
    return found


def document(text: str) -> dict[str, Any]:
    """Read arguments as they are: a JSON object; nothing at all is an empty one."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise Malformed("the arguments are not valid Unicode") from None
    if len(raw) > LARGEST:
        raise TooLarge(f"the arguments are {len(raw)} bytes, over the limit of {LARGEST}", hint="send less at once")
    try:
        found = strict.read(raw, "the text of the arguments") if raw.strip() else {}
    except Malformed as error:
        raise Malformed(error.message, hint=_AS_OBJECT) from None
    try:
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Malformed("the arguments have half of a surrogate pair in them", hint=_AS_OBJECT) from None
    if not isinstance(found, dict):
        raise Invalid(f"the arguments are {_quoted(found)}, not an object", hint=_AS_OBJECT)
    return found


def callers(function: Callable[..., Any]) -> list[str]:
    """The parameters that want to know who calls."""
    return [name for name, kind in _hints(function).items() if _bare(kind) is Caller]


@cache
def _form(function: Callable[..., Any]) -> _Form:
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.alias_generators import to_camel

    hints = _hints(function)
    known = [one for one in inspect.signature(function).parameters.values() if _bare(hints.get(one.name)) not in _OURS]
    camel = any(_bare(kind) is Desk for kind in hints.values())
    made = make_dataclass("Arguments", [_field(one, hints.get(one.name, Any)) for one in known], kw_only=True)
    made.__pydantic_config__ = ConfigDict(  # type: ignore[attr-defined]
        extra="forbid",
        coerce_numbers_to_str=True,
        arbitrary_types_allowed=True,
        alias_generator=to_camel if camel else None,
    )
    adapter: TypeAdapter[Any] = TypeAdapter(made)
    names = tuple(to_camel(one.name) if camel else one.name for one in known)
    return _Form(adapter, _plain(adapter.json_schema()), names)


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    return {name: kind for name, kind in get_type_hints(function, include_extras=True).items() if name != "return"}


def _bare(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _field(parameter: inspect.Parameter, kind: Any) -> tuple[str, Any, Any]:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise Invalid(f"a tool cannot have the parameter {str(parameter)!r}", hint="give each argument a name")
    notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    words = [note for note in notes if isinstance(note, str)]
    meaning = {"description": " ".join(words)} if words else {}
    default = parameter.default
    if default is parameter.empty:
        return parameter.name, kind, field(metadata=meaning)
    if default.__class__.__hash__ is None:
        return parameter.name, kind, field(default_factory=lambda: default, metadata=meaning)
    return parameter.name, kind, field(default=default, metadata=meaning)


def _plain(schema: dict[str, Any]) -> Json:
    """The schema without titles, which say nothing; and what it refers to in its place, since not every model looks."""
    shelf = schema.pop("$defs", {})

    def placed(value: Any, within: tuple[str, ...] = ()) -> Any:
        if isinstance(value, list):
            return [placed(one, within) for one in value]
        if not isinstance(value, dict):
            return value
        value = _given(value)
        name = str(value.get("$ref", "")).removeprefix("#/$defs/")
        if name in shelf and name not in within:
            value = shelf[name] | {key: one for key, one in value.items() if key != "$ref"}
            within = (*within, name)
        named = value.get("properties")
        inner = {key: placed(one, within) for key, one in value.items() if key not in ("title", "properties")}
        return inner | ({"properties": {key: placed(one, within) for key, one in named.items()}} if named else {})

    found = {"type": "object", "properties": {}} | placed(schema)
    # What refers to itself cannot be put in its place, and stays on the shelf.
    return found | {"$defs": shelf} if "$ref" in json.dumps(found) else found


def _given(schema: dict[str, Any]) -> dict[str, Any]:
    """What may be left out need not be said to be null as well."""
    match schema:
        case {"anyOf": [dict() as kind, {"type": "null"}], "default": None}:
            return kind | {key: one for key, one in schema.items() if key not in ("anyOf", "default")}
        case _:
            return schema


def _explained(errors: Sequence[Any], known: Iterable[str]) -> Invalid:
    """One sentence about the first error."""
    error = errors[0]
    where, kind = _path(error["loc"]), error["type"]
    has = ", ".join(known) if len(error["loc"]) == 1 else ""
    match kind:
        case "missing" | "missing_argument":
            return Invalid(f"the argument {where!r} is missing", hint=f"the arguments are {has}" if has else None)
        case "extra_forbidden" | "unexpected_keyword_argument":
            return Invalid(f"there is no argument {where!r:.100}", hint=f"the arguments are {has}" if has else None)
        case "int_parsing_size":
            return _large(where, error["input"])
        case "json_invalid":
            return Malformed("the text of the arguments is not JSON", hint=str(error["msg"])[:200])
        case _:
            what = str(error["msg"]).removeprefix("Value error, ")
            return Invalid(f"the argument {where!r:.100} is {_quoted(error['input'])}: {what[:1].lower()}{what[1:300]}")


def _measure(value: Any, place: tuple[str | int, ...]) -> None:
    """Refuse a whole number that has more than 64 bits, wherever it is."""
    if isinstance(value, int) and not -_MOST <= value < _MOST:
        raise _large(_path(place), value)
    inner: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        inner = value.items()
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    elif is_dataclass(value):
        inner = ((each.name, getattr(value, each.name)) for each in fields(value))
    for name, one in inner:
        _measure(one, (*place, name))


def _large(where: str, value: Any) -> Invalid:
    return Invalid(f"the argument {where!r:.100} is {_quoted(value)}: it has more than 64 bits")


def _path(place: Iterable[str | int]) -> str:
    """Where in the arguments, such as `plans[2].runAfter`."""
    path = ""
    for one in place:
        path += f"[{one}]" if isinstance(one, int) else f".{one}" if path else one
    return path


def _quoted(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."
