"""
Three gateways tick on one database over weeks in which clocks change, forward and back, in several parts of the world.
Whoever gets a slot, it fires once; and what was missed is made up for as each plan says.
"""

import asyncio
import os
import random
from bisect import insort
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event

import psycopg
import pytest

from gatepost.core.ports import Store, Transaction
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, Duration, Instant, format_rfc3339, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, NotFound
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.jobs.periodic_duty_background import Duty, run_duties
from gatepost.plans import actions as plans, plan as rules
from gatepost.plans.cron import Cron
from gatepost.plans.missed_slots import GRACE, MAX_SLOTS
from gatepost.plans.plan import CatchUp, Plan, PlanSpec, PlanStatus
from gatepost.testing import FakeClock, Kit
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker import background_tasks
from tests.plans.plan_specs import parse_spec
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))
#: clocks change in Riga and on Lord Howe Island within the first, in Riga and New York within the second; at night
#: in all three within each
SEASONS = {
    "spring": ("2026-03-02T00:00:00Z", "2026-04-13T00:00:00Z")
    if NIGHTLY
    else ("2026-03-28T00:00:00Z", "2026-04-06T00:00:00Z"),
    "autumn": ("2026-09-28T00:00:00Z", "2026-11-09T00:00:00Z")
    if NIGHTLY
    else ("2026-10-24T00:00:00Z", "2026-11-02T00:00:00Z"),
}
ZONES = ("UTC", "Europe/Riga", "America/New_York", "Australia/Lord_Howe")
FREQUENT_CRONS = ("17 * * * *", "*/45 */2 * * *")
RARE_CRONS = ("30 2 * * *", "15 1,2,3 * * *", "0 9 * * 1-5", "0 0 1,15 * *", "59 23 L * *", "0 12 * * 5#2")
OWNERS = ("ana", "ben", "cleo")
APP_COUNT = 3


@dataclass
class ExpectedPlan:
    """What a plan should fire, reckoned from when somebody looked."""

    cron: Cron
    catch_up: CatchUp
    looked_at: Instant
    fired_slots: list[Instant] = field(default_factory=list)

    def record_look(self, now: Instant) -> None:
        due_slots, self.looked_at = self.cron.list_between(self.looked_at, now), now
        slots_on_time = [slot for slot in due_slots if now - slot <= GRACE]
        match self.catch_up:
            case CatchUp.ALL:
                self.fired_slots += due_slots[-MAX_SLOTS:]
            case CatchUp.SKIP:
                self.fired_slots += slots_on_time
            case CatchUp.ONCE:
                self.fired_slots += slots_on_time or due_slots[-1:]


class AppCluster:
    """Some apps on one database and one clock."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        for name in OWNERS:
            kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        self.apps: list[Store] = [kit.open() for _ in range(APP_COUNT)]

    async def tick(self) -> None:
        """Let all tick side by side until nothing is due."""
        while (
            min(await asyncio.gather(*(background_tasks.fire_due_plans(app) for app in self.apps)))
            < background_tasks.MAX_WAIT
        ):
            due = self.kit.store.read_sync(plans.find_next_due)
            if due is None or due > self.kit.clock.now():
                return

    def set_plan(self, owner: str, **fields: str) -> Plan:
        return self.kit.store.run_sync(plans.set_plan, owner, parse_spec({"name": "report"} | fields))

    def list_fired(self, plan: Plan) -> list[Instant]:
        return self.list_all_fired()[plan.id]

    def list_all_fired(self) -> dict[str, list[Instant]]:
        """By plan, the slots for which there is an event, in order; each by its key and by what it says."""
        slots: defaultdict[str, list[Instant]] = defaultdict(list)
        after = 0
        while page := self.kit.store.read_sync(inbox.list_page, after=after, limit=1_000):
            for event in (item.event for item in page):
                plan, due = event.data["planId"], event.data["dueAt"]
                assert event.dedup_key == f"plan:{plan}:{format_rfc3339(due)}"
                insort(slots[plan], due)
            after = page[-1].event.arrival
        return slots


@pytest.fixture
def on_postgres(empty_postgres_url: str) -> Iterator[Kit]:
    """For what needs more than one writer at a time."""
    with Kit(empty_postgres_url) as kit:
        yield kit


@pytest.mark.parametrize(
    ("kit", "season"),
    [
        ("sqlite", "spring"),
        pytest.param("sqlite", "autumn", marks=pytest.mark.nightly),
        pytest.param("postgres", "spring", marks=pytest.mark.nightly),
        ("postgres", "autumn"),
    ],
    indirect=["kit"],
)
async def test_each_slot_fires_exactly_once(kit: Kit, season: str) -> None:
    start, end = map(parse_instant, SEASONS[season])
    end = end if NIGHTLY or kit.url.startswith("sqlite") else start + 5 * DAY
    rng = random.Random(season)
    kit.clock.advance(start - kit.clock.now())
    cluster = AppCluster(kit)
    expected_plans: dict[str, tuple[Plan, ExpectedPlan]] = {}
    for number, (cron, zone) in enumerate((cron, zone) for zone in ZONES for cron in (*FREQUENT_CRONS, *RARE_CRONS)):
        policies = [CatchUp.ALL] if cron in FREQUENT_CRONS else list(CatchUp)
        for policy in policies:
            plan = cluster.set_plan(OWNERS[number % len(OWNERS)], cron=cron, timeZone=zone, catchUp=policy)
            expected_plans[plan.id] = plan, ExpectedPlan(Cron(cron, zone), policy, start)

    while kit.clock.now() < end:
        kit.clock.advance(choose_advance(kit.clock, kit.store, rng))
        await cluster.tick()
        for _, expected_plan in expected_plans.values():
            expected_plan.record_look(kit.clock.now())

    fired = cluster.list_all_fired()
    days = (kit.clock.now() - start) / DAY  # the last look may be after the end
    assert (
        120 * days < sum(len(expected_plan.fired_slots) for _, expected_plan in expected_plans.values()) <= 240 * days
    )
    for plan, expected_plan in expected_plans.values():
        assert fired[plan.id] == expected_plan.fired_slots, plan
        after = kit.store.read_sync(plans.show, plan.id)
        assert after.fired == len(expected_plan.fired_slots)
        assert after.next_at == expected_plan.cron.find_next(kit.clock.now())
        if expected_plan.catch_up is CatchUp.ALL:
            assert expected_plan.fired_slots == expected_plan.cron.list_between(start, kit.clock.now())
    assert all(account.is_balanced for account in kit.store.read_sync(account_actions.list_accounts))


def choose_advance(clock: FakeClock, store: Store, rng: random.Random) -> Duration:
    """How long until somebody looks: sometimes a slot is met to the second, sometimes everybody was away for hours."""
    due = store.read_sync(plans.find_next_due)
    assert due is not None
    wait = max(0, due - clock.now())
    return rng.choice(
        (
            wait,
            wait + rng.randrange(0, 2 * MINUTE),
            wait + GRACE,
            rng.randrange(1 * HOUR, 6 * HOUR),
            rng.randrange(6 * HOUR, 20 * HOUR),
        )
    )


async def test_one_that_fires_once_does_so_once_however_late_and_however_many_look(kit: Kit) -> None:
    cluster = AppCluster(kit)
    plan_list = [cluster.set_plan(OWNERS[number % 3], runAfter=f"{number + 1} minutes") for number in range(300)]
    kit.clock.advance("30 days")
    await cluster.tick()
    fired = cluster.list_all_fired()
    for plan in plan_list:
        assert fired[plan.id] == [plan.next_at]
        assert kit.store.read_sync(plans.show, plan.id).status is PlanStatus.COMPLETED


async def test_the_apps_share_what_is_due(on_postgres: Kit) -> None:
    """What one has in hand the others do not wait for: with a lock held on a row, all but that row fires."""
    cluster = AppCluster(on_postgres)
    locked_plan, free_plan = cluster.set_plan("ana", runAfter="1 minute"), cluster.set_plan("ben", runAfter="2 minutes")
    on_postgres.clock.advance("1 hour")
    with psycopg.connect(on_postgres.url) as connection:
        connection.execute("SELECT 1 FROM plans WHERE id = %s FOR UPDATE", (locked_plan.id,))
        waits = await asyncio.gather(*(background_tasks.fire_due_plans(app) for app in cluster.apps))
        assert all(0 < wait < 1 for wait in waits)
        assert (cluster.list_fired(locked_plan), cluster.list_fired(free_plan)) == ([], [free_plan.next_at])
    assert await background_tasks.fire_due_plans(cluster.apps[0]) == background_tasks.MAX_WAIT
    assert cluster.list_fired(locked_plan) == [locked_plan.next_at]


async def test_a_plan_changed_or_deleted_while_it_fires_is_the_old_one_or_the_new(kit: Kit) -> None:
    cluster = AppCluster(kit)
    for turn in range(20):
        changed_plan, deleted_plan = (
            cluster.set_plan("ana", cron="0 * * * *"),
            cluster.set_plan("ben", cron="0 * * * *"),
        )
        due = changed_plan.next_at
        assert due is not None
        kit.clock.advance(due - kit.clock.now())
        spec = PlanSpec(id=changed_plan.id, schedule=rules.parse_schedule(cron="30 * * * *"))
        account_actions = [
            cluster.apps[turn % APP_COUNT].run(plans.set_plan, "ana", spec),
            cluster.apps[turn % APP_COUNT].run(plans.delete, deleted_plan.id),
            *(background_tasks.fire_due_plans(app) for app in cluster.apps),
        ]
        random.Random(turn).shuffle(account_actions)
        await asyncio.gather(*account_actions)
        assert cluster.list_fired(changed_plan) in ([], [due])
        assert kit.store.read_sync(plans.show, changed_plan.id).next_at == due + 30 * MINUTE
        fired_slots = cluster.list_fired(deleted_plan)
        assert fired_slots in ([], [due])
        with pytest.raises(NotFound):
            kit.store.read_sync(plans.show, deleted_plan.id)
        kit.clock.advance("30 minutes")
        await cluster.tick()
        assert cluster.list_fired(changed_plan)[-1:] == [due + 30 * MINUTE]
        assert cluster.list_fired(deleted_plan) == fired_slots
        kit.store.run_sync(plans.delete, changed_plan.id)


async def test_slots_fire_only_while_a_plan_is_enabled(kit: Kit) -> None:
    """Plans are disabled and enabled at random, by any of the gateways, while slots are met, missed and caught up."""
    rng = random.Random(7)
    cluster = AppCluster(kit)
    expected_plans: dict[str, ExpectedPlan] = {}
    enabled_ids: set[str] = set()
    for number, (cron, policy) in enumerate((cron, policy) for cron in FREQUENT_CRONS for policy in CatchUp):
        plan = cluster.set_plan(OWNERS[number % 3], cron=cron, catchUp=policy)
        expected_plans[plan.id] = ExpectedPlan(Cron(cron, "UTC"), policy, kit.clock.now())
        enabled_ids.add(plan.id)
    for _ in range(80):
        kit.clock.advance(rng.choice((rng.randrange(HOUR), rng.randrange(6 * HOUR), 20 * MINUTE)))
        toggled_ids = set(rng.sample(sorted(expected_plans), rng.randrange(3)))
        for id in toggled_ids:
            await rng.choice(cluster.apps).run(plans.set_plan, None, PlanSpec(id=id, active=id not in enabled_ids))
        for id in toggled_ids - enabled_ids:
            expected_plans[id].looked_at = kit.clock.now()
        enabled_ids ^= toggled_ids
        await cluster.tick()
        for id in enabled_ids:
            expected_plans[id].record_look(kit.clock.now())
    fired = cluster.list_all_fired()
    for id, expected_plan in expected_plans.items():
        assert fired[id] == expected_plan.fired_slots
        assert kit.store.read_sync(plans.show, id).active == (id in enabled_ids)
    assert 0 < len(enabled_ids) < len(expected_plans)
    assert all(account.is_balanced for account in kit.store.read_sync(account_actions.list_accounts))


async def test_a_plan_disabled_while_it_fires_has_fired_or_does_not(kit: Kit) -> None:
    cluster = AppCluster(kit)
    for turn in range(20):
        plan = cluster.set_plan("ana", **({"cron": "0 * * * *"} if turn % 2 else {"runAfter": "1 hour"}))
        due = plan.next_at
        assert due is not None
        kit.clock.advance(due - kit.clock.now())
        account_actions = [
            run_unless_ended(cluster.apps[turn % APP_COUNT], PlanSpec(id=plan.id, active=False)),
            *(background_tasks.fire_due_plans(app) for app in cluster.apps),
        ]
        random.Random(turn).shuffle(account_actions)
        await asyncio.gather(*account_actions)
        fired_slots = cluster.list_fired(plan)
        assert fired_slots in ([], [due])
        stored_plan = kit.store.read_sync(plans.show, plan.id)
        assert (stored_plan.status is PlanStatus.COMPLETED) == (plan.cron is None and fired_slots == [due])
        assert stored_plan.active == (stored_plan.status is PlanStatus.COMPLETED)
        kit.clock.advance("3 hours")
        await cluster.tick()
        assert cluster.list_fired(plan) == fired_slots


async def run_unless_ended(app: Store, spec: PlanSpec) -> float:
    with suppress(Conflict):
        await app.run(plans.set_plan, None, spec)
    return 0


async def test_many_disabled_plans_that_are_due_keep_nobody_busy(kit: Kit) -> None:
    cluster = AppCluster(kit)
    disabled_plans = [cluster.set_plan("ana", runAfter="1 minute") for _ in range(150)]
    for plan in disabled_plans:
        kit.store.run_sync(plans.set_plan, None, PlanSpec(id=plan.id, active=False))
    other_plan = cluster.set_plan("ben", runAfter="2 minutes")
    kit.clock.advance("1 hour")
    assert await background_tasks.fire_due_plans(cluster.apps[0]) == background_tasks.MAX_WAIT
    assert cluster.list_all_fired() == {other_plan.id: [other_plan.next_at]}


def test_a_change_waits_for_the_firing_and_keeps_what_it_did(on_postgres: Kit) -> None:
    cluster = AppCluster(on_postgres)
    plan = cluster.set_plan("ana", runAfter="1 minute")
    on_postgres.clock.advance("1 minute")
    has_fired, change_waits = Event(), Event()

    def fire_slowly(tx: Transaction) -> None:
        plans.fire(tx)
        has_fired.set()
        assert change_waits.wait(LAST_RESORT)

    with ThreadPoolExecutor(2) as threads, psycopg.connect(on_postgres.url, autocommit=True) as witness:
        fire_future = threads.submit(cluster.apps[0].run_sync, fire_slowly)
        assert has_fired.wait(LAST_RESORT)
        change_future = threads.submit(
            cluster.apps[1].run_sync, plans.set_plan, "ana", PlanSpec(id=plan.id, name="renamed")
        )
        wait_until(
            lambda: witness.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is not None, "it waits"
        )
        change_waits.set()
        fire_future.result(LAST_RESORT)
        assert change_future.result(LAST_RESORT).status is PlanStatus.COMPLETED
    assert on_postgres.store.read_sync(plans.find_next_due) is None
    assert cluster.list_fired(plan) == [plan.next_at]


async def test_it_says_when_to_look_again_and_writes_only_when_something_is_due(kit: Kit) -> None:
    cluster = AppCluster(kit)
    app = kit.open()
    assert await background_tasks.fire_due_plans(app) == background_tasks.MAX_WAIT
    cluster.set_plan("ana", runAfter="1 hour")
    assert await background_tasks.fire_due_plans(app) == background_tasks.MAX_WAIT
    kit.clock.advance(HOUR - 2 * SECOND)
    assert await background_tasks.fire_due_plans(app) == 2.0
    assert kit.signal_sink.clear()[-1].topic.kind == "plan"
    kit.clock.advance("2s")
    assert await background_tasks.fire_due_plans(app) == background_tasks.MAX_WAIT
    assert [(signal.topic.recipient, signal.cause) for signal in kit.signal_sink.signals] == [("ana", "plan")]


async def test_a_plan_that_is_set_wakes_the_ticker(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would sleep for an hour; the signals of what is set, and of what fires, are all there is to wait for."""
    monkeypatch.setattr(background_tasks, "MAX_WAIT", 3_600.0)
    AppCluster(kit)
    bus = SignalBus()
    app = kit.open(signal_sink=bus.on_commit)
    fired_owners: asyncio.Queue[str] = asyncio.Queue()
    rounds: asyncio.Queue[float] = asyncio.Queue()

    async def run_round() -> float:
        wait = await background_tasks.fire_due_plans(app)
        rounds.put_nowait(wait)
        return wait

    duty = Duty("plans", run_round, interval=3_600.0)

    def on_signal(signal: TransportMessage) -> None:
        if isinstance(signal, Signal) and signal.cause == "plan":
            fired_owners.put_nowait(signal.topic.recipient)

    async with bus.open(), asyncio.timeout(LAST_RESORT):
        with bus.subscribe(on_signal), bus.subscribe(duty.on_signal, duty.name):
            async with run_duties([duty]):
                assert await rounds.get() == 3_600.0
                for owner in OWNERS:
                    spec = parse_spec({"name": "now", "scheduledAt": "2026-01-01T00:00:00Z"})
                    await app.run(plans.set_plan, owner, spec)
                    assert await fired_owners.get() == owner
