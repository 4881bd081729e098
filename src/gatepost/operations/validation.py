"""
Say what is wrong with a value, in one sentence: which field, what was sent, what is expected.

msgspec decides whether a value fits its type. Only when it refuses does this module walk through the value to find the
first thing that is wrong, and words it the same way for every door. A value is quoted unless it may be a secret. A
caller may give labels for the fields, so that the command line says `--limit` where HTTP says `limit`; `relabel` puts
them into an error that a verb has raised, here or in a gateway.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from msgspec import inspect

from gatepost.errors import GatepostError, Invalid, quote_value

_SECRET_WORDS: Final = ("secret", "key", "token", "password", "headers", "env")
_HIDDEN: Final = "what was sent"
_MAX_PATH_LENGTH: Final = 100
_MAX_INTEGER: Final = 2**64
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
_NO_VALUE: Final = object()

Path = tuple[str, ...]


class _Fault(NamedTuple):
    """The field at the end of a path is wrong: its value, or without one the field itself."""

    path: Path
    value: Any
    what: str
    hint: str | None = None

    def build_error(self, labels: Mapping[str, str]) -> Invalid:
        label = _join(self.path, labels)
        if self.value is _NO_VALUE:
            return Invalid(f"{label!r} {self.what}", hint=self.hint)
        return Invalid(f"{label}: {_quote(self.value, self.path)} {self.what}", hint=self.hint)


def explain(kind: Any, value: Any, path: Path = (), *, labels: Mapping[str, str] = NO_LABELS) -> Invalid:
    """Return the error for a value that is not of a type; `path` leads to it, `labels` are by the name of a field."""
    for fault in _find_faults(inspect.type_info(kind), value, path):
        return fault.build_error(labels)
    # A number that is too large for JSON is the one thing that is wrong in a value of any kind.
    return Invalid(f"{_join(path, labels)}: a number in it is out of range", hint="send it as text")


def relabel(error: GatepostError, labels: Mapping[str, str], hint_labels: Mapping[str, str]) -> None:
    """Replace the names of fields in an error by their labels: at its beginning, and wherever they are in backticks."""
    error.message = _FIELD.sub(lambda match: labels.get(match[1] or match[2], match[0]), error.message)
    if error.hint is not None:
        error.hint = _FIELD.sub(lambda match: hint_labels.get(match[2], match[0]), error.hint)


def _find_faults(kind: inspect.Type, value: Any, path: Path) -> Iterator[_Fault]:
    match kind:
        case inspect.Metadata():
            yield from _find_faults(kind.type, value, path)
        case inspect.UnionType():
            yield from _find_faults_of_union(kind, value, path)
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
                yield _Fault((*path, name), _NO_VALUE, "is not a field of it", suggest(name, names))
    for field in kind.fields:
        if field.encode_name in value:
            yield from _find_faults(field.type, value[field.encode_name], (*path, field.encode_name))
        elif field.required:
            yield _Fault((*path, field.encode_name), _NO_VALUE, "is missing")


def _find_faults_of_list(kind: inspect.ListType | inspect.VarTupleType, value: Any, path: Path) -> Iterator[_Fault]:
    if not isinstance(value, list | tuple):  # the command line has tuples
        yield _Fault(path, value, "is not a list")
        return
    yield from _check_length(kind, value, path, "has fewer than {} member{s}", "has more than {} member{s}")
    for number, inner in enumerate(value):
        yield from _find_faults(kind.item_type, inner, (*path, str(number)))


def _find_faults_of_scalar(kind: inspect.Type, value: Any, path: Path) -> Iterator[_Fault]:
    match kind, value:
        case inspect.StrType(), str():
            yield from _check_length(
                kind, value, path, "is shorter than {} character{s}", "is longer than {} character{s}"
            )
        case inspect.IntType(), int() if not isinstance(value, bool):
            if kind.ge is not None and value < kind.ge:
                yield _Fault(path, value, f"is less than {kind.ge}")
            elif kind.le is not None and value > kind.le:
                yield _Fault(path, value, f"is more than {kind.le}")
            elif abs(value) >= _MAX_INTEGER:
                yield _Fault(path, value, "is too large a number")
        case (inspect.FloatType(), int() | float()) if not isinstance(value, bool):
            pass
        case (
            (inspect.BoolType(), bool()) | (inspect.NoneType(), None) | (inspect.AnyType(), _) | (inspect.RawType(), _)
        ):
            pass
        case _:
            yield _Fault(path, value, f"is not {_name_type(kind)}")


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
        return "the body"
    return ".".join((labels.get(path[0], path[0]), *path[1:]))[:_MAX_PATH_LENGTH]


def suggest(word: Any, names: Sequence[str]) -> str | None:
    """Return a hint with the name that is spelt most alike, if there is one."""
    close = get_close_matches(word, names, 1) if isinstance(word, str) and len(word) <= _MAX_PATH_LENGTH else []
    return f"did you mean {close[0]!r}?" if close else None


def _quote(value: Any, path: Path) -> str:
    if any(word in part.lower() for part in path for word in _SECRET_WORDS):
        return _HIDDEN
    return quote_value(value, show_items=False)
