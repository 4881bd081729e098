"""
Say what is wrong with a value, in one sentence: which field, what was sent, what is expected.

msgspec decides whether a value fits its type. Only when it refuses does this module walk through the value to find the
first thing that is wrong, and words it the same way for every door. A value is quoted unless it may be a secret. A
caller may give labels for the fields, so that the command line says `--limit` where HTTP says `limit`; `relabel` puts
them into an error that a verb has raised, here or in a gateway.

Documents that are part of a request, or come from elsewhere (configurations, templates, tables of a settings file), are
Structs too, and are read by `convert`. In their types, a title and a description say what a text must be, and the fix:

    Annotated[str, Meta(pattern=..., title="the name of a tool", description="use up to 64 letters")]
    tools[1].name: 'no spaces' is not the name of a tool (hint: use up to 64 letters)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec import inspect

from gatepost.core import json_limits, typed_json
from gatepost.core.text import find_unstorable
from gatepost.errors import GatepostError, Invalid, quote_value

T = TypeVar("T")

_SECRET_WORDS: Final = ("secret", "key", "token", "password", "headers", "env")
_HIDDEN: Final = "what was sent"
_MAX_PATH_LENGTH: Final = 100
_MAX_INTEGER: Final = 2**64
#: larger limits mean that any number will do
_MAX_TOLD: Final = 10**12
#: bytes of a document
MAX_DOCUMENT: Final = 512 * 1024
_TYPE_NAMES: Final[Mapping[type, str]] = {
    inspect.StrType: "text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.ListType: "a list",
    inspect.VarTupleType: "a list",
}

#: the field that a message begins with, or one in backticks
_FIELD: Final = re.compile(r"\A([a-z][A-Za-z]*)(?=[.:\[])|`([a-z][A-Za-z]*)`")
NO_LABELS: Final[Mapping[str, str]] = MappingProxyType({})
#: the label of the whole value
WHOLE: Final = ""
_MISSING: Final = object()
_UNKNOWN: Final = object()
_get_type_info: Final[Callable[[Any], inspect.Type]] = cache(inspect.type_info)

#: the names of fields, and the numbers of items
Path = tuple[str | int, ...]


class _Fault(NamedTuple):
    """The field at the end of a path is wrong: its value, or the field itself, which is `_MISSING` or `_UNKNOWN`."""

    path: Path
    value: Any
    what: str
    hint: str | None = None

    def build_error(self, labels: Mapping[str, str]) -> Invalid:
        label = _join(self.path, labels)
        if self.value is _UNKNOWN:
            *parents, name = self.path
            parent = _join(tuple(parents), labels) if parents else labels.get(WHOLE, "it")
            return Invalid(f"{quote_value(name, _MAX_PATH_LENGTH)} {self.what} {parent}", hint=self.hint)
        if self.value is _MISSING:
            return Invalid(f"{label!r} {self.what}", hint=self.hint)
        return Invalid(f"{label}: {_quote(self.value, self.path)} {self.what}", hint=self.hint)


def explain(kind: Any, value: Any, path: Path = (), *, labels: Mapping[str, str] = NO_LABELS) -> Invalid:
    """Return the error for a value that is not of a type; `path` leads to it, `labels` are by the name of a field."""
    for fault in _find_faults(inspect.type_info(kind), value, path):
        return fault.build_error(labels)
    # A number that is too large for JSON is the one thing that is wrong in a value of any kind.
    return Invalid(f"{_join(path, labels)}: a number in it is out of range", hint="send it as text")


def convert(
    kind: type[T], document: Any, path: Path = (), *, labels: Mapping[str, str] = NO_LABELS, limit: int = MAX_DOCUMENT
) -> T:
    """
    Return a document as a value of a type; raise Invalid with the first thing that is wrong. A field that is null is
    the same as a missing one. It has at most `limit` bytes as JSON, and nothing that a database could not store.
    """
    info = _get_type_info(kind)
    document = _omit_nulls(info, document)
    try:
        json_limits.encode_json(document, _join(path, labels).removeprefix("the "), limit)
        return typed_json.convert(document, kind)
    except msgspec.ValidationError:
        raise explain(kind, document, path, labels=labels) from None
    except Invalid as error:
        fault = next(_find_faults(info, document, path), None)
        raise fault.build_error(labels) if fault else error from None


def _omit_nulls(kind: inspect.Type, value: Any) -> Any:
    """Return a value without the fields of its Structs that are null."""
    match kind:
        case inspect.Metadata():
            return _omit_nulls(kind.type, value)
        case inspect.UnionType():
            for inner in kind.types:
                value = _omit_nulls(inner, value)
        case inspect.StructType() if isinstance(value, dict):
            kinds = {field.encode_name: field.type for field in kind.fields}
            set_fields = {name: inner for name, inner in value.items() if inner is not None or name not in kinds}
            return {
                name: _omit_nulls(kinds[name], inner) if name in kinds else inner for name, inner in set_fields.items()
            }
        case inspect.ListType() | inspect.VarTupleType() if isinstance(value, list | tuple):
            return [_omit_nulls(kind.item_type, inner) for inner in value]
    return value


def relabel(error: GatepostError, labels: Mapping[str, str], hint_labels: Mapping[str, str]) -> None:
    """Replace the names of fields in an error by their labels: at its beginning, and wherever they are in backticks."""
    error.message = _FIELD.sub(lambda match: labels.get(match[1] or match[2], match[0]), error.message)
    if error.hint is not None:
        error.hint = _FIELD.sub(lambda match: hint_labels.get(match[2], match[0]), error.hint)


def _find_faults(kind: inspect.Type, value: Any, path: Path) -> Iterator[_Fault]:
    match kind:
        case inspect.Metadata():
            schema = kind.extra_json_schema or {}
            for fault in _find_faults(kind.type, value, path):
                is_named = "title" in schema and isinstance(fault.value, str)
                yield (
                    fault._replace(what=f"is not {schema['title']}", hint=schema["description"]) if is_named else fault
                )
        case inspect.UnionType():
            yield from _find_faults_of_union(kind, value, path)
        case inspect.StructType() | inspect.NamedTupleType() if isinstance(value, kind.cls):
            pass  # it was read before
        case inspect.StructType() | inspect.DictType() if not isinstance(value, dict):
            yield _Fault(path, value, "is not an object")
        case inspect.StructType():
            yield from _find_faults_of_fields(kind, value, path)
        case inspect.ListType() | inspect.VarTupleType():
            yield from _find_faults_of_list(kind, value, path)
        case inspect.DictType():
            for key, inner in value.items():
                yield from _find_faults(kind.value_type, inner, (*path, key))
        case inspect.EnumType() | inspect.LiteralType():
            words = _list_words(kind)
            if value not in words or isinstance(value, bool):
                yield _Fault(path, value, f"is not one of {', '.join(map(str, words))}", suggest(value, words))
        case _:
            yield from _find_faults_of_scalar(kind, value, path)


def _find_faults_of_union(kind: inspect.UnionType, value: Any, path: Path) -> Iterator[_Fault]:
    """A value of a union is wrong if it is wrong for each type; the best explanation is that of the fitting kind."""
    faults = [next(_find_faults(inner, value, path), None) for inner in kind.types]
    if any(fault is None for fault in faults):
        return
    names = [name for inner in kind.types if (name := _name_type(inner)) and name != "null"]
    if len(names) == 1:
        inner = next(inner for inner in kind.types if _name_type(inner) != "null")
        yield from _find_faults(inner, value, path)
    else:
        yield _Fault(path, value, f"is not {' or '.join(names)}")


def _find_faults_of_fields(kind: inspect.StructType, value: Mapping[str, Any], path: Path) -> Iterator[_Fault]:
    names = [field.encode_name for field in kind.fields]
    if kind.forbid_unknown_fields:
        for name in value:
            if name not in names:
                hint = suggest(name, names) or (f"it may have {', '.join(names)}" if names else "leave it out")
                yield _Fault((*path, name), _UNKNOWN, "is not a field of", hint)
    for field in kind.fields:
        if field.encode_name in value:
            yield from _find_faults(field.type, value[field.encode_name], (*path, field.encode_name))
        elif field.required:
            yield _Fault((*path, field.encode_name), _MISSING, "is missing")


def _find_faults_of_list(kind: inspect.ListType | inspect.VarTupleType, value: Any, path: Path) -> Iterator[_Fault]:
    if not isinstance(value, list | tuple):  # the command line has tuples
        yield _Fault(path, value, "is not a list")
        return
    yield from _check_length(kind, value, path, "has fewer than {} member{s}", "has more than {} member{s}")
    for number, inner in enumerate(value):
        yield from _find_faults(kind.item_type, inner, (*path, number))


def _find_faults_of_scalar(kind: inspect.Type, value: Any, path: Path) -> Iterator[_Fault]:
    match kind, value:
        case inspect.StrType(), str():
            yield from _check_length(
                kind, value, path, "is shorter than {} character{s}", "is longer than {} character{s}"
            )
            if kind.pattern is not None and not re.search(kind.pattern, value):
                yield _Fault(path, value, f"does not match {kind.pattern}")
            if reason := find_unstorable(value):
                yield _Fault(path, value, reason)
        case (inspect.IntType(), int()) | (inspect.FloatType(), int() | float()) if not isinstance(value, bool):
            yield from _check_range(kind, value, path)
            if isinstance(kind, inspect.IntType) and abs(value) >= _MAX_INTEGER:
                yield _Fault(path, value, "is too large a number")
        case (
            (inspect.BoolType(), bool()) | (inspect.NoneType(), None) | (inspect.AnyType(), _) | (inspect.RawType(), _)
        ):
            pass
        case _:
            yield _Fault(path, value, f"is not {_name_type(kind)}", _describe_range(kind))


def _check_range(kind: Any, value: float, path: Path) -> Iterator[_Fault]:
    for bound, sign, word in ((kind.ge, -1, "less"), (kind.le, 1, "more")):
        if bound is not None and (value - bound) * sign > 0:
            yield _Fault(path, value, f"is {word} than {bound}", _describe_range(kind))


def _describe_range(kind: Any) -> str | None:
    minimum, maximum = getattr(kind, "ge", None), getattr(kind, "le", None)
    is_known = minimum is not None and maximum is not None and maximum <= _MAX_TOLD
    return f"use {minimum} to {maximum}" if is_known else None


def _check_length(kind: Any, value: Sequence[Any], path: Path, too_short: str, too_long: str) -> Iterator[_Fault]:
    for bound, sign, words in ((kind.min_length, -1, too_short), (kind.max_length, 1, too_long)):
        if bound is not None and (len(value) - bound) * sign > 0:
            yield _Fault(path, value, words.format(bound, s="" if bound == 1 else "s"))


def _name_type(kind: inspect.Type) -> str:
    match kind:
        case inspect.Metadata():
            return _name_type(kind.type)
        case inspect.EnumType() | inspect.LiteralType():
            return f"one of {', '.join(map(str, _list_words(kind)))}"
        case _:
            return _TYPE_NAMES.get(type(kind), "an object")


def _list_words(kind: inspect.EnumType | inspect.LiteralType) -> list[Any]:
    return [word.value for word in kind.cls] if isinstance(kind, inspect.EnumType) else list(kind.values)


def _join(path: Path, labels: Mapping[str, str]) -> str:
    if not path:
        return labels.get(WHOLE, "the body")
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path[1:])
    return f"{labels.get(str(path[0]), path[0])}{''.join(steps)}"[:_MAX_PATH_LENGTH]


def suggest(word: Any, names: Iterable[Any]) -> str | None:
    """Return a hint with the name that is spelt most alike, if there is one."""
    if not isinstance(word, str) or len(word) > _MAX_PATH_LENGTH:
        return None
    from difflib import get_close_matches  # most words are right, and commands must start fast

    close = get_close_matches(word, [name for name in names if isinstance(name, str)], 1)
    return f"did you mean {close[0]!r}?" if close else None


def _quote(value: Any, path: Path) -> str:
    names = [str(part).lower().replace("tokens", "") for part in path]  # tokens are counted
    if any(word in name for name in names for word in _SECRET_WORDS):
        return _HIDDEN
    return quote_value(value, show_items=False)
