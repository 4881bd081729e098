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
from dataclasses import dataclass, field
from threading import Event

import psycopg
import pytest

from gatepost.actions import directory, inbox, maintenance, plans
from gatepost.actions.directory import EntitySpec
from gatepost.core import plan as rules
from gatepost.core.cron import Cron
from gatepost.core.entity import EntityKind
from gatepost.core.frame import TransportMessage
from gatepost.core.plan import GRACE, MAX_SLOTS, CatchUp, Plan, PlanSpec, PlanStatus
from gatepost.core.signals import Signal
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, Duration, Instant, format_rfc3339, parse_instant
from gatepost.errors import NotFound
from gatepost.ports import Store, Transaction
from gatepost.runtime import plan_scheduler
from gatepost.runtime.periodic import Duty, run_duties
from gatepost.runtime.signal_bus import SignalBus
from gatepost.testing import FakeClock, Kit
from tests.servers import until

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))
#: clocks change in Riga and on Lord Howe Island within the first, in Riga and New York within the second; at night
#: in all three within each
WEEKS = {
    "spring": ("2026-03-02T00:00:00Z" if NIGHTLY else "2026-03-27T00:00:00Z", "2026-04-13T00:00:00Z"),
    "autumn": ("2026-09-28T00:00:00Z" if NIGHTLY else "2026-10-23T00:00:00Z", "2026-11-09T00:00:00Z"),
}
ZONES = ("UTC", "Europe/Riga", "America/New_York", "Australia/Lord_Howe")
OFTEN = ("17 * * * *", "*/45 */2 * * *")
SOMETIMES = ("30 2 * * *", "15 1,2,3 * * *", "0 9 * * 1-5", "0 0 1,15 * *", "59 23 L * *", "0 12 * * 5#2")
OWNERS = ("ana", "ben", "cleo")
APPS = 3


@dataclass
class Expected:
    """What a plan should fire, reckoned from when somebody looked."""

    cron: Cron
    catch_up: CatchUp
    seen: Instant
    fired: list[Instant] = field(default_factory=list)

    def look(self, now: Instant) -> None:
        due, self.seen = self.cron.list_between(self.seen, now), now
        on_time = [slot for slot in due if now - slot <= GRACE]
        match self.catch_up:
            case CatchUp.ALL:
                self.fired += due[-MAX_SLOTS:]
            case CatchUp.SKIP:
                self.fired += on_time
            case CatchUp.ONCE:
                self.fired += on_time or due[-1:]


class Office:
    """Some apps on one database and one clock."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        for name in OWNERS:
            kit.store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
        self.apps: list[Store] = [kit.open() for _ in range(APPS)]

    async def tick(self) -> None:
        """Let all tick side by side until nothing is due."""
        while (
            min(await asyncio.gather(*(plan_scheduler.fire_due_plans(app) for app in self.apps)))
            < plan_scheduler.MAX_WAIT
        ):
            due = self.kit.store.query(plans.find_next_due)
            if due is None or due > self.kit.clock.now():
                return

    def set(self, owner: str, **fields: str) -> Plan:
        return self.kit.store.call(plans.set_plan, owner, rules.parse_spec({"name": "report"} | fields))

    def fired(self, plan: Plan) -> list[Instant]:
        return self.all_fired()[plan.id]

    def all_fired(self) -> dict[str, list[Instant]]:
        """By plan, the slots for which there is an event, in order; each by its key and by what it says."""
        slots: defaultdict[str, list[Instant]] = defaultdict(list)
        after = 0
        while page := self.kit.store.query(inbox.page, after=after, limit=1_000):
            for event in (item.event for item in page):
                plan, due = event.data["planId"], event.data["dueAt"]
                assert event.key == f"plan:{plan}:{format_rfc3339(due)}"
                insort(slots[plan], due)
            after = page[-1].event.arrival
        return slots


@pytest.fixture
def on_postgres(swept_url: str) -> Iterator[Kit]:
    """For what needs more than one writer at a time."""
    with Kit(swept_url) as kit:
        yield kit


@pytest.mark.parametrize("season", WEEKS)
async def test_each_slot_fires_exactly_once(kit: Kit, season: str) -> None:
    start, end = map(parse_instant, WEEKS[season])
    end = end if NIGHTLY or kit.url.startswith("sqlite") else start + 12 * DAY
    chance = random.Random(season)
    kit.clock.advance(start - kit.clock.now())
    office = Office(kit)
    expected: dict[str, tuple[Plan, Expected]] = {}
    for number, (cron, zone) in enumerate((cron, zone) for zone in ZONES for cron in (*OFTEN, *SOMETIMES)):
        ways = [CatchUp.ALL] if cron in OFTEN else list(CatchUp)
        for way in ways:
            plan = office.set(OWNERS[number % len(OWNERS)], cron=cron, timeZone=zone, catchUp=way)
            expected[plan.id] = plan, Expected(Cron(cron, zone), way, start)

    while kit.clock.now() < end:
        kit.clock.advance(next_look(kit.clock, kit.store, chance))
        await office.tick()
        for _, one in expected.values():
            one.look(kit.clock.now())

    fired = office.all_fired()
    days = (end - start) // DAY
    assert 120 * days < sum(len(one.fired) for _, one in expected.values()) <= 240 * days
    for plan, one in expected.values():
        assert fired[plan.id] == one.fired, plan
        after = kit.store.query(plans.show, plan.id)
        assert after.fired == len(one.fired)
        assert after.next_at == one.cron.find_next(kit.clock.now())
        if one.catch_up is CatchUp.ALL:
            assert one.fired == one.cron.list_between(start, kit.clock.now())
    assert all(account.is_balanced for account in kit.store.query(maintenance.list_accounts))


def next_look(clock: FakeClock, store: Store, chance: random.Random) -> Duration:
    """How long until somebody looks: sometimes a slot is met to the second, sometimes everybody was away for hours."""
    due = store.query(plans.find_next_due)
    assert due is not None
    wait = max(0, due - clock.now())
    return chance.choice(
        (
            wait,
            wait + chance.randrange(0, 2 * MINUTE),
            wait + GRACE,
            chance.randrange(1 * HOUR, 6 * HOUR),
            chance.randrange(6 * HOUR, 20 * HOUR),
        )
    )


async def test_one_that_fires_once_does_so_once_however_late_and_however_many_look(kit: Kit) -> None:
    office = Office(kit)
    several = [office.set(OWNERS[number % 3], runAfter=f"{number + 1} minutes") for number in range(300)]
    kit.clock.advance("30 days")
    await office.tick()
    fired = office.all_fired()
    for plan in several:
        assert fired[plan.id] == [plan.next_at]
        assert kit.store.query(plans.show, plan.id).status is PlanStatus.COMPLETED


async def test_the_apps_share_what_is_due(on_postgres: Kit) -> None:
    """What one has in hand the others do not wait for: with a lock held on a row, all but that row fires."""
    office = Office(on_postgres)
    held, free = office.set("ana", runAfter="1 minute"), office.set("ben", runAfter="2 minutes")
    on_postgres.clock.advance("1 hour")
    with psycopg.connect(on_postgres.url) as another:
        another.execute("SELECT 1 FROM plans WHERE id = %s FOR UPDATE", (held.id,))
        waits = await asyncio.gather(*(plan_scheduler.fire_due_plans(app) for app in office.apps))
        assert all(0 < wait < 1 for wait in waits)
        assert (office.fired(held), office.fired(free)) == ([], [free.next_at])
    assert await plan_scheduler.fire_due_plans(office.apps[0]) == plan_scheduler.MAX_WAIT
    assert office.fired(held) == [held.next_at]


async def test_a_plan_changed_or_deleted_while_it_fires_is_the_old_one_or_the_new(kit: Kit) -> None:
    office = Office(kit)
    for turn in range(20):
        changed, deleted = office.set("ana", cron="0 * * * *"), office.set("ben", cron="0 * * * *")
        due = changed.next_at
        assert due is not None
        kit.clock.advance(due - kit.clock.now())
        wish = PlanSpec(id=changed.id, schedule=rules.parse_schedule(cron="30 * * * *"))
        verbs = [
            office.apps[turn % APPS].run(plans.set_plan, "ana", wish),
            office.apps[turn % APPS].run(plans.delete, deleted.id),
            *(plan_scheduler.fire_due_plans(app) for app in office.apps),
        ]
        random.Random(turn).shuffle(verbs)
        await asyncio.gather(*verbs)
        assert office.fired(changed) in ([], [due])
        assert kit.store.query(plans.show, changed.id).next_at == due + 30 * MINUTE
        already = office.fired(deleted)
        assert already in ([], [due])
        with pytest.raises(NotFound):
            kit.store.query(plans.show, deleted.id)
        kit.clock.advance("30 minutes")
        await office.tick()
        assert office.fired(changed)[-1:] == [due + 30 * MINUTE]
        assert office.fired(deleted) == already
        kit.store.call(plans.delete, changed.id)


def test_a_change_waits_for_the_firing_and_keeps_what_it_did(on_postgres: Kit) -> None:
    office = Office(on_postgres)
    plan = office.set("ana", runAfter="1 minute")
    on_postgres.clock.advance("1 minute")
    fired, waited = Event(), Event()

    def fire_slowly(tx: Transaction) -> None:
        plans.fire(tx)
        fired.set()
        assert waited.wait(30)

    with ThreadPoolExecutor(2) as threads, psycopg.connect(on_postgres.url, autocommit=True) as witness:
        firing = threads.submit(office.apps[0].call, fire_slowly)
        assert fired.wait(30)
        change = threads.submit(office.apps[1].call, plans.set_plan, "ana", PlanSpec(id=plan.id, name="renamed"))
        until(lambda: witness.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone() is not None, "it waits")
        waited.set()
        firing.result(30)
        assert change.result(30).status is PlanStatus.COMPLETED
    assert on_postgres.store.query(plans.find_next_due) is None
    assert office.fired(plan) == [plan.next_at]


async def test_it_says_when_to_look_again_and_writes_only_when_something_is_due(kit: Kit) -> None:
    office = Office(kit)
    app = kit.open()
    assert await plan_scheduler.fire_due_plans(app) == plan_scheduler.MAX_WAIT
    office.set("ana", runAfter="1 hour")
    assert await plan_scheduler.fire_due_plans(app) == plan_scheduler.MAX_WAIT
    kit.clock.advance(HOUR - 2 * SECOND)
    assert await plan_scheduler.fire_due_plans(app) == 2.0
    assert kit.signal_sink.clear()[-1].recipient.startswith("plan:")
    kit.clock.advance("2s")
    assert await plan_scheduler.fire_due_plans(app) == plan_scheduler.MAX_WAIT
    assert [(ring.recipient, ring.cause) for ring in kit.signal_sink.signals] == [("ana", "plan")]


async def test_a_plan_that_is_set_wakes_the_ticker(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would sleep for an hour; the rings of what is set, and of what fires, are all there is to wait for."""
    monkeypatch.setattr(plan_scheduler, "MAX_WAIT", 3_600.0)
    Office(kit)
    exchange = SignalBus()
    app = kit.open(signal_sink=exchange.on_commit)
    fired: asyncio.Queue[str] = asyncio.Queue()
    rounds: asyncio.Queue[float] = asyncio.Queue()

    async def round() -> float:
        wait = await plan_scheduler.fire_due_plans(app)
        rounds.put_nowait(wait)
        return wait

    duty = Duty("ticker", round, interval=3_600.0)

    def heard(signal: TransportMessage) -> None:
        if plan_scheduler.is_wake_signal(signal):
            duty.wake()
        elif isinstance(signal, Signal) and signal.cause == "plan":
            fired.put_nowait(signal.recipient)

    async with exchange.open(), asyncio.timeout(30):
        with exchange.subscribe(heard):
            async with run_duties([duty]):
                assert await rounds.get() == 3_600.0
                for owner in OWNERS:
                    wish = rules.parse_spec({"name": "now", "scheduledAt": "2026-01-01T00:00:00Z"})
                    await app.run(plans.set_plan, owner, wish)
                    assert await fired.get() == owner
