"""
What is wrong with the fields of a request, in our words: which field, what was sent, what is wanted. A value is quoted
unless it may be a secret.
"""

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
