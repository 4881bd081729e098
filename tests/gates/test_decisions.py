"""Decisions: who is asked, whose answer counts, and what whoever asked hears of it."""

import asyncio
from typing import Any

import pytest

from gatepost.core.policy import Policy
from gatepost.core.times import HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, GatepostError, Invalid, Late, NotFound, Refused, UnknownAddress
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Decision, DecisionOutcome, DecisionStatus, Option
from gatepost.gates.gate import Ending
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, ItemState, Priority, Ref
from gatepost.inbox.event_rendering import render_event
from gatepost.jobs import job_actions as jobs
from gatepost.testing import Kit
from tests.gates.decision_calls import (
    YES_OR_NO,
    answer_decision,
    ask_decision,
    build_question,
    list_decision_items,
    show_decision,
)
from tests.support.collected_failures import check_cases
from tests.support.store_context import StoreContext


def test_who_was_asked_and_waits_is_told_of_the_end_like_every_waiter(ctx: StoreContext) -> None:
    decision = ask_decision(ctx, respondents=("husam", "bob"))
    ctx.store.run_sync(gates.add_waiter, decision.gate, "bob", by="ann")
    answer_decision(ctx, decision, option="yes")
    pending_items = [item for item in list_decision_items(ctx, "bob") if item.state is ItemState.PENDING]
    assert [item.event.data["outcome"] for item in pending_items] == ["answered"]


def test_an_answer_that_is_too_long_to_be_told_is_told_cut(kit: Kit) -> None:
    ctx = StoreContext(kit)
    store = kit.open(policy=Policy(content=400))
    decision = store.run_sync(decisions.ask, build_question(free_text=True), by="ann")
    store.run_sync(decisions.answer, decision.id, AnswerSpec(text="x" * 5_000), by="husam")
    [item] = [item for item in list_decision_items(ctx, "ann") if item.event.data["outcome"] == "answered"]
    assert item.event.content == "x" * 100
    with pytest.raises(Late) as error:
        store.run_sync(decisions.answer, decision.id, AnswerSpec(text="y"), by="husam")
    assert len(error.value.message) < 400


class TestAsking:
    def test_those_asked_are_told_and_whoever_asks_is_held(self, ctx: StoreContext) -> None:
        decision = ask_decision(
            ctx,
            respondents=("husam", "team:red"),
            context="all tests pass",
            ref=Ref("task", "7"),
            urgency=Priority.HIGH,
            default="no",
            within=2 * HOUR,
            session="s-1",
        )
        assert (decision.asker, decision.respondents, decision.status, decision.iteration) == (
            "ann",
            ("husam", "bob"),
            "pending",
            1,
        )
        assert show_decision(ctx, decision) == decision
        [gate] = ctx.store.read_sync(gates.list_blocking, "ann")
        assert (gate.id, gate.awaits, gate.deadline) == (decision.gate, decision.id, decision.deadline)
        [item] = list_decision_items(ctx, "husam")
        assert item.event.dedup_key == f"decision:{decision.id}:1"
        assert (item.event.priority, item.event.data["contextHash"]) == (Priority.HIGH, decision.context_hash)
        assert [option["id"] for option in item.event.data["options"]] == ["yes", "no"]
        assert render_event(item.event) == (
            f'[Decision {decision.id}] asked by ann: "Ship? Options: yes (Ship it); no (Wait), until Monday.'
            ' Without an answer until 2026-02-18T11:00:00Z no counts." (the asker adds "all tests pass")'
        )
        assert (len(list_decision_items(ctx, "bob")), list_decision_items(ctx, "ann")) == (1, [])
        assert {"decision:" + decision.id, "gate:" + decision.gate} <= {
            signal.topic.recipient for signal in ctx.signal_sink.signals
        }
        assert ctx.is_balanced()

    @pytest.mark.parametrize("label", ["\u200bü", "\U0001fae8", "?", "e\u0301", "\u202eno\u202c"])
    def test_whatever_can_be_seen_is_a_label(self, ctx: StoreContext, label: str) -> None:
        assert ask_decision(ctx, question=label, options=(Option(id="a", label=label),)).options[0].label == label

    def test_without_an_address_whoever_owns_the_asker_is_asked(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(directory.update, "ann", owner="bob")
        assert ask_decision(ctx, respondents=()).respondents == ("bob",)

    @check_cases(
        ("by", "fields", "error"),
        [
            (None, {}, Invalid),
            ("nobody", {}, UnknownAddress),
            ("ann", {"question": " \n"}, Invalid),
            ("ann", {"question": "\u200b\u202e\u3000\u2800\ufe0f"}, Invalid),
            ("ann", {"question": "x" * 10_001}, Invalid),
            ("ann", {"question": "a\x00b"}, Invalid),
            ("ann", {"context": "\ud800"}, Invalid),
            ("ann", {"options": ()}, Invalid),
            ("ann", {"options": (Option(id="a b", label="x"),)}, Invalid),
            ("ann", {"options": (Option(id="a", label=" "),)}, Invalid),
            ("ann", {"options": (Option(id="a", label="\u2066\u3164\u2069"),)}, Invalid),
            ("ann", {"options": (*YES_OR_NO, Option(id="yes", label="x"))}, Invalid),
            ("ann", {"options": tuple(Option(id=str(number), label="x") for number in range(21))}, Invalid),
            ("ann", {"default": "maybe", "within": HOUR}, Invalid),
            ("ann", {"default": "yes"}, Invalid),
            ("ann", {"within": 0}, Invalid),
            ("ann", {"deadline": 1}, Invalid),
            ("ann", {"respondents": ("nobody",)}, UnknownAddress),
            ("ann", {"respondents": ("team:blue",)}, UnknownAddress),
            ("ann", {"respondents": ("*",)}, Invalid),
            ("ann", {"respondents": ("ann",)}, Invalid),
        ],
    )
    def test_what_nobody_could_answer_is_refused_and_nothing_is_stored(
        self, ctx: StoreContext, by: str | None, fields: dict[str, Any], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error):
            ask_decision(ctx, by, **fields)
        assert (ctx.store.read_sync(decisions.list_page), ctx.store.read_sync(gates.list_page)) == ([], [])
        assert ctx.signal_sink.signals == []

    def test_a_list_has_what_is_asked_for(self, ctx: StoreContext) -> None:
        first = ask_decision(ctx, session="s-1")
        ctx.clock.advance(HOUR)
        second = ask_decision(ctx, "bob", respondents=("admin", "husam"))
        answer_decision(ctx, first, option="yes")

        def list_ids(**filters: Any) -> list[str]:
            return [decision.id for decision in ctx.store.read_sync(decisions.list_page, **filters)]

        assert list_ids() == list_ids(asked="husam") == list_ids(concerning="husam") == [first.id, second.id]
        assert (
            list_ids(asker="ann")
            == list_ids(session="s-1")
            == list_ids(pending=False)
            == list_ids(concerning="ann")
            == [first.id]
        )
        assert list_ids(pending=True) == list_ids(asked="admin") == list_ids(after=first.number) == [second.id]
        assert list_ids(since=ctx.clock.now()) == [first.id]
        ctx.clock.advance(1)
        assert list_ids(since=ctx.clock.now()) == []
        with pytest.raises(NotFound):
            ctx.store.read_sync(decisions.show, second.id, viewer="ann")
        assert ctx.store.read_sync(decisions.show, second.id, viewer="admin").id == second.id


class TestAnswering:
    def test_the_gate_is_resolved_and_whoever_asked_is_told(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        ctx.clock.advance(MINUTE)
        closed_decision = answer_decision(ctx, decision, option="yes", text="go", context_hash=decision.context_hash)
        assert (closed_decision.status, closed_decision.is_open) == (DecisionStatus.ANSWERED, False)
        [answer] = closed_decision.answers
        assert (answer.outcome, answer.option, answer.text, answer.by) == (
            DecisionOutcome.ANSWERED,
            "yes",
            "go",
            "husam",
        )
        assert ctx.store.read_sync(gates.list_blocking, "ann") == []
        resolution = ctx.store.read_sync(gates.show, decision.gate).resolution
        assert resolution is not None
        assert (resolution.ending, resolution.by) == (Ending.RESOLVED, "husam")
        assert resolution.reason == "answered: yes (Ship it) - go"
        [item] = list_decision_items(ctx, "ann")
        assert (item.event.dedup_key, item.event.priority) == (f"decision:{decision.id}:1", Priority.HIGH)
        assert render_event(item.event) == f'[Decision {decision.id}] answered by husam: "Ship it - go"'
        assert ctx.store.read_sync(inbox.list_page, "ann", type=EventType.GATE) == []
        assert ctx.is_balanced()

    @check_cases(
        ("fields", "reply", "error"),
        [
            ({}, {}, Invalid),
            ({}, {"option": "maybe"}, Invalid),
            ({}, {"text": "hm"}, Invalid),
            ({}, {"text": "hm", "again": True}, Invalid),
            ({"free_text": True}, {"text": " "}, Invalid),
            ({"free_text": True}, {"text": "\ufeff\xad"}, Invalid),
            ({"free_text": True}, {"again": True}, Invalid),
            ({"free_text": True}, {"text": "a\x00b"}, Invalid),
            ({"free_text": True}, {"text": "x" * 10_001}, Invalid),
            ({}, {"option": "yes", "reject": True}, Invalid),
            ({"free_text": True}, {"option": "yes", "text": "x", "again": True}, Invalid),
            ({"free_text": True}, {"text": "x", "again": True, "reject": True}, Invalid),
            ({}, {"option": "yes", "context_hash": "0" * 64}, Conflict),
        ],
    )
    def test_what_is_no_answer_changes_nothing(
        self, ctx: StoreContext, fields: dict[str, Any], reply: dict[str, Any], error: type[GatepostError]
    ) -> None:
        decision = ask_decision(ctx, **fields)
        with pytest.raises(error):
            answer_decision(ctx, decision, **reply)
        assert show_decision(ctx, decision) == decision
        assert list_decision_items(ctx, "ann") == []

    @pytest.mark.parametrize(
        ("by", "error"),
        [("bob", NotFound), ("ann", Refused), ("nobody", UnknownAddress), ("admin", None), (None, None)],
    )
    def test_only_who_was_asked_may_answer_and_the_administrator(
        self, ctx: StoreContext, by: str | None, error: type[GatepostError] | None
    ) -> None:
        decision = ask_decision(ctx)
        if error is None:
            assert answer_decision(ctx, decision, by, option="yes").status is DecisionStatus.ANSWERED
            return
        with pytest.raises(error):
            answer_decision(ctx, decision, by, option="yes")
        assert show_decision(ctx, decision).is_open

    def test_of_fifty_at_once_one_wins_and_the_others_are_told_which(self, ctx: StoreContext) -> None:
        people = [f"person-{number}" for number in range(50)]
        for name in people:
            ctx.register(name, EntityKind.HUMAN)
        decision = ask_decision(ctx, respondents=tuple(people), free_text=True)

        async def answer(name: str) -> Decision | Late:
            reply = AnswerSpec(option="yes" if name.endswith("1") else "no", text=f"says {name}")
            try:
                return await ctx.store.run(decisions.answer, decision.id, reply, by=name, lane=name)
            except Late as error:
                return error

        async def answer_all() -> list[Decision | Late]:
            return await asyncio.gather(*map(answer, people))

        outcomes = asyncio.run(answer_all())
        [winner] = [outcome for outcome in outcomes if isinstance(outcome, Decision)]
        losers = [outcome for outcome in outcomes if isinstance(outcome, Late)]
        assert (winner.last_answer, len(losers)) == (show_decision(ctx, decision).last_answer, 49)
        assert winner.last_answer is not None
        assert people[outcomes.index(winner)] == winner.last_answer.by
        for error in losers:
            assert (error.winner["by"], error.winner["option"]) == (winner.last_answer.by, winner.last_answer.option)
            assert f"answered already by {winner.last_answer.by!r}" in error.message
            assert f"says {winner.last_answer.by}" in error.message
        [item] = list_decision_items(ctx, "ann")
        assert item.event.data["by"] == winner.last_answer.by
        assert ctx.is_balanced()

    def test_what_was_asked_is_put_away_for_everybody(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, respondents=("husam", "admin", "bob"))
        ctx.register("cleo")
        other = ask_decision(ctx, respondents=("cleo",))
        claim = ctx.take_claim("cleo")
        answer_decision(ctx, decision, option="yes")
        answer_decision(ctx, other, "admin", option="no")
        [husam], [admin], [bob], [cleo] = (list_decision_items(ctx, name) for name in ("husam", "admin", "bob", "cleo"))
        assert (husam.state, admin.state, bob.state) == (ItemState.DELIVERED, ItemState.DELIVERED, ItemState.DISCARDED)
        assert (admin.receipt and admin.receipt.owner, cleo.state) == ("husam", ItemState.CLAIMED)
        assert (ctx.ack(claim), ctx.is_balanced()) == (1, True)

    def test_a_waiter_hears_what_was_decided(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        ctx.store.run_sync(gates.add_waiter, decision.gate, "bob", by="ann")
        answer_decision(ctx, decision, option="no")
        assert [item.event.content for item in list_decision_items(ctx, "bob")] == ["Wait"]

    def test_its_gate_ends_with_it_and_not_by_itself(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx)
        for verb in (gates.resolve, gates.withdraw):
            with pytest.raises(Conflict, match="decision"):
                ctx.store.run_sync(verb, decision.gate, by="admin")
        assert show_decision(ctx, decision).is_open


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [({"option": "yes"}, "answered"), ({"reject": True}, "rejected"), ({"text": "hm", "again": True}, "again")],
)
def test_an_answer_leaves_a_job_where_a_command_waits_for_it(kit: Kit, reply: dict[str, Any], outcome: str) -> None:
    ctx = StoreContext(kit)
    store = kit.open(policy=Policy(has_answer_command=True))
    decision = store.run_sync(decisions.ask, build_question(free_text=True), by="ann")
    store.run_sync(decisions.answer, decision.id, AnswerSpec(**reply), by="husam")
    [job] = store.run_sync(jobs.take, [decisions.ANSWER_JOB], "me")
    assert (job.payload["decisionId"], job.payload["outcome"], job.payload["by"]) == (
        decision.id,
        outcome,
        "husam",
    )
    other = ask_decision(ctx)
    answer_decision(ctx, other, option="yes")
    assert store.run_sync(jobs.take, [decisions.ANSWER_JOB], "me") == []
