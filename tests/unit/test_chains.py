"""I13, by way of plans and gates: whatever a chain of events goes through, it grows, and somebody hears of its end."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gatepost.actions import (
    agents,
    deadlines,
    decisions,
    directory,
    gates,
    inbox,
    plans,
    resettle,
    run_journal,
    spaces,
)
from gatepost.core import plan as rules
from gatepost.core import record
from gatepost.core.agent import AgentConfig
from gatepost.core.chain import MAX_HOPS
from gatepost.core.decision import AnswerSpec, Option, Question
from gatepost.core.event import EventType, Item
from gatepost.core.gate import CheckFailed, ConditionMet, Gate, GateKind, GateSpec
from gatepost.core.limits import Limits
from gatepost.core.mind import ModelReply as Said
from gatepost.core.model import ChatRequest
from gatepost.core.plan import Plan
from gatepost.core.times import MINUTE
from gatepost.errors import Invalid, UnknownAddress
from gatepost.runtime.cycle import think
from tests.faults.thinker import means
from tests.rooms import Played, done, use
from tests.unit.conftest import House

LIMIT = Limits().hops


def planned(house: House, owner: str | None = "ann", *, by: str | None = None, hops: int = 0, **fields: str) -> Plan:
    wish = rules.parse_spec({"name": "go on"} | fields if "id" not in fields else fields)
    return house.store.call(plans.set_plan, owner, wish, by=by, hops=hops)


def fired(house: House, owner: str = "ann") -> list[Item]:
    """What is in an inbox of plans, once all that is due has fired."""
    while house.store.call(plans.fire):
        pass
    return [item for item in house.store.query(inbox.page, owner) if item.event.type is EventType.PLAN]


def hops(house: House, owner: str = "ann") -> list[int]:
    return [item.event.hops for item in fired(house, owner)]


def reach(house: House, hops: int, agent: str = "ann") -> None:
    """Put an item with this number of hops into the inbox of an agent."""
    house.tell("go on", agent, hops=hops)


async def test_two_who_answer_each_other_by_plans_come_to_an_end_and_their_owner_is_told(house: House) -> None:
    """Each puts off its answer by a plan, and answers when that is due."""

    def mind(ask: ChatRequest, replies: int) -> Said:
        if replies:
            return done()
        if "[Plan: answer]" in str(ask.turns[-1]):
            return Said(calls=(use("enter_space", spaceId="tea"), use("send_message", text="And you?")))
        return Said(calls=(use("set_plans", plans=[{"name": "answer", "instruction": "it", "runAfter": "1 minute"}]),))

    able = means(house.store, Played(mind))
    for name in ("ann", "bob"):
        house.store.call(agents.make_resident, name, AgentConfig())
    house.store.call(spaces.create, name="Tea Room", id="tea", members=["ann", "bob", "husam"])
    house.store.call(spaces.post, "tea", sender="ann", content="How are you?")
    thought = 0
    while awake := [name for name in ("ann", "bob") if house.store.query(run_journal.read_readiness, name)[1]]:
        taken = house.store.call(run_journal.take_run, awake[0], "here")
        assert taken is not None
        await think(able, taken)
        thought += 1
        assert thought <= LIMIT + 1, "it never comes to an end"
        house.clock.advance("1 minute")
        house.store.call(plans.fire)
    assert thought == LIMIT + 1
    told = [item.event for item in house.store.query(inbox.page, "admin") if item.event.type is EventType.ALERT]
    assert [alert.content.partition(" reached ")[0] for alert in told] == [f"a chain of {LIMIT + 1} events"]


class TestPlans:
    def test_one_goes_on_with_the_chain_in_which_it_was_set(self, house: House) -> None:
        plan = planned(house, hops=4, runAfter="1 minute")
        assert (plan.hops, house.store.query(plans.show, plan.id).hops) == (4, 4)
        house.clock.advance("1 minute")
        assert hops(house) == [4]

    def test_past_the_limit_it_fires_and_does_not_wake(self, house: House) -> None:
        planned(house, hops=LIMIT, runAfter="1 minute")
        planned(house, hops=LIMIT + 1, runAfter="2 minutes")
        house.clock.advance("2 minutes")
        assert [item.event.wakes for item in fired(house)] == [True, False]
        [alert] = house.store.query(inbox.peek, "admin")
        assert f"a chain of {LIMIT + 1} events reached 'ann'" in alert.event.content

    def test_one_that_recurs_begins_anew(self, house: House) -> None:
        plan = planned(house, hops=LIMIT + 1, cron="0 * * * *")
        house.clock.advance("1 hour")
        assert [(item.event.hops, item.event.wakes) for item in fired(house)] == [(0, True)]
        assert planned(house, id=plan.id, runAfter="1 minute", hops=2).hops == 2
        assert planned(house, id=plan.id, cron="0 * * * *", hops=3).hops == 0

    def test_one_that_is_due_much_later_begins_anew(self, house: House) -> None:
        """Who looks again every ten minutes does not run away."""
        assert planned(house, hops=LIMIT + 1, runAfter="5 minutes").hops == 0
        soon = planned(house, hops=4, runAfter="4 minutes")
        assert soon.hops == 4
        assert planned(house, id=soon.id, runAfter="1 hour", hops=5).hops == 0

    def test_of_several_chains_the_longest_counts(self, house: House) -> None:
        plan = planned(house, hops=3, runAfter="1 minute")
        assert planned(house, None, id=plan.id, name="another").hops == 3
        assert planned(house, id=plan.id, runAfter="2 minutes", hops=5).hops == 5
        assert planned(house, id=plan.id, runAfter="3 minutes", hops=4).hops == 5

    def test_an_export_takes_it_along_and_one_without_it_is_read(self, house: House) -> None:
        line = record.write(planned(house, hops=4, runAfter="1 minute"))
        older = {name: value for name, value in json.loads(line).items() if name != "hops"}
        for text, expected in ((line, 4), (json.dumps(older), 0)):
            plan = record.read(text.encode())
            assert isinstance(plan, Plan)
            house.store.call(plans.delete, plan.id)
            assert house.store.call(resettle.take_plan, plan)
            assert house.store.query(plans.show, plan.id).hops == expected

    def test_one_that_could_not_fire_is_not_imported(self, house: House) -> None:
        plan = planned(house, runAfter="1 minute")
        with pytest.raises(Invalid, match="not a number of hops"):
            house.store.call(resettle.take_plan, replace(plan, hops=10_001))


class TestGuests:
    def test_what_a_guest_plans_goes_on_with_its_chain(self, house: House) -> None:
        reach(house, 6)
        assert planned(house, by="ann", runAfter="1 minute").hops == 7
        assert planned(house, by="ann", hops=2, runAfter="1 minute").hops == 7
        assert planned(house, by="bob", runAfter="1 minute").hops == 0
        assert planned(house, "bob", by="ann", runAfter="1 minute").hops == 7

    def test_what_somebody_else_plans_for_it_does_not(self, house: House) -> None:
        reach(house, 6)
        assert planned(house, runAfter="1 minute").hops == 0
        assert planned(house, by="husam", runAfter="1 minute").hops == 0

    def test_who_sets_it_must_be_there(self, house: House) -> None:
        with pytest.raises(UnknownAddress):
            planned(house, by="nobody", runAfter="1 minute")


class TestResidents:
    def test_what_one_does_in_a_run_by_another_door_goes_on_with_it(self, house: House) -> None:
        house.store.call(agents.make_resident, "ann", AgentConfig())
        house.store.call(spaces.create, name="tea", members=["ann", "bob"])
        house.tell("go on", hops=6)
        taken = house.store.call(run_journal.take_run, "ann", "here")
        assert taken is not None
        house.tell("mail", "bob", sender="ann")
        house.store.call(spaces.post, "tea", sender="ann", content="hello")
        assert [item.event.hops for item in house.store.query(inbox.peek, "bob")] == [7, 7]
        assert planned(house, by="ann", runAfter="1 minute").hops == 7
        house.clock.advance("5 minutes")
        assert house.show(house.tell("slow", "bob", sender="ann"), "bob").event.hops == 7
        house.store.call(run_journal.skip_run, taken.run_lease)
        assert house.show(house.tell("later", "bob", sender="ann"), "bob").event.hops == 0

    def test_the_longest_chain_there_is_grows_no_longer(self, house: House) -> None:
        house.store.call(agents.make_resident, "ann", AgentConfig())
        house.tell("on and on", hops=MAX_HOPS)
        store = house.kit.open(limits=Limits(hops=MAX_HOPS))
        assert store.call(run_journal.take_run, "ann", "here") is not None
        assert house.show(house.tell("and on", "bob", sender="ann"), "bob").event.hops == MAX_HOPS

    @pytest.mark.parametrize(("named", "expected"), [(0, 13), (2, 13), (14, 14)])
    def test_hops_that_are_named_count_only_if_they_are_more(self, house: House, named: int, expected: int) -> None:
        reach(house, 12)
        assert house.show(house.tell("x", "bob", sender="ann", hops=named), "bob").event.hops == expected

    def test_a_number_of_hops_that_makes_no_sense_is_refused(self, house: House) -> None:
        reach(house, 12)
        with pytest.raises(Invalid, match="not a number of hops"):
            house.tell("x", "bob", sender="ann", hops=-1)


class TestGates:
    def gate(self, house: House, by: str | None = None, hops: int = 0, **fields: Any) -> Gate:
        wish = GateSpec(**{"name": "Sign-off", "owner": "ann"} | fields)
        return house.store.call(gates.add, wish, by=by, hops=hops)

    def told(self, house: House, type: EventType = EventType.GATE) -> list[int]:
        """The chains that ann is told of by what has ended."""
        while house.store.call(deadlines.end_due):
            pass
        return [item.event.hops for item in house.store.query(inbox.page, "ann") if item.event.type is type]

    @pytest.mark.parametrize(("plan", "resolved", "expected"), [(2, 5, 5), (5, 2, 5), (3, 0, 3)])
    def test_the_longer_chain_counts(self, house: House, plan: int, resolved: int, expected: int) -> None:
        gate = self.gate(house, kind=GateKind.HUMAN, awaits="bob")
        planned(house, onGate=gate.id, hops=plan)
        house.store.call(gates.resolve, gate.id, by="bob", hops=resolved)
        assert hops(house) == [expected]

    def test_a_guest_who_resolves_one_goes_on_with_its_chain(self, house: House) -> None:
        gate = self.gate(house, kind=GateKind.HUMAN, awaits="bob")
        planned(house, onGate=gate.id)
        reach(house, 8, "bob")
        house.store.call(gates.resolve, gate.id, by="bob")
        assert hops(house) == [9]

    def test_so_does_whoever_answers_a_decision(self, house: House) -> None:
        question = Question(question="Ship it?", options=(Option(id="yes", label="Yes"),), respondents=("bob",))
        decision = house.store.call(decisions.ask, question, by="ann", hops=2)
        planned(house, onGate=decision.gate, hops=2)
        house.store.call(decisions.answer, decision.id, AnswerSpec(option="yes"), by="bob", hops=4)
        assert hops(house) == [4]

    def test_a_timer_goes_on_with_the_chain_in_which_it_was_made(self, house: House) -> None:
        gate = self.gate(house, hops=LIMIT + 1, kind=GateKind.TIMER, within=MINUTE)
        planned(house, onGate=gate.id)
        house.clock.advance(MINUTE)
        assert (self.told(house), hops(house)) == ([LIMIT + 1], [LIMIT + 1])
        [alert] = house.store.query(inbox.peek, "admin")
        assert f"a chain of {LIMIT + 1} events reached 'ann'" in alert.event.content

    def test_what_ends_much_later_begins_anew(self, house: House) -> None:
        gate = self.gate(house, hops=LIMIT + 1, kind=GateKind.TIMER, within=5 * MINUTE)
        planned(house, onGate=gate.id, hops=LIMIT + 1)
        house.clock.advance("5 minutes")
        assert (self.told(house), hops(house)) == ([0], [0])

    def test_so_does_that_of_a_guest(self, house: House) -> None:
        reach(house, 6)
        self.gate(house, by="ann", kind=GateKind.TIMER, within=MINUTE)
        house.clock.advance(MINUTE)
        assert self.told(house) == [7]

    @pytest.mark.parametrize(("made", "came", "expected"), [(2, 5, 5), (5, 2, 5)])
    def test_what_a_gate_waited_for_may_be_a_longer_chain(
        self, house: House, made: int, came: int, expected: int
    ) -> None:
        self.gate(house, hops=made, kind=GateKind.MAIL, awaits="bob")
        house.tell("hello", type=EventType.MAIL, sender="bob", hops=came)
        assert self.told(house) == [expected]

    def test_what_was_looked_for_goes_on_too(self, house: House) -> None:
        house.rule(ci=["me/repo"])
        gate = self.gate(house, hops=3, kind=GateKind.CI, awaits="pr:7@me/repo")
        house.store.call(gates.record_check, gate.id, ConditionMet("green"), retry_in=MINUTE)
        assert self.told(house) == [3]

    def test_a_default_that_counts_goes_on_with_the_question(self, house: House) -> None:
        yes = Option(id="yes", label="Yes")
        question = Question(question="Ship it?", options=(yes,), respondents=("husam",), default="yes", within=MINUTE)
        decision = house.store.call(decisions.ask, question, by="ann", hops=4)
        planned(house, onGate=decision.gate)
        house.clock.advance(MINUTE)
        assert (self.told(house, EventType.DECISION), hops(house)) == ([4], [4])

    def test_a_person_begins_a_new_one(self, house: House) -> None:
        gate = self.gate(house, hops=LIMIT, kind=GateKind.HUMAN, awaits="husam")
        house.store.call(gates.resolve, gate.id, by="husam")
        assert self.told(house) == [0]


class TestAlerts:
    """What the house warns of is part of the chain, too."""

    def alerts(self, house: House, of: str = "ann") -> list[Item]:
        return [item for item in house.store.query(inbox.page, of) if item.event.type is EventType.ALERT]

    def test_a_plan_whose_gate_was_withdrawn(self, house: House) -> None:
        gate = house.store.call(gates.add, GateSpec(name="g", owner="ann", kind=GateKind.HUMAN, awaits="bob"), by="ann")
        planned(house, onGate=gate.id, hops=LIMIT + 1)
        house.store.call(gates.withdraw, gate.id, by="ann", hops=3)
        [alert] = self.alerts(house)
        assert (alert.event.hops, alert.event.wakes) == (LIMIT + 1, False)
        [told] = self.alerts(house, "admin")
        assert "a chain of" in told.event.content

    def test_a_gate_that_nobody_can_look_at(self, house: House) -> None:
        house.rule(ci=["me/repo"])
        wish = GateSpec(name="g", owner="ann", kind=GateKind.CI, awaits="pr:7@me/repo")
        gate = house.store.call(gates.add, wish, by="ann", hops=5)
        house.store.call(gates.record_check, gate.id, CheckFailed("gh is not there"), retry_in=MINUTE)
        assert [alert.event.hops for alert in self.alerts(house)] == [5]

    def test_one_that_is_its_own_owner_does_not_run_away_unheard(self, house: House) -> None:
        house.store.call(directory.update, "ann", owner="ann")
        house.tell("on and on", hops=LIMIT + 1)
        [told] = self.alerts(house, "admin")
        assert "'ann'" in told.event.content


def test_what_came_at_the_end_of_a_chain_is_only_taken_along(house: House) -> None:
    """It has woken nobody; who wakes the agent later begins, or goes on with, a chain of their own."""
    house.store.call(agents.make_resident, "ann", AgentConfig())
    for hops in (LIMIT + 1, 3, LIMIT + 2):
        house.tell(f"after {hops}", hops=hops)
    taken = house.store.call(run_journal.take_run, "ann", "here")
    assert taken is not None
    assert (taken.run_lease.run.events, taken.run_lease.run.hops) == (3, 3)


def test_a_question_that_is_asked_anew_goes_on_with_the_chain_of_whoever_does(house: House) -> None:
    question = Question(
        question="Ship it?", options=(Option(id="yes", label="Yes"),), respondents=("husam",), default="yes"
    )
    decision = house.store.call(decisions.ask, replace(question, within=60 * MINUTE), by="ann", hops=2)
    house.clock.advance("30 minutes")
    house.store.call(decisions.revise, decision.id, replace(question, within=MINUTE), by="ann", hops=9)
    house.clock.advance("1 minute")
    while house.store.call(deadlines.end_due):
        pass
    told = [item.event for item in house.store.query(inbox.page, "ann") if item.event.type is EventType.DECISION]
    assert [event.hops for event in told] == [9]
