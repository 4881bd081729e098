"""Time never stands still: small steps back are hidden, large ones are followed and repaired (X7)."""

import pytest
from hypothesis import given, strategies as st

from gatepost.core.ports import Store
from gatepost.core.times import CLOCK_TOLERANCE, HOUR, MINUTE, SECOND, Duration, Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox, expiry_actions as expiry
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push_actions
from gatepost.jobs import job_actions as jobs, lease_actions as leases
from gatepost.plans import actions as plans, plan as plan_rules
from gatepost.plans.plan import PlanSpec
from gatepost.stores.clock import SystemClock
from gatepost.testing import Kit
from gatepost.worker import clock_repair_actions as clock_repair, janitor

#: 2026-02-18T09:00:00Z
START = 1_771_405_200 * SECOND


class Machine:
    """A wall clock that can be set, and a monotonic clock that cannot."""

    def __init__(self) -> None:
        self.wall: Instant = START
        self.monotonic: Duration = 0
        self.clock = SystemClock(lambda: self.wall * 1000, lambda: self.monotonic * 1000)

    def pass_time(self, length: Duration) -> None:
        self.wall += length
        self.monotonic += length


def test_a_small_step_back_is_hidden_and_caught_up_with() -> None:
    machine = Machine()
    before = machine.clock.now()
    machine.wall -= 2 * MINUTE
    assert machine.clock.now() == before
    machine.pass_time(10 * SECOND)
    assert before < machine.clock.now() <= before + 10 * SECOND, "time goes on"
    for _ in range(30):
        machine.pass_time(MINUTE)
        machine.clock.now()
    assert machine.clock.now() == machine.wall


def test_a_large_step_back_is_followed_at_once() -> None:
    machine = Machine()
    machine.clock.now()
    machine.wall -= 2 * HOUR
    assert machine.clock.now() == machine.wall
    machine.pass_time(SECOND)
    assert machine.clock.now() == machine.wall


@given(st.lists(st.tuples(st.integers(0, HOUR), st.integers(-3 * HOUR, 3 * HOUR)), max_size=30))
def test_time_goes_back_only_when_it_was_far_ahead_and_is_never_far_ahead(steps: list[tuple[int, int]]) -> None:
    machine = Machine()
    before = machine.clock.now()
    for elapsed, step in steps:
        machine.pass_time(elapsed)
        machine.wall += step
        now = machine.clock.now()
        assert machine.wall <= now <= machine.wall + CLOCK_TOLERANCE
        assert now >= before or before + elapsed - machine.wall > CLOCK_TOLERANCE
        before = now


@pytest.fixture
def store(kit: Kit) -> Store:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.run_sync(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT))
    return kit.store


def push_event(store: Store) -> str:
    return store.run_sync(push_actions.push_event, Push(to="analyst", source="test", content="hello")).event


def test_a_lease_that_was_taken_in_the_future_has_lapsed(kit: Kit, store: Store) -> None:
    kit.clock.advance("2 hours")
    old_lease = store.run_sync(leases.take, "duty:janitor", "old", 30 * SECOND)
    kit.clock.set_back("2 hours")
    new_lease = store.run_sync(leases.take, "duty:janitor", "new", 30 * SECOND)
    assert old_lease is not None
    assert new_lease is not None
    assert new_lease.fence > old_lease.fence


def test_a_lease_that_is_only_a_little_ahead_holds(kit: Kit, store: Store) -> None:
    kit.clock.advance("4 minutes")
    assert store.run_sync(leases.take, "duty:janitor", "old", 30 * SECOND) is not None
    kit.clock.set_back("4 minutes")
    assert store.run_sync(leases.take, "duty:janitor", "new", 30 * SECOND) is None


def test_a_holder_brings_its_lease_back_from_the_future(kit: Kit, store: Store) -> None:
    kit.clock.advance("2 hours")
    lease = store.run_sync(leases.take, "agent:analyst", "old", 30 * SECOND)
    assert lease is not None
    kit.clock.set_back("2 hours")
    store.run_sync(leases.require_and_extend, lease, 30 * SECOND)
    assert store.run_sync(leases.take, "agent:analyst", "new", 30 * SECOND) is None
    kit.clock.advance("31s")
    assert store.run_sync(leases.take, "agent:analyst", "new", 30 * SECOND) is not None


def test_a_claim_that_was_taken_in_the_future_has_lapsed(kit: Kit, store: Store) -> None:
    push_event(store)
    kit.clock.advance("2 hours")
    assert store.run_sync(inbox.claim, "analyst", owner="old").items
    kit.clock.set_back("2 hours")
    assert store.run_sync(inbox.claim, "analyst", owner="new").items


def test_the_janitor_gives_back_what_was_claimed_in_the_future(kit: Kit, store: Store) -> None:
    push_event(store)
    kit.clock.advance("2 hours")
    store.run_sync(inbox.claim, "analyst", owner="old")
    kit.clock.set_back("2 hours")
    assert store.run_sync(expiry.lapse_claims) == 1
    assert store.read_sync(inbox.peek, "analyst")


async def follow_clock(kit: Kit) -> None:
    await janitor.follow_clock(kit.store)


async def test_a_plan_that_recurs_is_due_at_its_time_again(kit: Kit, store: Store) -> None:
    spec = PlanSpec(name="hourly", instruction="look", schedule=plan_rules.parse_schedule(cron="30 * * * *"))
    plan = store.run_sync(plans.set_plan, "analyst", spec)
    await follow_clock(kit)
    kit.clock.advance("2 hours")
    assert store.run_sync(plans.fire) == 1
    await follow_clock(kit)
    kit.clock.set_back("2 hours")
    await follow_clock(kit)
    assert store.read_sync(plans.show, plan.id).next_at == kit.clock.now() + 30 * MINUTE


async def test_a_slot_that_fired_ahead_of_its_time_does_not_fire_again(kit: Kit, store: Store) -> None:
    spec = PlanSpec(name="hourly", instruction="look", schedule=plan_rules.parse_schedule(cron="30 * * * *"))
    store.run_sync(plans.set_plan, "analyst", spec)
    await follow_clock(kit)
    kit.clock.advance("30 minutes")
    store.run_sync(plans.fire)
    await follow_clock(kit)
    kit.clock.set_back("20 minutes")
    await follow_clock(kit)
    kit.clock.advance("20 minutes")
    store.run_sync(plans.fire)
    assert len(store.read_sync(inbox.peek, "analyst")) == 1
    kit.clock.advance("1 hour")
    store.run_sync(plans.fire)
    assert len(store.read_sync(inbox.peek, "analyst")) == 2


async def test_what_only_waits_for_its_next_try_is_tried(kit: Kit, store: Store) -> None:
    await follow_clock(kit)
    kit.clock.advance("2 hours")
    store.run_sync(jobs.add, "nudge", {})
    [job] = store.run_sync(jobs.take, ["nudge"], "worker")
    store.run_sync(jobs.fail, job, "worker", "no answer")
    await follow_clock(kit)
    kit.clock.set_back("2 hours")
    assert not store.run_sync(jobs.take, ["nudge"], "worker")
    await follow_clock(kit)
    assert store.run_sync(jobs.take, ["nudge"], "worker")


async def test_a_clock_that_was_not_set_back_repairs_nothing(kit: Kit, store: Store) -> None:
    await follow_clock(kit)
    store.run_sync(jobs.add, "nudge", {})
    [job] = store.run_sync(jobs.take, ["nudge"], "worker")
    store.run_sync(jobs.fail, job, "worker", "no answer", retry_in=HOUR)
    kit.clock.set_back("4 minutes")
    await follow_clock(kit)
    assert not store.run_sync(jobs.take, ["nudge"], "worker")


async def test_it_is_noticed_also_when_the_clock_was_set_back_while_nothing_ran(kit: Kit, store: Store) -> None:
    await follow_clock(kit)
    assert not store.read_sync(clock_repair.was_clock_set_back)
    kit.clock.set_back("2 hours")
    assert store.read_sync(clock_repair.was_clock_set_back)
    await follow_clock(kit)
    assert not store.read_sync(clock_repair.was_clock_set_back)
