"""Texts for Telegram: Markdown becomes text and entities, and long texts become several messages."""

import pytest

from gatepost.channels.telegram.markdown import MAX_MARKDOWN_LENGTH, convert_markdown
from gatepost.channels.telegram.message_parts import (
    MAX_ENTITIES,
    MAX_ENTITY_BYTES,
    FormattedText,
    TextEntity,
    count_units,
    shorten_text,
    slice_units,
    split_text,
)

FLAG = "\U0001f1e9\U0001f1ea"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
THUMB = "\U0001f44d\U0001f3fd"


def list_entities(formatted: FormattedText) -> list[tuple[str, ...]]:
    """Return every entity as its type, its text, and its link or language if it has one."""
    return [
        (
            entity.type,
            slice_units(formatted.text, entity.offset, entity.length),
            *filter(None, (entity.url, entity.language)),
        )
        for entity in formatted.entities
    ]


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("plain", "plain", []),
        ("**b** *i* ~~s~~ `c`", "b i s c", [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")]),
        ("😀 **b**", "😀 b", [("bold", "b")]),
        ("***both***", "both", [("bold", "both"), ("italic", "both")]),
        ("**a `c` b**", "a c b", [("bold", "a "), ("code", "c"), ("bold", " b")]),
        ("**`a` `b`**", "a b", [("code", "a"), ("code", "b")]),
        ("**a __b__ c**", "a b c", [("bold", "a b c")]),
        ("snake_case_name 2*3*4", "snake_case_name 234", [("italic", "3")]),
        ("# Big `x`\ntext", "Big x\n\ntext", [("bold", "Big "), ("code", "x")]),
        ("**open", "**open", []),
        ("a\nb  \nc", "a\nb\nc", []),
        ("a\n\n\n\nb", "a\n\nb", []),
        ("<b>x</b> &lt; \\*", "<b>x</b> < *", []),
        ("a\n\n---\nb", "a\n\n———\n\nb", []),
        ("#", "#", []),
        ("  ", "", []),
    ],
)
def test_markdown_becomes_entities(markdown: str, text: str, entities: list[tuple[str, ...]]) -> None:
    formatted = convert_markdown(markdown)
    assert (formatted.text, list_entities(formatted)) == (text, entities)


@pytest.mark.parametrize(
    ("markdown", "text", "entities"),
    [
        ("```python\nx = 1\n\n  y\n```\nend", "x = 1\n\n  y\n\nend", [("pre", "x = 1\n\n  y", "python")]),
        ("```c++ title=a\nx\n```", "x", [("pre", "x", "c++")]),
        ("```\n**x**\n```", "**x**", [("pre", "**x**")]),
        ("```sh\nunfinished", "unfinished", [("pre", "unfinished", "sh")]),
        ("```\n\tx\n```", "    x", [("pre", "    x")]),
        ("a\n\n    code", "a\n\ncode", [("pre", "code")]),
        ("| a | bc |\n|---|---|\n| `1` | 2 |", "a | bc\n1 | 2", [("pre", "a | bc\n1 | 2")]),
        ("> a **b**\n> > c\n\nd", "a b\n\nc\n\nd", [("blockquote", "a b\n\nc"), ("bold", "b")]),
        ("> > a\n>\n> b", "a\n\nb", [("blockquote", "a\n\nb")]),
        ("a\n\n```\n\n```\nb", "a\n\nb", []),
        ("> ```\n> x\n> ```", "x", [("blockquote", "x"), ("pre", "x")]),
    ],
)
def test_blocks_become_code_and_quotes(markdown: str, text: str, entities: list[tuple[str, ...]]) -> None:
    formatted = convert_markdown(markdown)
    assert (formatted.text, list_entities(formatted)) == (text, entities)


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("- a\n- b\n  more\n  - c\n\nend", "• a\n• b\n  more\n  • c\n\nend"),
        ("3. a\n3. b\n   - c", "3. a\n4. b\n  • c"),
        ("1.\n2. b", "2. b"),
        ("- a\n\n- b", "• a\n\n• b"),
        ("- a\n\n  second\n- b", "• a\n\n  second\n\n• b"),
        ("- [ ] open\n- [x] done", "• [ ] open\n• [x] done"),
        ("- > q", "• q"),
    ],
)
def test_lists_become_lines(markdown: str, text: str) -> None:
    assert convert_markdown(markdown).text == text


@pytest.mark.parametrize(
    ("markdown", "text", "urls"),
    [
        ("[a](https://x.org/a_(b)?q=1)", "a", ["https://x.org/a_(b)?q=1"]),
        ("[a `c`](http://localhost:8080)", "a c", ["http://localhost:8080"]),
        ("[a](tg://user?id=7)", "a", ["tg://user?id=7"]),
        ("![alt](https://x.org/i.png)", "alt", ["https://x.org/i.png"]),
        ("[![b](https://x.org/i)](https://y.org)", "b", ["https://y.org"]),
        ("![](https://x.org/i.png)", "https://x.org/i.png", []),
        ("[](https://x.org)", "https://x.org", []),
        ("[\u200b](https://x.org)", "\u200bhttps://x.org", []),
        ("<https://x.org>", "https://x.org", []),
        ("<ann@x.org>", "ann@x.org", []),
        ("[Ann](mailto:ann@x.org?subject=hi)", "Ann (ann@x.org)", []),
        ("[ann@x.org](mailto:ann@x.org)", "ann@x.org", []),
        ("[a](javascript:alert(1))", "[a](javascript:alert(1))", []),
        ("[a](data:text/html,x)", "[a](data:text/html,x)", []),
        ("[a](src/a.py)", "[a](src/a.py)", []),
        ("[a](https://bank.com@evil.org)", "[a](https://bank.com@evil.org)", []),
        ("[a](https://)", "[a](https://)", []),
        ("[a](tg:resolve)", "[a](tg:resolve)", []),
        (f"[a](https://x.org/{'y' * 3000})", f"[a](https://x.org/{'y' * 3000})", []),
        ("[a][1]\n\n[1]: https://x.org", "[a][1]\n\n[1]: https://x.org", []),
    ],
)
def test_only_links_to_the_web_and_to_telegram_are_links(markdown: str, text: str, urls: list[str]) -> None:
    formatted = convert_markdown(markdown)
    assert (formatted.text, [entity.url for entity in formatted.entities]) == (text, urls)


@pytest.mark.parametrize(
    "markdown",
    [
        "text\n\n" + "> " * 50 + "deep",
        "text\n\n" + "- " * 60 + "deep",
        "**x** " * (MAX_MARKDOWN_LENGTH // 6 + 1),
        "``` \n```",
        "[" * 10_000,
        "![" * 5_000,
        "|" + "a|" * 99 + "\n|" + "-|" * 99 + "\n" + "a\n" * 98,
    ],
)
def test_what_cannot_be_parsed_stays_as_it_is_written(markdown: str) -> None:
    assert convert_markdown(markdown) == (markdown.strip(), ())


def test_a_table_with_a_wide_cell_does_not_become_many_times_as_long() -> None:
    markdown = "a | b\n--|--\n" + "x" * 5_000 + " | y\n" + "c | d\n" * 1_000
    formatted = convert_markdown(markdown)
    assert formatted.text.startswith("a | b\nxxx")
    assert len(formatted.text) < len(markdown)
    assert len(split_text(*formatted)) <= 5


def test_a_text_that_fits_is_one_message() -> None:
    entities = (TextEntity("bold", 2, 3),)
    assert split_text("a bcd", entities) == [("a bcd", entities)]
    assert split_text("") == split_text(" \n\u200b ") == []


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("aaaaaa\n\nbb\ncccc", ["aaaaaa", "bb\ncccc"]),
        ("aaaaaa\n\nbb\n\ncc", ["aaaaaa\n\nbb", "cc"]),
        ("aaaaaa\nbb cccc", ["aaaaaa", "bb cccc"]),
        ("aa\n\nbbbbbb\ncccc", ["aa\n\nbbbbbb", "cccc"]),
        ("aaaa bbbb cccc", ["aaaa bbbb", "cccc"]),
        ("aaaaaaaaaa bbbb", ["aaaaaaaaaa", "bbbb"]),
        ("aaaaaaaaaaaabb", ["aaaaaaaaaa", "aabb"]),
        ("  aa  \n\n   bb  ", ["aa", "bb"]),
        ("aaaaaaaaa\n\n\n\n\n\n\n\n\n\n\n\n\nb", ["aaaaaaaaa", "b"]),
        (f"aaaaaaaaa{'😀' * 3}", ["aaaaaaaaa", "😀" * 3]),
        (f"aaaaaaaa{FAMILY}", ["aaaaaaaa", FAMILY]),
        (f"aaaaaaaa{THUMB}", ["aaaaaaaa", THUMB]),
        (f"aaaa{FLAG}{FLAG}", [f"aaaa{FLAG}", FLAG]),
        ("aaaaaaaaae\u0301", ["aaaaaaaaa", "e\u0301"]),
        ("a" + "\u0301" * 20, ["a" + "\u0301" * 9]),
    ],
)
def test_a_long_text_is_cut_at_the_best_place(text: str, parts: list[str]) -> None:
    assert [part.text for part in split_text(text, limit=10)] == parts


def test_code_stays_code_and_keeps_its_indentation() -> None:
    markdown = "Look:\n\n```python\ndef f():\n    a = 1\n\n    return a\n```\n\nDone."
    parts = split_text(*convert_markdown(markdown), limit=25)
    assert [(part.text, list_entities(part)) for part in parts] == [
        ("Look:\n\ndef f():\n    a = 1", [("pre", "def f():\n    a = 1", "python")]),
        ("    return a\n\nDone.", [("pre", "    return a", "python")]),
    ]


def test_a_text_is_cut_before_or_after_a_code_block_if_it_can_be() -> None:
    parts = split_text(*convert_markdown("a long enough text\n\n```\nx\n\ny\n```"), limit=22)
    assert [part.text for part in parts] == ["a long enough text", "x\n\ny"]
    parts = split_text(*convert_markdown("```\naaaaaa\n```\nb\ncccc"), limit=10)
    assert [part.text for part in parts] == ["aaaaaa", "b\ncccc"]


def test_an_entity_that_is_cut_goes_on() -> None:
    parts = split_text(*convert_markdown("[one two](https://x.org) **three**"), limit=8)
    assert [list_entities(part) for part in parts] == [[("text_link", "one two", "https://x.org")], [("bold", "three")]]
    parts = split_text(*convert_markdown("[one two](https://x.org)"), limit=4)
    assert [list_entities(part) for part in parts] == [
        [("text_link", "one", "https://x.org")],
        [("text_link", "two", "https://x.org")],
    ]


def test_a_message_has_no_more_entities_than_telegram_accepts() -> None:
    formatted = convert_markdown(" ".join(f"**{number}**" for number in range(150)))
    parts = split_text(*formatted)
    assert [len(part.entities) for part in parts] == [100, 50]
    assert " ".join(part.text for part in parts) == formatted.text
    long_links = " ".join(f"[{number}](https://x.org/{'y' * 900})" for number in range(16))
    parts = split_text(*convert_markdown(long_links))
    assert sum(len(part.entities) for part in parts) == 16
    for part in parts:
        assert len(part.entities) <= MAX_ENTITIES
        assert sum(len(entity.url or "") for entity in part.entities) <= MAX_ENTITY_BYTES


@pytest.mark.parametrize(
    ("text", "limit", "short"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("ab cd", 4, "ab…"),
        ("😀😀", 4, "😀😀"),
        ("😀😀😀", 4, "😀…"),
        (f"a{THUMB}b", 5, "a…"),
    ],
)
def test_a_short_text_ends_in_an_ellipsis(text: str, limit: int, short: str) -> None:
    assert shorten_text(text, limit) == short
    assert count_units(short) <= limit
