"""
Quote text from outside on a line, so that it ends where its quotes end.

Beside what JSON escapes, invisible characters, line separators and `<` are written as `\\uXXXX` (`core/escaping.py`).
"""

import json
import re
from typing import Final

from gatepost.core.escaping import escape_unsafe, has_invisible
from gatepost.core.json_limits import Json

encode_compactly: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
#: text that is quoted as it is
_PLAIN_TEXT: Final = re.compile(r"[ !#-;=-\[\]-~]*")
_PLAIN_NAME: Final = re.compile(r"\w(?:[\w .'@#&+/-]*[\w.])?")


def quote(text: str) -> str:
    """Return text as a JSON string without line breaks."""
    return f'"{text}"' if _PLAIN_TEXT.fullmatch(text) else escape_unsafe(encode_compactly(text))


def render_json(value: Json) -> str:
    """Return any JSON value on one line."""
    return escape_unsafe(encode_compactly(value))


def render_name(text: str) -> str:
    """Return a name as it is if it is harmless, or else quoted."""
    return text if _PLAIN_NAME.fullmatch(text) and not has_invisible(text) else quote(text)


def render_session(text: str) -> str:
    """Return the name of a session, quoted if it has odd characters."""
    return text if re.fullmatch(r"[\w:.@-]+", text) and not has_invisible(text) else quote(text)
