"""Before it stops, an agent asks; what it is answered decides. On both stores, with a clock that is moved."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gatepost.actions import decisions
from gatepost.core.decision import AnswerSpec, Decision, Option, Question
from gatepost.core.times import SECOND
from gatepost.hooks.chain import Wait
from gatepost.hooks.context import HookOptions
from tests.unit.conftest import House
from tests.visits import Guest

RULES = HookOptions(agent="ann", stop_decision=True)


@pytest.fixture
def guest(house: House, tmp_path: Path) -> Guest:
    guest = Guest(tmp_path, house.store, house.clock, RULES)
    guest.hook("SessionStart", source="startup")
    guest.hook("UserPromptSubmit")
    return guest


def ask(house: House, session: str | None = "s-1") -> Decision:
    house.clock.advance(SECOND)
    options = (Option(id="continue", label="Go on"), Option(id="stop", label="Stop here"))
    question = Question(question="What next?", options=options, respondents=("husam",), session=session, free_text=True)
    return house.store.call(decisions.ask, question, by="ann")


def answering(house: House, decision: Decision, **reply: object) -> Callable[[Wait], None]:
    """Somebody who answers after ten seconds."""

    def waits(wait: Wait) -> None:
        assert wait.agent == "ann"
        house.clock.advance(10 * SECOND)
        house.store.call(decisions.answer, decision.id, AnswerSpec(**reply), by="husam")  # type: ignore[arg-type]

    return waits


def test_it_is_told_to_ask(house: House, guest: Guest) -> None:
    reason = guest.stop().block or ""
    assert "ask for a decision" in reason
    assert reason.count("\n") == 0, "the gate of that name does not say it again"
    assert "--as ann --session s-1" in reason
    guest.session.mark("decision")
    assert guest.stop().is_silent
    guest.hook("UserPromptSubmit")
    assert guest.stop().block, "its mark is cleared on each prompt"


def test_only_where_that_is_set(house: House, guest: Guest) -> None:
    guest.rules = HookOptions(agent="ann")
    assert guest.stop().is_silent


@pytest.mark.parametrize("session", ["s-1", None])
def test_stop_lets_it_go_and_nothing_is_read(house: House, guest: Guest, session: str | None) -> None:
    decision = ask(house, session)
    guest.spooled("more to do")
    verdict = guest.stop(waits=answering(house, decision, option="stop"))
    assert verdict.is_silent
    assert [entry.content for entry in guest.spool.peek("s-1")] == ["more to do"]


def test_the_answer_stop_does_not_greet_the_next_session(house: House, guest: Guest) -> None:
    decision = ask(house)
    assert guest.stop(printed=False, waits=answering(house, decision, option="stop")).is_silent
    assert len(house.waiting("ann")) == 1, "nobody was let go"
    assert guest.stop().is_silent
    assert house.waiting("ann") == []
    house.push("tea")
    later = Guest(guest.home, house.store, house.clock, RULES, id="s-2")
    context = later.hook("SessionStart", source="startup").context or ""
    assert "tea" in context
    assert decision.id not in context


def test_any_other_answer_sends_it_on_and_counts_once(house: House, guest: Guest) -> None:
    decision = ask(house)
    verdict = guest.stop(waits=answering(house, decision, option="continue"))
    assert verdict.continues
    assert (verdict.context or "").count("Go on") == 1, verdict.context
    assert house.waiting("ann") == [], "it has been told"
    assert "ask for a decision" in (guest.stop().block or "")


def test_an_answer_that_was_read_elsewhere_is_told_all_the_same(house: House, guest: Guest) -> None:
    decision = ask(house)
    answering(house, decision, option="continue", text="and hurry")(Wait(agent="ann", until=0))
    house.ack(house.take("ann"))
    verdict = guest.stop()
    assert verdict.continues
    assert verdict.context == f'The decision {decision.id} was answered by husam: "Go on - and hurry"'


def test_no_answer_lets_it_go(house: House, guest: Guest) -> None:
    ask(house)
    waited = []

    def waits(wait: Wait) -> None:
        waited.append(wait)
        house.clock.advance(100 * SECOND)

    assert guest.stop(waits=waits).is_silent, "the gate of the decision does not hold it either"
    assert len(waited) == 6, "540 seconds"
    assert {wait.until for wait in waited} == {guest.clock.now() - 60 * SECOND}


@pytest.mark.parametrize("how", ["rejected", "withdrawn"])
def test_a_decision_without_an_answer_lets_it_go(house: House, guest: Guest, how: str) -> None:
    decision = ask(house)
    if how == "rejected":
        answering(house, decision, reject=True)(Wait(agent="ann", until=0))
    else:
        house.store.call(decisions.withdraw, decision.id, by="ann")
    verdict = guest.stop()
    assert verdict.block is None
    assert verdict.continues is (how == "rejected"), "it is told who rejected it"
    assert guest.stop().is_silent


def test_one_that_is_sent_back_is_revised_and_waited_for_again(house: House, guest: Guest) -> None:
    decision = ask(house)
    verdict = guest.stop(waits=answering(house, decision, text="which one?", again=True))
    assert verdict.continues
    assert "which one?" in (verdict.context or "")
    house.clock.advance(SECOND)
    anew = Question(question="A or B?", options=(Option(id="stop", label="Neither"),), respondents=("husam",))
    revised = house.store.call(decisions.revise, decision.id, anew, by="ann")
    assert guest.stop(waits=answering(house, revised, option="stop")).is_silent


@pytest.mark.parametrize("whose", ["another session", "before the prompt"])
def test_what_was_asked_elsewhere_or_before_does_not_count(house: House, guest: Guest, whose: str) -> None:
    ask(house, "s-2" if whose == "another session" else "s-1")
    if whose == "before the prompt":
        house.clock.advance(SECOND)
        guest.hook("UserPromptSubmit")
    assert "ask for a decision" in (guest.stop().block or "")


def test_a_store_that_is_out_of_reach_asks_for_nothing(house: House, guest: Guest) -> None:
    guest.store = None
    assert guest.stop().is_silent
    assert guest.notes == ["the store is out of reach"]
