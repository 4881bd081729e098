"""
Strict parsing and encoding of JSON from outside: UTF-8, no NaN, no infinity, and a limited depth, so that code that
reads the value later, from deeper in the call stack, does not exceed the recursion limit; and a limited number of
values, because a decoder makes an object of each, in one call that nothing can interrupt.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Final, Never

from gatepost.core.text import check_storable, count_bytes
from gatepost.errors import Invalid, Malformed, TooLarge

Json = Any


MAX_DEPTH: Final = 100
MAX_VALUES: Final = 100_000
#: what is in a string; no part gives back what it has, so that a wrong body takes no longer
_INSIDE: Final = rb'[^"\\]*+(?:\\.[^"\\]*+)*+'
_STRING: Final = re.compile(rb'"' + _INSIDE + rb'"', re.DOTALL)
_BEGINNING_OF_STRING: Final = re.compile(rb'"' + _INSIDE, re.DOTALL)
_COMPLETE_STRINGS: Final = re.compile(rb'[^"]*+(?:"' + _INSIDE + rb'"[^"]*+)*+', re.DOTALL)
#: the bytes that no value lies behind
_OTHERS: Final = bytes(set(range(256)) - set(b",[{"))
#: bytes that are counted without a pause: a few milliseconds, whatever they are
_SLICE: Final = 64 * 1024


def check_value_count(body: bytes, label: str = "the body") -> None:
    """Raise TooLarge if JSON has over `MAX_VALUES` values."""
    for _ in count_values(body, label):
        pass


def count_values(body: bytes, label: str = "the body") -> Iterator[None]:
    """
    Raise TooLarge if JSON has over `MAX_VALUES` values. Most is known to have fewer at a glance; the rest is counted a
    slice at a time, and others may have their turn after each.
    """
    if len(body) < 2 * MAX_VALUES or len(body.translate(None, _OTHERS)) <= MAX_VALUES:
        return
    count, beginning = 0, b""  # `beginning` is what a slice begins behind, if it begins in a string
    for start in range(0, len(body), _SLICE):
        text = beginning + body[start : start + _SLICE]
        complete = _COMPLETE_STRINGS.match(text)
        assert complete is not None, "it matches nothing as well"
        count += len(_STRING.sub(b"", complete[0]).translate(None, _OTHERS))
        if count > MAX_VALUES:
            raise TooLarge(
                f"{label} has more than {MAX_VALUES:,} JSON values", hint="send smaller batches, or a reference to it"
            )
        string = _BEGINNING_OF_STRING.match(text, complete.end())
        beginning = b'"' + text[string.end() :] if string is not None else b""
        yield


def parse_json(
    raw: bytes,
    label: str = "the body",
    *,
    max_depth: int = MAX_DEPTH,
    hint: str = "send one JSON value, with Content-Type: application/json",
) -> Any:
    """Return the JSON value; raise Malformed if there is none. `hint` says how to write one."""
    try:
        value = _decode(raw.decode())
    except UnicodeDecodeError:
        raise Malformed(f"{label} is not UTF-8", hint="write it in UTF-8") from None
    except ValueError:
        raise Malformed(f"{label} is not JSON", hint=hint) from None
    except RecursionError:
        raise _build_depth_error(label, max_depth) from None
    except OverflowError as error:
        raise Malformed(f"{label} has a number in it that is too large: {error}", hint="send it as text") from None
    if is_deeper_than(value, max_depth, raw.count(b"[") + raw.count(b"{")):
        raise _build_depth_error(label, max_depth)
    return value


def encode_json(value: Any, label: str, limit: int, *, max_depth: int = MAX_DEPTH) -> str:
    """Return a value as JSON that both databases can store; raise Invalid, or TooLarge if it has over `limit` bytes."""
    try:
        text = _encode(value)
    except (ValueError, TypeError, RecursionError):
        raise Invalid(f"the {label} is not JSON", hint="no NaN, no infinity, nothing nested very deep") from None
    if len(text) * 4 > limit and count_bytes(text) > limit:
        raise TooLarge(
            f"the {label} is {count_bytes(text)} bytes as JSON, over the limit of {limit}",
            hint="send a reference to it instead",
        )
    if is_deeper_than(value, max_depth, text.count("[") + text.count("{")):
        raise Invalid(f"the {label} is nested over {max_depth} deep", hint="send it flatter")
    if "\\u0000" in text and "\\u0000" in text.replace("\\\\", ""):
        raise Invalid(f"the {label} has a NUL character in it", hint="remove it")
    return check_storable(label, text)


def is_deeper_than(value: Any, limit: int, brackets: int) -> bool:
    """Return True if arrays and objects are nested deeper than `limit`. With few brackets it is answered at once."""
    level = [value]
    while brackets > limit and (level := [node for node in level if isinstance(node, dict | list | tuple)]):
        if limit == 0:
            return True
        limit, brackets = limit - 1, brackets - len(level)
        level = [inner for node in level for inner in (node.values() if isinstance(node, dict) else node)]
    return False


def _reject_constant(word: str) -> Never:
    raise ValueError(word)


def _parse_float(text: str) -> float:
    """Return a number. Raise OverflowError if it is too large: it would become infinity, which JSON does not have."""
    number = float(text)
    if math.isinf(number):
        raise OverflowError(f"{text:.60}")
    return number


_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_decode: Final = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_parse_float).decode


def _build_depth_error(label: str, max_depth: int) -> Malformed:
    return Malformed(f"{label} is nested over {max_depth} deep", hint="send it flatter")
