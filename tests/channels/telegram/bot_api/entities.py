"""The formatting of parts of a text: entities, whose offsets and lengths are counted in UTF-16 code units."""

import re
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

Entity = dict[str, Any]

#: entities that may lie in all others but code, and may contain all others but code
STYLES: Final = frozenset({"bold", "italic", "strikethrough"})


def measure(text: str) -> int:
    """Return the length of a text in UTF-16 code units."""
    return len(text) + sum(character > "\uffff" for character in text)


def sort_entities(entities: list[Entity]) -> list[Entity]:
    """Return entities in the order in which they begin, what contains before what is contained."""
    return sorted(entities, key=lambda entity: (entity["offset"], -entity["length"], entity["type"] in STYLES))


def is_link(url: str) -> bool:
    """Return True if an address can be that of a link."""
    parts = _split_url(url)
    if not parts.scheme or "." in parts.scheme:  # example.org:8080/path
        parts = _split_url(f"http://{url}")
    if parts.scheme in {"tg", "ton", "tonsite"}:
        return True
    is_host = bool(re.fullmatch(r"[\w-]+(\.[\w-]+)+|localhost|\[[0-9a-f:]+\]", parts.hostname or ""))
    return parts.scheme in {"http", "https", "ftp"} and is_host


def _split_url(url: str) -> SplitResult:
    """Split an address; one that is none has no parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")
