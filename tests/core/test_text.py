"""Texts from outside: what both databases can store, and how a value is quoted in an error."""

import pytest

from gatepost.core.text import check_storable, count_bytes, find_unstorable
from gatepost.errors import Invalid


@pytest.mark.parametrize("text", ["", "plain", "é \U0001f600", "\x01\x7f\u2028", "\\u0000"])
def test_whatever_is_unicode_can_be_stored(text: str) -> None:
    assert find_unstorable(text) is None
    assert check_storable("note", text) == text


@pytest.mark.parametrize(
    ("text", "reason", "message", "hint"),
    [
        ("a\x00", "has a NUL character in it", "the note has a NUL character in it", "remove it"),
        (
            "a\ud800",
            "has half of a surrogate pair in it",
            "the note is not valid Unicode: it has half of a surrogate pair in it",
            None,
        ),
        ("\udfff\x00", "has a NUL character in it", "the note has a NUL character in it", "remove it"),
    ],
)
def test_what_cannot_be_stored_is_refused(text: str, reason: str, message: str, hint: str | None) -> None:
    assert find_unstorable(text) == reason
    with pytest.raises(Invalid) as error:
        check_storable("note", text)
    assert (error.value.message, error.value.hint) == (message, hint)


def test_bytes_are_counted_whatever_the_text_is() -> None:
    assert [count_bytes(text) for text in ("", "ab", "é", "\U0001f600", "\ud800")] == [0, 2, 2, 4, 3]
