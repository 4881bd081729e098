"""Encode a request as HTTP, the opposite of `decoding.py`, and decode its answer."""

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NamedTuple, TypeVar, cast
from urllib.parse import quote, urlencode

import msgspec

from gatepost.core import typed_json
from gatepost.errors import Invalid, quote_value
from gatepost.operations.operation import Request
from gatepost.operations.validation import NO_LABELS

R = TypeVar("R")


#: types of most fields, which cannot hold a number that is not finite
_ALWAYS_FINITE: Final = frozenset((str, int, bool, type(None)))


class EncodedRequest(NamedTuple):
    method: str
    #: path and query
    target: str
    body: bytes | None


def encode_request(request: Request[Any]) -> EncodedRequest:
    """Return the method, target and body of a request; raise Invalid if it cannot be written as JSON."""
    operation = request.operation
    refuse_nan(request)
    check_path(request)
    path, values = operation.path, {}
    for field in _list_fields(type(request)):
        value = getattr(request, field.name)
        if field.name in operation.path_fields:
            path = path.replace(f"{{{field.name}}}", _quote_segment(value))
        elif value is not msgspec.UNSET and (field.required or value != field.default):
            values[field.encode_name] = value
    if not operation.has_body:
        try:
            query = urlencode([pair for name, value in values.items() for pair in _list_pairs(name, value)])
        except UnicodeEncodeError as error:
            raise _build_unicode_error(error) from None
        return EncodedRequest(operation.method, f"{path}?{query}" if query else path, None)
    return EncodedRequest(operation.method, path, encode_json(values))


@cache
def _list_fields(request: type[Request[Any]]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Return the fields of a request; msgspec evaluates their types anew each time."""
    return msgspec.structs.fields(request)


def decode_answer(request: Request[R], body: bytes) -> R:
    """Return the answer of a request that succeeded."""
    kind = request.operation.answer
    return cast("R", None if kind is None else typed_json.decode(body, kind))


def encode_json(value: Any) -> bytes:
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        raise _build_unicode_error(error) from None
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Invalid(f"this is not JSON: {error}", hint="send text, numbers, lists and objects") from None


def _build_unicode_error(error: UnicodeEncodeError) -> Invalid:
    return Invalid(f"{quote_value(error.object)} is not valid Unicode", hint="send text that is valid UTF-8")


def refuse_nan(value: Any) -> None:
    """Refuse a number that is not finite: it would be encoded as null."""
    match value:
        case float() if not math.isfinite(value):
            raise Invalid("a number is not finite, which JSON cannot say", hint="send it as text")
        case dict():
            for inner in value.values():
                refuse_nan(inner)
        case list() | tuple():
            for inner in value:
                refuse_nan(inner)
        case msgspec.Struct():
            for name in value.__struct_fields__:
                if type(inner := getattr(value, name)) not in _ALWAYS_FINITE:
                    refuse_nan(inner)
        case _:
            pass


def check_path(request: Request[Any], labels: Mapping[str, str] = NO_LABELS) -> None:
    """
    Refuse a name or an id that cannot be in the path of a URL: `a/b` would be another path. An error names a field by
    its label.
    """
    path_fields = request.operation.path_fields
    if not path_fields:
        return
    for name, wire_name in zip(request.__struct_fields__, request.__struct_encode_fields__, strict=True):
        if name not in path_fields:
            continue
        value = getattr(request, name)
        if not isinstance(value, str) or not value or "/" in value or "\x00" in value:
            raise Invalid(f"{labels.get(name, wire_name)}: {quote_value(value)} is not a name or an id")
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise _build_unicode_error(error) from None


def _quote_segment(value: str) -> str:
    # A path with a dot segment would be another path.
    return quote(value, safe="") if value.strip(".") else value.replace(".", "%2E")


def _list_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    match value:
        case None:
            return []
        case bool():
            return [(name, "true" if value else "false")]
        case list() | tuple():
            return [(name, str(inner)) for inner in value]
        case _:
            return [(name, str(getattr(value, "value", value)))]
