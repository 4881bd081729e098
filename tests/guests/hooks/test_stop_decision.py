"""Before it stops, an agent asks; what it is answered decides. On both stores, with a clock that is moved."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gatepost.core.times import SECOND
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Decision, Option, Question
from gatepost.gates.proposed_action import Action
from gatepost.guests.hooks.handler_chain import Wait
from gatepost.guests.hooks.hook_context import HookOptions
from tests.guests.hook_guest import HookGuest
from tests.support.store_context import StoreContext

RULES = HookOptions(agent="ann", stop_decision=True)


@pytest.fixture
def guest(ctx: StoreContext, tmp_path: Path) -> HookGuest:
    guest = HookGuest(tmp_path, ctx.store, ctx.clock, RULES)
    guest.run_hook("SessionStart", source="startup")
    guest.run_hook("UserPromptSubmit")
    return guest


def ask_decision(ctx: StoreContext, session: str | None = "s-1", *, is_followed: bool = False) -> Decision:
    ctx.clock.advance(SECOND)
    options = (Option(id="continue", label="Go on"), Option(id="stop", label="Stop here"))
    question = Question(
        question="What next?",
        options=options,
        respondents=("husam",),
        session=session,
        is_followed=is_followed,
        free_text=True,
    )
    return ctx.store.run_sync(decisions.ask, question, by="ann")


def build_answerer(ctx: StoreContext, decision: Decision, **reply: object) -> Callable[[Wait], None]:
    """Somebody who answers after ten seconds."""

    def answer_wait(wait: Wait) -> None:
        assert wait.agent == "ann"
        ctx.clock.advance(10 * SECOND)
        spec = AnswerSpec(context_hash=decision.context_hash, **reply)  # type: ignore[arg-type]
        ctx.store.run_sync(decisions.answer, decision.id, spec, by="husam")

    return answer_wait


def test_it_is_told_to_ask(ctx: StoreContext, guest: HookGuest) -> None:
    reason = guest.run_stop().block or ""
    assert "ask for a decision" in reason
    assert reason.count("\n") == 0, "the gate of that name does not say it again"
    assert "--as ann --session s-1" in reason
    guest.session.mark("decision")
    assert guest.run_stop().is_silent
    guest.run_hook("UserPromptSubmit")
    assert guest.run_stop().block, "its mark is cleared on each prompt"


def test_it_does_not_wait_for_an_answer_that_its_program_waits_for(ctx: StoreContext, guest: HookGuest) -> None:
    ask_decision(ctx, is_followed=True)
    assert guest.run_stop().is_silent


@pytest.mark.parametrize("is_followed", [False, True])
def test_a_gate_holds_an_agent_unless_its_program_waits_for_the_answer(
    ctx: StoreContext, guest: HookGuest, is_followed: bool
) -> None:
    guest.options = HookOptions(agent="ann")
    decision = ask_decision(ctx, is_followed=is_followed)
    reason = guest.run_stop().block
    assert reason is None if is_followed else decision.id in (reason or "")


def test_only_where_that_is_set(ctx: StoreContext, guest: HookGuest) -> None:
    guest.options = HookOptions(agent="ann")
    assert guest.run_stop().is_silent


@pytest.mark.parametrize("session", ["s-1", None])
def test_stop_lets_it_go_and_nothing_is_read(ctx: StoreContext, guest: HookGuest, session: str | None) -> None:
    decision = ask_decision(ctx, session)
    guest.append_lines("more to do")
    verdict = guest.run_stop(waits=build_answerer(ctx, decision, option="stop"))
    assert verdict.is_silent
    assert [entry.content for entry in guest.spool.peek("s-1")] == ["more to do"]


def test_the_answer_stop_does_not_greet_the_next_session(ctx: StoreContext, guest: HookGuest) -> None:
    decision = ask_decision(ctx)
    assert guest.run_stop(printed=False, waits=build_answerer(ctx, decision, option="stop")).is_silent
    assert len(ctx.list_waiting("ann")) == 1, "nobody was let go"
    assert guest.run_stop().is_silent
    assert ctx.list_waiting("ann") == []
    ctx.push("tea")
    later_guest = HookGuest(guest.home, ctx.store, ctx.clock, RULES, session_id="s-2")
    context = later_guest.run_hook("SessionStart", source="startup").context or ""
    assert "tea" in context
    assert decision.id not in context


def test_any_other_answer_sends_it_on_and_counts_once(ctx: StoreContext, guest: HookGuest) -> None:
    decision = ask_decision(ctx)
    verdict = guest.run_stop(waits=build_answerer(ctx, decision, option="continue"))
    assert verdict.continues
    assert (verdict.context or "").count("Go on") == 1, verdict.context
    assert ctx.list_waiting("ann") == [], "it has been told"
    assert "ask for a decision" in (guest.run_stop().block or "")


def test_an_answer_that_was_read_elsewhere_is_told_all_the_same(ctx: StoreContext, guest: HookGuest) -> None:
    decision = ask_decision(ctx)
    build_answerer(ctx, decision, option="continue", text="and hurry")(Wait(agent="ann", until=0))
    ctx.ack(ctx.take_claim("ann"))
    verdict = guest.run_stop()
    assert verdict.continues
    assert verdict.context == f'The decision {decision.id} was answered by husam: "Go on - and hurry"'


def test_no_answer_lets_it_go(ctx: StoreContext, guest: HookGuest) -> None:
    ask_decision(ctx)
    waits = []

    def wait_longer(wait: Wait) -> None:
        waits.append(wait)
        ctx.clock.advance(100 * SECOND)

    assert guest.run_stop(waits=wait_longer).is_silent, "the gate of the decision does not hold it either"
    assert len(waits) == 6, "540 seconds"
    assert {wait.until for wait in waits} == {guest.clock.now() - 60 * SECOND}


@pytest.mark.parametrize("ending", ["rejected", "withdrawn"])
def test_a_decision_without_an_answer_lets_it_go(ctx: StoreContext, guest: HookGuest, ending: str) -> None:
    decision = ask_decision(ctx)
    if ending == "rejected":
        build_answerer(ctx, decision, reject=True)(Wait(agent="ann", until=0))
    else:
        ctx.store.run_sync(decisions.withdraw, decision.id, by="ann")
    verdict = guest.run_stop()
    assert verdict.block is None
    assert verdict.continues is (ending == "rejected"), "it is told who rejected it"
    assert guest.run_stop().is_silent


def test_one_that_is_sent_back_is_revised_and_waited_for_again(ctx: StoreContext, guest: HookGuest) -> None:
    decision = ask_decision(ctx)
    verdict = guest.run_stop(waits=build_answerer(ctx, decision, text="which one?", again=True))
    assert verdict.continues
    assert "which one?" in (verdict.context or "")
    ctx.clock.advance(SECOND)
    revision = Question(question="A or B?", options=(Option(id="stop", label="Neither"),), respondents=("husam",))
    revised_decision = ctx.store.run_sync(decisions.revise, decision.id, revision, by="ann")
    assert guest.run_stop(waits=build_answerer(ctx, revised_decision, option="stop")).is_silent


@pytest.mark.parametrize("origin", ["another session", "before the prompt"])
def test_what_was_asked_elsewhere_or_before_does_not_count(ctx: StoreContext, guest: HookGuest, origin: str) -> None:
    ask_decision(ctx, "s-2" if origin == "another session" else "s-1")
    if origin == "before the prompt":
        ctx.clock.advance(SECOND)
        guest.run_hook("UserPromptSubmit")
    assert "ask for a decision" in (guest.run_stop().block or "")


def test_a_store_that_is_out_of_reach_asks_for_nothing(ctx: StoreContext, guest: HookGuest) -> None:
    guest.store = None
    assert guest.run_stop().is_silent
    assert guest.notes == ["the store is out of reach"]


def test_what_was_decided_about_an_action_is_read(ctx: StoreContext, guest: HookGuest) -> None:
    ctx.clock.advance(SECOND)
    action = Action(name="send_invoice", args={"amount": 100})
    question = Question(question="Send it?", action=action, respondents=("husam",), session="s-1")
    decision = ctx.store.run_sync(decisions.ask, question, by="ann")
    verdict = guest.run_stop(waits=build_answerer(ctx, decision, option="edit", args={"amount": 90}))
    assert f"[Decision {decision.id}] answered by husam: " in (verdict.context or "")
    assert 'accepted send_invoice with edited arguments {\\"amount\\":90}' in (verdict.context or "")
