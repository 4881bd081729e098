"""
Write a record as JSON and read it again: one list of its fields serves both ways.

    PLAN = Shape(Plan, "id owner name timeZone=zone createdAt ...")

A field of a document has the name of the attribute, in camel case; `=` names another attribute. The type of the
attribute decides how a value is written:

    Instant            RFC 3339 in UTC
    Duration           a number and a unit, such as 90s
    an enum            its value
    tuple[X, ...]      an array
    a record           an object, written by its own shape
    X | None           null, or as X

Properties are written, and not read. Errors name the field of the document (`core/fields.py`).
"""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from operator import attrgetter
from types import UnionType
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from gatepost.core.event import Priority
from gatepost.core.fields import Fields
from gatepost.core.text import ParsedEnum
from gatepost.core.times import Duration, Instant, format_duration, format_rfc3339, parse_duration

N = TypeVar("N")


class _Form(NamedTuple):
    """How values of one type are written (None: unchanged), and how they are read from a field."""

    write: Callable[[Any], Any] | None
    read: Callable[[Fields, str], Any]


class Shape(Generic[N]):
    def __init__(self, noun: Callable[..., N], fields: str, *inner_shapes: "Shape[Any]", **defaults: Any) -> None:
        """`inner_shapes` are the shapes of records within it; `defaults` are attributes that documents do not have."""
        self._noun = noun
        self._defaults = defaults
        #: types by the names of fields in a document
        self.types: dict[str, Any] = {}
        self._writers: list[tuple[str, str, Callable[[Any], Any] | None]] = []
        self._readers: list[tuple[str, str, Callable[[Fields, str], Any]]] = []
        types: Mapping[str, Any] = noun.__annotations__
        shapes = {shape._noun: shape for shape in inner_shapes}
        for name, _, attribute_name in (field.partition("=") for field in fields.split()):
            attribute = attribute_name or re.sub(r"([A-Z])", r"_\1", name).lower()
            kind = self.types[name] = types.get(attribute) or _get_property_type(noun, attribute)
            form = _find_form(kind, shapes)
            self._writers.append((name, attribute, form.write))
            if attribute in types:
                self._readers.append((name, attribute, form.read))

    def write(self, noun: N) -> dict[str, Any]:
        return {
            name: getattr(noun, attribute) if write is None else write(getattr(noun, attribute))
            for name, attribute, write in self._writers
        }

    def read(self, document: Mapping[str, Any], **overrides: Any) -> N:
        """Return the record of a document that Gatepost wrote; `overrides` are not read from it."""
        return self.read_fields(Fields(document, is_trusted=True), **overrides)

    def read_fields(self, fields: Fields, **overrides: Any) -> N:
        """Return the record of fields that anybody may have written."""
        values = {
            attribute: read(fields, name) for name, attribute, read in self._readers if attribute not in overrides
        }
        return self._noun(**self._defaults, **values, **overrides)


def _get_property_type(noun: Any, attribute: str) -> Any:
    """Return the type of a property."""
    return getattr(noun, attribute).fget.__annotations__["return"]


def _find_form(kind: Any, shapes: Mapping[Any, Shape[Any]]) -> _Form:
    if kind in _FORMS:
        return _FORMS[kind]
    if kind in shapes:
        return _build_object_form(shapes[kind])
    inner = get_args(kind)
    if get_origin(kind) is tuple:
        return _build_array_form(shapes[inner[0]]) if inner[0] in shapes else _TEXTS
    if get_origin(kind) is Literal:
        return _Form(None, lambda fields, name: fields.one_of(name, *inner))
    if get_origin(kind) in (Union, UnionType):
        return _build_optional_form(_find_form(inner[0], shapes))
    if issubclass(kind, ParsedEnum):
        return _Form(_value, lambda fields, name: kind.parse(fields.text(name)))
    assert issubclass(kind, StrEnum), kind
    return _Form(_value, lambda fields, name: kind(fields.one_of(name, *kind)))


def _build_object_form(shape: Shape[Any]) -> _Form:
    return _Form(shape.write, lambda fields, name: shape.read_fields(fields.inner(name)))


def _build_array_form(shape: Shape[Any]) -> _Form:
    return _Form(
        lambda nouns: [shape.write(noun) for noun in nouns],
        lambda fields, name: tuple(shape.read_fields(inner_fields) for inner_fields in fields.inners(name)),
    )


def _build_optional_form(form: _Form) -> _Form:
    write, read = form
    return _Form(
        None if write is None else lambda value: None if value is None else write(value),
        lambda fields, name: None if fields.value(name) is None else read(fields, name),
    )


_value: Final = attrgetter("value")
_TEXTS: Final = _Form(list, lambda fields, name: tuple(fields.texts(name)))
_FORMS: Final[Mapping[Any, _Form]] = {
    Any: _Form(None, Fields.value),
    str: _Form(None, Fields.text),
    int: _Form(None, Fields.whole),
    bool: _Form(None, Fields.flag),
    Instant: _Form(format_rfc3339, Fields.time),
    Mapping[str, str]: _Form(dict, lambda fields, name: fields.inner(name).document),
    Duration: _Form(format_duration, lambda fields, name: parse_duration(fields.text(name))),
    Priority: _Form(_value, lambda fields, name: Priority.parse(fields.whole(name))),
}
