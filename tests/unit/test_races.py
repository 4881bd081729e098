"""
Two verbs at once on PostgreSQL, stopped at the very place where it matters.

One verb is run as far as a certain statement, or to its end but not to its commit; then the other one is run, and then
the first goes on. SQLite has one writer at a time and needs none of this.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from gatepost.actions import (
    agents,
    deadlines,
    decisions,
    directory,
    gates,
    inbox,
    maintenance,
    plans,
    push,
    run_journal,
    runs,
)
from gatepost.actions.directory import EntitySpec
from gatepost.core import plan as plan_rules
from gatepost.core.decision import AnswerSpec, Decision, DecisionStatus, Question
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Push, PushResult
from gatepost.core.gate import Ending, Gate, GateSpec
from gatepost.core.limits import Limits
from gatepost.core.mind import ModelReply as Said
from gatepost.core.times import HOUR, MINUTE
from gatepost.errors import Conflict, Late, NotFound, Refused
from gatepost.ports import Store, Transaction
from gatepost.tables import checks
from gatepost.testing import Kit
from tests.residents import resident
from tests.unit.conftest import House, contents

PATIENCE = 20.0


class Watched:
    """A transaction that stops once before a statement."""

    def __init__(self, tx: Transaction, before: str | None, stop: Callable[[], None]) -> None:
        self._tx = tx
        self._before = before
        self._stop = stop

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._tx, name)
        if name not in ("fetch_one", "fetch_all", "execute", "execute_many"):
            return method

        def watched(statement: str, *args: Any, **kwargs: Any) -> Any:
            if statement == self._before:
                self._stop()
            return method(statement, *args, **kwargs)

        return watched


class Race(House):
    """Two stores on one database, and a way to stop one of them halfway."""

    def __init__(self, kit: Kit) -> None:
        super().__init__(kit)
        self.other: Store = kit.open()
        self.pool = ThreadPoolExecutor(4)

    @contextmanager
    def halfway(self, verb: Callable[..., Any], *args: Any, before: str | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run a verb up to a statement (or its commit) and hold it there; it goes on at the end of the block."""
        reached, go = threading.Event(), threading.Event()

        def stop() -> None:
            reached.set()
            assert go.wait(PATIENCE), "never let go"

        def stopping(tx: Transaction) -> Any:
            value = verb(Watched(tx, before, stop), *args, **kwargs)
            if before is None:
                stop()
            return value

        running: Future[Any] = self.pool.submit(self.other.call, stopping)
        assert reached.wait(PATIENCE), "never got there"
        try:
            yield running
        finally:
            go.set()
            wait([running], PATIENCE)

    def blocked(self, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> "Future[Any]":
        """Run a verb that will have to wait for the other one, and return when it does."""
        running: Future[Any] = self.pool.submit(self.store.call, verb, *args, **kwargs)
        with psycopg.connect(self.kit.url, autocommit=True) as connection:
            while not running.done():
                waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
                if connection.execute(waits).fetchone():
                    break
        return running

    def whole(self) -> bool:
        """Whether nothing is stuck, lost or unaccounted for."""
        return (
            self.balanced()
            and self.store.query(checks.stuck_items)[0] == 0
            and self.store.query(checks.lost_events)[0] == 0
        )


@pytest.fixture
def race(swept_url: str) -> Iterator[Race]:
    with Kit(swept_url) as kit:
        race = Race(kit)
        with race.pool:
            yield race


def wish(content: str = "tea", to: str = "ann", **more: Any) -> Push:
    return Push(to=to, source="test", content=content, **more)


def test_two_claims_share_nothing(race: Race) -> None:
    for number in range(4):
        race.tell(str(number))
    with race.halfway(inbox.claim, "ann", owner="one", limit=2) as one:
        two = race.blocked(inbox.claim, "ann", owner="two", limit=2)
    assert contents(one.result(PATIENCE)) == ["0", "1"]
    assert contents(two.result(PATIENCE)) == ["2", "3"]
    assert two.result().claim.fence > one.result().claim.fence
    assert race.whole()


def test_a_claim_never_gets_what_expires_meanwhile(race: Race) -> None:
    event = race.tell(ttl=MINUTE)
    with race.halfway(inbox.claim, "ann", owner="me", before="items/take") as claiming:
        race.clock.advance(MINUTE)
        assert race.store.call(maintenance.expire_items) == 1
    assert claiming.result(PATIENCE).claim is None
    assert race.show(event).state is ItemState.EXPIRED
    assert race.whole()


def test_what_is_being_claimed_does_not_expire(race: Race) -> None:
    event = race.tell(ttl=MINUTE)
    with race.halfway(inbox.claim, "ann", owner="me") as claiming:
        race.clock.advance(MINUTE)
        assert race.store.call(maintenance.expire_items) == 0
    claim = claiming.result(PATIENCE).claim
    assert race.ack(claim) == 1
    assert race.show(event).state is ItemState.DELIVERED


def test_what_is_discarded_meanwhile_is_not_claimed(race: Race) -> None:
    first = race.tell("1")
    race.tell("2")
    with race.halfway(inbox.claim, "ann", owner="me", before="items/take") as claiming:
        race.store.call(inbox.discard, first)
    assert contents(claiming.result(PATIENCE)) == ["2"]
    assert race.whole()


@pytest.mark.parametrize("before", ["items/insert", "events/insert", None])
def test_a_key_pushed_twice_at_once_is_delivered_once(race: Race, before: str | None) -> None:
    with race.halfway(push.push_event, wish("one", key="k"), before=before) as one:
        two = race.blocked(push.push_event, wish("two", key="k"))
    first, second = one.result(PATIENCE), two.result(PATIENCE)
    assert sorted(pushed.deliveries[0].duplicate for pushed in (first, second)) == [False, True]
    assert first.event == second.event
    assert len(race.waiting()) == 1
    assert race.whole()


def test_keys_pushed_in_two_orders_at_once_are_delivered_once(race: Race) -> None:
    there = [wish("1", key="1"), wish("2", key="2"), wish("3", to="bob", key="1")]
    with race.halfway(push.push_all, there) as one:
        two = race.blocked(push.push_all, there[::-1])
    for outcome in (*one.result(PATIENCE), *two.result(PATIENCE)):
        assert isinstance(outcome, PushResult)
    assert (len(race.waiting("ann")), len(race.waiting("bob"))) == (2, 1)
    assert race.whole()


def test_verbs_that_deadlock_are_run_again(race: Race) -> None:
    """Each holds what the other wants; the database ends one of them, and it is run again."""
    both, tries = threading.Barrier(2), []

    def lock(tx: Transaction, first: str, second: str) -> list[str]:
        inbox.claim(tx, first, owner="me")
        tries.append(first)
        if tries.count(first) == 1:
            both.wait(PATIENCE)
        inbox.claim(tx, second, owner="me")
        return [first, second]

    one = race.pool.submit(race.store.call, lock, "ann", "bob")
    two = race.pool.submit(race.other.call, lock, "bob", "ann")
    assert one.result(PATIENCE) == ["ann", "bob"]
    assert two.result(PATIENCE) == ["bob", "ann"]
    assert len(tries) > 2


def test_a_repeat_of_what_is_just_reaped_is_accepted_anew(race: Race) -> None:
    race.tell("old", key="k")
    race.ack(race.take())
    race.clock.advance(Limits().remember)
    with race.halfway(push.push_event, wish("new", key="k"), before="items/keyed") as pushing:
        assert race.store.call(maintenance.reap) > 0
    assert pushing.result(PATIENCE).deliveries[0].duplicate is False
    assert race.waiting() == ["new"]
    assert race.whole()


def test_a_repeat_waits_for_the_reaper(race: Race) -> None:
    race.tell("old", key="k")
    race.ack(race.take())
    race.clock.advance(Limits().remember)
    with race.halfway(maintenance.reap):
        pushing = race.blocked(push.push_event, wish("new", key="k"))
    assert pushing.result(PATIENCE).deliveries[0].duplicate is False
    assert race.waiting() == ["new"]
    assert race.whole()


def test_two_reapers_leave_no_event_behind(race: Race) -> None:
    event = race.tell(to="team:red")
    race.ack(race.take("ann"))
    race.ack(race.take("bob"))
    race.clock.advance(Limits().remember)
    with race.halfway(maintenance.reap, limit=1):
        second = race.blocked(maintenance.reap, limit=1)
    second.result(PATIENCE)
    while race.store.call(maintenance.reap):
        pass
    with pytest.raises(NotFound):
        race.show(event)
    assert race.whole()


@pytest.mark.parametrize("before", ["names/insert", None])
def test_a_registration_and_a_broadcast_take_turns(race: Race, before: str | None) -> None:
    newcomer = EntitySpec(name="cem", kind=EntityKind.AGENT)
    with race.halfway(directory.register, newcomer, before=before):
        casting = race.blocked(push.push_event, wish("to all", to="*"))
    assert casting.result(PATIENCE).broadcast == 1
    assert contents(race.claim("cem")) == ["to all"]
    with race.halfway(push.push_event, wish("2", to="*"), before=before and "broadcasts/insert"):
        registering = race.blocked(directory.register, EntitySpec(name="dan", kind=EntityKind.AGENT))
    registering.result(PATIENCE)
    assert race.claim("dan").claim is None
    assert contents(race.claim("cem")) == ["2"]
    assert race.whole()


def test_a_broadcast_that_is_not_committed_yet_is_taken_later(race: Race) -> None:
    with race.halfway(push.push_event, wish("to all", to="*")):
        assert race.claim("ann").claim is None
    assert contents(race.claim("ann")) == ["to all"]
    assert contents(race.claim("bob")) == ["to all"]


def test_broadcasts_with_one_key_at_once_are_one(race: Race) -> None:
    with race.halfway(push.push_event, wish("one", to="*", key="k")) as one:
        two = race.blocked(push.push_event, wish("two", to="*", key="k"))
    assert two.result(PATIENCE).event == one.result(PATIENCE).event
    assert two.result().duplicate
    assert contents(race.claim("ann")) == ["one"]


def test_a_broadcast_is_taken_once_by_two_claims(race: Race) -> None:
    race.tell("to all", to="*")
    with race.halfway(inbox.claim, "ann", owner="one") as one:
        two = race.blocked(inbox.claim, "ann", owner="two")
    assert contents(one.result(PATIENCE)) == ["to all"]
    assert two.result(PATIENCE).claim is None
    assert race.whole()


def test_a_claim_is_not_taken_back_while_it_is_acked(race: Race) -> None:
    race.tell()
    claim = race.take()
    race.clock.advance(MINUTE)
    with race.halfway(inbox.ack, claim.id, owner="me", fence=claim.fence) as acking:
        assert race.claim(owner="next").claim is None
        assert race.store.call(maintenance.lapse_claims) == 0
    assert acking.result(PATIENCE) == 1
    assert race.claim(owner="next").claim is None
    assert race.whole()


def test_an_ack_comes_too_late_while_the_claim_is_taken_back(race: Race) -> None:
    race.tell()
    claim = race.take()
    race.clock.advance(MINUTE)
    with race.halfway(inbox.claim, "ann", owner="next") as taking:
        acking = race.blocked(inbox.ack, claim.id, owner="me", fence=claim.fence)
    with pytest.raises(Conflict, match="lapsed"):
        acking.result(PATIENCE)
    assert contents(taking.result(PATIENCE)) == ["tea"]
    assert race.whole()


@pytest.mark.parametrize("ending", ["ack", "release", "lapse"])
def test_nothing_is_stuck_in_a_claim_that_ends_while_more_is_pulled(race: Race, ending: str) -> None:
    race.tell("1")
    race.tell("2")
    claim = race.take(limit=1)
    race.clock.advance(MINUTE)
    with race.halfway(inbox.pull, claim.id, owner="me", fence=claim.fence, before="items/take") as pulling:
        if ending == "lapse":
            ended = race.blocked(maintenance.lapse_claims)
        else:
            ended = race.blocked(getattr(inbox, ending), claim.id, owner="me", fence=claim.fence)
    pulling.result(PATIENCE)
    ended.result(PATIENCE)
    race.store.call(maintenance.lapse_claims)
    assert race.whole()
    assert race.waiting() == {"ack": [], "release": ["1", "2"], "lapse": ["1", "2"]}[ending]


def test_nothing_is_pulled_into_a_claim_that_is_ending(race: Race) -> None:
    race.tell("1")
    race.tell("2")
    claim = race.take(limit=1)
    with race.halfway(inbox.ack, claim.id, owner="me", fence=claim.fence):
        pulling = race.blocked(inbox.pull, claim.id, owner="me", fence=claim.fence)
    with pytest.raises(Conflict, match="acked already"):
        pulling.result(PATIENCE)
    assert race.waiting() == ["2"]
    assert race.whole()


def test_a_person_is_done_once(race: Race) -> None:
    event = race.tell(to="husam")
    with race.halfway(inbox.mark_done, "husam", event):
        again = race.blocked(inbox.mark_done, "husam", event)
    with pytest.raises(Conflict, match="is delivered for 'husam'"):
        again.result(PATIENCE)
    assert race.whole()


def test_what_is_replayed_twice_at_once_waits_once(race: Race) -> None:
    event = race.tell()
    race.store.call(inbox.discard, event)
    with race.halfway(inbox.replay, event):
        again = race.blocked(inbox.replay, event)
    with pytest.raises(Conflict):
        again.result(PATIENCE)
    assert race.waiting() == ["tea"]
    assert race.whole()


def test_a_run_and_a_drain_do_not_both_have_the_inbox(race: Race) -> None:
    race.tell("1")
    race.tell("2")
    with race.halfway(inbox.claim, "ann", owner="run_1", kind="run", limit=1):
        draining = race.blocked(inbox.claim, "ann", owner="me", limit=1)
    with pytest.raises(Conflict, match="is thinking"):
        draining.result(PATIENCE)


def test_names_are_given_once(race: Race) -> None:
    with race.halfway(directory.register, EntitySpec(name="cem", kind=EntityKind.AGENT, aliases=["x"])):
        second = race.blocked(directory.register, EntitySpec(name="x", kind=EntityKind.AGENT))
    with pytest.raises(Conflict, match="an alias of 'cem'"):
        second.result(PATIENCE)


def test_accounts_balance_in_the_middle_of_things(race: Race) -> None:
    race.tell(ttl=HOUR)
    with race.halfway(push.push_event, wish("more", to="team:red")):
        assert race.balanced()
    with race.halfway(inbox.claim, "ann", owner="me"):
        assert race.balanced()
    assert race.whole()


def closed(race: Race, **fields: Any) -> Gate:
    return race.store.call(gates.add, GateSpec(name="review", owner="ann", awaits="husam", **fields), by="admin")


def question(race: Race, *of: str) -> Decision:
    return race.store.call(
        decisions.ask, Question(question="Ship?", free_text=True, respondents=of, within=HOUR), by="ann"
    )


def test_a_gate_is_ended_once(race: Race) -> None:
    gate = closed(race, waiters=("bob",))
    with race.halfway(gates.resolve, gate.id, by="husam", reason="fine"):
        late = race.blocked(gates.withdraw, gate.id, by="admin")
    with pytest.raises(Late, match="resolved already by 'husam': 'fine'"):
        late.result(PATIENCE)
    assert race.listed("bob") == ["review: fine"]
    assert race.whole()


def test_a_deadline_does_not_wait_for_whoever_just_ends_the_gate(race: Race) -> None:
    """Nor does it end it again, or stop at it: what another has in hand is passed over."""
    gate, other = closed(race, within=HOUR), closed(race, within=HOUR)
    with race.halfway(gates.resolve, gate.id, by="husam"):
        race.clock.advance(HOUR)
        assert race.store.call(deadlines.end_due) == 1
        assert race.store.query(gates.show, other.id).resolution is not None
    assert race.store.call(deadlines.end_due) == 0
    found = race.store.query(gates.show, gate.id).resolution
    assert found is not None
    assert found.ending is Ending.RESOLVED
    assert race.whole()


def test_two_answers_at_once_are_one(race: Race) -> None:
    made = question(race, "husam", "admin")
    with race.halfway(decisions.answer, made.id, AnswerSpec(text="yes"), by="husam", before="answers/insert"):
        late = race.blocked(decisions.answer, made.id, AnswerSpec(text="no"), by="admin")
    with pytest.raises(Late, match="answered already by 'husam': 'yes'"):
        late.result(PATIENCE)
    assert race.whole()


def test_an_answer_to_what_is_just_revised_is_refused(race: Race) -> None:
    made = question(race, "husam")
    again = Question(question="Ship now?", free_text=True)
    with race.halfway(decisions.revise, made.id, again, by="ann"):
        late = race.blocked(
            decisions.answer, made.id, AnswerSpec(text="yes", context_hash=made.context_hash), by="husam"
        )
    with pytest.raises(Conflict, match="has changed"):
        late.result(PATIENCE)
    assert race.store.query(decisions.show, made.id).status is DecisionStatus.PENDING


def test_one_who_leaves_while_being_asked_leaves_no_question_behind(race: Race) -> None:
    with race.halfway(
        decisions.ask, Question(question="Ship?", free_text=True, respondents=("husam",)), by="ann"
    ) as asking:
        leaving = race.blocked(directory.retire, "husam")
    leaving.result(PATIENCE)
    assert race.store.query(decisions.show, asking.result().id).status is DecisionStatus.ORPHANED
    with race.halfway(directory.retire, "bob"):
        asking = race.blocked(decisions.ask, Question(question="Ship?", free_text=True, respondents=("bob",)), by="ann")
    with pytest.raises(Refused, match="retired"):
        asking.result(PATIENCE)
    assert race.store.query(gates.list_blocking, "ann") == []
    assert race.whole()


def test_one_who_leaves_while_a_gate_is_made_leaves_no_gate_behind(race: Race) -> None:
    with race.halfway(gates.add, GateSpec(name="review", awaits="husam"), by="ann") as making:
        leaving = race.blocked(directory.retire, "husam")
    leaving.result(PATIENCE)
    found = race.store.query(gates.show, making.result().id).resolution
    assert found is not None
    assert found.ending is Ending.ORPHANED


def test_a_plan_that_is_made_while_its_gate_ends_fires(race: Race) -> None:
    gate = closed(race)
    wanted = plan_rules.parse_spec({"name": "go on", "onGate": gate.id})
    with race.halfway(gates.resolve, gate.id, by="husam"):
        planning = race.blocked(plans.set_plan, "ann", wanted)
    assert planning.result(PATIENCE).next_at is not None
    other = closed(race)
    wanted = plan_rules.parse_spec({"name": "go on", "onGate": other.id})
    with race.halfway(plans.set_plan, "ann", wanted) as planned:
        ending = race.blocked(gates.resolve, other.id, by="husam")
    ending.result(PATIENCE)
    assert race.store.query(plans.show, planned.result().id).next_at is not None


def test_who_waits_for_a_lease_knows_what_came_of_the_cycle_before(race: Race) -> None:
    resident(race.store)
    race.store.call(push.push_event, wish(to="thinker"))
    first = race.store.call(run_journal.take_run, "thinker", "one")
    assert first is not None
    race.store.call(push.push_event, wish("more", to="thinker"))
    with race.halfway(run_journal.finish_run, first.run_lease, 2, Said("Done."), summary="Done."):
        waiting = race.blocked(run_journal.take_run, "thinker", "two")
    second = waiting.result(PATIENCE)
    assert (second.run_lease.run.cycle, second.run_lease.resident.cycles) == (2, 1)
    race.store.call(run_journal.finish_run, second.run_lease, 2, Said("Done again."), summary="Done again.")
    now = race.store.query(agents.show, "thinker")
    assert now is not None
    assert (now.cycles, now.tokens) == (2, race.store.query(runs.read_mind, "thinker").tokens)


def test_who_waits_for_a_lease_rests_if_the_cycle_before_has_failed(race: Race) -> None:
    resident(race.store)
    race.store.call(push.push_event, wish(to="thinker"))
    first = race.store.call(run_journal.take_run, "thinker", "one")
    assert first is not None
    with race.halfway(run_journal.release_run, first.run_lease, "content", "no", MINUTE):
        waiting = race.blocked(run_journal.take_run, "thinker", "two")
    assert waiting.result(PATIENCE) is None
    race.clock.advance("1 minute")
    second = race.store.call(run_journal.take_run, "thinker", "two")
    assert second is not None, "the lease was given back"
    assert second.run_lease.resident.failures == 1
