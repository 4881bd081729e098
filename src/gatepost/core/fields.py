"""The fields of a document that somebody else wrote, read with an error for what is missing or of the wrong kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gatepost.core.instants import Instant, instant
from gatepost.errors import Invalid

_MOST: Final = 2**53


@dataclass(frozen=True, slots=True)
class Fields:
    document: Mapping[str, Any]
    #: whether one of ours wrote it: its texts may hold whatever JSON can
    own: bool = False

    def value(self, name: str) -> Any:
        if name not in self.document:
            raise Invalid(f"{name!r} is missing")
        return self.document[name]

    def text(self, name: str) -> str:
        value = self.value(name)
        if not isinstance(value, str):
            raise Invalid(f"{name!r} must be a string, not {value!r:.60}")
        if self.own:
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Invalid(f"{name!r} has half of a surrogate pair in it") from None
        if "\x00" in value:
            raise Invalid(f"{name!r} has a NUL character in it")
        return value

    def text_or_none(self, name: str) -> str | None:
        return None if self.value(name) is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        value = self.value(name)
        if not isinstance(value, list):
            raise Invalid(f"{name!r} must be a list, not {value!r:.60}")
        return [Fields({name: each}, self.own).text(name) for each in value]

    def whole(self, name: str) -> int:
        value = self.value(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _MOST:
            raise Invalid(f"{name!r} must be a whole number, not {value!r:.60}")
        return value

    def flag(self, name: str) -> bool:
        value = self.value(name)
        if not isinstance(value, bool):
            raise Invalid(f"{name!r} must be true or false, not {value!r:.60}")
        return value

    def time(self, name: str) -> Instant:
        return instant(self.text(name))

    def inner(self, name: str) -> "Fields":
        value = self.value(name)
        if value is None:
            raise Invalid(f"{name!r} is missing")
        if not isinstance(value, dict):
            raise Invalid(f"{name!r} must be an object, not {value!r:.60}")
        return Fields(value, self.own)

    def inners(self, name: str) -> "list[Fields]":
        value = self.value(name)
        if not isinstance(value, list):
            raise Invalid(f"{name!r} must be a list, not {value!r:.60}")
        for each in value:
            if not isinstance(each, dict):
                raise Invalid(f"{name!r} must be a list of objects, not of {each!r:.60}")
        return [Fields(each, self.own) for each in value]

    def one_of(self, name: str, *choices: str) -> str:
        value = self.text(name)
        if value not in choices:
            raise Invalid(f"{name!r} must be one of {', '.join(choices)}, not {value!r:.60}")
        return value
