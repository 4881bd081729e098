"""What errors say, however long the value is that they are about."""

import pytest

from gatepost.errors import MAX_LENGTH, GatepostError, Invalid, Late


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
