"""MarkdownV2 of the Bot API."""

from typing import Final
from urllib.parse import parse_qs

from tests.telegram.markup import SPACES, Entity, MarkupError, MarkupParser, OpenEntity, split_url

_RESERVED: Final = frozenset("_*[]()~`>#+-=|{}.!\n")
#: what ends an entity, and its name in errors
_TYPES: Final = {
    "bold": ("*", "Bold"),
    "italic": ("_", "Italic"),
    "underline": ("__", "Underline"),
    "strikethrough": ("~", "Strikethrough"),
    "spoiler": ("||", "Spoiler"),
    "code": ("`", "Code"),
    "pre": ("```", "Pre"),
    "text_link": ("]", "TextUrl"),
    "custom_emoji": ("]", "CustomEmoji"),
    "blockquote": ("\n", "BlockQuote"),
}


def parse_markdown(source: str) -> tuple[str, list[Entity]]:
    """Parse MarkdownV2."""
    return _MarkdownParser(source).parse()


class _MarkdownParser(MarkupParser):
    _is_quoted = False
    _can_quote = True

    def parse(self) -> tuple[str, list[Entity]]:
        source, position = self._source, 0
        while position < len(source):
            character = source[position]
            if self._is_escape(position):
                self._emit_plain(source[position + 1])
                position += 2
            elif character not in (_RESERVED if not self._is_in_code() else "`"):
                self._emit_plain(character)
                position += 1
            elif self._ends_entity(position):
                position = self._close(position)
            else:
                position = self._open_entity(position)
        if self._is_quoted:
            is_expandable = self._open[-1].type == "spoiler" and self._open[-1].source_position == len(source) - 2
            if is_expandable:
                self._open.pop()
            if self._open[-1].type == "blockquote":
                self._add(self._open.pop(), "expandable_blockquote" if is_expandable else "blockquote")
        if self._open:
            raise self._build_unended_error()
        return self._finish()

    def _is_escape(self, position: int) -> bool:
        following = self._source[position + 1 : position + 2]
        return self._source[position] == "\\" and "\x01" <= following <= "~"

    def _is_in_code(self) -> bool:
        return bool(self._open) and self._open[-1].type in {"code", "pre"}

    def _emit_plain(self, character: str) -> None:
        self._emit(character)
        if character != "\r":
            self._can_quote = character == "\n"

    def _ends_entity(self, position: int) -> bool:
        source = self._source
        if not self._open:
            return False
        if self._is_quoted and source[position] == "\n" and not source.startswith(">", position + 1):
            return True
        type = self._open[-1].type
        if type == "blockquote":
            return False
        if type == "italic" and source.startswith("__", position):
            return False
        return source.startswith(_TYPES[type][0], position)

    def _open_entity(self, position: int) -> int:
        """Begin what begins here, and return the position after its mark."""
        source = self._source
        match source[position]:
            case "\n":
                self._emit_plain("\n")
                return position + 1
            case ">" if self._can_quote:
                if not self._is_quoted:
                    self._begin("blockquote", position)
                    self._is_quoted = True
                return position + 1
            case "`" if source.startswith("```", position):
                return self._open_pre(position)
            case "!" if source.startswith("![", position):
                self._begin("custom_emoji", position)
                return position + 2
            case "[":
                self._begin("text_link", position)
                return position + 1
            case _:
                return self._open_marked(position)

    def _open_marked(self, position: int) -> int:
        """Begin an entity that ends with the mark with which it begins."""
        source = self._source
        for type in ("underline", "italic", "bold", "strikethrough", "spoiler", "code"):
            mark = _TYPES[type][0]
            if source.startswith(mark, position):
                self._begin(type, position)
                return position + len(mark)
        raise MarkupError(f"Character '{source[position]}' is reserved and must be escaped with the preceding '\\'")

    def _open_pre(self, position: int) -> int:
        source, begin = self._source, position + 3
        end = begin
        while end < len(source) and source[end] not in SPACES and source[end] != "`":
            end += 1
        language = ""
        if begin < end < len(source) and source[end] != "`":
            language, begin = source[begin:end], end
        if source[begin : begin + 2] in {"\r\n", "\n\r"}:
            begin += 2
        elif source[begin : begin + 1] in {"\n", "\r"}:
            begin += 1
        self._begin("pre", position, language)
        return begin

    def _close(self, position: int) -> int:
        """End the innermost entity, and return the position after its mark."""
        opened = self._open[-1]
        type = opened.type
        if self._source[position] == "\n" and type != "blockquote":
            begun = opened.source_position
            has_return = self._text[-1:] == ["\r"] and begun == position - 3
            if type != "spoiler" or not (begun == position - 2 or has_return):
                raise self._build_unended_error()
            self._open.pop()
            opened, type = self._open[-1], "expandable_blockquote"
            if opened.type != "blockquote":
                raise self._build_unended_error()
        self._open.pop()
        match type:
            case "blockquote" | "expandable_blockquote":
                self._is_quoted = False
                self._emit_plain("\n")
                self._add(opened, type)
                return position + 1
            case "text_link":
                url, end = self._read_url(position, "a URL")
                self._add_link(opened, url)
                return end
            case "custom_emoji":
                if not self._source.startswith("(", position + 1):
                    raise MarkupError("Custom emoji entity must contain a tg://emoji URL")
                url, end = self._read_url(position, "a custom emoji URL")
                self._add_special(opened, url)
                return end
            case "pre" if opened.argument:
                self._add(opened, type, language=opened.argument)
            case _:
                self._add(opened, type)
        return position + len(_TYPES[type][0])

    def _read_url(self, position: int, label: str) -> tuple[str, int]:
        """Return the address in parentheses after a `]`, or nothing, and the position after it."""
        source = self._source
        if not source.startswith("(", position + 1):
            return "", position + 1
        begin = position = position + 2
        url = ""
        while position < len(source) and source[position] != ")":
            position += self._is_escape(position)
            url += source[position]
            position += 1
        if position == len(source):
            raise MarkupError(f"Can't find end of {label} at byte offset {self._find_offset(begin)}")
        return url, position + 1

    def _add_special(self, opened: OpenEntity, url: str) -> None:
        parts = split_url(url)
        values = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.scheme == "tg" and parts.netloc == "time":
            self._add_date(opened, values.get("unix", ""), values.get("format", ""))
        elif parts.scheme == "tg" and parts.netloc == "emoji":
            self._add_emoji(opened, values.get("id", ""))
        else:
            raise MarkupError("Custom emoji entity must contain a tg://emoji URL")

    def _build_unended_error(self) -> MarkupError:
        opened = self._open[-1]
        name = "PreCode" if opened.type == "pre" and opened.argument else _TYPES[opened.type][1]
        offset = self._find_offset(opened.source_position)
        return MarkupError(f"Can't find end of {name} entity at byte offset {offset}")
