"""The labels of options: whoever asked is told the label that was chosen, so no two of them are the same."""

import pytest

from gatepost.errors import Invalid
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Option, Question
from tests.support.store_context import StoreContext


def build_question(*labels: str) -> Question:
    options = tuple(Option(id=f"option-{number}", label=label) for number, label in enumerate(labels))
    return Question(question="Which?", options=options, respondents=("husam",))


def test_two_labels_that_are_the_same_are_refused_and_nothing_is_stored(ctx: StoreContext) -> None:
    with pytest.raises(Invalid, match="the options 'option-1' and 'option-3' have the same label"):
        ctx.store.run_sync(decisions.ask, build_question("something else", "A", "B", "A", "B"), by="ann")
    assert (ctx.store.read_sync(decisions.list_page), ctx.store.read_sync(gates.list_page)) == ([], [])


def test_a_revision_is_no_exception(ctx: StoreContext) -> None:
    decision = ctx.store.run_sync(
        decisions.ask, Question(question="Which?", free_text=True, respondents=("husam",)), by="ann"
    )
    ctx.store.run_sync(decisions.answer, decision.id, AnswerSpec(text="give me a choice", again=True), by="husam")
    with pytest.raises(Invalid, match="have the same label"):
        ctx.store.run_sync(decisions.revise, decision.id, build_question("A", "A"), by="ann")
    assert ctx.store.run_sync(decisions.revise, decision.id, build_question("A", "b"), by="ann").iteration == 2
