"""Decisions that a program follows: the outcome is kept for it, for a moment, and then comes as every other item."""

from typing import Any

import pytest

from gatepost.core.times import MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import NotFound, Refused
from gatepost.gates import decision_actions as decisions, delegation_actions as delegations
from gatepost.gates.decision import FOLLOW_TIME, Decision, Question
from gatepost.gates.followed_decision_actions import claim_outcome
from gatepost.guests import session_actions as sessions, wake_actions as wakes
from gatepost.guests.reachability import WAITER
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.claimed_batch import Batch
from gatepost.inbox.event import ItemState
from tests.gates.decision_calls import answer_decision, ask_decision, end_due
from tests.support.store_context import StoreContext


def follow_decision(ctx: StoreContext, **fields: Any) -> Decision:
    return ask_decision(ctx, is_followed=True, free_text=True, **fields)


def claim(ctx: StoreContext, decision: Decision, by: str | None = "ann", proof_timeout: int | None = None) -> Batch:
    return ctx.store.run_sync(claim_outcome, decision.id, by=by, owner="s-1", proof_timeout=proof_timeout)


def drain(ctx: StoreContext, name: str = "ann") -> list[str]:
    batch = ctx.store.run_sync(inbox.claim, name, owner="other")
    return [str(item.event.dedup_key) for item in batch.items]


class TestKeptForItsProgram:
    def test_its_item_is_hidden_for_a_moment_and_then_wakes(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude")
        ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="w")
        answer_decision(ctx, decision := follow_decision(ctx), option="yes")
        assert not ctx.store.read_sync(sessions.has_items, "ann")
        ctx.clock.advance(FOLLOW_TIME - SECOND)
        assert drain(ctx) == []
        assert ctx.store.read_sync(wakes.find_wake, "s-1", is_running=lambda _: True) is None
        ctx.clock.advance(MINUTE)  # its program has given up
        assert ctx.store.read_sync(wakes.find_wake, "s-1", is_running=lambda _: True) is not None
        assert drain(ctx) == [f"decision:{decision.id}:1"]
        assert not claim(ctx, decision).items
        assert ctx.is_balanced()

    @pytest.mark.parametrize("by", ["ann", None])
    def test_its_program_claims_it(self, ctx: StoreContext, by: str | None) -> None:
        answer_decision(ctx, decision := follow_decision(ctx), option="yes")
        batch = claim(ctx, decision, by)
        assert [item.event.dedup_key for item in batch.items] == [f"decision:{decision.id}:1"]
        assert not claim(ctx, decision, by).items
        ctx.clock.advance(FOLLOW_TIME)
        assert drain(ctx) == []
        assert batch.claim is not None
        ctx.store.run_sync(inbox.release, batch.claim.id, owner="s-1", fence=batch.claim.fence)
        assert drain(ctx) == [f"decision:{decision.id}:1"]

    def test_the_hooks_of_a_session_have_their_time(self, ctx: StoreContext) -> None:
        answer_decision(ctx, decision := follow_decision(ctx), option="yes")
        [item] = claim(ctx, decision, proof_timeout=30 * MINUTE).items
        receipt = ctx.show_item(item.event.id, "ann").receipt
        assert receipt is not None
        assert (receipt.kind, receipt.owner) == ("session", "s-1")
        ctx.clock.advance(30 * MINUTE - SECOND)
        assert drain(ctx) == []
        ctx.clock.advance(2 * SECOND)
        assert drain(ctx) == [f"decision:{decision.id}:1"]

    def test_an_end_by_itself_is_kept_too(self, ctx: StoreContext) -> None:
        decision = follow_decision(ctx, within=MINUTE)
        ctx.clock.advance(2 * MINUTE)
        end_due(ctx)
        assert drain(ctx) == []
        assert claim(ctx, decision).items

    def test_while_it_is_open_there_is_nothing_to_claim(self, ctx: StoreContext) -> None:
        assert not claim(ctx, follow_decision(ctx)).items


class TestRounds:
    def test_only_the_first_outcome_is_kept(self, ctx: StoreContext) -> None:
        answer_decision(ctx, decision := follow_decision(ctx), text="which?", again=True)
        assert drain(ctx) == []
        question = Question(question="Version 2?", free_text=True)
        answer_decision(ctx, ctx.store.run_sync(decisions.revise, decision.id, question, by="ann"), text="yes")
        assert drain(ctx) == [f"decision:{decision.id}:2"]
        [item] = claim(ctx, decision).items
        assert item.event.dedup_key == f"decision:{decision.id}:1"

    def test_to_be_passed_on_is_no_outcome(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(directory.register, directory.EntitySpec(name="mira", kind=EntityKind.HUMAN))
        decision = follow_decision(ctx)
        ctx.store.run_sync(delegations.delegate, decision.id, ("mira",), by="husam")
        assert not claim(ctx, decision).items
        drain(ctx)
        answer_decision(ctx, decision, "mira", option="yes")
        assert drain(ctx) == []
        [item] = claim(ctx, decision).items
        assert item.event.dedup_key == f"decision:{decision.id}:2"


class TestOthers:
    def test_an_outcome_that_nobody_follows_is_shown_at_once(self, ctx: StoreContext) -> None:
        answer_decision(ctx, decision := ask_decision(ctx), option="yes")
        assert drain(ctx) == [f"decision:{decision.id}:1"]

    def test_the_inbox_of_a_person_stays_as_it_is(self, ctx: StoreContext) -> None:
        decision = follow_decision(ctx, by="husam", respondents=("ann",))
        answer_decision(ctx, decision, "ann", option="yes")
        with pytest.raises(Refused, match="'husam' is a person"):
            claim(ctx, decision, "husam")
        items = ctx.store.read_sync(inbox.list_page, "husam")
        assert [(item.state, item.hidden_until) for item in items][-1] == (ItemState.PENDING, None)

    @pytest.mark.parametrize("by", ["husam", "bob"])
    def test_only_the_asker_claims_it(self, ctx: StoreContext, by: str) -> None:
        answer_decision(ctx, decision := follow_decision(ctx), option="yes")
        with pytest.raises(NotFound, match="there is no decision"):
            claim(ctx, decision, by)
        assert claim(ctx, decision).items
