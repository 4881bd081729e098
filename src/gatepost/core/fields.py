"""Read the fields of a document from outside; raise Invalid if a field is missing or of the wrong type."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from gatepost.core.text import find_unstorable
from gatepost.core.times import Instant, parse_instant
from gatepost.errors import Invalid

_MAX_INTEGER: Final = 2**53


class Fields(Struct, frozen=True):
    document: Mapping[str, Any]
    #: whether Gatepost wrote it: then its texts may hold all that JSON can
    is_trusted: bool = False

    def value(self, name: str) -> Any:
        if name not in self.document:
            raise Invalid(f"{name!r} is missing")
        return self.document[name]

    def text(self, name: str) -> str:
        value = self.value(name)
        if not isinstance(value, str):
            raise Invalid(f"{name!r} must be a string, not {value!r:.60}")
        if not self.is_trusted and (reason := find_unstorable(value)):
            raise Invalid(f"{name!r} {reason}")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.value(name)
        if not isinstance(value, list):
            raise Invalid(f"{name!r} must be a list, not {value!r:.60}")
        return [Fields({name: item}, self.is_trusted).text(name) for item in value]

    def whole(self, name: str) -> int:
        value = self.value(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MAX_INTEGER:
            raise Invalid(f"{name!r} must be a whole number, not {value!r:.60}")
        return value

    def flag(self, name: str) -> bool:
        value = self.value(name)
        if not isinstance(value, bool):
            raise Invalid(f"{name!r} must be true or false, not {value!r:.60}")
        return value

    def time(self, name: str) -> Instant:
        return parse_instant(self.text(name))

    def inner(self, name: str) -> "Fields":
        value = self.value(name)
        if value is None:
            raise Invalid(f"{name!r} is missing")
        if not isinstance(value, dict):
            raise Invalid(f"{name!r} must be an object, not {value!r:.60}")
        return Fields(value, self.is_trusted)

    def inners(self, name: str) -> "list[Fields]":
        value = self.value(name)
        if not isinstance(value, list):
            raise Invalid(f"{name!r} must be a list, not {value!r:.60}")
        for item in value:
            if not isinstance(item, dict):
                raise Invalid(f"{name!r} must be a list of objects, not of {item!r:.60}")
        return [Fields(item, self.is_trusted) for item in value]

    def one_of(self, name: str, *choices: str) -> str:
        value = self.text(name)
        if value not in choices:
            raise Invalid(f"{name!r} must be one of {', '.join(choices)}, not {value!r:.60}")
        return value
