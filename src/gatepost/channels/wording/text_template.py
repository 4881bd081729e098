"""
Templates for one line of text: literal text, and placeholders in double braces that are filled from a JSON payload.

    {{repository.full_name}}: {{sender.login|"somebody"}} pushed {{head_commit.message|first_line|quote}}

A placeholder has a dotted path (`channels/wording/dotted_path.py`), then filters, then a default text for a missing
value, each after a bar. A default text is in double quotes; without them it has more than one word, because a word is a
filter.

    first_line   the first line of a text that is not empty; nothing of a value that is no text
    quote        the value in double quotes; those in it become single ones, so it is plain where it ends
    short        a name of Git as people say it: 7 digits of a commit, `branch main`, `tag v1.0`
    date         the day of a time: 2026-02-18; the time is RFC 3339, or seconds or milliseconds since 1970
    words        `review_requested` becomes `review requested`
    count        how many items a list has

Names that begin with @ are not in the payload: `@event` is the kind of event, in the words of the service. In a
template for each item of a list (`channels/wording/message_template.py`), `item` is the item and `index` its number,
from 0.

A value is data: it is made one plain line (`channels/wording/line_text.py`), cut, and put in its place once, so braces
in it mean nothing. A missing value is empty, and what only makes sense beside it goes too: a `#` before it, quotes and
brackets around it, and a comma, a colon or a dash that would separate nothing. No template and no payload makes
`render` raise.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NoReturn

from msgspec import Struct

from gatepost.channels.wording import dotted_path
from gatepost.channels.wording.dotted_path import MISSING, DottedPath
from gatepost.channels.wording.line_text import cut_line, show_value
from gatepost.core.json_limits import Json
from gatepost.core.times import MAX_INSTANT, SECOND, format_rfc3339
from gatepost.errors import Invalid, quote_value

#: characters of a template
MAX_LENGTH: Final = 2_000
MAX_PLACEHOLDERS: Final = 50
#: characters of one value in a line
MAX_VALUE_LENGTH: Final = 200

_QUOTE: Final = "quote"
#: what stands for a value, and for a missing one, while the text around them is tidied; no template has them in it
_VALUE: Final = "\x01"
_GAP: Final = "\x02"
_PLACEHOLDER: Final = re.compile(r'\{\{((?:[^{}"]|"(?:[^"\\]|\\.)*")*)\}\}')
_PLACEHOLDER_PART: Final = re.compile(r'(?:[^|"]|"(?:[^"\\]|\\.)*")*')
_QUOTED_TEXT: Final = re.compile(r'"((?:[^"\\]|\\["\\])*)"')
_WORD: Final = re.compile(r"\w+")
#: the marks of a missing value; a sign after it, if nothing but another sign is before it; a sign before it at the end
_ORPHANS: Final = (
    (re.compile(r"""[#@!]\x02|"\x02"|'\x02'|\(\s*\x02\s*\)|\[\s*\x02\s*\]|\x02\s*\x02"""), _GAP),
    (re.compile(r"(^|[:,;(\[]|\s-)(\s*)\x02\s*(?:[:,;]|-(?=\s))"), r"\1\2" + _GAP),
    (re.compile(r"(?:[:,;]|(?<=\s)-)\s*\x02(?=\s*(?:[)\]]|$))"), _GAP),
)
_GAP_SPACE: Final = re.compile(r"\s+\x02(?=[\s,:;.)\]]|$)|(?:^|(?<=[(\[]))\x02\s+")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF: Final = re.compile(r"refs/(head|tag|remote)s/(.+)", re.DOTALL)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?=$|[T ])")


class Scope(Struct, frozen=True):
    """What placeholders read: a payload, and names that go before its own."""

    payload: Json
    names: Mapping[str, Json] = {}

    def read(self, path: DottedPath) -> Json:
        """Return the value at a path; None if there is none."""
        source = self.names if path[0] in self.names else self.payload
        value = dotted_path.read_path(source, path)
        return None if value is MISSING else value


class Placeholder(Struct, frozen=True):
    path: DottedPath
    filters: tuple[str, ...] = ()
    default: str = ""


class TextTemplate(Struct, frozen=True):
    parts: tuple[str | Placeholder, ...]


class RenderedText(Struct, frozen=True):
    text: str
    #: how many placeholders have a value, and how many have neither a value nor a default
    value_count: int
    missing_count: int


@lru_cache(maxsize=1_024)  # those of a trigger are parsed for every request
def parse(text: str) -> TextTemplate:
    """Return the parts of a template; raise Invalid that says what is wrong with it."""
    if len(text) > MAX_LENGTH:
        raise Invalid(f"the template has {len(text)} characters, over the limit of {MAX_LENGTH}")
    if not text.strip():
        raise Invalid("the template is empty")
    if not text.isprintable():
        raise Invalid(f"{quote_value(text)} is not one line of printable text", hint="remove line breaks and controls")
    parts = tuple(_iter_parts(text))
    if sum(isinstance(part, Placeholder) for part in parts) > MAX_PLACEHOLDERS:
        raise Invalid("the template has too many placeholders", hint=f"use at most {MAX_PLACEHOLDERS}")
    return TextTemplate(parts)


def render(template: TextTemplate, scope: Scope, limit: int, value_limit: int = MAX_VALUE_LENGTH) -> RenderedText:
    """Return the line of a template: at most `limit` characters, and `value_limit` of each value."""
    values, sketch, missing_count = [], "", 0
    for part in template.parts:
        if isinstance(part, str):
            sketch += part
        elif value := _fill(part, scope, value_limit):
            values.append(value)
            sketch += _VALUE
        elif part.default:
            sketch += part.default
        else:
            missing_count += 1
            sketch += _GAP
    literals = _tidy(sketch).split(_VALUE)
    pieces = [literals[0], *(piece for pair in zip(values, literals[1:], strict=True) for piece in pair)]
    return RenderedText(cut_line("".join(pieces).strip(), limit), len(values), missing_count)


def _iter_parts(text: str) -> Iterator[str | Placeholder]:
    place = 0
    while place < len(text):
        start = text.find("{{", place)
        literal = text[place : start if start >= 0 else len(text)]
        if "}}" in literal:
            _reject(text, place + literal.index("}}"), "there is no {{ before it")
        if literal:
            yield literal
        if start < 0:
            return
        if (match := _PLACEHOLDER.match(text, start)) is None:
            _reject(text, start, "there is no }} after it, or a brace or a single quotation mark before that")
        yield _parse_placeholder(match[1])
        place = match.end()


def _parse_placeholder(text: str) -> Placeholder:
    path_text, *options = _split_at_bars(text)
    filters: list[str] = []
    default: str | None = None
    for option in options:
        if default is not None:
            raise Invalid(f"the placeholder {quote_value(text)} has more after its default text {quote_value(default)}")
        if option == _QUOTE or option in _FILTERS:
            filters.append(option)
        elif match := _QUOTED_TEXT.fullmatch(option):
            default = re.sub(r"\\(.)", r"\1", match[1])
        elif (name := _find_similar_filter(option)) is not None or _WORD.fullmatch(option):
            names = name or ", ".join((*_FILTERS, _QUOTE))
            raise Invalid(
                f"{quote_value(option)} is not a filter", hint=f'use {names}; quote a default text: "{option}"'
            )
        elif option:
            default = option
        else:
            raise Invalid(f"the placeholder {quote_value(text)} has nothing after a bar", hint="write a default text")
    return Placeholder(dotted_path.parse_path(path_text), tuple(filters), default or "")


def _split_at_bars(text: str) -> list[str]:
    parts, place = [], 0
    while place <= len(text):
        match = _PLACEHOLDER_PART.match(text, place)
        end = match.end() if match else len(text)
        parts.append(text[place:end].strip())
        place = end + 1
    return parts


def _find_similar_filter(text: str) -> str | None:
    """Return the filter that somebody meant who wrote `First-Line`."""
    letters = re.sub(r"[\W_]", "", text).lower()
    return next((name for name in (*_FILTERS, _QUOTE) if name.replace("_", "") == letters), None)


def _fill(placeholder: Placeholder, scope: Scope, limit: int) -> str:
    value = scope.read(placeholder.path)
    for name in placeholder.filters:
        value = _FILTERS[name](value) if name != _QUOTE else value
    text = show_value(value, limit)
    if not text or _QUOTE not in placeholder.filters:
        return text
    inner_text = text.replace('"', "'")
    return f'"{inner_text}"'


def _tidy(sketch: str) -> str:
    """Return the text around values, without the gaps of missing ones and what belonged to them."""
    before = None if _GAP in sketch else sketch
    while before != sketch:  # each round makes it shorter, or is the last
        before = sketch
        for pattern, replacement in _ORPHANS:
            sketch = pattern.sub(replacement, sketch)
    sketch = _GAP_SPACE.sub("", sketch).replace(_GAP, "")
    return re.sub(" {2,}", " ", sketch)


def _take_first_line(value: Json) -> Json:
    if not isinstance(value, str):
        return None
    beginning = value[: 10 * MAX_LENGTH].lstrip()
    return next(iter(beginning.splitlines()), "")


def _shorten_name(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    name = value[:MAX_LENGTH]
    if _COMMIT.fullmatch(name):
        return name[:7]
    match = _REF.fullmatch(name)
    return f"{'tag' if match[1] == 'tag' else 'branch'} {match[2]}" if match else name


def _take_date(value: Json) -> Json:
    match value:
        case str():
            match = _DAY.match(value)
            return match[0] if match else value
        case bool():
            return value
        case int() | float() if 0 <= value <= MAX_INSTANT // 1_000:
            # seconds of the year 5138 are milliseconds of 1973
            seconds = value if value < 100_000_000_000 else value / 1_000
            return format_rfc3339(min(int(seconds) * SECOND, MAX_INSTANT))[:10]
        case _:
            return value


def _split_words(value: Json) -> Json:
    return re.sub(r"[_:]+", " ", value[:MAX_LENGTH]) if isinstance(value, str) else value


def _count_items(value: Json) -> Json:
    return len(value) if isinstance(value, list | tuple | dict) else None


_FILTERS: Final[Mapping[str, Callable[[Json], Json]]] = {
    "first_line": _take_first_line,
    "short": _shorten_name,
    "date": _take_date,
    "words": _split_words,
    "count": _count_items,
}


def _reject(text: str, place: int, problem: str) -> NoReturn:
    raise Invalid(f"{quote_value(text[place : place + 60])} at character {place + 1} is not a placeholder: {problem}")
