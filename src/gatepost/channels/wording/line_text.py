"""
Show any JSON value from outside as a piece of one line of plain text.

The result never has a line break, a control or a format character (such as those that change the direction of text), or
two spaces in a row, and has at most `limit` characters: a longer one ends in three dots. The work is bounded too. Of a
long text, list or object only the beginning is read, and of a deep one only the outer levels.
"""

import json
import unicodedata
from collections.abc import Iterator
from itertools import islice
from typing import Final

from gatepost.core.json_limits import Json

#: the fields that name an object, the best first
_LABEL_FIELDS: Final = ("full_name", "title", "name", "login", "username", "displayName", "key", "label", "email", "id")
_SPACE_CATEGORIES: Final = frozenset(("Cc", "Cs", "Zl", "Zp", "Zs"))
_MAX_ITEMS: Final = 20
_MAX_DEPTH: Final = 6
#: bits of a number that is shown; Python refuses to write very long ones
_MAX_BITS: Final = 1_024
_ELLIPSIS: Final = "..."

_encode: Final = json.JSONEncoder(ensure_ascii=False).encode


def clean_line(text: str, limit: int) -> str:
    """Return a text as one line of at most `limit` characters."""
    beginning = text[: 4 * limit]
    if not beginning.isprintable():
        beginning = "".join(map(_replace_unprintable, beginning))
    line = " ".join(beginning.split())
    return cut_line(line + _ELLIPSIS, limit) if len(text) > 4 * limit else cut_line(line, limit)


def cut_line(line: str, limit: int) -> str:
    """Return a line of at most `limit` characters; a longer one ends in three dots."""
    return line if len(line) <= limit else line[: max(0, limit - len(_ELLIPSIS))].rstrip() + _ELLIPSIS[:limit]


def show_value(value: Json, limit: int) -> str:
    """
    Return a value as a line. A list is its items with commas between them; an object is its name or its title, or else
    JSON. Null, an empty text and an empty list are an empty line.
    """
    if isinstance(value, list | tuple):
        items = (_show_item(item, limit) for item in islice(value, _MAX_ITEMS))
        rest = [_ELLIPSIS] if len(value) > _MAX_ITEMS else []
        return cut_line(", ".join([*filter(None, items), *rest]), limit)
    return _show_item(value, limit)


def show_scalar(value: Json, limit: int) -> str:
    """Return a text, a number, true or false as a line; anything else is an empty line."""
    match value:
        case str():
            return clean_line(value, limit)
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() <= _MAX_BITS:
            return cut_line(str(value), limit)
        case float():
            return cut_line(str(value), limit)
        case _:
            return ""


def show_label(value: Json, limit: int) -> str:
    """Return a scalar as a line, and an object as the field that names it; anything else is an empty line."""
    if not isinstance(value, dict):
        return show_scalar(value, limit)
    labels = (show_scalar(value.get(field), limit) for field in _LABEL_FIELDS)
    return next(filter(None, labels), "")


def show_json(value: Json, limit: int) -> str:
    """Return a value as JSON; deep parts of it are three dots."""
    pieces, length = [], 0
    for piece in _iter_pieces(value, limit, 0):
        pieces.append(piece)
        length += len(piece)
        if length > limit:
            break
    return clean_line("".join(pieces), limit)


def _show_item(value: Json, limit: int) -> str:
    is_filled = isinstance(value, dict | list | tuple) and len(value) > 0
    return show_label(value, limit) or (show_json(value, limit) if is_filled else "")


def _iter_pieces(value: Json, limit: int, depth: int) -> Iterator[str]:
    match value:
        case dict() | list() | tuple() if depth == _MAX_DEPTH:
            yield _ELLIPSIS
        case dict():
            yield "{"
            for index, (key, member) in enumerate(value.items()):
                yield f"{',' if index else ''}{_encode(str(key)[:limit])}:"
                yield from _iter_pieces(member, limit, depth + 1)
            yield "}"
        case list() | tuple():
            yield "["
            for index, item in enumerate(value):
                yield "," if index else ""
                yield from _iter_pieces(item, limit, depth + 1)
            yield "]"
        case None:
            yield "null"
        case str():
            yield _encode(value[:limit])
        case _:
            yield show_scalar(value, limit) or _ELLIPSIS


def _replace_unprintable(character: str) -> str:
    """Return a space for a control character, a separator or half of a surrogate pair, and nothing for a format."""
    if character.isprintable():
        return character
    category = unicodedata.category(character)
    return " " if category in _SPACE_CATEGORIES else "" if category == "Cf" else character
