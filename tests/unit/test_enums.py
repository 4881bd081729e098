"""Words that are one of a few."""

import pytest

from gatepost.core import envelope, event, gate, memory, plan, telegram_update, webhook  # noqa: F401 # their words are subclasses
from gatepost.core.text import ParsedEnum
from gatepost.errors import Invalid


@pytest.mark.parametrize("enum", ParsedEnum.__subclasses__())
def test_what_a_word_is_not_makes_a_sentence(enum: type[ParsedEnum]) -> None:
    with pytest.raises(Invalid, match=r"^'zzz' is not (a|something) [a-z ]+$"):
        enum.parse("zzz")
