"""
The parts of a message as Telegram takes them: a text of at most 4,096 units, and entities that say what is bold, a
link or code. A longer text is split.

Gatepost never uses `parse_mode`: a text in which one sign is not escaped would be refused as a whole, and a text from
outside could format itself. Entities cannot fail to parse. Telegram counts their offsets and lengths, and the length of
a message, in UTF-16 units: most characters have one unit, an emoji has two or more.

`split_text` makes messages of a long text. It cuts at the end of a paragraph if one ends in the second half of the
message, or else at a line, or else at a word; only a word that is longer than a message is cut inside, and then not
inside a visible character (`is_character_boundary`) if that can be avoided. White space at a cut is dropped, and so is
a message without a visible character, because Telegram refuses it. An entity that is cut continues in the next message,
so code stays code; code keeps its indentation, and loses only line breaks at the cut. A message ends earlier if it
would have more entities than Telegram accepts: it ignores those after the hundredth, and refuses the whole message if
their links are too long together.
"""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from msgspec import Struct

from gatepost.core.text import has_visible_text

#: UTF-16 units of a message, of the answer to a press of a button
MAX_MESSAGE_LENGTH: Final = 4_096
MAX_ANSWER_LENGTH: Final = 200
#: entities of one message, and bytes of them: each has a size of its own beside its link
MAX_ENTITIES: Final = 100
MAX_ENTITY_BYTES: Final = 8_000
_ENTITY_SIZE: Final = 24

_ELLIPSIS: Final = "…"
_JOINER: Final = "\u200d"
#: how far back a visible character is looked for that is not cut
_MAX_CHARACTER_LENGTH: Final = 32
_MARK_CATEGORIES: Final = frozenset(("Mn", "Me", "Mc"))


class TextEntity(Struct, frozen=True, omit_defaults=True):
    """The formatting of a part of a text, as Telegram names it; offset and length are in UTF-16 units."""

    type: str
    offset: int
    length: int
    #: of a `text_link`
    url: str | None = None
    #: of a `pre`
    language: str | None = None


class FormattedText(NamedTuple):
    text: str
    entities: tuple[TextEntity, ...] = ()


class Span(NamedTuple):
    """The place of an entity, in characters of a Python string."""

    start: int
    end: int
    type: str
    url: str | None = None
    language: str | None = None


def count_units(text: str) -> int:
    """Return the length in UTF-16 units."""
    return len(text) + sum(character > "\uffff" for character in text)


def clean_text(text: str) -> str:
    """Return the text without what cannot be sent or stored: a NUL, or half of a surrogate pair, becomes U+FFFD."""
    if "\x00" in text or not text.isascii():
        text = text.replace("\x00", "\ufffd").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def slice_units(text: str, offset: int, length: int) -> str:
    """Return the part of a text that an entity covers."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return raw[2 * offset : 2 * (offset + length)].decode("utf-16-le", "replace")


def shorten_text(text: str, limit: int = MAX_ANSWER_LENGTH) -> str:
    """Return the text in at most `limit` UTF-16 units; a longer one ends in an ellipsis."""
    if count_units(text) <= limit:
        return text
    offsets = _list_offsets(text)
    return text[: _find_character_end(text, 0, bisect_right(offsets, limit - 1) - 1)].rstrip() + _ELLIPSIS


def build_formatted_text(text: str, spans: Iterable[Span]) -> FormattedText:
    """Return a text with its entities, the outer ones first."""
    return _build_part(text, sorted(spans, key=_order_span), _list_offsets(text), 0, len(text))


def split_text(text: str, entities: Sequence[TextEntity] = (), limit: int = MAX_MESSAGE_LENGTH) -> list[FormattedText]:
    """
    Return the messages that a text becomes, none of them empty and none longer than `limit` (two or more) UTF-16 units;
    none at all if it has no visible character. What cannot be sent is replaced (`clean_text`).
    """
    assert limit > 1, "a character can have two units"
    text = clean_text(text)
    offsets = _list_offsets(text)
    spans = sorted(
        (
            Span(
                bisect_left(offsets, entity.offset),
                min(bisect_left(offsets, entity.offset + entity.length), len(text)),
                entity.type,
                entity.url,
                entity.language,
            )
            for entity in entities
        ),
        key=_order_span,
    )
    code_blocks = [span for span in spans if span.type == "pre"]
    parts: list[FormattedText] = []
    #: the spans that the present part may have, and the number of those that were looked at
    nearby_spans: list[Span] = []
    seen = position = 0
    while (start := _skip_space(text, code_blocks, position)) < len(text):
        end = bisect_right(offsets, offsets[start] + limit) - 1
        while seen < len(spans) and spans[seen].start < end:
            nearby_spans.append(spans[seen])
            seen += 1
        nearby_spans = [span for span in nearby_spans if span.end > start]
        end = _limit_entities(nearby_spans, start, end)
        position = end if end == len(text) else _find_break(text, code_blocks, start, end)
        end = start + len(text[start:position].rstrip())
        if has_visible_text(text[start:end]):
            part = _build_part(text, nearby_spans, offsets, start, end)
            parts.append(FormattedText(part.text, part.entities[:MAX_ENTITIES]))
    return parts


def is_character_boundary(text: str, index: int, start: int = 0) -> bool:
    """
    Return False if a cut before `index` would divide what people see as one character: a letter and its marks, an emoji
    and its skin colour, a family, a flag, a syllable of Hangul. It is not all of Unicode's rule. There is a boundary at
    `start`.
    """
    if not start < index < len(text):
        return True
    before, after = text[index - 1], text[index]
    if _JOINER in (before, after) or (before, after) == ("\r", "\n"):
        return False
    if unicodedata.category(after) in _MARK_CATEGORIES or "\U0001f3fb" <= after <= "\U0001f3ff":
        return False
    if "\U000e0020" <= after <= "\U000e007f" or "\u1160" <= after <= "\u11ff":
        return False
    if _is_regional(after):
        first = index
        while first > start and _is_regional(text[first - 1]):
            first -= 1
        return (index - first) % 2 == 0  # two of them are a flag
    return True


def _is_regional(character: str) -> bool:
    """Return True for half of a flag."""
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _list_offsets(text: str) -> Sequence[int]:
    """Return the offset of every character, and of the end, in UTF-16 units."""
    if text.isascii():
        return range(len(text) + 1)
    return list(accumulate((1 + (character > "\uffff") for character in text), initial=0))


def _order_span(span: Span) -> tuple[int, int, bool]:
    """Sort by this to have the outer spans first; a quote is never inside another one."""
    return span.start, -span.end, span.type != "blockquote"


def _is_inside(code_blocks: Sequence[Span], index: int) -> bool:
    """Return True if the character is in a code block."""
    place = bisect_right(code_blocks, index, key=lambda span: span.start)
    return place > 0 and index < code_blocks[place - 1].end


def _skip_space(text: str, code_blocks: Sequence[Span], position: int) -> int:
    """Return where the next message begins."""
    while position < len(text) and text[position].isspace():
        if text[position] != "\n" and _is_inside(code_blocks, position):
            break
        position += 1
    return position


def _limit_entities(spans: Sequence[Span], start: int, end: int) -> int:
    """Return the end of a message that has no more entities than Telegram accepts."""
    size = 0
    for count, span in enumerate(spans, start=1):
        size += _ENTITY_SIZE + len((span.url or "").encode(errors="replace"))
        if (count > MAX_ENTITIES or size > MAX_ENTITY_BYTES) and span.start > start:
            return min(span.start, end)
    return end


def _find_break(text: str, code_blocks: Sequence[Span], start: int, end: int) -> int:
    """Return where to cut a text that goes on after `end`: after `start`, and at `end` at the latest."""
    length = end - start
    paragraph = text.rfind("\n\n", start + length // 2 + 1, end + 2)
    while paragraph > 0 and _is_inside(code_blocks, paragraph):
        paragraph = text.rfind("\n\n", start + length // 2 + 1, paragraph + 1)
    if paragraph > 0:
        return paragraph
    line = text.rfind("\n", start + length // 3 + 1, end + 1)
    if line > 0:
        return line
    for index in range(end, start, -1):
        if text[index].isspace():
            return index
    return _find_character_end(text, start, end)


def _find_character_end(text: str, start: int, end: int) -> int:
    """Return the last place to cut between two visible characters; `end` if there is none near."""
    for index in range(end, max(start, end - _MAX_CHARACTER_LENGTH), -1):
        if is_character_boundary(text, index, start):
            return index
    return end


def _build_part(text: str, spans: Sequence[Span], offsets: Sequence[int], start: int, end: int) -> FormattedText:
    """Return a part of a text with the entities in it, cut where it is cut."""
    entities = []
    for span in spans:
        first, last = max(span.start, start), min(span.end, end)
        if first < last and not text[first:last].isspace():
            offset, length = offsets[first] - offsets[start], offsets[last] - offsets[first]
            entities.append(TextEntity(span.type, offset, length, span.url, span.language))
    return FormattedText(text[start:end], tuple(entities))
