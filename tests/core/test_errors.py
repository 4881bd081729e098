"""What errors say, however long the value is that they are about."""

import pytest

from gatepost.errors import MAX_LENGTH, GatepostError, Invalid, Late, quote_value


@pytest.mark.parametrize("kind", [GatepostError, Invalid, Late])
def test_a_message_about_something_very_long_keeps_its_beginning_and_its_end(kind: type[GatepostError]) -> None:
    error = kind(f"the name {'x' * 300_000!r} is too long", hint=f"not {'y' * 300_000}, but less")
    assert error.hint is not None
    for text, first, last in (
        (error.message, "the name 'xx", "xx' is too long"),
        (error.hint, "not yy", "less"),
    ):
        assert len(text) == MAX_LENGTH
        assert text.startswith(first)
        assert text.endswith(last)
        assert " characters in all) " in text
    assert str(error) == error.message


def test_what_is_not_too_long_is_said_as_it_is() -> None:
    error = Invalid("x" * MAX_LENGTH, hint="y" * MAX_LENGTH)
    assert (error.message, error.hint) == ("x" * MAX_LENGTH, "y" * MAX_LENGTH)
    assert Invalid("x").hint is None


def test_a_long_value_is_cut_with_a_mark_inside_its_quotes() -> None:
    assert quote_value("x" * 60) == f"'{'x' * 60}'"
    assert quote_value("x" * 61) == f"'{'x' * 59}…'"
    assert quote_value("x" * 300, 100) == f"'{'x' * 99}…'"
    assert quote_value(10**80) == f"1{'0' * 58}…"


def test_values_are_quoted_as_in_json_and_items_only_if_they_may_be_shown() -> None:
    assert [quote_value(value) for value in (None, True, 1, "a")] == ["null", "true", "1", "'a'"]
    assert quote_value([1, None]) == "[1, None]"
    assert quote_value([1, None], show_items=False) == "a list"
    assert quote_value({"token": "secret"}, show_items=False) == "an object"
