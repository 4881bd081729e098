"""
A JSON document from outside, taken apart field by field. Whatever is wrong with it is one sentence that says where:

    tools[2].timeout: '-3s' is not a duration

Null is the same as a field that is left out. A misspelt field is an error, and its hint is the nearest known one.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, NoReturn

from gatepost.core import instants, strict
from gatepost.core.event import Json
from gatepost.core.instants import Duration
from gatepost.errors import Invalid

#: characters of a wrong value that an error quotes
_QUOTED: Final = 60


@dataclass(frozen=True, slots=True)
class Given:
    """A value, and where it was found: `` is the whole document."""

    value: Any
    path: str = ""

    def wrong(self, what: str, *, hint: str | None = None) -> NoReturn:
        """Refuse the value; `what` follows it, such as `is not a duration`."""
        raise Invalid(f"{self.path or 'the document'}: {_quoted(self.value)} {what}", hint=hint)

    def refuse(self, what: str, *, hint: str | None = None) -> NoReturn:
        """Refuse it without quoting it: it may be secret, or missing."""
        raise Invalid(f"{self.path or 'the document'}: {what}", hint=hint)

    @property
    def absent(self) -> bool:
        return self.value is None

    def fields(self, *known: str) -> "Fields":
        """An object that has these fields, and no others."""
        value = {} if self.value is None else self.value
        if not isinstance(value, dict):
            self.wrong("is not an object")
        for name in value:
            if name not in known:
                near = get_close_matches(str(name)[:100], known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"it may have {', '.join(known)}"
                raise Invalid(f"{self.path or 'the document'}: {_quoted(name)} is not a field of it", hint=hint)
        return Fields(self, value)

    def members(self, most: int) -> Iterator[tuple[str, "Given"]]:
        """The fields of an object whose names are anybody's."""
        value = {} if self.value is None else self.value
        if not isinstance(value, dict):
            self.wrong("is not an object")
        if len(value) > most:
            self.refuse(f"{len(value)} fields are too many", hint=f"use at most {most}")
        for name, inner in value.items():
            if not isinstance(name, str):
                self.refuse(f"{_quoted(name)} is not a name")
            yield name, Given(inner, f"{self.path}.{name:.60}")

    def each(self, most: int) -> Iterator["Given"]:
        value = [] if self.value is None else self.value
        if not isinstance(value, list | tuple):
            self.wrong("is not a list")
        if len(value) > most:
            self.refuse(f"{len(value)} are too many", hint=f"use at most {most}")
        return (Given(inner, f"{self.path}[{place}]") for place, inner in enumerate(value))

    def text(self, most: int, *, default: str = "") -> str:
        """A string of at most so many bytes."""
        if self.value is None:
            return default
        if not isinstance(self.value, str):
            self.wrong("is not a string")
        if "\x00" in self.value:
            self.wrong("has a NUL character in it")
        try:
            size = len(self.value.encode())
        except UnicodeEncodeError:
            self.wrong("has half of a surrogate pair in it")
        if size > most:
            self.refuse(f"{size} bytes are too many", hint=f"use at most {most}")
        return self.value

    def choice(self, *choices: str, default: str) -> str:
        if self.value is None:
            return default
        if not isinstance(self.value, str) or self.value not in choices:
            self.wrong("is not one of them", hint=f"use {', '.join(choices)}")
        return self.value

    def flag(self, *, default: bool) -> bool:
        if self.value is None:
            return default
        if not isinstance(self.value, bool):
            self.wrong("is neither true nor false")
        return self.value

    def whole(self, least: int, most: int) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or not least <= self.value <= most:
            self.wrong("is not such a number", hint=f"use a whole number, {least} to {most}")
        return self.value

    def number(self, least: float, most: float) -> float:
        if not isinstance(self.value, int | float) or isinstance(self.value, bool) or not least <= self.value <= most:
            self.wrong("is not such a number", hint=f"use {least:g} to {most:g}")
        return float(self.value)

    def duration(self, most: Duration, *, default: Duration) -> Duration:
        """A duration such as `30s`, or whole milliseconds."""
        if self.value is None:
            return default
        if isinstance(self.value, int) and not isinstance(self.value, bool):
            length = self.value * 1_000
        else:
            try:
                length = instants.duration(self.text(100))
            except Invalid:
                self.wrong("is not a duration", hint="write a number and a unit, such as 500ms, 30s, 10m")
        if not 0 < length <= most:
            self.wrong("is not such a duration", hint=f"it must be over zero and at most {instants.short(most)}")
        return length

    def json(self, most: int) -> Json:
        """Any JSON, of at most so many bytes, that can be stored and sent on."""
        try:
            size = len(json.dumps(self.value, ensure_ascii=False, allow_nan=False).encode())
        except (TypeError, ValueError, RecursionError):
            self.refuse("it is not JSON", hint="no NaN, no infinity, no half characters, nothing nested very deep")
        if size > most:
            self.refuse(f"{size} bytes are too many", hint=f"use at most {most}")
        if strict.deeper(self.value, strict.DEPTH, size):
            self.refuse(f"it is nested over {strict.DEPTH} deep", hint="send it flatter")
        return self.value


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of an object, those included that are not there."""

    whole: Given
    value: dict[str, Any]

    def __getitem__(self, name: str) -> Given:
        path = f"{self.whole.path}.{name}" if self.whole.path else name
        return Given(self.value.get(name), path)


def _quoted(value: Any) -> str:
    if isinstance(value, dict | list | tuple):  # there may be secrets in it
        return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}..."
