"""The text of messages: parse modes with the errors of the real server, entities, and lengths."""

import pytest

from tests.telegram.markup import Entity
from tests.telegram.rules import Refusal
from tests.telegram.text import find_entities, read_text


def cover(text: str, entity: Entity) -> str:
    """Return an entity's type, and what of the text it covers."""
    units = text.encode("utf-16-le")[2 * entity["offset"] :][: 2 * entity["length"]]
    return f"{entity['type']}:{units.decode('utf-16-le')}"


def show(text: str, mode: str) -> tuple[str, list[str]]:
    """Return a text without its markup, and its entities."""
    formatted = read_text(text, mode, None)
    return formatted.text, [cover(formatted.text, entity) for entity in formatted.entities]


def refuse(text: str, mode: str) -> str:
    with pytest.raises(Refusal) as caught:
        read_text(text, mode, None)
    assert caught.value.code == 400
    return caught.value.description.removeprefix("Bad Request: can't parse entities: ")


def test_html_of_the_documentation_is_read() -> None:
    assert show("<b>a <i>b</i></b> <strong>c</strong> <em>d</em>", "HTML") == (
        "a b c d",
        ["bold:a b", "italic:b", "bold:c", "italic:d"],
    )
    assert show("<u>a</u><ins>b</ins> <s>c</s><strike>d</strike><del>e</del>", "html")[1] == [
        "underline:a",
        "underline:b",
        "strikethrough:c",
        "strikethrough:d",
        "strikethrough:e",
    ]
    assert show('<span class="tg-spoiler">a</span> <tg-spoiler>b</tg-spoiler>', "HTML")[1] == ["spoiler:a", "spoiler:b"]
    assert show("<blockquote>a\nb</blockquote><blockquote expandable>c</blockquote>", "HTML")[1] == [
        "blockquote:a\nb",
        "expandable_blockquote:c",
    ]
    assert show("&lt;b&gt; &amp; &quot; &#39;&#x1F600; &nbsp;", "HTML")[0] == "<b> & \" '😀 &nbsp;"


def test_markdown_of_the_documentation_is_read() -> None:
    text = "*bold _italic bold ~italic bold strikethrough ||spoiler||~ __underline italic bold___ bold*"
    assert show(text, "MarkdownV2") == (
        "bold italic bold italic bold strikethrough spoiler underline italic bold bold",
        [
            "bold:bold italic bold italic bold strikethrough spoiler underline italic bold bold",
            "italic:italic bold italic bold strikethrough spoiler underline italic bold",
            "strikethrough:italic bold strikethrough spoiler",
            "spoiler:spoiler",
            "underline:underline italic bold",
        ],
    )
    assert show("`in\\`line` ```python\nx = 1.5\n```", "MarkdownV2") == (
        "in`line x = 1.5",
        ["code:in`line", "pre:x = 1.5"],
    )
    quotes = ">One\n>Two\n**>Three\n>Four||\nplain"
    assert show(quotes, "MarkdownV2") == (
        "One\nTwo\nThree\nFour\nplain",
        ["blockquote:One\nTwo\n", "expandable_blockquote:Three\nFour\n"],
    )
    assert show(r"1\.5 \- a\_b\!", "MarkdownV2") == ("1.5 - a_b!", [])


def test_entities_have_their_fields() -> None:
    html = '<pre><code class="language-python">x</code></pre><a href="https://e.org/?a=1&amp;b=2">y</a>'
    assert read_text(html, "HTML", None).entities == [
        {"type": "pre", "offset": 0, "length": 1, "language": "python"},
        {"type": "text_link", "offset": 1, "length": 1, "url": "https://e.org/?a=1&b=2"},
    ]
    markdown = "[a](tg://user?id=11) [b](http://e.org/\\)) ![c](tg://time?unix=5&format=wDT) ![👍](tg://emoji?id=9)"
    assert read_text(markdown, "MarkdownV2", None).entities == [
        {"type": "text_mention", "offset": 0, "length": 1, "user": {"id": 11}},
        {"type": "text_link", "offset": 2, "length": 1, "url": "http://e.org/)"},
        {"type": "date_time", "offset": 4, "length": 1, "unix_time": 5, "date_time_format": "wDT"},
        {"type": "custom_emoji", "offset": 6, "length": 2, "custom_emoji_id": "9"},
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1 < 2", 'Unsupported start tag "" at byte offset 2'),
        ("<h1>x</h1>", 'Unsupported start tag "h1" at byte offset 0'),
        ("é<br>", 'Unsupported start tag "br" at byte offset 2'),
        ("<b>x", 'Can\'t find end tag corresponding to start tag "b"'),
        ("x</b>", "Unexpected end tag at byte offset 1"),
        ("<b>x</i>", 'Unmatched end tag at byte offset 4, expected "</b>", found "</i>"'),
        ("<b", "Unclosed start tag at byte offset 0"),
        ("<b>x</b", "Unclosed end tag at byte offset 4"),
        ('<a href="x', 'Unclosed start tag "a" at byte offset 0'),
        ('<span class="x">a</span>', 'Tag "span" must have class "tg-spoiler" at byte offset 0'),
    ],
)
def test_broken_html_is_refused_with_telegrams_words(text: str, error: str) -> None:
    assert refuse(text, "HTML") == error


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("1.5", "Character '.' is reserved and must be escaped with the preceding '\\'"),
        ("a > b", "Character '>' is reserved and must be escaped with the preceding '\\'"),
        ("a | b", "Character '|' is reserved and must be escaped with the preceding '\\'"),
        ("(x)", "Character '(' is reserved and must be escaped with the preceding '\\'"),
        ("*x", "Can't find end of Bold entity at byte offset 0"),
        ("é _x", "Can't find end of Italic entity at byte offset 3"),
        ("snake_case", "Can't find end of Italic entity at byte offset 5"),
        ("`x", "Can't find end of Code entity at byte offset 0"),
        ("```x", "Can't find end of Pre entity at byte offset 0"),
        ("```py\nx", "Can't find end of PreCode entity at byte offset 0"),
        ("[a](http://e.org", "Can't find end of a URL at byte offset 4"),
        (">*a\nb*", "Can't find end of Bold entity at byte offset 1"),
    ],
)
def test_broken_markdown_is_refused_with_telegrams_words(text: str, error: str) -> None:
    assert refuse(text, "MarkdownV2") == error


def test_other_parse_modes_are_refused() -> None:
    assert refuse("x", "BBCode") == "Bad Request: unsupported parse_mode"
    assert refuse("x", "null") == "Bad Request: unsupported parse_mode"
    assert refuse("x", "Markdown") == "Bad Request: the test server has no legacy Markdown"


def test_a_link_that_is_none_loses_its_entity_without_an_error() -> None:
    assert show('<a href="not a link">x</a>', "HTML") == ("x", [])


def test_styles_are_cut_where_code_is() -> None:
    assert show("<b>a<code>b</code>c</b> <code><i>d</i></code>", "HTML") == (
        "abc d",
        ["bold:a", "code:b", "bold:c", "code:d"],
    )


def test_the_limit_counts_utf_16_units_after_parsing() -> None:
    assert len(read_text("<b>" + "x" * 4096 + "</b>", "HTML", None).text) == 4096
    assert len(read_text("😀" * 2048, "", None).text) == 2048
    assert refuse("x" * 4097, "") == "Bad Request: message is too long"
    assert refuse("😀" * 2048 + "x", "") == "Bad Request: message is too long"
    assert refuse("<b></b>" * 5000, "HTML") == "Bad Request: text is too long"


def test_white_space_around_a_text_is_cut() -> None:
    assert show("  \n*x*  \n", "MarkdownV2") == ("x", ["bold:x"])
    assert read_text("a\x00b\r\n\tc", "", None).text == "a b\n c"
    assert refuse("", "") == "Bad Request: message text is empty"
    assert refuse(" \n\r ", "") == "Bad Request: text must be non-empty"
    assert refuse("<b> </b>", "HTML") == "Bad Request: text must be non-empty"


def test_given_entities_are_checked() -> None:
    def read(*entities: object) -> list[object]:
        return list(read_text("ab 😀 cd", "", list(entities)).entities)

    bold = {"type": "bold", "offset": 0, "length": 2}
    assert read(bold, {"type": "mention", "offset": 3, "length": 2}) == [bold]
    for entity, error in [
        ({"type": "bold", "offset": 0, "length": 9}, "ends after the end of the text at UTF-16 offset 9"),
        ({"type": "bold", "offset": 8, "length": 1}, "begins after the end of the text at UTF-16 offset 8"),
        ({"type": "bold", "offset": 0, "length": 4}, "ends in a middle of a UTF-16 symbol"),
        ({"type": "bold", "offset": -1, "length": 4}, "incorrect offset -1"),
        ({"type": "large", "offset": 0, "length": 1}, "Unsupported type specified"),
        ({"type": "bold", "offset": 0}, 'Can\'t find field "length"'),
        ({"type": "text_link", "offset": 0, "length": 1, "url": "nothing here"}, "URL is invalid"),
    ]:
        with pytest.raises(Refusal, match=error):
            read(entity)
    with pytest.raises(Refusal, match="entities overlap"):
        read(bold, {"type": "italic", "offset": 1, "length": 4})


def test_entities_are_found() -> None:
    text = "/start@gate_bot 😀 @ana_b #tag $USD a@b.org https://e.org/x. 1/2 a/b"
    assert [cover(text, entity) for entity in find_entities(text)] == [
        "bot_command:/start@gate_bot",
        "mention:@ana_b",
        "hashtag:#tag",
        "cashtag:$USD",
        "email:a@b.org",
        "url:https://e.org/x",
    ]
