"""Words that are one of a few."""

import pytest

from gatepost.channels import envelope  # noqa: F401 # their words are subclasses
from gatepost.channels.telegram import update as telegram_update  # noqa: F401 # their words are subclasses
from gatepost.channels.webhooks import verification as webhook  # noqa: F401 # their words are subclasses
from gatepost.core.text import ParsedEnum
from gatepost.errors import Invalid
from gatepost.gates import gate  # noqa: F401 # their words are subclasses
from gatepost.inbox import event  # noqa: F401 # their words are subclasses
from gatepost.plans import plan  # noqa: F401 # their words are subclasses
from gatepost.residents import goal_and_memory  # noqa: F401 # their words are subclasses


@pytest.mark.parametrize("enum", ParsedEnum.__subclasses__())
def test_what_a_word_is_not_makes_a_sentence(enum: type[ParsedEnum]) -> None:
    with pytest.raises(Invalid, match=r"^'zzz' is not (a|something) [a-z ]+$"):
        enum.parse("zzz")
