"""
Read a configuration from outside field by field. Every error is one sentence that says where the problem is:

    tools[2].timeout: '-3s' is not a duration

Null is the same as a missing field. An unknown field is an error, and its hint is the nearest known name.
"""

import json
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NoReturn

from msgspec import Struct

from gatepost.core import json_limits as strict, times
from gatepost.core.json_limits import Json
from gatepost.core.text import count_bytes, find_unstorable
from gatepost.core.times import Duration
from gatepost.errors import Invalid, quote_value


class JsonNode(Struct, frozen=True):
    """A value, and its path: an empty path is the whole document."""

    value: Any
    path: str = ""

    def reject_value(self, problem: str, *, hint: str | None = None) -> NoReturn:
        """Raise Invalid that quotes the value; `problem` follows it, such as `is not a duration`."""
        raise Invalid(
            f"{self.path or 'the configuration'}: {quote_value(self.value, show_items=False)} {problem}", hint=hint
        )

    def reject(self, problem: str, *, hint: str | None = None) -> NoReturn:
        """Raise Invalid without quoting the value: it may be secret, or missing."""
        raise Invalid(f"{self.path or 'the configuration'}: {problem}", hint=hint)

    @property
    def is_absent(self) -> bool:
        return self.value is None

    def fields(self, *field_names: str) -> "JsonFields":
        """Return the fields of an object that may have these fields only."""
        value = {} if self.value is None else self.value
        if not isinstance(value, dict):
            self.reject_value("is not an object")
        for name in value:
            if name not in field_names:
                close_names = get_close_matches(str(name)[:100], field_names, n=1, cutoff=0.5)
                hint = f"did you mean {close_names[0]!r}?" if close_names else f"it may have {', '.join(field_names)}"
                raise Invalid(f"{quote_value(name)} is not a field of {self.path or 'the configuration'}", hint=hint)
        return JsonFields(self, value)

    def members(self, limit: int) -> Iterator[tuple[str, "JsonNode"]]:
        """Yield the members of an object that may have any names."""
        value = {} if self.value is None else self.value
        if not isinstance(value, dict):
            self.reject_value("is not an object")
        if len(value) > limit:
            self.reject(f"{len(value)} fields are too many", hint=f"use at most {limit}")
        for name, member in value.items():
            if not isinstance(name, str):
                self.reject(f"{quote_value(name)} is not a name")
            yield name, JsonNode(member, f"{self.path}.{name:.60}")

    def items(self, limit: int) -> Iterator["JsonNode"]:
        value = [] if self.value is None else self.value
        if not isinstance(value, list | tuple):
            self.reject_value("is not a list")
        if len(value) > limit:
            self.reject(f"{len(value)} are too many", hint=f"use at most {limit}")
        return (JsonNode(item, f"{self.path}[{index}]") for index, item in enumerate(value))

    def text(self, limit: int) -> str:
        """Return a string of at most `limit` bytes; an empty one if the field is missing."""
        if self.value is None:
            return ""
        if not isinstance(self.value, str):
            self.reject_value("is not a string")
        if reason := find_unstorable(self.value):
            self.reject_value(reason)
        if (size := count_bytes(self.value)) > limit:
            self.reject(f"{size} bytes are too many", hint=f"use at most {limit}")
        return self.value

    def choice(self, *choices: str, default: str) -> str:
        if self.value is None:
            return default
        if not isinstance(self.value, str) or self.value not in choices:
            self.reject_value("is not one of them", hint=f"use {', '.join(choices)}")
        return self.value

    def flag(self, *, default: bool) -> bool:
        if self.value is None:
            return default
        if not isinstance(self.value, bool):
            self.reject_value("is neither true nor false")
        return self.value

    def whole(self, minimum: int, maximum: int) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not minimum <= self.value <= maximum:
            self.reject_value("is not such a number", hint=f"use a whole number, {minimum} to {maximum}")
        return self.value

    def number(self, minimum: float, maximum: float) -> float:
        if (
            not isinstance(self.value, int | float)
            or isinstance(self.value, bool)
            or not minimum <= self.value <= maximum
        ):
            self.reject_value("is not such a number", hint=f"use {minimum:g} to {maximum:g}")
        return float(self.value)

    def duration(self, maximum: Duration, *, default: Duration) -> Duration:
        """Return a duration, written as `30s` or as whole milliseconds."""
        if self.value is None:
            return default
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            length = self.value * 1_000
        else:
            try:
                length = times.parse_duration(self.text(100))
            except Invalid:
                self.reject_value("is not a duration", hint="write a number and a unit, such as 500ms, 30s, 10m")
        if not 0 < length <= maximum:
            self.reject_value(
                "is not such a duration", hint=f"it must be over zero and at most {times.format_duration(maximum)}"
            )
        return length

    def json(self, limit: int) -> Json:
        """Return any JSON value of at most `limit` bytes that can be stored and sent."""
        try:
            size = len(json.dumps(self.value, ensure_ascii=False, allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError):
            self.reject("it is not JSON", hint="no NaN, no infinity, no half characters, nothing nested very deep")
        if size > limit:
            self.reject(f"{size} bytes are too many", hint=f"use at most {limit}")
        if strict.is_deeper_than(self.value, strict.MAX_DEPTH, size):
            self.reject(f"it is nested over {strict.MAX_DEPTH} deep", hint="send it flatter")
        return self.value


class JsonFields(Struct, frozen=True):
    """The fields of an object, missing ones included."""

    parent: JsonNode
    value: dict[str, Any]

    def __getitem__(self, name: str) -> JsonNode:
        path = f"{self.parent.path}.{name}" if self.parent.path else name
        return JsonNode(self.value.get(name), path)
