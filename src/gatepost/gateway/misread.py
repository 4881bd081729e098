"""
What is wrong with the fields of a request, in our words: which field, what was sent, what is wanted. A value is quoted
unless it may be a secret.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

#: what kind of error it is, and what to say of the value
_SAID: Final = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of it",
    "string_type": "is not text",
    "bool_type": "is not true or false",
    "bool_parsing": "is not true or false",
    "int_type": "is not a whole number",
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
    "int_parsing_size": "is too large a number",
    "float_type": "is not a number",
    "float_parsing": "is not a number",
    "list_type": "is not a list",
    "dict_type": "is not an object",
    "model_type": "is not an object",
    "model_attributes_type": "is not an object",
    "greater_than": "is not more than {gt}",
    "greater_than_equal": "is less than {ge}",
    "less_than": "is not less than {lt}",
    "less_than_equal": "is more than {le}",
    "too_long": "has more than {max_length} members",
    "too_short": "has fewer than {min_length} members",
    "string_too_long": "is longer than {max_length} characters",
    "string_too_short": "is shorter than {min_length} characters",
    "string_pattern_mismatch": "is not written as it should be",
    "literal_error": "is not one of {expected}",
    "enum": "is not one of {expected}",
}
#: what msgspec calls a type, and what we do
_TYPES: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
#: a bound of msgspec's, and what is said of a value that is beyond it
_BOUNDS: Final = {
    ("int", ">="): "is less than {}",
    ("int", "<="): "is more than {}",
    ("str", ">="): "is shorter than {} character{s}",
    ("str", "<="): "is longer than {} character{s}",
    ("array", ">="): "has fewer than {} member{s}",
    ("array", "<="): "has more than {} member{s}",
}
_PLACE: Final = r"(?: - at `\$\.?(?P<at>.*)`)?"
_FIELD: Final = re.compile(
    r"Object (?P<what>missing required|contains unknown) field `(?P<name>.*?)`" + _PLACE, re.DOTALL
)
_TYPE: Final = re.compile(r"Expected `(?P<type>[^`]+)`, got `[^`]+`" + _PLACE)
_BOUND: Final = re.compile(r"Expected `(?P<type>\w+)`(?: of length)? (?P<sign>[<>]=) (?P<bound>\d+)" + _PLACE)
_SIZE: Final = re.compile(r"Number out of range" + _PLACE)
_SECRET: Final = ("secret", "key", "token", "password", "headers", "env")
_UNTOLD: Final = "what was sent"
_LONGEST: Final = 60


def said(error: Mapping[str, Any]) -> str:
    """One sentence for one error of pydantic's."""
    path = [str(part) for part in error["loc"] if part not in ("body", "query", "path", "header")]
    where = ".".join(path)[:100] or "the body"
    known = _SAID.get(error["type"])
    if known is None:
        return f"{where}: {error['msg'][:1].lower()}{error['msg'][1:]}"
    if error["type"] in ("missing", "extra_forbidden"):
        return f"{where!r} {known}" if path else f"{where} {known}"
    return f"{where}: {_quoted(error.get('input'), path)} {known.format_map(error.get('ctx') or {})}"


def told(error: str, body: bytes) -> str:
    """One sentence for an error of msgspec's about a body."""
    if found := _FIELD.fullmatch(error):
        where = ".".join([*_path(found["at"]), found["name"]])[:100]
        return f"{where!r} {_SAID['missing' if found['what'] == 'missing required' else 'extra_forbidden']}"
    if found := _SIZE.fullmatch(error):
        return f"{'.'.join(_path(found['at']))}: too large a number"
    if found := _TYPE.fullmatch(error):
        wanted = [_TYPES[one] for one in found["type"].split(" | ") if one in _TYPES]
        what = f"is not {' or '.join(wanted)}"
    elif found := _BOUND.fullmatch(error):
        what = _BOUNDS[found["type"], found["sign"]].format(found["bound"], s="" if found["bound"] == "1" else "s")
    else:
        return error[:300]
    path = _path(found["at"])
    try:
        value = _quoted(_within(body, path), path)
    except (ValueError, RecursionError):  # further on it is not JSON
        value = _UNTOLD
    return f"{'.'.join(path) or 'the body'}: {value} {what}"


def _path(place: str | None) -> list[str]:
    """The way to a value: `ref.id` and `pushes[3]` have two steps each."""
    return re.findall(r"[^.\[\]]+", place or "")


def _within(body: bytes, path: list[str]) -> Any:
    value = json.loads(body)
    for step in path:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def _quoted(value: Any, path: list[str]) -> str:
    if any(word in part.lower() for part in path for word in _SECRET):
        return _UNTOLD
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            text = repr(value)
            return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
