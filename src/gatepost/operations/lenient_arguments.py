"""
Read leniently what a model writes as arguments: `"5"` is a number, and 5 a text where one is wanted; a list may come
as JSON text, and a whole number with a point.
"""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import inspect

from gatepost.errors import Invalid, quote_value
from gatepost.operations.decoding import list_kinds
from gatepost.operations.operation import MAX_WAIT, WAIT
from gatepost.operations.tool import Scale


def loosen(value: Any, annotation: Any) -> Any:
    """Return a value that a model wrote as a value of the type of its field, if it can be read as one."""
    kinds = list_kinds(annotation)
    if isinstance(value, str):
        value = _parse_document(value, kinds)
    is_number = any(isinstance(kind, inspect.IntType) for kind in kinds)
    if is_number and isinstance(value, float) and value.is_integer():
        return int(value)
    if any(isinstance(kind, inspect.StrType) for kind in kinds) and not is_number and type(value) in (int, float):
        return str(value)
    return value


def _parse_document(text: str, kinds: Sequence[inspect.Type]) -> Any:
    """Return the list or the object that a model wrote as JSON text, where one is expected."""
    if any(isinstance(kind, inspect.ListType | inspect.VarTupleType) for kind in kinds):
        opening = "["
    elif any(isinstance(kind, inspect.StructType | inspect.DictType) for kind in kinds):
        opening = "{"
    else:
        return text
    if text.lstrip().startswith(opening):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def parse_scaled(argument: str, value: Any, scale: Scale) -> int:
    """Return the value of a field whose argument has another scale."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{argument}: {quote_value(value)} is not a whole number")
    if value < scale.minimum:
        raise Invalid(f"{argument}: {quote_value(value)} is less than {scale.minimum}")
    if value > scale.maximum:
        raise Invalid(f"{argument}: {quote_value(value)} is more than {scale.maximum}")
    return value - scale.offset


def split_reference(argument: str, value: Any) -> tuple[str, str]:
    """Return the type and the id of something that is written TYPE:ID."""
    type, _, id = value.partition(":") if isinstance(value, str) else ("", "", "")
    if not type or not id:
        raise Invalid(f"{argument}: {quote_value(value)} is not TYPE:ID", hint="write it as in task:0.0.123")
    return type, id


def parse_wait(value: Any) -> float:
    """Return how many seconds a model wants to wait."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise Invalid(f"{WAIT}: {quote_value(value)} is not a number", hint="give seconds, such as 30") from None
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Invalid(f"{WAIT}: {quote_value(value)} is not a number", hint="give seconds, such as 30")
    if not 0 <= value <= MAX_WAIT:
        raise Invalid(
            f"{WAIT}: {quote_value(value)} is not between 0 and {MAX_WAIT}", hint="call it again to wait longer"
        )
    return float(value)
