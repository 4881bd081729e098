"""HTML of the Bot API."""

import re
from typing import Final

from tests.telegram.markup import SPACES, Entity, MarkupError, MarkupParser, OpenEntity

_TYPES: Final = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "span": "spoiler",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-emoji": "custom_emoji",
    "tg-time": "date_time",
}
_NAMED_CHARACTERS: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
_CHARACTER: Final = re.compile(r"&(?:#x(?P<hex>[0-9a-fA-F]+)|#(?P<decimal>[0-9]+)|(?P<name>[a-zA-Z]+));?")
_ATTRIBUTE_NAME: Final = re.compile(r"""[^\s=>/"']*""")
_TOKEN: Final = re.compile(r"[A-Za-z0-9.-]*")


def parse_html(source: str) -> tuple[str, list[Entity]]:
    return _HtmlParser(source).parse()


class _HtmlParser(MarkupParser):
    def parse(self) -> tuple[str, list[Entity]]:
        source, position = self._source, 0
        while position < len(source):
            character, end = self._read_character(position)
            if character != "<" or end > position + 1:
                self._emit(character)
                position = end
            elif source.startswith("/", position + 1):
                position = self._read_end_tag(position)
            else:
                position = self._read_start_tag(position)
        if self._open:
            raise MarkupError(f'Can\'t find end tag corresponding to start tag "{self._open[-1].type}"')
        return self._finish()

    def _read_character(self, position: int) -> tuple[str, int]:
        """Return a character, decoded if it is written as an HTML entity, and the position after it."""
        match = _CHARACTER.match(self._source, position)
        if match:
            if match["name"]:
                decoded = _NAMED_CHARACTERS.get(match["name"], "")
            else:
                code = int(match["hex"], 16) if match["hex"] else int(match["decimal"])
                decoded = chr(code) if 0 < code < 0x10FFFF else ""
            if "\ud800" <= decoded <= "\udfff":
                raise MarkupError(
                    "Text contains invalid Unicode characters after decoding HTML entities, check for unmatched"
                    " surrogate code units"
                )
            if decoded:
                return decoded, match.end()
        return self._source[position], position + 1

    def _skip(self, position: int, *, while_space: bool, until: str = "") -> int:
        source = self._source
        while position < len(source) and (source[position] in SPACES) == while_space and source[position] not in until:
            position += 1
        return position

    def _read_start_tag(self, begin: int) -> int:
        source = self._source
        position = self._skip(begin + 1, while_space=False, until=">")
        offset = self._find_offset(begin)
        if position == len(source):
            raise MarkupError(f"Unclosed start tag at byte offset {offset}")
        tag = source[begin + 1 : position].lower()
        if tag not in _TYPES:
            raise MarkupError(f'Unsupported start tag "{tag}" at byte offset {offset}')
        attributes: dict[str, str] = {}
        unclosed = MarkupError(f'Unclosed start tag "{tag}" at byte offset {offset}')
        while (position := self._skip(position, while_space=True)) < len(source) and source[position] != ">":
            name = self._match(_ATTRIBUTE_NAME, position)
            if not name:
                raise MarkupError(f'Empty attribute name in the tag "{tag}" at byte offset {offset}')
            position = self._skip(position + len(name), while_space=True)
            if not source.startswith("=", position):
                attributes[name] = ""
                continue
            position = self._skip(position + 1, while_space=True)
            if position == len(source):
                raise unclosed
            attributes[name], position = self._read_value(position)
        if position == len(source):
            raise unclosed
        if tag == "span" and attributes.get("class") != "tg-spoiler":
            raise MarkupError(f'Tag "span" must have class "tg-spoiler" at byte offset {offset}')
        self._begin(tag, begin).attributes = attributes
        return position + 1

    def _match(self, pattern: re.Pattern[str], position: int) -> str:
        match = pattern.match(self._source, position)
        return match[0] if match else ""

    def _read_value(self, position: int) -> tuple[str, int]:
        source = self._source
        quote = source[position]
        if quote not in "'\"":
            token = self._match(_TOKEN, position)
            end = position + len(token)
            if end < len(source) and source[end] not in SPACES and source[end] != ">":
                raise MarkupError(f"Unexpected end of name token at byte offset {self._find_offset(position)}")
            return token.lower(), end
        value, position = "", position + 1
        while position < len(source) and source[position] != quote:
            character, position = self._read_character(position)
            value += character
        return value, min(position + 1, len(source))

    def _read_end_tag(self, begin: int) -> int:
        source, offset = self._source, self._find_offset(begin)
        if not self._open:
            raise MarkupError(f"Unexpected end tag at byte offset {offset}")
        position = self._skip(begin + 2, while_space=False, until=">")
        tag = source[begin + 2 : position].lower()
        position = self._skip(position, while_space=True)
        if not source.startswith(">", position):
            raise MarkupError(f"Unclosed end tag at byte offset {offset}")
        opened = self._open.pop()
        if tag and tag != opened.type:
            raise MarkupError(
                f'Unmatched end tag at byte offset {offset}, expected "</{opened.type}>", found "</{tag}>"'
            )
        self._add_tag(opened)
        return position + 1

    def _add_tag(self, opened: OpenEntity) -> None:
        attributes, type = opened.attributes, _TYPES[opened.type]
        match opened.type:
            case "a":
                self._add_link(opened, attributes.get("href", ""))
            case "tg-emoji":
                self._add_emoji(opened, attributes.get("emoji-id", ""))
            case "tg-time":
                self._add_date(opened, attributes.get("unix", ""), attributes.get("format", ""))
            case "blockquote" if "expandable" in attributes:
                self._add(opened, "expandable_blockquote")
            case "code" if attributes.get("class", "").startswith("language-"):
                # The language counts only for a block: `pre` around it, or in it, is one entity with it.
                self._add(opened, type, language=attributes["class"].removeprefix("language-"))
                self._join_block()
            case "code" | "pre":
                self._add(opened, type)
                self._join_block()
            case _:
                self._add(opened, type)

    def _join_block(self) -> None:
        """Make one entity of a `pre` and a `code` with a language that cover the same text."""
        [*earlier, inner, outer] = self._entities if len(self._entities) > 1 else [{}, {}]
        if not outer or {inner["type"], outer["type"]} != {"code", "pre"}:
            return
        if (inner["offset"], inner["length"]) == (outer["offset"], outer["length"]):
            language = inner.get("language") or outer.get("language")
            if language:
                self._entities = [*earlier, {**inner, "type": "pre", "language": language}]

    def _finish(self) -> tuple[str, list[Entity]]:
        for entity in self._entities:
            if entity["type"] == "code":
                entity.pop("language", None)
        return super()._finish()
