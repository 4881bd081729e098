"""
Convert Markdown, as models write it, into a text with entities for Telegram.

    **bold**, *italic*, ~~struck~~, `code`    the entity of that name
    # a heading                               bold
    ```python ... ```, indented code          a code block, with its language
    [a link](https://...), ![an image](...)   a link
    > a quote                                 a quote; a quote inside a quote is a part of it
    - a list, 1. a list                       lines that begin with a bullet or a number
    | a | table |                             a code block with columns of equal width
    ---                                       a line of dashes

Everything else stays as it is written: HTML, references to links, and links with another scheme than http, https and tg
(Telegram would make a wrong http link of a mail address, so `[Ann](mailto:ann@example.org)` becomes
`Ann (ann@example.org)`, and Telegram itself finds the address). A line break stays one. No text is lost; if Markdown
is too long, too deep or too wide to parse, all of it stays as it is written.

Entities obey the rules of Telegram: they are nested or apart, none contains its own type, code contains nothing and is
only contained in a quote. So bold text with code in it becomes bold, code, bold; a link whose text is code is a link.
"""

import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Final, NamedTuple

from gatepost.channels.telegram.message_parts import (
    MAX_MESSAGE_LENGTH,
    FormattedText,
    Span,
    build_formatted_text,
    clean_text,
)
from gatepost.core.text import has_visible_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

#: characters that are parsed as Markdown
MAX_MARKDOWN_LENGTH: Final = 16_000
#: the parser looks for the end of each link, and fills up each row of a table: of more, it would take seconds
_MAX_LINKS: Final = 500
_MAX_CELLS: Final = 3_000
#: characters of a table for each one that is written; of more, its columns have no equal width
_MAX_PADDING: Final = 3
#: blocks in blocks; the parser drops what is deeper
_MAX_NESTING: Final = 50
_MAX_URL_LENGTH: Final = 2_048
#: Telegram refuses a message with a link that it cannot parse; a name before the host (`bank.com@`) only deceives
_WEB_URL: Final = re.compile(
    r"https?://[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?(?::[0-9]{1,4})?(?:[/?#]\S*)?", re.IGNORECASE
)
_TELEGRAM_URL: Final = re.compile(r"tg://[A-Za-z0-9_-]+(?:\?\S*)?", re.IGNORECASE)
_MAIL_URL: Final = re.compile(r"mailto:([^\s?]+@[^\s?]+)(?:\?\S*)?", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9+#._-]{0,31}")

_BULLET: Final = "• "
_INDENT: Final = "  "
_RULE: Final = "———"
_TAB_WIDTH: Final = 4
#: tokens of the parser, and entities of Telegram
_STYLES: Final = {"strong": "bold", "em": "italic", "s": "strikethrough"}


def convert_markdown(source: str) -> FormattedText:
    """Return a Markdown text as Telegram shows it."""
    source = clean_text(source)
    if _is_parsable(source):
        tokens = _get_parser().parse(source)
        if all(token.level < _MAX_NESTING - 1 for token in tokens):
            writer = _Writer()
            writer.write_blocks(tokens)
            if has_visible_text(text := "".join(writer.pieces)):
                return build_formatted_text(text, writer.spans)
    return FormattedText(source.strip())


def _is_parsable(source: str) -> bool:
    """Return False for a text that would take long, whoever wrote it."""
    if len(source) > MAX_MARKDOWN_LENGTH or source.count("[") > _MAX_LINKS:
        return False
    cells = 0
    for has_text, block in groupby(source.splitlines(), lambda line: bool(line.strip())):
        columns = [line.count("|") for line in block] if has_text else [0]
        cells += max(columns) * len(columns)
    return cells <= _MAX_CELLS


@cache
def _get_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # few commands need it, and it is slow to import

    class Parser(MarkdownIt):
        def validateLink(self, url: str) -> bool:  # noqa: N802 # the parser asks it
            patterns = (_WEB_URL, _TELEGRAM_URL, _MAIL_URL)
            return len(url) <= _MAX_URL_LENGTH and any(pattern.fullmatch(url) for pattern in patterns)

    parser = Parser("commonmark", {"html": False, "maxNesting": _MAX_NESTING})
    return parser.enable(["strikethrough", "table"]).disable("reference")


class _List:
    """A list that is being written."""

    def __init__(self, number: int | None) -> None:
        #: of the next item; a list of bullets has none
        self.number = number
        #: what the next line begins with, if it is the first of an item
        self.marker: str | None = None

    def begin_item(self) -> None:
        self.marker = _BULLET if self.number is None else f"{self.number}. "
        self.number = None if self.number is None else self.number + 1

    def take_marker(self) -> str:
        marker, self.marker = self.marker, None
        return marker or _INDENT


class _Link(NamedTuple):
    """A link that is being written: where it begins, and the number of pieces before it."""

    start: int
    piece: int
    url: str


class _Writer:
    """
    Writes the text, and records where entities begin and end. Blocks are written one after another: `gap` is the number
    of line breaks before the next one.
    """

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.spans: list[Span] = []
        self.position = 0
        self.gap = 0
        self.lists: list[_List] = []
        self.quotes = 0
        self.quote_start: int | None = None
        #: the open styles, the outermost first, each with where it begins
        self.styles: dict[str, int] = {}
        #: how often each style is open
        self.depths: dict[str, int] = {}
        self.link: _Link | None = None

    def write(self, text: str) -> None:
        self.pieces.append(text)
        self.position += len(text)

    def write_blocks(self, tokens: "Iterable[Token]") -> None:
        iterator = iter(tokens)
        for token in iterator:
            match token.type:
                case "inline":
                    self.begin_block()
                    self.write_inline(token.children or ())
                case "heading_open":
                    heading = next(iterator)
                    if heading.content:
                        self.begin_block()
                        self.open_style("bold")
                        self.write_inline(heading.children or ())
                        self.close_style("bold")
                case "fence" | "code_block":
                    self.write_code(token.content, token.info)
                case "table_open":
                    self.write_code(_format_table(takewhile(lambda token: token.type != "table_close", iterator)), "")
                case "hr":
                    self.begin_block()
                    self.write(_RULE)
                    self.end_block(2)
                case _:
                    self.open_or_close(token)

    def open_or_close(self, token: "Token") -> None:
        """Begin or end a list, an item or a quote; or end a paragraph."""
        match token.type:
            case "bullet_list_open":
                self.lists.append(_List(None))
            case "ordered_list_open":
                self.lists.append(_List(int(token.attrs.get("start", 1))))
            case "bullet_list_close" | "ordered_list_close":
                self.lists.pop()
                self.end_block(1 if self.lists else 2)
            case "list_item_open":
                self.lists[-1].begin_item()
            case "list_item_close":
                self.end_block(1)
            case "blockquote_open":
                self.quotes += 1
            case "blockquote_close":
                self.close_quote()
            case "paragraph_close" | "heading_close":
                self.end_block(1 if token.hidden else 2)
            case _:
                pass  # the beginning of a paragraph

    def begin_block(self) -> None:
        """Begin the first line of a block."""
        self.write("\n" * self.gap if self.position else "")
        self.gap = 0
        if self.quotes and self.quote_start is None:
            self.quote_start = self.position
        self.write("".join(open_list.take_marker() for open_list in self.lists))

    def end_block(self, gap: int) -> None:
        self.gap = max(self.gap, gap)

    def close_quote(self) -> None:
        self.quotes -= 1
        if not self.quotes and self.quote_start is not None:
            self.add_span(self.quote_start, "blockquote")
            self.quote_start = None
        self.end_block(2)

    def write_code(self, content: str, info: str) -> None:
        """Write a code block. Telegram would show a tab as one space."""
        content = content.strip("\n").rstrip().expandtabs(_TAB_WIDTH)
        if not content.strip():
            return
        self.begin_block()
        start = self.position
        language = _LANGUAGE.match(info.strip())
        self.write(content)
        self.spans.append(Span(start, self.position, "pre", language=language[0] if language else None))
        self.end_block(2)

    def write_inline(self, tokens: "Iterable[Token]") -> None:
        for token in tokens:
            match token.type:
                case "softbreak" | "hardbreak":
                    self.write("\n" + _INDENT * len(self.lists))
                case "code_inline":
                    self.write_inline_code(token.content)
                case "link_open":
                    self.open_link(str(token.attrGet("href") or ""))
                case "link_close":
                    self.close_link(is_url_visible=token.markup == "autolink")
                case "image" if self.link is not None:
                    self.write(_join_texts(token.children or ()))
                case "image":
                    self.open_link(str(token.attrGet("src") or ""))
                    self.write(_join_texts(token.children or ()))
                    self.close_link(is_url_visible=False)
                case _ if (style := _STYLES.get(token.tag)) is not None and token.nesting > 0:
                    self.open_style(style)
                case _ if (style := _STYLES.get(token.tag)) is not None and token.nesting < 0:
                    self.close_style(style)
                case _:
                    self.write(token.content)

    def write_inline_code(self, content: str) -> None:
        start = self.position
        if self.link is None and content.strip():
            for style, begin in self.styles.items():
                self.add_span(begin, style)
                self.styles[style] = start + len(content)
            self.spans.append(Span(start, start + len(content), "code"))
        self.write(content)

    def open_style(self, style: str) -> None:
        self.depths[style] = self.depths.get(style, 0) + 1
        self.styles.setdefault(style, self.position)

    def close_style(self, style: str) -> None:
        self.depths[style] -= 1
        if not self.depths[style]:
            self.add_span(self.styles.pop(style), style)

    def open_link(self, url: str) -> None:
        self.link = _Link(self.position, len(self.pieces), url)

    def close_link(self, *, is_url_visible: bool) -> None:
        """End a link. `is_url_visible` says that its text is its URL, which Telegram finds."""
        assert self.link is not None
        link, self.link = self.link, None
        label = "".join(self.pieces[link.piece :])
        if mail := _MAIL_URL.match(link.url):
            self.write(f" ({mail[1]})" if mail[1] not in label else "")
        elif not has_visible_text(label):
            self.write(link.url)
        elif link.url and not is_url_visible:
            self.add_span(link.start, "text_link", link.url)

    def add_span(self, start: int, type: str, url: str | None = None) -> None:
        self.spans.append(Span(start, self.position, type, url))


def _format_table(tokens: "Iterable[Token]") -> str:
    """Return a table as lines, with columns of equal width unless that makes it much longer."""
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(_join_texts(token.children or ()))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if sum(widths) * len(rows) > max(MAX_MESSAGE_LENGTH, _MAX_PADDING * sum(len(cell) for row in rows for cell in row)):
        widths = [0] * len(widths)
    lines = (" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    return "\n".join(lines)


def _join_texts(tokens: "Iterable[Token]") -> str:
    """Return the text of inline tokens, without formatting."""
    return "".join(
        " " if token.type in ("softbreak", "hardbreak") else _join_texts(token.children or ()) or token.content
        for token in tokens
    )
