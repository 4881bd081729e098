"""
Whether a value is what a JSON Schema asks for, by the words that matter in the schema of a tool: type, enum, const,
properties, required, additionalProperties, items, anyOf and oneOf. Other words are for the model to heed and for
whoever does the work to check. A schema that makes no sense lets everything through.
"""

from collections.abc import Callable, Mapping
from typing import Final

from gatepost.core.event import Json
from gatepost.errors import Invalid

_TYPES: Final[Mapping[str, Callable[[Json], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
}


def check(schema: Json, value: Json, where: str = "") -> None:
    """Raise Invalid with one sentence about the first thing that is wrong."""
    if not isinstance(schema, dict):
        return
    _check_kind(schema, value, where)
    _check_choices(schema, value, where)
    if isinstance(value, dict):
        _check_members(schema, value, where)
    if isinstance(value, list):
        for index, one in enumerate(value):
            check(schema.get("items"), one, f"{where}[{index}]")


def _check_kind(schema: Mapping[str, Json], value: Json, where: str) -> None:
    asked = schema.get("type")
    kinds = [kind for kind in (asked if isinstance(asked, list) else [asked]) if isinstance(kind, str)]
    if kinds and not any(_TYPES.get(kind, lambda _: True)(value) for kind in kinds):
        raise Invalid(f"{_called(where)} is {value!r:.60}, not of the type {' or '.join(kinds)}")


def _check_choices(schema: Mapping[str, Json], value: Json, where: str) -> None:
    allowed = schema.get("enum")
    if isinstance(allowed, list) and not any(_same(value, one) for one in allowed):
        raise Invalid(f"{_called(where)} is {value!r:.60}, not one of {allowed!r:.200}")
    if "const" in schema and not _same(value, schema["const"]):
        raise Invalid(f"{_called(where)} is {value!r:.60}, not {schema['const']!r:.60}")
    for word in ("anyOf", "oneOf"):
        ways = schema.get(word)
        if isinstance(ways, list) and ways and not any(_fits(one, value) for one in ways):
            raise Invalid(f"{_called(where)} is {value!r:.60}, which fits none of the ways it may be written")


def _check_members(schema: Mapping[str, Json], value: Mapping[str, Json], where: str) -> None:
    known = schema.get("properties")
    properties: Mapping[str, Json] = known if isinstance(known, dict) else {}
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in value:
            raise Invalid(f"{_called(_within(where, str(name)))} is missing")
    for name, one in value.items():
        inner = _within(where, name)
        if name in properties:
            check(properties[name], one, inner)
        elif schema.get("additionalProperties") is False:
            has = ", ".join(properties)
            raise Invalid(f"there is no argument {inner!r:.100}", hint=f"there are {has}" if has else None)
        else:
            check(schema.get("additionalProperties"), one, inner)


def _fits(schema: Json, value: Json) -> bool:
    try:
        check(schema, value)
    except Invalid:
        return False
    return True


def _same(one: Json, other: Json) -> bool:
    """Equal as JSON has it, where true is not 1."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _within(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _called(where: str) -> str:
    return f"the argument {where!r:.100}" if where else "what the tool was given"
