"""Telegram: no update breaks the parser, and no text breaks a message."""

from collections.abc import Iterable
from typing import Any, Final

from hypothesis import example, given, strategies as st

from gatepost.channels.telegram.markdown import convert_markdown
from gatepost.channels.telegram.message_parts import (
    MAX_ENTITIES,
    FormattedText,
    Span,
    build_formatted_text,
    clean_text,
    count_units,
    shorten_text,
    slice_units,
    split_text,
)
from gatepost.channels.telegram.update import BotIdentity, Ignored, parse_update
from gatepost.core.text import find_unstorable, has_visible_text
from gatepost.errors import Invalid
from tests.support.texts import texts, values

BOT: Final = BotIdentity(99, "gate_bot")
STYLES: Final = ("bold", "italic", "strikethrough")

#: values that are right where they are used, and sometimes wrong
numbers = st.integers(-5, 5) | st.integers() | values
users = st.fixed_dictionaries(
    {"id": numbers}, optional={"is_bot": st.booleans(), "first_name": texts, "username": texts, "x": values}
)
chat_objects = st.fixed_dictionaries(
    {"id": numbers, "type": st.sampled_from(["private", "group", "supergroup", "channel"]) | values},
    optional={"title": texts},
)
entity_objects = st.fixed_dictionaries(
    {"type": st.sampled_from(["mention", "text_mention", "code", "bold"]), "offset": numbers, "length": numbers},
    optional={"user": users, "url": texts},
)
files = st.fixed_dictionaries({"file_id": texts}, optional={"duration": numbers, "mime_type": texts}) | values
message_objects: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"message_id": st.integers(1, 99), "chat": chat_objects, "date": st.integers(0, 99), "from": users},
    optional={
        "text": texts | st.sampled_from(["/start", "/a@gate_bot x", "@gate_bot"]),
        "entities": st.lists(entity_objects, max_size=3) | values,
        "caption": texts,
        "voice": files,
        "photo": values,
        "sender_chat": chat_objects,
        "message_thread_id": numbers,
        "is_topic_message": st.booleans(),
        "reply_to_message": st.fixed_dictionaries({"message_id": numbers}, optional={"from": users}) | values,
        "migrate_to_chat_id": numbers,
        "forward_date": numbers,
    },
)
queries = st.fixed_dictionaries(
    {"id": texts, "from": users}, optional={"data": texts, "message": message_objects | values}
)
members = st.fixed_dictionaries({"status": st.sampled_from(["member", "left", "kicked", "restricted"]) | texts})
changes = st.fixed_dictionaries(
    {"chat": chat_objects, "from": users, "old_chat_member": members, "new_chat_member": members | values}
)
updates = st.one_of(
    st.fixed_dictionaries({"update_id": st.integers(0, 9), "message": message_objects}),
    st.fixed_dictionaries({"update_id": numbers, "edited_message": message_objects | values}),
    st.fixed_dictionaries({"update_id": st.integers(0, 9), "callback_query": queries | values}),
    st.fixed_dictionaries({"update_id": st.integers(0, 9), "my_chat_member": changes | values}),
    st.dictionaries(texts, values, max_size=3).map(lambda fields: {"update_id": 5, **fields}),
    values,
)


def collect_texts(value: object) -> list[str]:
    """Return all texts in a record."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, tuple):
        return [text for item in value for text in collect_texts(item)]
    fields: Iterable[str] = getattr(value, "__struct_fields__", getattr(value, "__dataclass_fields__", ()))
    return [text for name in fields for text in collect_texts(getattr(value, name))]


@given(updates)
@example({"update_id": 1, "message": {"\ud800": 1}})
@example({"update_id": 1, "\ud800": 1})
def test_any_update_is_understood_ignored_or_has_no_id(update: Any) -> None:
    try:
        parsed = parse_update(update, BOT)
    except Invalid:
        update_id = update.get("update_id") if isinstance(update, dict) else None
        assert type(update_id) is not int or not 0 <= update_id < 2**63
        return
    assert parsed.update_id == update["update_id"]
    if isinstance(parsed.content, Ignored):
        assert parsed.content.reason
    else:
        assert not any(find_unstorable(text) for text in collect_texts(parsed.content))


@given(texts)
def test_cleaning_keeps_the_length(text: str) -> None:
    assert find_unstorable(clean_text(text)) is None
    assert count_units(clean_text(text)) == len(text.encode("utf-16-le", "surrogatepass")) // 2


#: words, signs of Markdown, and characters of one, two and many units
pieces = st.sampled_from(
    [
        *("a", "word", "_", "*", "**", "***", "~~", "`", "```", "```py\n", "\n", "\n\n", " ", "  ", "    ", "\t", "# "),
        *("> ", "- ", "1. ", "[", "](", ")", "https://x.org", "![", "<", "mailto:a@b.c", "|", "|---|\n", "---\n", "\\"),
        *(
            "😀",
            "\U0001f44d\U0001f3fd",
            "\U0001f1e9\U0001f1ea",
            "e\u0301",
            "\u200d",
            "\u200b",
            "\x00",
            "\ud800",
            "&#0;",
        ),
    ]
)
markdown_texts = st.lists(pieces | texts, max_size=40).map("".join)


def check_bounds(formatted: FormattedText) -> None:
    length = count_units(formatted.text)
    for entity in formatted.entities:
        assert entity.offset >= 0
        assert entity.length > 0
        assert entity.offset + entity.length <= length


def check_entities(formatted: FormattedText) -> None:
    """Fail if the entities break a rule of Telegram."""
    check_bounds(formatted)
    spans = [(entity.offset, entity.offset + entity.length, entity.type) for entity in formatted.entities]
    for index, (start, end, type) in enumerate(spans):
        assert not slice_units(formatted.text, start, end - start).isspace()
        for other_start, other_end, other_type in spans[index + 1 :]:
            if other_start >= end or other_end <= start:
                continue
            assert start <= other_start, "the outer one comes first"
            assert other_end <= end, "they are nested"
            types = {type, other_type}
            assert len(types) == 2, "none contains its own type"
            if types & {"code", "pre"}:
                assert type == "blockquote", "code is only inside a quote"
    for entity in formatted.entities:
        assert entity.type in {*STYLES, "code", "pre", "text_link", "blockquote"}
        assert (entity.url is not None) == (entity.type == "text_link")
        assert entity.url is None or entity.url.lower().startswith(("http://", "https://", "tg://"))


@given(markdown_texts)
@example("**[a**](https://x.org)")
@example("> - > `a`\n\n```\nb")
@example("***a `b` c** d*")
def test_any_markdown_becomes_a_text_that_telegram_takes(source: str) -> None:
    formatted = convert_markdown(source)
    check_entities(formatted)
    assert find_unstorable(formatted.text) is None
    assert has_visible_text(formatted.text) == has_visible_text(clean_text(source))
    letters = [sum(character.isalpha() for character in text) for text in (formatted.text, clean_text(source))]
    assert letters[0] <= letters[1] + 5 * source.count("![")


@given(texts)
def test_a_plain_text_is_not_formatted(source: str) -> None:
    plain_text = "".join(character for character in source if character.isalnum() or character == " ").strip()
    assert convert_markdown(plain_text) == (plain_text, ())


@st.composite
def formatted_texts(draw: st.DrawFn) -> FormattedText:
    """A text with entities that are nested or apart."""
    if draw(st.booleans()):
        return convert_markdown(draw(markdown_texts))
    text = clean_text(draw(markdown_texts))
    spans: list[Span] = []
    start = 0
    while start < len(text) and draw(st.booleans()):
        start, end = sorted(draw(st.tuples(*[st.integers(start, len(text))] * 2)))
        type = draw(st.sampled_from(["pre", "code", "text_link", "blockquote", *STYLES]))
        spans.append(Span(start, end, type, url="https://x.org" if type == "text_link" else None))
        if type in STYLES and end - start > 2:
            spans.append(Span(start + 1, end - 1, "text_link", url="https://y.org"))
        start = end + 1
    return build_formatted_text(text, spans)


def keep_visible(text: str) -> str:
    """Return the characters of a text that can be seen: white space and invisible messages may be dropped."""
    return "".join(character for character in text if has_visible_text(character))


@given(formatted_texts(), st.integers(2, 60) | st.just(4096))
@example(FormattedText("a " * 3), 3)
def test_the_parts_of_a_text_are_the_whole_text(formatted: FormattedText, limit: int) -> None:
    parts = split_text(*formatted, limit=limit)
    assert keep_visible("".join(part.text for part in parts)) == keep_visible(formatted.text)
    position = 0
    for part in parts:
        assert find_unstorable(part.text) is None
        assert 0 < count_units(part.text) <= limit
        assert has_visible_text(part.text)
        assert part.text == part.text.rstrip()
        assert len(part.entities) <= MAX_ENTITIES
        check_entities(part)
        place = formatted.text.find(part.text, position)
        assert place >= 0, "nothing is changed inside a part"
        position = place + len(part.text)


@given(formatted_texts(), st.integers(2, 60))
def test_what_is_formatted_stays_formatted(formatted: FormattedText, limit: int) -> None:
    def collect(type: str, texts: list[FormattedText]) -> str:
        return keep_visible(
            "".join(
                slice_units(text, entity.offset, entity.length)
                for text, entities in texts
                for entity in entities
                if entity.type == type
            )
        )

    parts = split_text(*formatted, limit=limit)
    for type in ("pre", "code", "blockquote", *STYLES):
        assert collect(type, parts) == collect(type, [formatted])


@given(texts, st.integers(2, 30))
def test_any_text_can_be_sent(text: str, limit: int) -> None:
    parts = split_text(text, limit=limit)
    assert keep_visible("".join(part.text for part in parts)) == keep_visible(clean_text(text))
    assert not any(find_unstorable(part.text) for part in parts)


@given(texts, st.integers(2, 30))
def test_a_shortened_text_fits(text: str, limit: int) -> None:
    short_text = shorten_text(text, limit)
    assert count_units(short_text) <= limit
    assert short_text == text or text.startswith(short_text[:-1])
