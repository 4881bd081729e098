"""
The text of a message: the entities it is given, and those that Telegram finds in it.

Telegram finds mentions, commands, hashtags, cashtags, and addresses of mail and of pages. The last two are only
approximated here: an address of a page has a scheme or one of a few top-level domains.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from tests.channels.telegram.bot_api.entities import STYLES, Entity, is_link, measure, sort_entities
from tests.channels.telegram.bot_api.rules import MAX_SOURCE, MAX_TEXT, Refusal

_FOUND: Final = {
    "mention": r"(?<!\w)@[A-Za-z0-9_]{4,32}(?!\w)",
    "bot_command": r"(?<![\w/<>])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/<>@])",
    "hashtag": r"(?<!\w)#\w*[^\W\d_]\w*(?![\w#])",
    "cashtag": r"(?<![\w$])\$[A-Z]{1,8}(?![\w$])",
    "email": r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "url": r"(?:https?|ftp|tg)://[^\s<>\"']*[^\s<>\"'.,;:!?)]|(?<![\w@./-])(?:[\w-]+\.)+(?:com|org|net|io|dev|me)\b(?:/\S*)?",
}
_PATTERNS: Final = {type: re.compile(pattern) for type, pattern in _FOUND.items()}
_QUOTES: Final = frozenset({"blockquote"})
_CODE: Final = frozenset({"code", "pre"})
#: fields of the entities that a bot may give
_FIELDS: Final = {
    **dict.fromkeys((*STYLES, *_QUOTES, "code"), ""),
    "pre": "language",
    "text_link": "url",
}
_DROPPED: Final = frozenset("\r\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u0333\u033f\u030a")


@dataclass(frozen=True, slots=True)
class FormattedText:
    text: str
    entities: list[Entity] = field(default_factory=list)


def read_text(source: str, entities: list[Any]) -> FormattedText:
    """Return what is shown of a text that a bot sends."""
    if not source:
        raise Refusal(400, "message text is empty")
    if len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE:
        raise Refusal(400, "text is too long")
    text, given = _clean(source, [_read_entity(entity) for entity in entities])
    text, given = _trim(text, _drop_misplaced(given))
    if not text:
        raise Refusal(400, "text must be non-empty")
    if measure(text) > MAX_TEXT:
        raise Refusal(400, "message is too long")
    return FormattedText(text, _merge(given, find_entities(text)))


def find_entities(text: str) -> list[Entity]:
    """Return the entities that Telegram finds in a text. They never overlap."""
    matches = [(match, type) for type, pattern in _PATTERNS.items() for match in pattern.finditer(text)]
    matches.sort(key=lambda found: (found[0].start(), -found[0].end()))
    entities: list[Entity] = []
    end = 0
    for match, type in matches:
        if match.start() >= end:
            end = match.end()
            entities.append({"type": type, "offset": measure(text[: match.start()]), "length": measure(match[0])})
    return entities


def _read_entity(entity: Any) -> Entity:
    problem = "can't parse MessageEntity: "
    if not isinstance(entity, dict):
        raise Refusal(400, f"{problem}expected an Object")
    for name, low in (("offset", 0), ("length", 1)):
        if not isinstance(entity.get(name), int) or isinstance(entity[name], bool):
            raise Refusal(400, f'{problem}Can\'t find field "{name}"')
        if not low <= entity[name] <= 1_000_000:
            raise Refusal(400, f"receive an entity with incorrect {name} {entity[name]}")
    type = entity.get("type")
    if type not in _FIELDS:
        raise Refusal(400, f"{problem}Unsupported type specified")
    fields = {name: entity[name] for name in _FIELDS[type].split() if name in entity}
    if type == "text_link" and not is_link(str(fields.get("url", ""))):
        raise Refusal(400, "entity URL is invalid")
    return {"type": type, "offset": entity["offset"], "length": entity["length"], **fields}


def _clean(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Replace control characters, drop some, and move the entities along."""
    moved: dict[int, int] = {}
    cleaned: list[str] = []
    before = after = 0
    for character in text:
        moved[before] = after
        width = measure(character)
        before += width
        if character not in _DROPPED:
            cleaned.append(" " if character < " " and character != "\n" else character)
            after += width
    moved[before] = after
    for entity in entities:
        begin = entity["offset"]
        end = begin + entity["length"]
        if begin >= before:
            raise Refusal(400, f"entity begins after the end of the text at UTF-16 offset {begin}")
        if end > before:
            raise Refusal(
                400, f"entity beginning at UTF-16 offset {begin} ends after the end of the text at UTF-16 offset {end}"
            )
        if begin not in moved:
            raise Refusal(400, "entity begins in a middle of a UTF-16 symbol")
        if end not in moved:
            raise Refusal(400, f"entity beginning at UTF-16 offset {begin} ends in a middle of a UTF-16 symbol")
        entity.update(offset=moved[begin], length=moved[end] - moved[begin])
    return "".join(cleaned), sort_entities([entity for entity in entities if entity["length"]])


def _drop_misplaced(entities: list[Entity]) -> list[Entity]:
    """
    Leave out what lies where it must not, as Telegram does without a word: a style on code, a quote in a quote, a
    link in a link.

    Entities that overlap and of which none contains the other are refused: Telegram would split or drop them.
    """
    shown: list[Entity] = []
    for entity in entities:
        begin, end = entity["offset"], entity["offset"] + entity["length"]
        outer = [other for other in shown if other["offset"] + other["length"] > begin]
        if any(other["offset"] + other["length"] < end for other in outer):
            raise Refusal(400, f"entities overlap at UTF-16 offset {begin}")
        around = {other["type"] for other in outer} - STYLES
        if entity["type"] in STYLES or around <= (_QUOTES if entity["type"] not in _QUOTES else set()):
            shown.append(entity)
    code = [entity for entity in shown if entity["type"] in _CODE]
    return sort_entities([piece for entity in shown for piece in _cut(entity, code)])


def _cut(entity: Entity, code: list[Entity]) -> Iterator[Entity]:
    """Yield the pieces of a style that are not on code, and any other entity as it is."""
    if entity["type"] not in STYLES:
        yield entity
        return
    begin, end = entity["offset"], entity["offset"] + entity["length"]
    for other in code:
        if begin < other["offset"] + other["length"] and other["offset"] < end:
            if begin < other["offset"]:
                yield {**entity, "offset": begin, "length": other["offset"] - begin}
            begin = other["offset"] + other["length"]
    if begin < end:
        yield {**entity, "offset": begin, "length": end - begin}


def _trim(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    """Cut the white space at both ends, at the beginning only before the first entity."""
    text = text.rstrip(" \n")
    length = measure(text)
    entities = [
        {**entity, "length": min(entity["length"], length - entity["offset"])}
        for entity in entities
        if entity["offset"] < length
    ]
    margin = len(text) - len(text.lstrip(" \n"))
    if entities:
        margin = min(margin, entities[0]["offset"])
    return text[margin:], [{**entity, "offset": entity["offset"] - margin} for entity in entities]


def _merge(given: list[Entity], found: list[Entity]) -> list[Entity]:
    """Add what Telegram finds, except where a link, a mention or code is given."""
    fixed = [entity for entity in given if entity["type"] not in STYLES | _QUOTES]
    free = [
        entity
        for entity in found
        if not any(
            other["offset"] < entity["offset"] + entity["length"]
            and entity["offset"] < other["offset"] + other["length"]
            for other in fixed
        )
    ]
    return sort_entities([*given, *free])
