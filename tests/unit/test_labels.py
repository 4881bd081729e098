"""The labels of options: whoever asked is told the label that was chosen, so no two of them are the same."""

import pytest

from gatepost.actions import decisions, gates
from gatepost.core.decision import AnswerSpec, Option, Question
from gatepost.errors import Invalid
from tests.unit.conftest import StoreContext

SAME_LABELS = [
    ("A", "A"),
    ("Ship it", "ship  IT "),
    ("Ship it", "Shipit"),
    ("Ship", "Sh\u200bip"),
    ("Ship", "\u202aShip\u202c"),
    ("Ship", "Ship\u3164"),
    ("\u2764", "\u2764\ufe0f"),
    ("caf\u00e9", "cafe\u0301"),
    ("caf\u00c9", "cafe\u034f\u0301"),
    ("Stra\u00dfe", "STRASSE"),
]
DIFFERENT_LABELS = [
    ("A", "B"),
    ("a", "\u00e1"),
    ("e\u0301", "e\u0300"),
    ("m2", "m\u00b2"),
    ("\u0915\u093f", "\u0915\u0941"),
    ("5", "-5"),
]


def build_question(*labels: str) -> Question:
    options = tuple(Option(id=f"option-{number}", label=label) for number, label in enumerate(labels))
    return Question(question="Which?", options=options, respondents=("husam",))


@pytest.mark.parametrize(("label", "other_label"), SAME_LABELS)
def test_two_labels_that_look_alike_are_refused_and_nothing_is_stored(
    ctx: StoreContext, label: str, other_label: str
) -> None:
    with pytest.raises(Invalid, match="the options 'option-1' and 'option-2' have the same label"):
        ctx.store.call(decisions.ask, build_question("something else", label, other_label), by="ann")
    assert (ctx.store.query(decisions.page), ctx.store.query(gates.page)) == ([], [])


def test_three_that_are_the_same_are_refused_like_two(ctx: StoreContext) -> None:
    with pytest.raises(Invalid, match="the options 'option-0' and 'option-2' have the same label"):
        ctx.store.call(decisions.ask, build_question("A", "B", "a", "b", "A"), by="ann")


def test_a_revision_is_no_exception(ctx: StoreContext) -> None:
    decision = ctx.store.call(
        decisions.ask, Question(question="Which?", free_text=True, respondents=("husam",)), by="ann"
    )
    ctx.store.call(decisions.answer, decision.id, AnswerSpec(text="give me a choice", again=True), by="husam")
    with pytest.raises(Invalid, match="have the same label"):
        ctx.store.call(decisions.revise, decision.id, build_question("A", "a"), by="ann")
    assert ctx.store.call(decisions.revise, decision.id, build_question("A", "b"), by="ann").iteration == 2


@pytest.mark.parametrize(("label", "other_label"), DIFFERENT_LABELS)
def test_what_can_be_told_apart_is_taken(ctx: StoreContext, label: str, other_label: str) -> None:
    decision = ctx.store.call(decisions.ask, build_question(label, other_label), by="ann")
    assert [option.label for option in decision.options] == [label, other_label]
