"""
Decode a request from a path, a query and a body.

Text in a query is parsed by the type of its field and then checked strictly. (msgspec's own lax mode takes `5.0` and
`1e2` for whole numbers, and `1` for true.) A parameter that is unknown, or is given twice, is refused: of two values,
one would be ignored. So is a NUL, which PostgreSQL cannot store or compare.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Final, cast
from urllib.parse import parse_qsl

import msgspec
from msgspec import inspect

from gatepost.core import typed_json
from gatepost.errors import Invalid, Malformed, quote_value
from gatepost.operations.operation import Operation, Request
from gatepost.operations.synonyms import find_meant_field
from gatepost.operations.validation import NO_LABELS, explain

_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,1000}", re.ASCII)
#: bytes of a body that is parsed only to explain what is wrong with it
_MAX_PARSED_LENGTH: Final = 64 * 1024
_BOOLEANS: Final = {"true": True, "false": False}


@cache
def get_decoder(operation: Operation) -> "RequestDecoder":
    return RequestDecoder(operation)


class RequestDecoder:
    """Decodes the requests of one operation."""

    def __init__(self, operation: Operation) -> None:
        self._request = operation.request
        self._path_fields = operation.path_fields
        #: False if a body may be anything: then an empty one is no JSON
        self._checks_media = operation.checks_media
        fields = msgspec.structs.fields(operation.request)
        self._fields = {field.name: field for field in fields}
        own_fields = [field for field in fields if field.name not in operation.path_fields]
        parameters = () if operation.has_body else own_fields
        #: the kinds of the parameters of a query
        self._parameters = {field.encode_name: list_kinds(field.type) for field in parameters}
        #: the type of the body
        self.body: type[msgspec.Struct] = operation.request
        if operation.has_body and operation.path_fields:
            self.body = _build_body(operation.request, own_fields)
        self._body_fields = tuple(field.name for field in own_fields) if operation.has_body else ()
        self._decode = typed_json.make_decoder(self.body)
        self._decode_request = typed_json.make_decoder(self._request)
        #: whether a request without a body, or with null, is one with an empty object; a PATCH says what it changes
        self.is_body_optional = not (
            operation.method == "PATCH" or operation.requires_body or any(field.required for field in own_fields)
        )

    def decode(self, path: Mapping[str, str], query: bytes, body: bytes | None) -> Request[Any]:
        """Return the request; raise Invalid with the first thing that is wrong."""
        for name, value in path.items():
            _refuse_nul(name, value)
        if self._parameters or body is None:
            return self._convert(dict(path) | self._parse_query(query) if query else path)
        if query:
            self._parse_query(query)
        decoded = self._decode_body(body)
        if self.body is self._request:
            return cast("Request[Any]", decoded)
        return self._request(**path, **{name: getattr(decoded, name) for name in self._body_fields})

    def decode_json(self, body: bytes) -> Request[Any]:
        """Return the request of a body that has all of its fields."""
        request: Request[Any] = _decode_json(body, self._request, self._decode_request)
        return request

    def decode_text(self, values: Mapping[str, Any], labels: Mapping[str, str]) -> Request[Any]:
        """
        Return the request of values by the names of their fields (in snake case); a field that is left out has its
        default. Text, and a list of text, is read as in a query; any other value must be of the type of its field. An
        error names a field by its label.
        """
        fields = self._fields
        labels = {fields[name].encode_name: label for name, label in labels.items()}
        parsed: dict[str, Any] = {}
        for name, value in values.items():
            field = fields[name]
            for text in value if isinstance(value, list | tuple) else [value]:
                if isinstance(text, str):
                    label = labels.get(field.encode_name, field.encode_name)
                    _refuse_nul(label, text)
                    try:
                        text.encode()
                    except UnicodeEncodeError:
                        raise Invalid(f"{label} is not valid UTF-8", hint="convert it first") from None
            parsed[field.encode_name] = _parse_text(value, list_kinds(field.type)) if isinstance(value, str) else value
        return self._convert(msgspec.to_builtins(parsed), labels)

    def _decode_body(self, body: bytes) -> Any:
        if self.is_body_optional and body.strip() in (b"", b"null"):
            body = b"{}"
        elif not body and self._checks_media:
            raise Invalid("the body is missing", hint="send a JSON object")
        return _decode_json(body, self.body, self._decode)

    def _convert(self, values: Mapping[str, Any], labels: Mapping[str, str] = NO_LABELS) -> Request[Any]:
        try:
            request: Request[Any] = typed_json.convert(values, self._request)
        except msgspec.ValidationError:
            raise explain(self._request, values, labels=labels) from None
        return request

    def _parse_query(self, query: bytes) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, text in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            _refuse_nul(name, text)
            kinds = self._parameters.get(name)
            if kinds is None:
                hint = f"use {', '.join(self._parameters)}" if self._parameters else "leave it out"
                raise Invalid(f"{quote_value(name)} is not a parameter of it", hint=hint)
            value = _parse_text(text, kinds)
            if name not in values:
                values[name] = value
            elif isinstance(value, list):
                values[name] += value
            else:
                raise Invalid(f"{name!r} is given more than once", hint="give it once")
        return values


def _decode_json(body: bytes, kind: type, decode: Callable[[bytes], Any]) -> Any:
    try:
        return decode(body)
    except msgspec.ValidationError:
        renamed_body = _rename_synonyms(body, kind)
        if renamed_body is not None:
            return _decode_json(renamed_body, kind, decode)
    except RecursionError:
        raise Malformed("the body is nested too deep", hint="send it flatter") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Malformed("the body is not JSON") from None
    raise _explain_body(body, kind)


def _rename_synonyms(body: bytes, kind: Any) -> bytes | None:
    """Return a body with the names of the fields that are meant; None if there is nothing to rename."""
    try:
        parts = typed_json.decode(body, dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return None
    fields = {field.encode_name for field in msgspec.structs.fields(kind)}
    renamed = {find_meant_field(name, fields, parts): value for name, value in parts.items()}
    return msgspec.json.encode(renamed) if renamed.keys() != parts.keys() else None


def _explain_body(body: bytes, kind: Any) -> Invalid:
    """
    Return what is wrong with a body that msgspec has refused. msgspec splits a long one into its fields, and only the
    wrong field is parsed, if it is short: a body may have 8 MiB, and everybody else waits meanwhile.
    """
    try:
        if len(body) <= _MAX_PARSED_LENGTH:
            return explain(kind, json.loads(body))
        parts = typed_json.decode(body, dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return explain(kind, _abridge(body))
    except (ValueError, RecursionError):  # further on it is not JSON; msgspec's errors are ValueErrors, too
        return Malformed("the body is not JSON")
    fields = msgspec.structs.fields(kind)
    if unknown := parts.keys() - {field.encode_name for field in fields}:
        return explain(kind, {min(unknown): None})
    for field in fields:
        raw = parts.get(field.encode_name)
        if raw is None and field.required:
            return explain(kind, {})
        try:
            _ = raw and typed_json.make_decoder(field.type)(raw)
        except (ValueError, RecursionError):
            return explain(field.type, _abridge(bytes(raw or b"")), (field.encode_name,))
    return explain(kind, None)


def _abridge(raw: bytes) -> Any:
    """Return the value of JSON; of a long list or object an empty one."""
    if len(raw) <= _MAX_PARSED_LENGTH:
        return json.loads(raw)
    if raw.lstrip().startswith(b'"'):
        return typed_json.decode(raw, str)
    return {b"[": [], b"{": {}}.get(raw.lstrip()[:1], "...")


def _build_body(request: type[Request[Any]], fields: list[Any]) -> type[msgspec.Struct]:
    """Return a Struct with those fields of a request that the path does not name."""
    specs: list[Any] = []
    for field in fields:
        if field.required:
            specs.append((field.name, field.type))
        elif field.default is not msgspec.NODEFAULT:
            specs.append((field.name, field.type, msgspec.field(default=field.default)))
        else:
            specs.append((field.name, field.type, msgspec.field(default_factory=field.default_factory)))
    return msgspec.defstruct(
        request.__name__,
        specs,
        module=request.__module__,
        namespace={"__doc__": request.__doc__},
        kw_only=True,
        frozen=True,
        forbid_unknown_fields=True,
        rename="camel",
    )


def list_kinds(annotation: Any) -> list[inspect.Type]:
    """Return the types that a value of a field may have."""
    return _flatten(inspect.type_info(annotation))


def _flatten(kind: inspect.Type) -> list[inspect.Type]:
    match kind:
        case inspect.Metadata():
            return _flatten(kind.type)
        case inspect.UnionType():
            return [member for inner in kind.types for member in _flatten(inner)]
        case _:
            return [kind]


def find_description(annotation: Any) -> str | None:
    """Return what a field, or one of its types, says about itself."""
    kind = inspect.type_info(annotation)
    for part in (kind, *(kind.types if isinstance(kind, inspect.UnionType) else ())):
        schema = part.extra_json_schema if isinstance(part, inspect.Metadata) else None
        if schema and "description" in schema:
            return str(schema["description"])
    return None


def _parse_text(text: str, kinds: Collection[inspect.Type]) -> Any:
    """Return text as a value of one of the kinds; if it is none, it stays text, which is refused for its type."""
    if any(isinstance(kind, inspect.ListType | inspect.VarTupleType) for kind in kinds):
        return [text]
    if any(isinstance(kind, inspect.IntType) for kind in kinds) and _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    return _BOOLEANS.get(text, text) if any(isinstance(kind, inspect.BoolType) for kind in kinds) else text


def _refuse_nul(name: str, text: str) -> None:
    if "\x00" in name or "\x00" in text:
        raise Invalid(f"{quote_value(name)} has a NUL character in it", hint="remove it")
