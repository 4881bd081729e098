"""
Types of fields that several nouns have, and views of records: how the fields of an answer are copied from a record.

    class GateView(RecordView[Gate]):
        id: str                                          # copied
        created_at: Time                                 # formatted
        resolution: ResolutionView | None                # the view of another record
        display_name: Annotated[str, Source("display")]  # copied from an attribute with another name
        is_pending: Annotated[bool, Source(lambda gate: gate.resolution is None)]
        holds: bool                                      # passed by the caller of `of`
        trouble: str | UnsetType = UNSET                 # copied, and left out of the answer if it is None

    GateView.of(gate, holds=gate.holds(now))

How to copy is found from the annotations once, when the first view of a class is built. The other way round, a request
says how its fields are parsed for the record that a verb takes:

    class AddGate(Request[GateView]):
        name: str                                        # copied
        within: Annotated[str | None, Parse(parse_duration)] = None

    build_record(GateSpec, request)
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from types import NoneType, UnionType, new_class
from typing import Annotated, Any, Final, Generic, NamedTuple, Self, TypeAlias, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, UnsetType

from gatepost.core import address
from gatepost.core.text import parse_field
from gatepost.core.times import format_rfc3339
from gatepost.operations.operation import View

T = TypeVar("T")
M = TypeVar("M", bound=msgspec.Struct)


class Source(NamedTuple):
    """In an annotation: the attribute of the record that a field is copied from, or a function of the record."""

    value: str | Callable[[Any], Any]


class Format(NamedTuple):
    """In an annotation: the function that formats the value of the record; None stays None."""

    function: Callable[[Any], Any]


class Parse(NamedTuple):
    """In an annotation of a request: the function that parses the value for a record; None stays None."""

    function: Callable[[Any], Any]


def build_record(record: type[M], request: msgspec.Struct, **values: Any) -> M:
    """
    Return a record with those fields of a request that it has, parsed; `values` take the place of fields. What the
    request does not say (None) has the default of the record.
    """
    fields = parse_fields(request) | values
    return record(**{name: fields[name] for name in record.__struct_fields__ if fields.get(name) is not None})


def parse_fields(request: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of a request, parsed. An error begins with the name of its field."""
    return {
        name: getattr(request, name) if parse is None else parse_field(label, getattr(request, name), parse)
        for name, label, parse in _list_parsers(type(request))
    }


@cache
def _list_parsers(request: type[msgspec.Struct]) -> list[tuple[str, str, Callable[[Any], Any] | None]]:
    return [(field.name, field.encode_name, _find_parser(field.type)) for field in msgspec.structs.fields(request)]


def _find_parser(kind: Any) -> Callable[[Any], Any] | None:
    notes = (note.function for note in _list_notes(kind) if isinstance(note, Parse))
    return next(notes, None) or next(filter(None, map(_find_parser, get_args(kind))), None)


class RecordView(View, Generic[T]):
    """A view of a record."""

    @classmethod
    def of(cls, record: T, /, **values: Any) -> Self:
        """Return the view of a record; `values` take the place of attributes, and are formatted like them."""
        view: Self = _compile_copy(cls, tuple(values))(record, values)
        return view


@cache
def _compile_copy(view: type[RecordView[Any]], passed: tuple[str, ...]) -> Callable[[Any, Mapping[str, Any]], Any]:
    """
    Return the function that copies the fields; one that has a default is copied only if it is passed, unless the
    default is UNSET. The function is compiled, as the methods of dataclasses are: a loop over the fields takes twice as
    long, and lists have many rows.
    """
    if unknown := set(passed) - set(view.__struct_fields__):
        raise TypeError(f"{view.__name__} has no field {min(unknown)!r}")
    names: dict[str, Any] = {"view": view, "UNSET": UNSET}
    arguments = []
    for field in msgspec.structs.fields(view):
        if field.name in passed:
            value = f"values[{field.name!r}]"
        elif not field.required and field.default is not UNSET:
            continue
        elif isinstance(source := get_source(field), str):
            value = f"record.{source}"
        else:
            names[f"read_{field.name}"] = source
            value = f"read_{field.name}(record)"
        absent = field.default if field.default is UNSET else None
        if convert := _choose_conversion(field.type):
            names[f"convert_{field.name}"] = convert
            value = f"{absent} if (value := {value}) is None else convert_{field.name}(value)"
        elif absent is UNSET:
            value = f"UNSET if (value := {value}) is None else value"
        arguments.append(f"{field.name}={value}")
    function: Callable[[Any, Mapping[str, Any]], Any] = eval(  # noqa: S307 (made of the names of fields)
        f"lambda record, values: view({', '.join(arguments)})", names
    )
    return function


def get_source(field: msgspec.structs.FieldInfo) -> str | Callable[[Any], Any]:
    """Return the attribute of the record that a field of a view is copied from, or a function of the record."""
    return next((note.value for note in _list_notes(field.type) if isinstance(note, Source)), field.name)


def _list_notes(kind: Any) -> list[Any]:
    return list(kind.__metadata__) if get_origin(kind) is Annotated else []


def _choose_conversion(kind: Any) -> Callable[[Any], Any] | None:
    for note in _list_notes(kind):
        if isinstance(note, Format):
            return note.function
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _choose_conversion(arguments[0])
    if origin in (Union, UnionType):
        return next(filter(None, map(_choose_conversion, set(arguments) - {NoneType, UnsetType})), None)
    if origin in (list, tuple):
        convert = _choose_conversion(arguments[0])
        return partial(_convert_items, origin, convert) if convert else list if origin is list else None
    return kind.of if isinstance(kind, type) and issubclass(kind, RecordView) else None


def _convert_items(collect: Callable[[Iterable[Any]], Any], convert: Callable[[Any], Any], items: Iterable[Any]) -> Any:
    return collect(map(convert, items))


Time = Annotated[
    str,
    Meta(extra_json_schema={"format": "date-time"}, examples=["2026-02-18T15:07:00.123456Z"]),
    Format(format_rfc3339),
]
#: every position in a list is below it
MAX_SEQ: Final = 2**62
Count = Annotated[int, Meta(ge=0)]
Limit = Annotated[int, Meta(ge=1, le=1000, description="maximum number of results")]
After = Annotated[int, Meta(ge=0, le=MAX_SEQ, description="`next` of the previous page")]
Cursor = Annotated[str, Meta(max_length=300, description="`next` of the previous page")] | None
Seq = Annotated[int, Meta(ge=0, le=MAX_SEQ)]
Priority = Annotated[int, Meta(ge=0, le=4)]
Json = Any

EVENT_ID: Final = "evt_01a1e0dff6957124bd721ac983205d33"
CLAIM_ID: Final = "clm_01a1e0dff6957124bd721ac983205d33"


def describe(text: str | None = None, **limits: Any) -> Meta:
    """Return a description, and limits that a verb checks: the schema only says them."""
    return Meta(description=text, extra_json_schema=limits or None)


#: the name of something that is created now
NewName = Annotated[str, describe(minLength=1, maxLength=address.MAX_NAME_LENGTH)]
#: a name or an alias
Name = Annotated[str, describe(minLength=1, maxLength=address.MAX_ALIAS_LENGTH)]
#: whom the request acts for
Actor = Annotated[str | None, describe("entity to act as; default: the caller")]


#: a value, null for the default, or nothing
Setting: TypeAlias = T | UnsetType | None


def derive_settings(base: type[M], declaration: type[msgspec.Struct]) -> type[M]:
    """Return a request with the fields of a declaration: each may be null, for its default, or be left out."""
    kinds = {field.name: field.type | UnsetType | None for field in msgspec.structs.fields(declaration)}
    return _derive(base, declaration, kinds, dict.fromkeys(kinds, UNSET))


def derive_view(base: type[M], declaration: type[msgspec.Struct], source: str) -> type[M]:
    """Return a view with the fields of a declaration, copied from the attribute `source` of the record."""
    fields = msgspec.structs.fields(declaration)
    return _derive(
        base, declaration, {field.name: Annotated[field.type, Source(f"{source}.{field.name}")] for field in fields}, {}
    )


def _derive(
    base: type[M], declaration: type[msgspec.Struct], kinds: dict[str, Any], defaults: Mapping[str, Any]
) -> type[M]:
    namespace = {"__annotations__": kinds, "__module__": declaration.__module__, **defaults}
    derived: type[M] = new_class(declaration.__name__, (base,), {"kw_only": True}, lambda body: body.update(namespace))
    return derived
