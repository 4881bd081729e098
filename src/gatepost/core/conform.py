"""
Check a value against a JSON Schema, by the keywords that matter for the arguments of a tool: type, enum, const,
properties, required, additionalProperties, items, anyOf and oneOf. Other keywords guide the model, and the program that
runs the tool checks them. A schema that makes no sense accepts everything.
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


def check(schema: Json, value: Json, path: str = "") -> None:
    """Raise Invalid with one sentence about the first part that does not conform."""
    if not isinstance(schema, dict):
        return
    _check_type(schema, value, path)
    _check_choices(schema, value, path)
    if isinstance(value, dict):
        _check_members(schema, value, path)
    if isinstance(value, list):
        for index, item in enumerate(value):
            check(schema.get("items"), item, f"{path}[{index}]")


def _check_type(schema: Mapping[str, Json], value: Json, path: str) -> None:
    schema_type = schema.get("type")
    kinds = [
        kind for kind in (schema_type if isinstance(schema_type, list) else [schema_type]) if isinstance(kind, str)
    ]
    if kinds and not any(_TYPES.get(kind, lambda _: True)(value) for kind in kinds):
        raise Invalid(f"{_describe_argument(path)} is {value!r:.60}, not of the type {' or '.join(kinds)}")


def _check_choices(schema: Mapping[str, Json], value: Json, path: str) -> None:
    choices = schema.get("enum")
    if isinstance(choices, list) and not any(_is_equal(value, choice) for choice in choices):
        raise Invalid(f"{_describe_argument(path)} is {value!r:.60}, not one of {choices!r:.200}")
    if "const" in schema and not _is_equal(value, schema["const"]):
        raise Invalid(f"{_describe_argument(path)} is {value!r:.60}, not {schema['const']!r:.60}")
    for keyword in ("anyOf", "oneOf"):
        alternatives = schema.get(keyword)
        if (
            isinstance(alternatives, list)
            and alternatives
            and not any(_is_valid(choice, value) for choice in alternatives)
        ):
            raise Invalid(f"{_describe_argument(path)} is {value!r:.60}, which fits none of the ways it may be written")


def _check_members(schema: Mapping[str, Json], value: Mapping[str, Json], path: str) -> None:
    raw_properties = schema.get("properties")
    properties: Mapping[str, Json] = raw_properties if isinstance(raw_properties, dict) else {}
    required_names = schema.get("required")
    for name in required_names if isinstance(required_names, list) else ():
        if name not in value:
            raise Invalid(f"{_describe_argument(_join_path(path, str(name)))} is missing")
    for name, member in value.items():
        member_path = _join_path(path, name)
        if name in properties:
            check(properties[name], member, member_path)
        elif schema.get("additionalProperties") is False:
            property_names = ", ".join(properties)
            raise Invalid(
                f"there is no argument {member_path!r:.100}",
                hint=f"there are {property_names}" if property_names else None,
            )
        else:
            check(schema.get("additionalProperties"), member, member_path)


def _is_valid(schema: Json, value: Json) -> bool:
    try:
        check(schema, value)
    except Invalid:
        return False
    return True


def _is_equal(left_value: Json, right_value: Json) -> bool:
    """Return True if both are the same JSON; true is not 1."""
    if isinstance(left_value, list) and isinstance(right_value, list):
        return len(left_value) == len(right_value) and all(map(_is_equal, left_value, right_value))
    if isinstance(left_value, dict) and isinstance(right_value, dict):
        return left_value.keys() == right_value.keys() and all(
            _is_equal(value, right_value[name]) for name, value in left_value.items()
        )
    return bool(left_value == right_value) and isinstance(left_value, bool) == isinstance(right_value, bool)


def _join_path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _describe_argument(path: str) -> str:
    return f"the argument {path!r:.100}" if path else "what the tool was given"
