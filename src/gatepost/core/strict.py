"""
JSON from outside, read strictly: UTF-8, no NaN, no infinity, and not nested so deep that whoever reads it later, from
further down a stack, could not.
"""

import json
import math
from typing import Any, Final, Never

from gatepost.errors import Malformed

MAX_DEPTH: Final = 100


def parse_json(raw: bytes, label: str = "the body") -> Any:
    """Return what the bytes say, or raise Malformed."""
    try:
        value = _decode(raw.decode())
    except UnicodeDecodeError:
        raise Malformed(f"{label} is not UTF-8", hint="send JSON in UTF-8") from None
    except ValueError:
        raise Malformed(
            f"{label} is not JSON", hint="send one JSON value, with Content-Type: application/json"
        ) from None
    except RecursionError:
        raise _build_depth_error(label) from None
    except OverflowError as error:
        raise Malformed(f"{label} has a number in it that is too large: {error}", hint="send it as text") from None
    if is_deeper_than(value, MAX_DEPTH, raw.count(b"[") + raw.count(b"{")):
        raise _build_depth_error(label)
    return value


def is_deeper_than(value: Any, limit: int, brackets: int) -> bool:
    """Whether more than that many arrays and objects lie within each other; few brackets in the text settle it."""
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
    """Read a number; one that is too large would become infinity, which JSON does not have."""
    number = float(text)
    if math.isinf(number):
        raise OverflowError(f"{text:.60}")
    return number


_decode: Final = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_parse_float).decode


def _build_depth_error(label: str) -> Malformed:
    return Malformed(f"{label} is nested over {MAX_DEPTH} deep", hint="send it flatter")
