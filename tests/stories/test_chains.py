"""I13, by way of plans and gates: whatever a chain of events goes through, it grows, and somebody hears of its end."""

from typing import Any

import pytest
from msgspec.structs import replace

from gatepost.core.policy import Policy
from gatepost.core.times import MINUTE
from gatepost.errors import Invalid, UnknownAddress
from gatepost.gates import automatic_end_actions as automatic_ends, decision_actions as decisions, gate_actions as gates
from gatepost.gates.condition_check import CheckFailed, ConditionMet
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.gates.gate import Gate, GateKind, GateSpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import MAX_HOPS, EventType, Item
from gatepost.plans import actions as plans
from gatepost.plans.plan import Plan
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.background.think_cycle import think
from gatepost.residents.model_port import ChatRequest, ModelReply as Said
from gatepost.residents.runs import ending_actions as run_endings, resume_actions as run_resume
from gatepost.spaces import actions as spaces
from tests.export.exports import let_own_itself
from tests.faults.cycle_process import build_deps
from tests.plans.plan_specs import parse_spec
from tests.residents.scripted_agent import CallbackModel, build_call, build_final_reply
from tests.residents.tools.tool_caller import continue_chain
from tests.support.store_context import StoreContext

LIMIT = Policy().hops


def set_plan(
    ctx: StoreContext, owner: str | None = "ann", *, by: str | None = None, hops: int = 0, **fields: str
) -> Plan:
    spec = parse_spec({"name": "go on"} | fields if "id" not in fields else fields)
    actor = by or (owner if hops else None)
    with continue_chain(ctx.store, actor or "", hops):
        return ctx.store.run_sync(plans.set_plan, owner, spec, by=actor)


def fire_plans(ctx: StoreContext, owner: str = "ann") -> list[Item]:
    """What is in an inbox of plans, once all that is due has fired."""
    while ctx.store.run_sync(plans.fire):
        pass
    return [item for item in ctx.store.read_sync(inbox.list_page, owner) if item.event.type is EventType.PLAN]


def list_hops(ctx: StoreContext, owner: str = "ann") -> list[int]:
    return [item.event.hops for item in fire_plans(ctx, owner)]


def push_with_hops(ctx: StoreContext, hops: int, agent: str = "ann") -> None:
    """Put an item with this number of hops into the inbox of an agent."""
    ctx.push_event("go on", agent, hops=hops)


async def test_two_who_answer_each_other_by_plans_come_to_an_end_and_their_owner_is_told(ctx: StoreContext) -> None:
    """Each puts off its answer by a plan, and answers when that is due."""

    def build_reply(ask: ChatRequest, replies: int) -> Said:
        if replies:
            return build_final_reply()
        if "[Plan: answer]" in str(ask.turns[-1]):
            return Said(calls=(build_call("enter_space", spaceId="tea"), build_call("send_message", text="And you?")))
        return Said(
            calls=(build_call("set_plans", plans=[{"name": "answer", "instruction": "it", "runAfter": "1 minute"}]),)
        )

    deps = build_deps(ctx.store, CallbackModel(build_reply))
    for name in ("ann", "bob"):
        ctx.store.run_sync(agents.make_resident, name, AgentConfig())
    ctx.store.run_sync(spaces.create, name="Tea Room", id="tea", members=["ann", "bob", "husam"])
    ctx.store.run_sync(spaces.post, "tea", sender="ann", content="How are you?")
    cycle_count = 0
    while ready_names := [name for name in ("ann", "bob") if ctx.store.read_sync(run_resume.read_readiness, name)[1]]:
        run_state = ctx.store.run_sync(run_resume.take_run, ready_names[0], "here")
        assert run_state is not None
        await think(deps, run_state)
        cycle_count += 1
        assert cycle_count <= LIMIT + 1, "it never comes to an end"
        ctx.clock.advance("1 minute")
        ctx.store.run_sync(plans.fire)
    assert cycle_count == LIMIT + 1
    alerts = [
        item.event for item in ctx.store.read_sync(inbox.list_page, "admin") if item.event.type is EventType.ALERT
    ]
    assert [alert.content.partition(" reached ")[0] for alert in alerts] == [f"a chain of {LIMIT + 1} events"]


class TestPlans:
    def test_one_goes_on_with_the_chain_in_which_it_was_set(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, hops=4, runAfter="1 minute")
        assert (plan.hops, ctx.store.read_sync(plans.show, plan.id).hops) == (4, 4)
        ctx.clock.advance("1 minute")
        assert list_hops(ctx) == [4]

    def test_past_the_limit_it_fires_and_does_not_wake(self, ctx: StoreContext) -> None:
        set_plan(ctx, hops=LIMIT, runAfter="1 minute")
        set_plan(ctx, hops=LIMIT + 1, runAfter="2 minutes")
        ctx.clock.advance("2 minutes")
        assert [item.event.wakes for item in fire_plans(ctx)] == [True, False]
        [alert] = ctx.store.read_sync(inbox.peek, "admin")
        assert f"a chain of {LIMIT + 1} events reached 'ann'" in alert.event.content

    def test_one_that_recurs_begins_anew(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, hops=LIMIT + 1, cron="0 * * * *")
        ctx.clock.advance("1 hour")
        assert [(item.event.hops, item.event.wakes) for item in fire_plans(ctx)] == [(0, True)]
        assert set_plan(ctx, id=plan.id, runAfter="1 minute", hops=2).hops == 2
        assert set_plan(ctx, id=plan.id, cron="0 * * * *", hops=3).hops == 0

    def test_one_that_is_due_much_later_begins_anew(self, ctx: StoreContext) -> None:
        """Who looks again every ten minutes does not run away."""
        assert set_plan(ctx, hops=LIMIT + 1, runAfter="5 minutes").hops == 0
        soon_plan = set_plan(ctx, hops=4, runAfter="4 minutes")
        assert soon_plan.hops == 4
        assert set_plan(ctx, id=soon_plan.id, runAfter="1 hour", hops=5).hops == 0

    def test_of_several_chains_the_longest_counts(self, ctx: StoreContext) -> None:
        plan = set_plan(ctx, hops=3, runAfter="1 minute")
        assert set_plan(ctx, None, id=plan.id, name="another").hops == 3
        assert set_plan(ctx, id=plan.id, runAfter="2 minutes", hops=5).hops == 5
        assert set_plan(ctx, id=plan.id, runAfter="3 minutes", hops=4).hops == 5


class TestGuests:
    def test_what_a_guest_plans_goes_on_with_its_chain(self, ctx: StoreContext) -> None:
        push_with_hops(ctx, 6)
        assert set_plan(ctx, by="ann", runAfter="1 minute").hops == 7
        assert set_plan(ctx, by="bob", runAfter="1 minute").hops == 0
        assert set_plan(ctx, "bob", by="ann", runAfter="1 minute").hops == 7

    def test_what_somebody_else_plans_for_it_does_not(self, ctx: StoreContext) -> None:
        push_with_hops(ctx, 6)
        assert set_plan(ctx, runAfter="1 minute").hops == 0
        assert set_plan(ctx, by="husam", runAfter="1 minute").hops == 0

    def test_who_sets_it_must_be_there(self, ctx: StoreContext) -> None:
        with pytest.raises(UnknownAddress):
            set_plan(ctx, by="nobody", runAfter="1 minute")


class TestResidents:
    def test_what_one_does_in_a_run_by_another_door_goes_on_with_it(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(agents.make_resident, "ann", AgentConfig())
        ctx.store.run_sync(spaces.create, name="tea", members=["ann", "bob"])
        ctx.push_event("go on", hops=6)
        run_state = ctx.store.run_sync(run_resume.take_run, "ann", "here")
        assert run_state is not None
        ctx.push_event("mail", "bob", sender="ann")
        ctx.store.run_sync(spaces.post, "tea", sender="ann", content="hello")
        assert [item.event.hops for item in ctx.store.read_sync(inbox.peek, "bob")] == [7, 7]
        assert set_plan(ctx, by="ann", runAfter="1 minute").hops == 7
        ctx.clock.advance("5 minutes")
        assert ctx.show_item(ctx.push_event("slow", "bob", sender="ann"), "bob").event.hops == 7
        ctx.store.run_sync(run_endings.skip_run, run_state.run_lease)
        assert ctx.show_item(ctx.push_event("later", "bob", sender="ann"), "bob").event.hops == 0

    def test_the_longest_chain_there_is_grows_no_longer(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(agents.make_resident, "ann", AgentConfig())
        ctx.push_event("on and on", hops=MAX_HOPS)
        store = ctx.kit.open(policy=Policy(hops=MAX_HOPS))
        assert store.run_sync(run_resume.take_run, "ann", "here") is not None
        assert ctx.show_item(ctx.push_event("and on", "bob", sender="ann"), "bob").event.hops == MAX_HOPS

    @pytest.mark.parametrize(("hops", "expected"), [(0, 13), (2, 13), (14, 14)])
    def test_hops_that_are_named_count_only_if_they_are_more(self, ctx: StoreContext, hops: int, expected: int) -> None:
        push_with_hops(ctx, 12)
        assert ctx.show_item(ctx.push_event("x", "bob", sender="ann", hops=hops), "bob").event.hops == expected

    def test_a_number_of_hops_that_makes_no_sense_is_refused(self, ctx: StoreContext) -> None:
        push_with_hops(ctx, 12)
        with pytest.raises(Invalid, match="not a number of hops"):
            ctx.push_event("x", "bob", sender="ann", hops=-1)


class TestGates:
    def create_gate(self, ctx: StoreContext, by: str | None = None, hops: int = 0, **fields: Any) -> Gate:
        spec = GateSpec(**{"name": "Sign-off", "owner": "ann"} | fields)
        actor = by or ("ann" if hops else None)
        with continue_chain(ctx.store, actor or "", hops):
            return ctx.store.run_sync(gates.add, spec, by=actor)

    def end_due_and_list_hops(self, ctx: StoreContext, type: EventType = EventType.GATE) -> list[int]:
        """The chains that ann is told of by what has ended."""
        while ctx.store.run_sync(automatic_ends.end_due):
            pass
        return [item.event.hops for item in ctx.store.read_sync(inbox.list_page, "ann") if item.event.type is type]

    @pytest.mark.parametrize(("plan_hops", "resolve_hops", "expected"), [(2, 5, 5), (5, 2, 5), (3, 0, 3)])
    def test_the_longer_chain_counts(self, ctx: StoreContext, plan_hops: int, resolve_hops: int, expected: int) -> None:
        gate = self.create_gate(ctx, kind=GateKind.HUMAN, awaits="bob")
        set_plan(ctx, onGate=gate.id, hops=plan_hops)
        with continue_chain(ctx.store, "bob", resolve_hops):
            ctx.store.run_sync(gates.resolve, gate.id, by="bob")
        assert list_hops(ctx) == [expected]

    def test_a_guest_who_resolves_one_goes_on_with_its_chain(self, ctx: StoreContext) -> None:
        gate = self.create_gate(ctx, kind=GateKind.HUMAN, awaits="bob")
        set_plan(ctx, onGate=gate.id)
        push_with_hops(ctx, 8, "bob")
        ctx.store.run_sync(gates.resolve, gate.id, by="bob")
        assert list_hops(ctx) == [9]

    def test_so_does_whoever_answers_a_decision(self, ctx: StoreContext) -> None:
        question = Question(question="Ship it?", options=(Option(id="yes", label="Yes"),), respondents=("bob",))
        with continue_chain(ctx.store, "ann", 2):
            decision = ctx.store.run_sync(decisions.ask, question, by="ann")
        set_plan(ctx, onGate=decision.gate, hops=2)
        with continue_chain(ctx.store, "bob", 4):
            ctx.store.run_sync(decisions.answer, decision.id, AnswerSpec(option="yes"), by="bob")
        assert list_hops(ctx) == [4]

    def test_a_timer_goes_on_with_the_chain_in_which_it_was_made(self, ctx: StoreContext) -> None:
        gate = self.create_gate(ctx, hops=LIMIT + 1, kind=GateKind.TIMER, within=MINUTE)
        set_plan(ctx, onGate=gate.id)
        ctx.clock.advance(MINUTE)
        assert (self.end_due_and_list_hops(ctx), list_hops(ctx)) == ([LIMIT + 1], [LIMIT + 1])
        [alert] = ctx.store.read_sync(inbox.peek, "admin")
        assert f"a chain of {LIMIT + 1} events reached 'ann'" in alert.event.content

    def test_what_ends_much_later_begins_anew(self, ctx: StoreContext) -> None:
        gate = self.create_gate(ctx, hops=LIMIT + 1, kind=GateKind.TIMER, within=5 * MINUTE)
        set_plan(ctx, onGate=gate.id, hops=LIMIT + 1)
        ctx.clock.advance("5 minutes")
        assert (self.end_due_and_list_hops(ctx), list_hops(ctx)) == ([0], [0])

    def test_so_does_that_of_a_guest(self, ctx: StoreContext) -> None:
        push_with_hops(ctx, 6)
        self.create_gate(ctx, by="ann", kind=GateKind.TIMER, within=MINUTE)
        ctx.clock.advance(MINUTE)
        assert self.end_due_and_list_hops(ctx) == [7]

    @pytest.mark.parametrize(("gate_hops", "event_hops", "expected"), [(2, 5, 5), (5, 2, 5)])
    def test_what_a_gate_waited_for_may_be_a_longer_chain(
        self, ctx: StoreContext, gate_hops: int, event_hops: int, expected: int
    ) -> None:
        self.create_gate(ctx, hops=gate_hops, kind=GateKind.MAIL, awaits="bob")
        ctx.push_event("hello", type=EventType.MAIL, sender="bob", hops=event_hops)
        assert self.end_due_and_list_hops(ctx) == [expected]

    def test_what_was_looked_for_goes_on_too(self, ctx: StoreContext) -> None:
        ctx.set_policy(allowed_repositories=["me/repo"])
        gate = self.create_gate(ctx, hops=3, kind=GateKind.CI, awaits="pr:7@me/repo")
        ctx.store.run_sync(gates.record_check, gate.id, ConditionMet("green"), retry_in=MINUTE)
        assert self.end_due_and_list_hops(ctx) == [3]

    def test_a_default_that_counts_goes_on_with_the_question(self, ctx: StoreContext) -> None:
        option = Option(id="yes", label="Yes")
        question = Question(
            question="Ship it?", options=(option,), respondents=("husam",), default="yes", within=MINUTE
        )
        with continue_chain(ctx.store, "ann", 4):
            decision = ctx.store.run_sync(decisions.ask, question, by="ann")
        set_plan(ctx, onGate=decision.gate)
        ctx.clock.advance(MINUTE)
        assert (self.end_due_and_list_hops(ctx, EventType.DECISION), list_hops(ctx)) == ([4], [4])

    def test_a_person_begins_a_new_one(self, ctx: StoreContext) -> None:
        gate = self.create_gate(ctx, hops=LIMIT, kind=GateKind.HUMAN, awaits="husam")
        ctx.store.run_sync(gates.resolve, gate.id, by="husam")
        assert self.end_due_and_list_hops(ctx) == [0]


class TestAlerts:
    """What the house warns of is part of the chain, too."""

    def list_alerts(self, ctx: StoreContext, recipient: str = "ann") -> list[Item]:
        return [item for item in ctx.store.read_sync(inbox.list_page, recipient) if item.event.type is EventType.ALERT]

    def test_a_plan_whose_gate_was_withdrawn(self, ctx: StoreContext) -> None:
        gate = ctx.store.run_sync(
            gates.add, GateSpec(name="g", owner="ann", kind=GateKind.HUMAN, awaits="bob"), by="ann"
        )
        set_plan(ctx, onGate=gate.id, hops=LIMIT + 1)
        with continue_chain(ctx.store, "ann", 3):
            ctx.store.run_sync(gates.withdraw, gate.id, by="ann")
        [alert] = self.list_alerts(ctx)
        assert (alert.event.hops, alert.event.wakes) == (LIMIT + 1, False)
        [admin_alert] = self.list_alerts(ctx, "admin")
        assert "a chain of" in admin_alert.event.content

    def test_a_gate_that_nobody_can_look_at(self, ctx: StoreContext) -> None:
        ctx.set_policy(allowed_repositories=["me/repo"])
        spec = GateSpec(name="g", owner="ann", kind=GateKind.CI, awaits="pr:7@me/repo")
        with continue_chain(ctx.store, "ann", 5):
            gate = ctx.store.run_sync(gates.add, spec, by="ann")
        ctx.store.run_sync(gates.record_check, gate.id, CheckFailed("gh is not there"), retry_in=MINUTE)
        assert [alert.event.hops for alert in self.list_alerts(ctx)] == [5]

    def test_one_that_is_its_own_owner_does_not_run_away_unheard(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(let_own_itself, "ann")
        ctx.push_event("on and on", hops=LIMIT + 1)
        [admin_alert] = self.list_alerts(ctx, "admin")
        assert "'ann'" in admin_alert.event.content


def test_what_came_at_the_end_of_a_chain_is_only_taken_along(ctx: StoreContext) -> None:
    """It has woken nobody; who wakes the agent later begins, or goes on with, a chain of their own."""
    ctx.store.run_sync(agents.make_resident, "ann", AgentConfig())
    for hops in (LIMIT + 1, 3, LIMIT + 2):
        ctx.push_event(f"after {hops}", hops=hops)
    run_state = ctx.store.run_sync(run_resume.take_run, "ann", "here")
    assert run_state is not None
    assert (run_state.run_lease.run.events, run_state.run_lease.run.hops) == (3, 3)


def test_a_question_that_is_asked_anew_goes_on_with_the_chain_of_whoever_does(ctx: StoreContext) -> None:
    question = Question(
        question="Ship it?", options=(Option(id="yes", label="Yes"),), respondents=("husam",), default="yes"
    )
    with continue_chain(ctx.store, "ann", 2):
        decision = ctx.store.run_sync(decisions.ask, replace(question, within=60 * MINUTE), by="ann")
    ctx.clock.advance("30 minutes")
    with continue_chain(ctx.store, "ann", 9):
        ctx.store.run_sync(decisions.revise, decision.id, replace(question, within=MINUTE), by="ann")
    ctx.clock.advance("1 minute")
    while ctx.store.run_sync(automatic_ends.end_due):
        pass
    events = [
        item.event for item in ctx.store.read_sync(inbox.list_page, "ann") if item.event.type is EventType.DECISION
    ]
    assert [event.hops for event in events] == [9]
