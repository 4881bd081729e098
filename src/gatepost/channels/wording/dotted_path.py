"""
Read a value from a JSON document by a dotted path.

    pull_request.title         the member `title` of the member `pull_request`
    commits[0].author.name     an index in square brackets; the first item is 0
    labels[-1]                 a negative index counts from the end
    fields."due.date"          a key in double quotes may have anything in it; \\" and \\\\ are one character
    [0].name                   a document that is a list

A key without quotes has no space and none of `. [ ] { } | "`. A path that does not fit the document leads nowhere and
reads `MISSING`: that is no error, because documents come from outside. Null is a value.
"""

import re
from enum import Enum
from functools import lru_cache
from typing import Final, Literal, NoReturn

from gatepost.core.json_limits import Json
from gatepost.errors import Invalid, quote_value

#: characters of a path
MAX_LENGTH: Final = 500
#: keys and indexes of a path
MAX_DEPTH: Final = 32

#: keys and indexes, from the outside to the inside
DottedPath = tuple[str | int, ...]

_KEY: Final = re.compile(r'[^\s.\[\]{}|"\x00-\x1f]+')
_QUOTED_KEY: Final = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_INDEX: Final = re.compile(r"\[(-?[0-9]{1,6})\]")


class Missing(Enum):
    MISSING = "missing"


#: what is read where a document has nothing
MISSING: Final = Missing.MISSING


@lru_cache(maxsize=4_096)  # the same few paths are used for every payload
def parse_path(text: str) -> DottedPath:
    """Return the keys and indexes of a path; raise Invalid that says where it is wrong."""
    if not text:
        raise Invalid("the path is empty", hint="write it as in pull_request.title")
    if len(text) > MAX_LENGTH:
        raise Invalid(f"the path has {len(text)} characters, over the limit of {MAX_LENGTH}")
    steps: list[str | int] = []
    place = 0
    while place < len(text):
        if text[place] == "[":
            if (match := _INDEX.match(text, place)) is None:
                _reject(text, place, "an index is a whole number in square brackets", "write it as in commits[0]")
            steps.append(int(match[1]))
        else:
            if steps and text[place] != ".":
                _reject(text, place, "a dot or an index is missing", "write it as in commits[0].author.name")
            place += bool(steps)
            if (match := _QUOTED_KEY.match(text, place)) is not None:
                steps.append(re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL))
            elif (match := _KEY.match(text, place)) is not None:
                steps.append(match[0])
            else:
                _reject(
                    text, place, "a key is missing", 'put a key with unusual characters in quotes: fields."due.date"'
                )
        place = match.end()
        if len(steps) > MAX_DEPTH:
            _reject(text, place, f"it has over {MAX_DEPTH} keys and indexes")
    return tuple(steps)


def read_path(document: Json, path: DottedPath) -> Json | Literal[Missing.MISSING]:
    """Return the value at a path of a document, or MISSING."""
    value = document
    for step in path:
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return MISSING
            value = value[step]
        else:
            if not isinstance(value, list | tuple) or not -len(value) <= step < len(value):
                return MISSING
            value = value[step]
    return value


def _reject(text: str, place: int, problem: str, hint: str | None = None) -> NoReturn:
    raise Invalid(f"{quote_value(text)} is not a path: {problem}, at character {place + 1}", hint=hint)
