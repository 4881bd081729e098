"""Decisions: how they end, and the rounds of one that is sent back."""

import pytest

from gatepost.core.times import DAY, HOUR
from gatepost.directory import entity_actions as directory
from gatepost.errors import Conflict, GatepostError, Late, NotFound, Refused
from gatepost.executor import LocalExecutor
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import DecisionOutcome, DecisionStatus
from gatepost.gates.gate import Ending
from gatepost.gates.gate_api import GateStatus, ResolveGate
from gatepost.inbox import item_actions as inbox_items
from gatepost.inbox.event import ItemState, Priority
from gatepost.inbox.event_rendering import render_event
from gatepost.operations.access import Caller, CallerKind
from gatepost.worker import retention_actions as retention
from tests.gates.decision_calls import (
    answer_decision,
    ask_decision,
    build_question,
    end_due,
    list_decision_items,
    show_decision,
)
from tests.support.store_context import StoreContext


class TestEnding:
    @pytest.mark.parametrize(
        ("outcome", "ending", "text", "sent_back"),
        [
            (DecisionOutcome.REJECTED, Ending.WITHDRAWN, 'rejected by husam: "not mine"', False),
            (DecisionOutcome.EXPIRED, Ending.EXPIRED, "expired", False),
            (DecisionOutcome.EXPIRED, Ending.EXPIRED, "expired", True),
            (DecisionOutcome.WITHDRAWN, Ending.WITHDRAWN, 'withdrawn by admin: "not mine"', False),
            (DecisionOutcome.WITHDRAWN, Ending.WITHDRAWN, 'withdrawn by admin: "not mine"', True),
            (DecisionOutcome.ORPHANED, Ending.ORPHANED, 'orphaned: "husam is retired"', False),
            (DecisionOutcome.ORPHANED, Ending.ORPHANED, 'orphaned: "husam is retired"', True),
        ],
    )
    def test_every_end_wakes_whoever_asked(
        self, ctx: StoreContext, outcome: DecisionOutcome, ending: Ending, text: str, sent_back: bool
    ) -> None:
        decision = ask_decision(ctx, free_text=True, within=HOUR)
        if sent_back:
            answer_decision(ctx, decision, text="which?", again=True)
        match outcome:
            case DecisionOutcome.REJECTED:
                answer_decision(ctx, decision, reject=True, text="not mine")
            case DecisionOutcome.WITHDRAWN:
                ctx.store.run_sync(decisions.withdraw, decision.id, by="admin", reason="not mine")
            case DecisionOutcome.ORPHANED:
                ctx.store.run_sync(directory.retire, "husam")
            case _:
                ctx.clock.advance(HOUR)
                end_due(ctx)
        closed_decision = show_decision(ctx, decision)
        assert (closed_decision.status.value, closed_decision.is_open) == (outcome.value, False)
        resolution = ctx.store.read_sync(gates.show, decision.gate).resolution
        assert resolution is not None
        assert resolution.ending is ending
        item = list_decision_items(ctx, "ann")[-1]
        assert render_event(item.event) == f"[Decision {decision.id}] {text}"
        assert (item.event.wakes, item.event.priority) == (True, Priority.HIGH)
        assert [item.state for item in list_decision_items(ctx, "husam")] in (
            [ItemState.DELIVERED],
            [ItemState.DELIVERED] * 2,
        )
        with pytest.raises((Late, Refused)):
            answer_decision(ctx, decision, "admin", option="yes")
        with pytest.raises(Late, match=f"was {outcome} already"):
            ctx.store.run_sync(decisions.withdraw, decision.id, by="ann")
        assert ctx.is_balanced()

    def test_the_default_counts_at_the_deadline(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, default="no", within=HOUR)
        ctx.clock.advance(HOUR)
        assert show_decision(ctx, decision).is_overdue(ctx.clock.now())
        with pytest.raises(Late, match="ran out at 2026-02-18T10:00:00Z: 'no' counts"):
            answer_decision(ctx, decision, option="yes")
        end_due(ctx)
        closed_decision = show_decision(ctx, decision)
        assert closed_decision.last_answer is not None
        assert (
            closed_decision.status,
            closed_decision.last_answer.outcome,
            closed_decision.last_answer.option,
            closed_decision.last_answer.by,
        ) == (
            "answered",
            "defaulted",
            "no",
            None,
        )
        assert [render_event(item.event) for item in list_decision_items(ctx, "ann")] == [
            f'[Decision {decision.id}] defaulted: "Wait"'
        ]

    def test_a_question_that_was_sent_back_has_no_default(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, default="no", within=HOUR, free_text=True)
        answer_decision(ctx, decision, text="why?", again=True)
        ctx.clock.advance(HOUR)
        end_due(ctx)
        assert show_decision(ctx, decision).status is DecisionStatus.EXPIRED

    def test_it_goes_on_while_one_of_those_asked_is_there(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, respondents=("husam", "bob"))
        ctx.store.run_sync(directory.retire, "husam")
        assert show_decision(ctx, decision).is_open
        ctx.store.run_sync(directory.retire, "bob")
        assert show_decision(ctx, decision).status is DecisionStatus.ORPHANED

    def test_its_last_question_is_not_discarded_unsaid(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, respondents=("husam", "bob"))
        [item] = list_decision_items(ctx, "husam")
        with pytest.raises(Conflict, match="nobody would be asked any more") as error:
            ctx.store.run_sync(inbox_items.discard, item.event.id)
        assert error.value.hint == f"answer it, or turn it down: gatepost decision answer {decision.id} --reject"
        ctx.store.run_sync(inbox_items.discard, item.event.id, "bob")
        with pytest.raises(Conflict, match="it is discarded for 'bob'"):
            ctx.store.run_sync(inbox_items.discard, item.event.id, "bob")
        with pytest.raises(Conflict, match="nobody would be asked any more"):
            ctx.store.run_sync(inbox_items.discard, item.event.id, "husam")
        ctx.store.run_sync(inbox_items.replay, item.event.id, "bob")
        ctx.store.run_sync(directory.retire, "bob")
        with pytest.raises(Conflict, match="nobody would be asked any more"):
            ctx.store.run_sync(inbox_items.discard, item.event.id, "husam")
        answer_decision(ctx, decision, reject=True)
        assert (list_decision_items(ctx, "husam")[0].state, len(list_decision_items(ctx, "ann"))) == (
            ItemState.DELIVERED,
            1,
        )

    def test_a_question_may_be_discarded_that_another_has_read_or_that_ends_by_itself(self, ctx: StoreContext) -> None:
        ctx.register("cleo")
        ask_decision(ctx, respondents=("bob", "cleo"))
        ctx.ack(ctx.take_claim("bob"))
        [cleo_item] = list_decision_items(ctx, "cleo")
        ask_decision(ctx, within=HOUR)
        [husam_item] = list_decision_items(ctx, "husam")
        returned_decision = ask_decision(ctx, respondents=("admin",), free_text=True)
        [admin_item] = list_decision_items(ctx, "admin")
        answer_decision(ctx, returned_decision, "admin", text="why?", again=True)
        [ann_item] = list_decision_items(ctx, "ann")
        ctx.store.run_sync(inbox_items.discard, ann_item.event.id)
        ctx.store.run_sync(decisions.revise, returned_decision.id, build_question(), by="ann")
        ctx.store.run_sync(inbox_items.replay, admin_item.event.id)
        for event, name in (
            (cleo_item, "cleo"),
            (husam_item, "husam"),
            (list_decision_items(ctx, "admin")[-1], "admin"),
        ):
            [discarded_item] = ctx.store.run_sync(inbox_items.discard, event.event.id, name)
            assert discarded_item.state is ItemState.DISCARDED

    def test_one_whose_asker_has_left_is_over(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        ctx.store.run_sync(directory.retire, "ann")
        assert show_decision(ctx, decision).status is DecisionStatus.ORPHANED
        assert [item.state for item in list_decision_items(ctx, "husam")] == [ItemState.DELIVERED]
        assert (list_decision_items(ctx, "ann"), ctx.is_balanced()) == ([], True)

    def test_only_who_asked_withdraws(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        with pytest.raises(Refused):
            ctx.store.run_sync(decisions.withdraw, decision.id, by="husam")
        assert ctx.store.run_sync(decisions.withdraw, decision.id, by="ann").status is DecisionStatus.WITHDRAWN
        assert list_decision_items(ctx, "ann") == []  # it knows

    def test_a_decision_is_kept_when_other_gates_are_forgotten(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        closed_decision = answer_decision(ctx, decision, option="yes")
        ctx.clock.advance(30 * DAY)
        while ctx.store.run_sync(retention.reap):
            pass
        assert show_decision(ctx, decision) == closed_decision


def test_who_withdraws_its_gate_withdraws_the_decision(ctx: StoreContext) -> None:
    decision = ask_decision(ctx)
    request = ResolveGate(id=decision.gate, withdraw=True, reason="too late")
    with pytest.raises(NotFound, match="there is no gate"):
        LocalExecutor(ctx.store, Caller(CallerKind.ENTITY, "husam")).send(request)
    gate = LocalExecutor(ctx.store, Caller(CallerKind.ENTITY, "ann")).send(request)
    assert (gate.status, show_decision(ctx, decision).status) == (GateStatus.WITHDRAWN, DecisionStatus.WITHDRAWN)


class TestRevising:
    def test_words_send_it_back_and_it_is_asked_anew(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, free_text=True)
        returned_decision = answer_decision(ctx, decision, text="what does it cost?", again=True)
        assert (returned_decision.status, returned_decision.is_open) == (DecisionStatus.REVISING, True)
        assert [gate.id for gate in ctx.store.read_sync(gates.list_blocking, "ann")] == [decision.gate]
        [item] = list_decision_items(ctx, "ann")
        assert render_event(item.event) == f'[Decision {decision.id}] again by husam: "what does it cost?"'
        with pytest.raises(Late, match="was sent back by 'husam'"):
            answer_decision(ctx, decision, option="yes")
        revised_decision = ctx.store.run_sync(
            decisions.revise, decision.id, build_question(question="Ship for 5?"), by="ann"
        )
        assert (revised_decision.iteration, revised_decision.guidance, revised_decision.status) == (
            2,
            "what does it cost?",
            DecisionStatus.PENDING,
        )
        assert (revised_decision.respondents, revised_decision.context_hash == decision.context_hash) == (
            ("husam",),
            False,
        )
        assert [item.state for item in list_decision_items(ctx, "husam")] == [ItemState.DELIVERED, ItemState.PENDING]
        with pytest.raises(Conflict, match="has changed"):
            answer_decision(ctx, decision, option="yes", context_hash=decision.context_hash)
        closed_decision = answer_decision(ctx, decision, option="yes", context_hash=revised_decision.context_hash)
        assert [answer.outcome for answer in closed_decision.answers] == ["again", "answered"]
        assert [item.event.dedup_key for item in list_decision_items(ctx, "ann")] == [
            f"decision:{decision.id}:{iteration}" for iteration in (1, 2)
        ]
        assert ctx.is_balanced()

    def test_a_question_may_be_put_right_before_anybody_answers(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, within=HOUR)
        revised_decision = ctx.store.run_sync(
            decisions.revise, decision.id, build_question(question="Ship now?", within=2 * HOUR), by="ann"
        )
        assert (revised_decision.iteration, revised_decision.guidance, revised_decision.deadline) == (
            2,
            None,
            ctx.clock.now() + 2 * HOUR,
        )
        with pytest.raises(Conflict):
            answer_decision(ctx, decision, option="yes", context_hash=decision.context_hash)
        ctx.clock.advance(HOUR)
        end_due(ctx)
        assert answer_decision(ctx, revised_decision, option="yes").status is DecisionStatus.ANSWERED

    def test_a_default_counts_at_the_deadline_that_stays(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, within=HOUR)
        ctx.store.run_sync(decisions.revise, decision.id, build_question(question="Ship now?", default="yes"), by="ann")
        ctx.clock.advance(HOUR)
        end_due(ctx)
        assert show_decision(ctx, decision).answers[-1].outcome is DecisionOutcome.DEFAULTED

    def test_three_rounds_are_the_most(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, free_text=True)
        for _ in range(2):
            answer_decision(ctx, decision, text="hm", again=True)
            ctx.store.run_sync(decisions.revise, decision.id, build_question(free_text=True), by="ann")
        with pytest.raises(Conflict, match="3 times"):
            answer_decision(ctx, decision, text="hm", again=True)
        with pytest.raises(Conflict, match="3 times"):
            ctx.store.run_sync(decisions.revise, decision.id, build_question(), by="ann")
        assert answer_decision(ctx, decision, text="yes").status is DecisionStatus.ANSWERED

    @pytest.mark.parametrize(("by", "error"), [("husam", Refused), ("bob", NotFound)])
    def test_only_who_asked_revises(self, ctx: StoreContext, by: str, error: type[GatepostError]) -> None:
        decision = ask_decision(ctx)
        with pytest.raises(error):
            ctx.store.run_sync(decisions.revise, decision.id, build_question(), by=by)
        assert show_decision(ctx, decision) == decision
