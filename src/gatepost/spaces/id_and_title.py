"""What the id and the title of a space may be, and the id that is made from a title: `q4-report` for `Q4 Report`."""

import re
import unicodedata
from typing import Final

from gatepost.core import address
from gatepost.errors import Invalid, quote_value

_MAX_TITLE_LENGTH: Final = 200


def check_title(text: str) -> str:
    """Return the text if it can be the title of a space."""
    if len(text) > _MAX_TITLE_LENGTH or not text.strip() or not text.isprintable():
        raise Invalid(
            f"{quote_value(text)} is not a title of a space", hint=f"use up to {_MAX_TITLE_LENGTH} printable characters"
        )
    return text


def check_id(id: str) -> str:
    """Return the text if it can be the id of a space."""
    return address.check_name(id, "id of a space")


def is_id(text: str) -> bool:
    """Return True if the text can be the id of a space."""
    try:
        return bool(check_id(text))
    except Invalid:
        return False


def make_id(title: str) -> str | None:
    """Return the id for a title; None if no character of it may be in an id."""
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9._]+", "-", ascii_title).strip("-._")
    return words[: address.MAX_NAME_LENGTH].rstrip("-._") or None
