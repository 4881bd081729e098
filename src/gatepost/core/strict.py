"""
JSON from outside, read strictly: UTF-8, no NaN, no infinity, and not nested so deep that whoever reads it later, from
further down a stack, could not.
"""

import json
import math
from typing import Any, Final, Never

from gatepost.errors import Malformed

DEPTH: Final = 100


def read(raw: bytes, what: str = "the body") -> Any:
    """Return what the bytes say, or raise Malformed."""
    try:
        value = _decode(raw.decode())
    except UnicodeDecodeError:
        raise Malformed(f"{what} is not UTF-8", hint="send JSON in UTF-8") from None
    except ValueError:
        raise Malformed(
            f"{what} is not JSON", hint="send one JSON value, with Content-Type: application/json"
        ) from None
    except RecursionError:
        raise _deep(what) from None
    except OverflowError as error:
        raise Malformed(f"{what} has a number in it that is too large: {error}", hint="send it as text") from None
    if deeper(value, DEPTH, raw.count(b"[") + raw.count(b"{")):
        raise _deep(what)
    return value


def deeper(value: Any, most: int, brackets: int) -> bool:
    """Whether more than that many arrays and objects lie within each other; few brackets in the text settle it."""
    level = [value]
    while brackets > most and (level := [one for one in level if isinstance(one, dict | list | tuple)]):
        if most == 0:
            return True
        most, brackets = most - 1, brackets - len(level)
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return False


def _refused(word: str) -> Never:
    raise ValueError(word)


def _parse_float(text: str) -> float:
    """Read a number; one that is too large would become infinity, which JSON does not have."""
    number = float(text)
    if math.isinf(number):
        raise OverflowError(f"{text:.60}")
    return number


_decode: Final = json.JSONDecoder(parse_constant=_refused, parse_float=_parse_float).decode


def _deep(what: str) -> Malformed:
    return Malformed(f"{what} is nested over {DEPTH} deep", hint="send it flatter")
