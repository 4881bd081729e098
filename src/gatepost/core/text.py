"""Checks and cuts of text from outside, and enums that people write."""

import re
import unicodedata
from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar, Final, Self, TypeVar, overload

from gatepost.errors import Invalid, quote_value

T = TypeVar("T")
R = TypeVar("R")

#: controls, formats, surrogates, separators, and marks that go on top of something
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp", "Mn", "Me"})
#: letters and a symbol without any ink: the fillers of Hangul, and Braille without dots
_BLANK_CHARACTERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_HAS_NUL: Final = "has a NUL character in it"
#: an incomplete JSON escape, or pair of escapes, at the end of a cut text
_HALF_ESCAPE: Final = re.compile(
    r"(?<!\\)((?:\\\\)*)\\(?:u(?:[0-9a-f]{0,3}|d[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?))?$"
)


def has_visible_text(text: str) -> bool:
    """Return True if the text has a visible character."""
    return any(
        character not in _BLANK_CHARACTERS and unicodedata.category(character) not in _INVISIBLE_CATEGORIES
        for character in text
    )


def fold_text(text: str) -> str:
    """Return a text as it is compared with others: without regard to case and to the form of its letters."""
    return unicodedata.normalize("NFKC", text).casefold()


def find_unstorable(text: str) -> str | None:
    """Return why one of the databases could not store the text, as the end of a sentence; None if both can."""
    if "\x00" in text:
        return _HAS_NUL
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return "has half of a surrogate pair in it"
    return None


def check_storable(field: str, text: str) -> str:
    """Return the text if both databases can store it."""
    reason = find_unstorable(text)
    if reason == _HAS_NUL:
        raise Invalid(f"the {field} {reason}", hint="remove it")
    if reason is not None:
        raise Invalid(f"the {field} is not valid Unicode: it {reason}")
    return text


def check_text(field: str, text: str, limit: int) -> str:
    """Return the text if it has at most `limit` characters and both databases can store it."""
    if len(text) > limit:
        raise Invalid(f"the {field} has {len(text)} characters, over the limit of {limit}")
    return check_storable(field, text)


def check_label(noun: str, text: str, limit: int) -> str:
    """Return the text if it can be a label: one line of at most `limit` printable characters."""
    if len(text) > limit or not text.strip() or not text.isprintable():
        raise Invalid(f"{quote_value(text)} is not {noun}", hint=f"use up to {limit} printable characters on one line")
    return text


def shorten(text: str, limit: int) -> str:
    """Return the text, or its first `limit` characters and a note with its full length."""
    return text if len(text) <= limit else f"{text[:limit]} ... (cut, {len(text)} characters in all)"


def abbreviate(text: str, limit: int) -> str:
    """Return the text, or its first characters and dots."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def count_bytes(text: str) -> int:
    """Return the length as UTF-8. It is never less than the number of characters, or of UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def truncate(text: str, limit: int, note: str) -> str:
    """Return the beginning of a text and the note, in at most `limit` bytes; no character and no escape is split."""
    beginning = text.encode(errors="replace")[: max(0, limit - count_bytes(note))].decode(errors="ignore")
    return _HALF_ESCAPE.sub(r"\1", beginning) + note


@overload
def parse_field(name: str, value: None, parse: Callable[[Any], Any]) -> None: ...
@overload
def parse_field(name: str, value: T, parse: Callable[[T], R]) -> R: ...
def parse_field(name: str, value: Any, parse: Callable[[Any], Any]) -> Any:
    """Return the value of a field of a request, parsed; None for None. An error begins with the name of the field."""
    try:
        return parse(value) if value is not None else None
    except Invalid as error:
        error.message = f"{name}: {error.message}"
        raise


class ParsedEnum(StrEnum):
    """A string enum with `parse`. `description` is the noun of the error message: "'x' is not a kind of gate"."""

    _description: ClassVar[str]

    def __init_subclass__(cls, *, description: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        type.__setattr__(cls, "_description", description)

    @classmethod
    def parse(cls, text: str) -> Self:
        try:
            return cls(text)
        except ValueError:
            raise Invalid(
                f"{quote_value(text)} is not {cls._description}", hint=f"use one of {', '.join(cls)}"
            ) from None
