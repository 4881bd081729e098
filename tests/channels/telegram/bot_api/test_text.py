"""The text of messages in our Bot API server: entities, and lengths."""

import pytest

from tests.channels.telegram.bot_api.entities import Entity
from tests.channels.telegram.bot_api.rules import Refusal
from tests.channels.telegram.bot_api.text import find_entities, read_text

pytestmark = pytest.mark.nightly_unless_changed(
    *(
        "tests/channels/telegram/bot_api/test_text.py",
        "tests/channels/telegram/bot_api/text.py",
        "tests/channels/telegram/bot_api/entities.py",
        "tests/channels/telegram/bot_api/rules.py",
    )
)


def cover(text: str, entity: Entity) -> str:
    """Return an entity's type, and what of the text it covers."""
    units = text.encode("utf-16-le")[2 * entity["offset"] :][: 2 * entity["length"]]
    return f"{entity['type']}:{units.decode('utf-16-le')}"


def build(type: str, offset: int, length: int, **fields: str) -> Entity:
    return {"type": type, "offset": offset, "length": length, **fields}


def show(text: str, *entities: Entity) -> tuple[str, list[str]]:
    """Return a text as it is shown, and its entities."""
    formatted = read_text(text, list(entities))
    return formatted.text, [cover(formatted.text, entity) for entity in formatted.entities]


def refuse(text: str, *entities: object) -> str:
    with pytest.raises(Refusal) as caught:
        read_text(text, list(entities))
    assert caught.value.code == 400
    return caught.value.description


def test_entities_keep_their_fields() -> None:
    given = [
        build("pre", 0, 1, language="python"),
        build("text_link", 1, 1, url="https://e.org/?a=1&b=2"),
        build("blockquote", 3, 2),
    ]
    assert read_text("xy ab", given).entities == given


def test_styles_are_cut_where_code_is() -> None:
    code = [build("bold", 0, 3), build("code", 1, 1), build("code", 4, 1), build("italic", 4, 1)]
    assert show("abc d", *code) == ("abc d", ["bold:a", "code:b", "bold:c", "code:d"])


def test_the_limit_counts_utf_16_units() -> None:
    assert len(read_text("x" * 4096, []).text) == 4096
    assert len(read_text("😀" * 2048, []).text) == 2048
    assert refuse("x" * 4097) == "Bad Request: message is too long"
    assert refuse("😀" * 2048 + "x") == "Bad Request: message is too long"
    assert refuse("x" * 32_769) == "Bad Request: text is too long"


def test_white_space_around_a_text_is_cut() -> None:
    assert show("  \nx  \n", build("bold", 3, 1)) == ("x", ["bold:x"])
    assert show("x \n", build("bold", 0, 3)) == ("x", ["bold:x"])
    assert read_text("a\x00b\r\n\tc", []).text == "a b\n c"
    assert refuse("") == "Bad Request: message text is empty"
    assert refuse(" \n\r ") == "Bad Request: text must be non-empty"


def test_given_entities_are_checked() -> None:
    text, bold = "ab 😀 cd", build("bold", 0, 2)
    assert show(text, bold) == (text, ["bold:ab"])
    for entity, error in [
        (build("bold", 0, 9), "ends after the end of the text at UTF-16 offset 9"),
        (build("bold", 8, 1), "begins after the end of the text at UTF-16 offset 8"),
        (build("bold", 0, 4), "ends in a middle of a UTF-16 symbol"),
        (build("bold", -1, 4), "incorrect offset -1"),
        (build("bold", 0, 0), "incorrect length 0"),
        (build("underline", 0, 1), "Unsupported type specified"),
        (build("mention", 0, 2), "Unsupported type specified"),
        ({"type": "bold", "offset": 0}, 'Can\'t find field "length"'),
        ("bold", "expected an Object"),
        (build("text_link", 0, 1, url="nothing here"), "URL is invalid"),
        (build("text_link", 0, 1, url="javascript:alert(1)"), "URL is invalid"),
    ]:
        assert error in refuse(text, entity), entity
    assert "entities overlap" in refuse(text, bold, build("italic", 1, 4))


def test_entities_are_found_where_none_is_given() -> None:
    text = "/start@gate_bot 😀 @ana_b #tag $USD a@b.org https://e.org/x. 1/2 a/b"
    assert [cover(text, entity) for entity in find_entities(text)] == [
        "bot_command:/start@gate_bot",
        "mention:@ana_b",
        "hashtag:#tag",
        "cashtag:$USD",
        "email:a@b.org",
        "url:https://e.org/x",
    ]
    assert show("@ana_b https://e.org", build("code", 0, 6))[1] == ["code:@ana_b", "url:https://e.org"]
