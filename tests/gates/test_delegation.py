"""Decisions that are passed on: who is asked then, who hears of it, and who may do it."""

import pytest

from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, UnknownAddress
from gatepost.gates import decision_actions as decisions, delegation_actions as delegations, gate_actions as gates
from gatepost.gates.decision import Decision, DecisionOutcome, DecisionStatus
from gatepost.gates.proposed_action import Action
from gatepost.inbox.event import ItemState, Priority
from gatepost.inbox.event_rendering import render_event
from tests.gates.decision_calls import answer_decision, ask_decision, end_due, list_decision_items, show_decision
from tests.support.store_context import StoreContext


@pytest.fixture(autouse=True)
def mira(ctx: StoreContext) -> None:
    ctx.store.run_sync(directory.register, directory.EntitySpec(name="mira", kind=EntityKind.HUMAN))


def delegate_decision(
    ctx: StoreContext, decision: Decision, *to: str, by: str | None = "husam", text: str = ""
) -> Decision:
    return ctx.store.run_sync(delegations.delegate, decision.id, to, by=by, text=text)


class TestDelegation:
    def test_somebody_else_is_asked_in_another_round(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, within=HOUR)
        delegated = delegate_decision(ctx, decision, "mira", text="Your budget.")
        assert (delegated.respondents, delegated.iteration, delegated.status) == (
            ("mira",),
            2,
            DecisionStatus.PENDING,
        )
        assert (delegated.context_hash, delegated.deadline) == (decision.context_hash, decision.deadline)
        [answer] = delegated.answers
        assert (answer.outcome, answer.by, answer.text) == (
            DecisionOutcome.DELEGATED,
            "husam",
            "to mira: Your budget.",
        )
        [question] = list_decision_items(ctx, "mira")
        assert "Ship? Passed on by husam 'to mira: Your budget.'." in render_event(question.event)
        assert [item.state for item in list_decision_items(ctx, "husam")] == [ItemState.DELIVERED]
        assert [gate.id for gate in ctx.store.read_sync(gates.list_blocking, "ann")] == [decision.gate]
        with pytest.raises(Refused, match="'husam' was not asked"):
            answer_decision(ctx, decision, option="yes")
        answered = answer_decision(ctx, decision, "mira", option="yes")
        assert [answer.outcome for answer in answered.answers] == ["delegated", "answered"]
        assert ctx.is_balanced()

    def test_who_asked_hears_of_it_and_is_not_woken(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        delegate_decision(ctx, decision, "mira")
        [notice] = list_decision_items(ctx, "ann")
        assert render_event(notice.event).startswith(f'[Decision {decision.id}] delegated by husam: "to mira"')
        assert notice.event.priority is Priority.FYI

    def test_who_passed_it_on_may_still_see_it(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        delegate_decision(ctx, decision, "mira")
        assert ctx.store.read_sync(decisions.show, decision.id, viewer="husam").respondents == ("mira",)
        assert [found.id for found in ctx.store.read_sync(decisions.list_page, concerning="husam")] == [decision.id]
        assert ctx.store.read_sync(decisions.list_page, asked="husam") == []

    def test_the_others_who_were_asked_are_asked_again(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, respondents=("husam", "bob"))
        delegated = delegate_decision(ctx, decision, "mira")
        assert set(delegated.respondents) == {"bob", "mira"}
        assert [item.state for item in list_decision_items(ctx, "bob")] == [ItemState.DISCARDED, ItemState.PENDING]
        assert answer_decision(ctx, decision, "bob", option="yes").status is DecisionStatus.ANSWERED

    def test_the_administrator_passes_it_on_for_all_who_were_asked(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, respondents=("husam", "bob"))
        delegated = delegate_decision(ctx, decision, "mira", by="admin")
        assert delegated.respondents == ("mira",)
        for name in ("husam", "bob"):
            _, notice = list_decision_items(ctx, name)
            assert "delegated by admin" in render_event(notice.event)

    def test_an_answer_to_an_action_needs_the_same_hash(self, ctx: StoreContext) -> None:
        action = Action(name="pay", args={"sum": 9})
        decision = ask_decision(ctx, action=action, options=())
        delegate_decision(ctx, decision, "mira")
        assert answer_decision(ctx, decision, "mira", option="accept").status is DecisionStatus.ANSWERED

    def test_the_deadline_stays(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, default="no", within=HOUR)
        delegate_decision(ctx, decision, "mira")
        ctx.clock.advance(HOUR)
        end_due(ctx)
        assert show_decision(ctx, decision).answers[-1].outcome is DecisionOutcome.DEFAULTED

    def test_the_retirement_of_the_new_respondent_ends_it(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        delegate_decision(ctx, decision, "mira")
        ctx.store.run_sync(directory.retire, "husam")
        assert show_decision(ctx, decision).is_open
        ctx.store.run_sync(directory.retire, "mira")
        assert show_decision(ctx, decision).status is DecisionStatus.ORPHANED

    def test_three_rounds_are_the_most(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        delegate_decision(ctx, decision, "mira")
        delegate_decision(ctx, decision, "husam", by="mira")
        with pytest.raises(Conflict, match="3 times"):
            delegate_decision(ctx, decision, "mira")

    @pytest.mark.parametrize(
        ("by", "to", "error"),
        [
            ("ann", ["mira"], Refused),
            ("mira", ["bob"], NotFound),
            ("husam", [], Invalid),
            ("husam", ["husam"], Invalid),
            ("husam", ["ann"], Invalid),
            ("husam", ["mirra"], UnknownAddress),
            ("husam", ["*"], Invalid),
        ],
    )
    def test_a_delegation_that_is_refused_changes_nothing(
        self, ctx: StoreContext, by: str, to: list[str], error: type[GatepostError]
    ) -> None:
        decision = ask_decision(ctx)
        with pytest.raises(error):
            delegate_decision(ctx, decision, *to, by=by)
        assert show_decision(ctx, decision) == decision

    def test_one_that_has_ended_or_was_sent_back_is_not_passed_on(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, free_text=True)
        answer_decision(ctx, decision, text="which?", again=True)
        with pytest.raises(Conflict, match="was sent back"):
            delegate_decision(ctx, decision, "mira")
        ctx.store.run_sync(decisions.withdraw, decision.id, by="ann")
        with pytest.raises(Conflict, match="was withdrawn already"):
            delegate_decision(ctx, decision, "mira")
