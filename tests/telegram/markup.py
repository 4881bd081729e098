"""
What the two parse modes of the Bot API share. `markdown.py` and `html.py` read them as the real server does, with its
errors.

Both return the text without its markup, and its entities. Offsets and lengths of entities are UTF-16 code units,
offsets in errors are bytes of UTF-8.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import SplitResult, parse_qs, urlsplit

Entity = dict[str, Any]

SPACES: Final = frozenset(" \t\r\n\v\0")
#: entities that may lie in all others but code, and may contain all others but code
STYLES: Final = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
_DATE_FORMAT: Final = re.compile(r"r|w?[dD]?[tT]?")


class MarkupError(Exception):
    """The markup cannot be parsed; the message is the one of the real server."""


def measure(text: str) -> int:
    """Return the length of a text in UTF-16 code units."""
    return len(text) + sum(character > "\uffff" for character in text)


def measure_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(slots=True)
class OpenEntity:
    """An entity that has begun: where in the source, and where in the text."""

    type: str
    source_position: int
    offset: int
    text_index: int
    argument: str = ""
    attributes: dict[str, str] = field(default_factory=dict)


class MarkupParser:
    """Collects a text and its entities."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._text: list[str] = []
        self._length = 0
        self._open: list[OpenEntity] = []
        self._entities: list[Entity] = []

    def _emit(self, character: str) -> None:
        self._text.append(character)
        self._length += measure(character)

    def _begin(self, type: str, position: int, argument: str = "") -> OpenEntity:
        opened = OpenEntity(type, position, self._length, len(self._text), argument)
        self._open.append(opened)
        return opened

    def _add(self, opened: OpenEntity, type: str, **fields: Any) -> None:
        if self._length > opened.offset:
            self._entities.append(
                {"type": type, "offset": opened.offset, "length": self._length - opened.offset, **fields}
            )

    def _add_link(self, opened: OpenEntity, url: str) -> None:
        """Add a link or a mention. An address that is none loses its entity, without an error."""
        url = url or "".join(self._text[opened.text_index :])
        parts = split_url(url)
        if (
            parts.scheme == "tg"
            and parts.netloc == "user"
            and (id := parse_qs(parts.query).get("id", [""])[0]).isdecimal()
        ):
            self._add(opened, "text_mention", user={"id": int(id)})
        elif checked := check_link(url):
            self._add(opened, "text_link", url=checked)

    def _add_date(self, opened: OpenEntity, unix: str, format: str) -> None:
        if not unix.isdecimal():
            raise MarkupError("Invalid date specified")
        if not _DATE_FORMAT.fullmatch(format):
            raise MarkupError("Invalid date-time format specified")
        self._add(opened, "date_time", unix_time=int(unix), date_time_format=format)

    def _add_emoji(self, opened: OpenEntity, id: str) -> None:
        if not id.isdecimal() or int(id) == 0:
            raise MarkupError("Invalid custom emoji identifier specified")
        self._add(opened, "custom_emoji", custom_emoji_id=id)

    def _find_offset(self, position: int) -> int:
        return measure_bytes(self._source[:position])

    def _finish(self) -> tuple[str, list[Entity]]:
        return "".join(self._text), sort_entities(self._entities)


def sort_entities(entities: list[Entity]) -> list[Entity]:
    """Return entities in the order in which they begin, what contains before what is contained."""
    return sorted(entities, key=lambda entity: (entity["offset"], -entity["length"], entity["type"] in STYLES))


def split_url(url: str) -> SplitResult:
    """Split an address; one that is none has no parts."""
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


def check_link(url: str) -> str:
    """Return the address that a link gets, or an empty text if it can be no link."""
    parts = split_url(url)
    if not parts.scheme or "." in parts.scheme:  # example.org:8080/path
        parts = split_url(f"http://{url}")
    if parts.scheme in {"tg", "ton", "tonsite"}:
        return url
    host = parts.hostname or ""
    is_host = bool(re.fullmatch(r"[\w-]+(\.[\w-]+)+|localhost|\[[0-9a-f:]+\]", host))
    if parts.scheme not in {"http", "https", "ftp"} or not is_host:
        return ""
    return parts._replace(path=parts.path or "/").geturl()
