"""
Two verbs at once on PostgreSQL, stopped at the very place where it matters.

One verb is run as far as a certain statement, or to its end but not to its commit; then the other one is run, and then
the first goes on. SQLite has one writer at a time and needs none of this.
"""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from gatepost.core.policy import Policy
from gatepost.core.ports import Transaction
from gatepost.core.times import HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Late, NotFound, Refused
from gatepost.gates import automatic_end_actions as automatic_ends, decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Decision, DecisionStatus, Question
from gatepost.gates.gate import Ending, Gate, GateSpec
from gatepost.inbox import claim_actions as inbox, expiry_actions as expiry, item_actions as inbox_items
from gatepost.inbox.event import ItemState, Push, PushResult
from gatepost.inbox.push import actions as push
from gatepost.plans import actions as plans
from gatepost.residents import agent_actions as agents
from gatepost.residents.model_port import ModelReply as Said
from gatepost.residents.runs import actions as runs, ending_actions as run_endings, resume_actions as run_resume
from gatepost.testing import Kit
from gatepost.worker import retention_actions as retention
from tests.plans.plan_specs import parse_spec
from tests.residents.resident_runs import create_resident
from tests.support.races import Race
from tests.support.store_context import list_contents
from tests.support.waits import LAST_RESORT


@pytest.fixture
def race(empty_postgres_url: str) -> Iterator[Race]:
    with Kit(empty_postgres_url) as kit:
        race = Race(kit)
        with race.pool:
            yield race


def build_push(content: str = "tea", to: str = "ann", **fields: Any) -> Push:
    return Push(to=to, source="test", content=content, **fields)


def test_two_claims_share_nothing(race: Race) -> None:
    for number in range(4):
        race.push_event(str(number))
    with race.pause_midway(inbox.claim, "ann", owner="one", limit=2) as first_future:
        second_future = race.start_blocked(inbox.claim, "ann", owner="two", limit=2)
    assert list_contents(first_future.result(LAST_RESORT)) == ["0", "1"]
    assert list_contents(second_future.result(LAST_RESORT)) == ["2", "3"]
    assert second_future.result().claim.fence > first_future.result().claim.fence
    assert race.is_consistent()


def test_a_claim_never_gets_what_expires_meanwhile(race: Race) -> None:
    event = race.push_event(ttl=MINUTE)
    with race.pause_midway(inbox.claim, "ann", owner="me", before="inbox/item_changes/leave") as claim_future:
        race.clock.advance(MINUTE)
        assert race.store.run_sync(expiry.expire_items) == 1
    assert claim_future.result(LAST_RESORT).claim is None
    assert race.show_item(event).state is ItemState.EXPIRED
    assert race.is_consistent()


def test_what_is_being_claimed_does_not_expire(race: Race) -> None:
    event = race.push_event(ttl=MINUTE)
    with race.pause_midway(inbox.claim, "ann", owner="me") as claim_future:
        race.clock.advance(MINUTE)
        assert race.store.run_sync(expiry.expire_items) == 0
    claim = claim_future.result(LAST_RESORT).claim
    assert race.ack(claim) == 1
    assert race.show_item(event).state is ItemState.DELIVERED


def test_what_is_discarded_meanwhile_is_not_claimed(race: Race) -> None:
    first = race.push_event("1")
    race.push_event("2")
    with race.pause_midway(inbox.claim, "ann", owner="me", before="inbox/item_changes/leave") as claim_future:
        race.store.run_sync(inbox_items.discard, first)
    assert list_contents(claim_future.result(LAST_RESORT)) == ["2"]
    assert race.is_consistent()


@pytest.mark.parametrize("before", ["inbox/items/insert", "inbox/events/insert", None])
def test_a_key_pushed_twice_at_once_is_delivered_once(race: Race, before: str | None) -> None:
    with race.pause_midway(push.push_event, build_push("one", dedup_key="k"), before=before) as first_future:
        second_future = race.start_blocked(push.push_event, build_push("two", dedup_key="k"))
    first, second = first_future.result(LAST_RESORT), second_future.result(LAST_RESORT)
    assert sorted(pushed.deliveries[0].duplicate for pushed in (first, second)) == [False, True]
    assert first.event == second.event
    assert len(race.list_waiting()) == 1
    assert race.is_consistent()


def test_keys_pushed_in_two_orders_at_once_are_delivered_once(race: Race) -> None:
    pushes = [build_push("1", dedup_key="1"), build_push("2", dedup_key="2"), build_push("3", to="bob", dedup_key="1")]
    with race.pause_midway(push.push_all, pushes) as first_future:
        second_future = race.start_blocked(push.push_all, pushes[::-1])
    for outcome in (*first_future.result(LAST_RESORT), *second_future.result(LAST_RESORT)):
        assert isinstance(outcome, PushResult)
    assert (len(race.list_waiting("ann")), len(race.list_waiting("bob"))) == (2, 1)
    assert race.is_consistent()


def test_verbs_that_deadlock_are_run_again(race: Race) -> None:
    """Each holds what the other wants; the database ends one of them, and it is run again."""
    barrier, attempts = threading.Barrier(2), []

    def claim_both(tx: Transaction, first: str, second: str) -> list[str]:
        inbox.claim(tx, first, owner="me")
        attempts.append(first)
        if attempts.count(first) == 1:
            barrier.wait(LAST_RESORT)
        inbox.claim(tx, second, owner="me")
        return [first, second]

    first_future = race.pool.submit(race.store.run_sync, claim_both, "ann", "bob")
    second_future = race.pool.submit(race.other_store.run_sync, claim_both, "bob", "ann")
    assert first_future.result(LAST_RESORT) == ["ann", "bob"]
    assert second_future.result(LAST_RESORT) == ["bob", "ann"]
    assert len(attempts) > 2


def test_a_repeat_of_what_is_just_reaped_is_accepted_anew(race: Race) -> None:
    race.push_event("old", dedup_key="k")
    race.ack(race.take_claim())
    race.clock.advance(Policy().remember)
    with race.pause_midway(
        push.push_event, build_push("new", dedup_key="k"), before="inbox/dedup_keys/find_events"
    ) as push_future:
        assert race.store.run_sync(retention.reap) > 0
    assert push_future.result(LAST_RESORT).deliveries[0].duplicate is False
    assert race.list_waiting() == ["new"]
    assert race.is_consistent()


def test_a_repeat_waits_for_the_reaper(race: Race) -> None:
    race.push_event("old", dedup_key="k")
    race.ack(race.take_claim())
    race.clock.advance(Policy().remember)
    with race.pause_midway(retention.reap):
        push_future = race.start_blocked(push.push_event, build_push("new", dedup_key="k"))
    assert push_future.result(LAST_RESORT).deliveries[0].duplicate is False
    assert race.list_waiting() == ["new"]
    assert race.is_consistent()


def test_two_reapers_leave_no_event_behind(race: Race) -> None:
    event = race.push_event(to="team:red")
    race.ack(race.take_claim("ann"))
    race.ack(race.take_claim("bob"))
    race.clock.advance(Policy().remember)
    with race.pause_midway(retention.reap, limit=1):
        second = race.start_blocked(retention.reap, limit=1)
    second.result(LAST_RESORT)
    while race.store.run_sync(retention.reap):
        pass
    with pytest.raises(NotFound):
        race.show_item(event)
    assert race.is_consistent()


@pytest.mark.parametrize("before", ["directory/names/insert", None])
def test_a_registration_and_a_broadcast_take_turns(race: Race, before: str | None) -> None:
    newcomer = EntitySpec(name="cem", kind=EntityKind.AGENT)
    with race.pause_midway(directory.register, newcomer, before=before):
        push_future = race.start_blocked(push.push_event, build_push("to all", to="*"))
    assert push_future.result(LAST_RESORT).broadcast == 1
    assert list_contents(race.claim("cem")) == ["to all"]
    with race.pause_midway(push.push_event, build_push("2", to="*"), before=before and "inbox/broadcasts/insert"):
        register_future = race.start_blocked(directory.register, EntitySpec(name="dan", kind=EntityKind.AGENT))
    register_future.result(LAST_RESORT)
    assert race.claim("dan").claim is None
    assert list_contents(race.claim("cem")) == ["2"]
    assert race.is_consistent()


def test_a_broadcast_that_is_not_committed_yet_is_taken_later(race: Race) -> None:
    with race.pause_midway(push.push_event, build_push("to all", to="*")):
        assert race.claim("ann").claim is None
    assert list_contents(race.claim("ann")) == ["to all"]
    assert list_contents(race.claim("bob")) == ["to all"]


def test_broadcasts_with_one_key_at_once_are_one(race: Race) -> None:
    with race.pause_midway(push.push_event, build_push("one", to="*", dedup_key="k")) as first_future:
        second_future = race.start_blocked(push.push_event, build_push("two", to="*", dedup_key="k"))
    assert second_future.result(LAST_RESORT).event == first_future.result(LAST_RESORT).event
    assert second_future.result().duplicate
    assert list_contents(race.claim("ann")) == ["one"]


def test_a_broadcast_is_taken_once_by_two_claims(race: Race) -> None:
    race.push_event("to all", to="*")
    with race.pause_midway(inbox.claim, "ann", owner="one") as first_future:
        second_future = race.start_blocked(inbox.claim, "ann", owner="two")
    assert list_contents(first_future.result(LAST_RESORT)) == ["to all"]
    assert second_future.result(LAST_RESORT).claim is None
    assert race.is_consistent()


def test_a_claim_is_not_taken_back_while_it_is_acked(race: Race) -> None:
    race.push_event()
    claim = race.take_claim()
    race.clock.advance(MINUTE)
    with race.pause_midway(inbox.ack, claim.id, owner="me", fence=claim.fence) as ack_future:
        assert race.claim(owner="next").claim is None
        assert race.store.run_sync(expiry.lapse_claims) == 0
    assert ack_future.result(LAST_RESORT) == 1
    assert race.claim(owner="next").claim is None
    assert race.is_consistent()


def test_an_ack_comes_too_late_while_the_claim_is_taken_back(race: Race) -> None:
    race.push_event()
    claim = race.take_claim()
    race.clock.advance(MINUTE)
    with race.pause_midway(inbox.claim, "ann", owner="next") as claim_future:
        ack_future = race.start_blocked(inbox.ack, claim.id, owner="me", fence=claim.fence)
    with pytest.raises(Conflict, match="lapsed"):
        ack_future.result(LAST_RESORT)
    assert list_contents(claim_future.result(LAST_RESORT)) == ["tea"]
    assert race.is_consistent()


@pytest.mark.parametrize("ending", ["ack", "release", "lapse"])
def test_nothing_is_stuck_in_a_claim_that_ends_while_more_is_pulled(race: Race, ending: str) -> None:
    race.push_event("1")
    race.push_event("2")
    claim = race.take_claim(limit=1)
    race.clock.advance(MINUTE)
    with race.pause_midway(
        inbox.pull, claim.id, owner="me", fence=claim.fence, before="inbox/item_changes/leave"
    ) as pull_future:
        if ending == "lapse":
            end_future = race.start_blocked(expiry.lapse_claims)
        else:
            end_future = race.start_blocked(getattr(inbox, ending), claim.id, owner="me", fence=claim.fence)
    pull_future.result(LAST_RESORT)
    end_future.result(LAST_RESORT)
    race.store.run_sync(expiry.lapse_claims)
    assert race.is_consistent()
    assert race.list_waiting() == {"ack": [], "release": ["1", "2"], "lapse": ["1", "2"]}[ending]


def test_nothing_is_pulled_into_a_claim_that_is_ending(race: Race) -> None:
    race.push_event("1")
    race.push_event("2")
    claim = race.take_claim(limit=1)
    with race.pause_midway(inbox.ack, claim.id, owner="me", fence=claim.fence):
        pull_future = race.start_blocked(inbox.pull, claim.id, owner="me", fence=claim.fence)
    with pytest.raises(Conflict, match="acked already"):
        pull_future.result(LAST_RESORT)
    assert race.list_waiting() == ["2"]
    assert race.is_consistent()


def test_a_person_is_done_once(race: Race) -> None:
    event = race.push_event(to="husam")
    with race.pause_midway(inbox_items.mark_done, "husam", event):
        repeat_future = race.start_blocked(inbox_items.mark_done, "husam", event)
    with pytest.raises(Conflict, match="is delivered for 'husam'"):
        repeat_future.result(LAST_RESORT)
    assert race.is_consistent()


def test_what_is_replayed_twice_at_once_waits_once(race: Race) -> None:
    event = race.push_event()
    race.store.run_sync(inbox_items.discard, event)
    with race.pause_midway(inbox_items.replay, event):
        repeat_future = race.start_blocked(inbox_items.replay, event)
    with pytest.raises(Conflict):
        repeat_future.result(LAST_RESORT)
    assert race.list_waiting() == ["tea"]
    assert race.is_consistent()


def test_a_run_and_a_drain_do_not_both_have_the_inbox(race: Race) -> None:
    race.push_event("1")
    race.push_event("2")
    with race.pause_midway(inbox.claim, "ann", owner="run_1", kind="run", limit=1):
        claim_future = race.start_blocked(inbox.claim, "ann", owner="me", limit=1)
    with pytest.raises(Conflict, match="is thinking"):
        claim_future.result(LAST_RESORT)


def test_names_are_given_once(race: Race) -> None:
    with race.pause_midway(directory.register, EntitySpec(name="cem", kind=EntityKind.AGENT, aliases=["x"])):
        second = race.start_blocked(directory.register, EntitySpec(name="x", kind=EntityKind.AGENT))
    with pytest.raises(Conflict, match="an alias of 'cem'"):
        second.result(LAST_RESORT)


def test_accounts_balance_in_the_middle_of_things(race: Race) -> None:
    race.push_event(ttl=HOUR)
    with race.pause_midway(push.push_event, build_push("more", to="team:red")):
        assert race.is_balanced()
    with race.pause_midway(inbox.claim, "ann", owner="me"):
        assert race.is_balanced()
    assert race.is_consistent()


def create_gate(race: Race, **fields: Any) -> Gate:
    return race.store.run_sync(gates.add, GateSpec(name="review", owner="ann", awaits="husam", **fields), by="admin")


def ask_decision(race: Race, *recipients: str) -> Decision:
    return race.store.run_sync(
        decisions.ask, Question(question="Ship?", free_text=True, respondents=recipients, within=HOUR), by="ann"
    )


def test_a_gate_is_ended_once(race: Race) -> None:
    gate = create_gate(race, waiters=("bob",))
    with race.pause_midway(gates.resolve, gate.id, by="husam", reason="fine"):
        late_future = race.start_blocked(gates.withdraw, gate.id, by="admin")
    with pytest.raises(Late, match="resolved already by 'husam': 'fine'"):
        late_future.result(LAST_RESORT)
    assert race.list_inbox("bob") == ["review: fine"]
    assert race.is_consistent()


def test_a_deadline_does_not_wait_for_whoever_just_ends_the_gate(race: Race) -> None:
    """Nor does it end it again, or stop at it: what another has in hand is passed over."""
    gate, other = create_gate(race, within=HOUR), create_gate(race, within=HOUR)
    with race.pause_midway(gates.resolve, gate.id, by="husam"):
        race.clock.advance(HOUR)
        assert race.store.run_sync(automatic_ends.end_due) == 1
        assert race.store.read_sync(gates.show, other.id).resolution is not None
    assert race.store.run_sync(automatic_ends.end_due) == 0
    resolution = race.store.read_sync(gates.show, gate.id).resolution
    assert resolution is not None
    assert resolution.ending is Ending.RESOLVED
    assert race.is_consistent()


def test_two_answers_at_once_are_one(race: Race) -> None:
    decision = ask_decision(race, "husam", "admin")
    with race.pause_midway(
        decisions.answer, decision.id, AnswerSpec(text="yes"), by="husam", before="gates/answers/insert"
    ):
        late_future = race.start_blocked(decisions.answer, decision.id, AnswerSpec(text="no"), by="admin")
    with pytest.raises(Late, match="answered already by 'husam': 'yes'"):
        late_future.result(LAST_RESORT)
    assert race.is_consistent()


def test_an_answer_to_what_is_just_revised_is_refused(race: Race) -> None:
    decision = ask_decision(race, "husam")
    revision = Question(question="Ship now?", free_text=True)
    with race.pause_midway(decisions.revise, decision.id, revision, by="ann"):
        late_future = race.start_blocked(
            decisions.answer, decision.id, AnswerSpec(text="yes", context_hash=decision.context_hash), by="husam"
        )
    with pytest.raises(Conflict, match="has changed"):
        late_future.result(LAST_RESORT)
    assert race.store.read_sync(decisions.show, decision.id).status is DecisionStatus.PENDING


def test_one_who_leaves_while_being_asked_leaves_no_question_behind(race: Race) -> None:
    with race.pause_midway(
        decisions.ask, Question(question="Ship?", free_text=True, respondents=("husam",)), by="ann"
    ) as ask_future:
        retire_future = race.start_blocked(directory.retire, "husam")
    retire_future.result(LAST_RESORT)
    assert race.store.read_sync(decisions.show, ask_future.result().id).status is DecisionStatus.ORPHANED
    with race.pause_midway(directory.retire, "bob"):
        ask_future = race.start_blocked(
            decisions.ask, Question(question="Ship?", free_text=True, respondents=("bob",)), by="ann"
        )
    with pytest.raises(Refused, match="retired"):
        ask_future.result(LAST_RESORT)
    assert race.store.read_sync(gates.list_blocking, "ann") == []
    assert race.is_consistent()


def test_one_who_leaves_while_a_gate_is_made_leaves_no_gate_behind(race: Race) -> None:
    with race.pause_midway(gates.add, GateSpec(name="review", awaits="husam"), by="ann") as gate_future:
        retire_future = race.start_blocked(directory.retire, "husam")
    retire_future.result(LAST_RESORT)
    resolution = race.store.read_sync(gates.show, gate_future.result().id).resolution
    assert resolution is not None
    assert resolution.ending is Ending.ORPHANED


def test_a_plan_that_is_made_while_its_gate_ends_fires(race: Race) -> None:
    gate = create_gate(race)
    spec = parse_spec({"name": "go on", "onGate": gate.id})
    with race.pause_midway(gates.resolve, gate.id, by="husam"):
        plan_future = race.start_blocked(plans.set_plan, "ann", spec)
    assert plan_future.result(LAST_RESORT).next_at is not None
    other = create_gate(race)
    spec = parse_spec({"name": "go on", "onGate": other.id})
    with race.pause_midway(plans.set_plan, "ann", spec) as paused_plan_future:
        resolve_future = race.start_blocked(gates.resolve, other.id, by="husam")
    resolve_future.result(LAST_RESORT)
    assert race.store.read_sync(plans.show, paused_plan_future.result().id).next_at is not None


def test_who_waits_for_a_lease_knows_what_came_of_the_cycle_before(race: Race) -> None:
    create_resident(race.store)
    race.store.run_sync(push.push_event, build_push(to="thinker"))
    first = race.store.run_sync(run_resume.take_run, "thinker", "one")
    assert first is not None
    race.store.run_sync(push.push_event, build_push("more", to="thinker"))
    with race.pause_midway(run_endings.finish_run, first.run_lease, 2, Said("Done."), summary="Done."):
        take_future = race.start_blocked(run_resume.take_run, "thinker", "two")
    second = take_future.result(LAST_RESORT)
    assert (second.run_lease.run.cycle, second.run_lease.resident.cycles) == (2, 1)
    race.store.run_sync(run_endings.finish_run, second.run_lease, 2, Said("Done again."), summary="Done again.")
    resident_state = race.store.read_sync(agents.show, "thinker")
    assert resident_state is not None
    assert (resident_state.cycles, resident_state.tokens) == (2, race.store.read_sync(runs.read_mind, "thinker").tokens)


def test_who_waits_for_a_lease_rests_if_the_cycle_before_has_failed(race: Race) -> None:
    create_resident(race.store)
    race.store.run_sync(push.push_event, build_push(to="thinker"))
    first = race.store.run_sync(run_resume.take_run, "thinker", "one")
    assert first is not None
    with race.pause_midway(run_endings.release_run, first.run_lease, "content", "no", MINUTE):
        take_future = race.start_blocked(run_resume.take_run, "thinker", "two")
    assert take_future.result(LAST_RESORT) is None
    race.clock.advance("1 minute")
    second = race.store.run_sync(run_resume.take_run, "thinker", "two")
    assert second is not None, "the lease was given back"
    assert second.run_lease.resident.failures == 1
