"""
Three gateways fire cron triggers on one database over days in which clocks change. Whoever gets a slot, it fires once;
what was missed while all were away fires once. And a heartbeat runs for two weeks.
"""

import asyncio
import os
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import psycopg
import pytest

from gatepost.channels.triggers import actions as triggers, cron_fire_actions as schedules
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import Heartbeat, Trigger, TriggerConfig, TriggerSchedule
from gatepost.core.ports import Store
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, Duration, Instant, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Priority, Push
from gatepost.inbox.push import actions as push
from gatepost.jobs.periodic_duty_background import Duty, run_duties
from gatepost.plans.missed_slots import GRACE
from gatepost.residents import goal_and_memory_actions as memories
from gatepost.residents.goal_and_memory import GoalSpec, GoalStatus
from gatepost.testing import Kit
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker import background_tasks
from tests.support.waits import LAST_RESORT

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))
START = parse_instant("2026-03-27T00:00:00Z")
LENGTH = (14 if NIGHTLY else 3) * DAY
ZONES = ("UTC", "Europe/Riga", "Australia/Lord_Howe")
CRONS = ("17 * * * *", "*/45 */2 * * *", "30 2 * * *", "15 1,2,3 * * *", "0 9 * * 1-5")
INTERVALS = (20 * SECOND, 7 * MINUTE, 30 * MINUTE, 5 * HOUR)
APP_COUNT = 3


@pytest.fixture
def office(kit: Kit) -> Kit:
    kit.clock.advance(START - kit.clock.now())
    for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT), ("ben", EntityKind.AGENT)):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=kind))
    return kit


@pytest.fixture
def on_postgres(empty_postgres_url: str) -> Iterator[Kit]:
    """For what needs more than one writer at a time."""
    with Kit(empty_postgres_url) as kit:
        kit.store.run_sync(directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT))
        yield kit


def add_trigger(kit: Kit, name: str, schedule: TriggerSchedule, heartbeat: Heartbeat | None = None) -> Trigger:
    settings = TriggerConfig(schedule=schedule, heartbeat=heartbeat)
    return kit.store.run_sync(
        triggers.add, TriggerSpec(name=name, provider="cron", target="ana", prompt=name, config=settings)
    )


@dataclass
class ExpectedTrigger:
    """What a trigger should fire, reckoned from when somebody looked."""

    trigger: Trigger
    looked_at: Instant
    is_active: bool = True
    fired_slots: list[Instant] = field(default_factory=list)

    def record_look(self, now: Instant) -> None:
        slots: list[Instant] = []
        schedule = self.trigger.config.schedule
        assert schedule is not None
        slot = schedule.find_next(self.looked_at, since=self.trigger.created_at)
        while slot is not None and slot <= now and self.is_active:
            slots.append(slot)
            slot = schedule.find_next(slot, since=self.trigger.created_at)
        self.looked_at = now
        self.fired_slots += [slot for slot in slots if now - slot <= GRACE] or slots[-1:]


def list_fired(kit: Kit) -> dict[str, list[Instant]]:
    slots: defaultdict[str, list[Instant]] = defaultdict(list)
    after = 0
    while page := kit.store.read_sync(inbox.list_page, "ana", after=after, limit=1_000):
        for event in (item.event for item in page):
            assert event.content == event.source
            slots[event.source].append(parse_instant(event.data["payload"]["dueAt"]))
        after = page[-1].event.arrival
    return slots


async def tick(kit: Kit, apps: list[Store]) -> None:
    """Let all tick side by side until nothing is due."""
    while True:
        await asyncio.gather(*(background_tasks.fire_due_triggers(app) for app in apps))
        due = kit.store.read_sync(schedules.find_next_due)
        if due is None or due > kit.clock.now():
            return


async def test_each_slot_fires_exactly_once(office: Kit) -> None:
    rng = random.Random(9)
    kinds = [TriggerSchedule(cron=expression, zone=zone) for zone in ZONES for expression in CRONS]
    kinds += [TriggerSchedule(every=every) for every in INTERVALS]
    kinds += [TriggerSchedule(at=START + n * 7 * HOUR) for n in range(1, 10)]
    expected = [
        ExpectedTrigger(add_trigger(office, f"t{number}", schedule), START) for number, schedule in enumerate(kinds)
    ]
    apps = [office.open() for _ in range(APP_COUNT)]
    while office.clock.now() < START + LENGTH:
        office.clock.advance(choose_advance(office, rng))
        now = office.clock.now()
        await tick(office, apps)
        for trigger in expected:
            trigger.record_look(now)
        chosen = rng.choice(expected)
        if chosen.trigger.config.schedule is not None and chosen.trigger.config.schedule.at is None:
            chosen.is_active = not chosen.is_active
            office.store.run_sync(triggers.change, chosen.trigger.name, {"active": chosen.is_active})

    fired = list_fired(office)
    for trigger in expected:
        assert fired[trigger.trigger.name] == trigger.fired_slots, trigger.trigger
    assert sum(map(len, fired.values())) > 100
    assert all(account.is_balanced for account in office.store.read_sync(account_actions.list_accounts))


def choose_advance(kit: Kit, rng: random.Random) -> Duration:
    """How long until somebody looks: sometimes a slot is met to the second, sometimes everybody was away for hours."""
    due = kit.store.read_sync(schedules.find_next_due)
    wait = max(0, due - kit.clock.now()) if due is not None else HOUR
    return rng.choice(
        (wait, wait + rng.randrange(2 * MINUTE), wait + GRACE, rng.randrange(HOUR), rng.randrange(HOUR, 9 * HOUR))
    )


async def test_the_apps_share_what_is_due(on_postgres: Kit) -> None:
    """What one has in hand the others do not wait for: with a lock held on a row, all but that row fires."""
    locked = add_trigger(on_postgres, "locked", TriggerSchedule(every=HOUR))
    add_trigger(on_postgres, "free", TriggerSchedule(every=HOUR))
    apps = [on_postgres.open() for _ in range(APP_COUNT)]
    on_postgres.clock.advance(HOUR)
    with psycopg.connect(on_postgres.url) as connection:
        connection.execute("SELECT 1 FROM triggers WHERE id = %s FOR UPDATE", (locked.id,))
        waits = await asyncio.gather(*(background_tasks.fire_due_triggers(app) for app in apps))
        assert all(0 < wait < 1 for wait in waits)
        assert {name: len(slots) for name, slots in list_fired(on_postgres).items()} == {"free": 1}
    assert await background_tasks.fire_due_triggers(apps[0]) == background_tasks.MAX_WAIT
    assert {name: len(slots) for name, slots in list_fired(on_postgres).items()} == {"free": 1, "locked": 1}


async def test_one_that_is_changed_while_it_fires_is_the_old_one_or_the_new(office: Kit) -> None:
    trigger = add_trigger(office, "daily", TriggerSchedule(every=HOUR))
    apps = [office.open() for _ in range(APP_COUNT)]
    rng = random.Random(4)
    for turn in range(12):
        office.clock.advance(HOUR)
        change = apps[turn % APP_COUNT].run(triggers.change, "daily", {"owner": rng.choice(["ana", "ben"])})
        account_actions = [change, *(background_tasks.fire_due_triggers(app) for app in apps)]
        rng.shuffle(account_actions)
        await asyncio.gather(*account_actions)
        await tick(office, apps)
    assert list_fired(office)["daily"] == [trigger.created_at + n * HOUR for n in range(1, 13)]


async def test_a_trigger_that_is_added_wakes_the_ticker(office: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would sleep for an hour; the signal of what is added is all there is to wait for."""
    monkeypatch.setattr(background_tasks, "MAX_WAIT", 3_600.0)
    bus = SignalBus()
    app = office.open(signal_sink=bus.on_commit)
    fired: asyncio.Queue[str] = asyncio.Queue()
    rounds: asyncio.Queue[float] = asyncio.Queue()

    async def run_round() -> float:
        wait = await background_tasks.fire_due_triggers(app)
        rounds.put_nowait(wait)
        return wait

    duty = Duty("triggers", run_round, interval=3_600.0)

    def on_signal(signal: TransportMessage) -> None:
        if isinstance(signal, Signal) and signal.cause == "service":
            fired.put_nowait(signal.topic.recipient)

    async with bus.open(), asyncio.timeout(LAST_RESORT):
        with bus.subscribe(on_signal), bus.subscribe(duty.on_signal, duty.name):
            async with run_duties([duty]):
                assert await rounds.get() == 3_600.0
                config = TriggerConfig(schedule=TriggerSchedule(every=HOUR))
                spec = TriggerSpec(name="daily", provider="cron", target="ana", config=config)
                await app.run(triggers.add, spec)
                assert await rounds.get() == 3_600.0
                office.clock.advance(HOUR)
                await app.run(triggers.change, "daily", {"prompt": "now"})
                assert await fired.get() == "ana"


@pytest.mark.parametrize("kit", ["sqlite", pytest.param("postgres", marks=pytest.mark.nightly)], indirect=True)
async def test_a_heartbeat_runs_for_two_weeks(office: Kit) -> None:
    """
    Every half hour, from 8 to 22 in Riga, where clocks change on the third day. The agent has something to do on some
    days only, reads what wakes it, and is down for a night and a day.
    """
    schedule = TriggerSchedule(every=30 * MINUTE, zone="Europe/Riga")
    add_trigger(office, "pulse", schedule, heartbeat=Heartbeat(active_hours=(8, 22)))
    store, rng = office.store, random.Random(2)
    goal: str | None = None
    expected_slots: list[Instant] = []
    slot = START
    end = START + 14 * DAY
    while slot < end:
        slot += 30 * MINUTE
        office.clock.advance(slot - office.clock.now())
        day = (slot - START) // DAY
        if day in (2, 5, 6, 12) and goal is None:
            [made] = store.run_sync(memories.set_goals, "ana", [GoalSpec(description="Ship it")])
            goal = made.id
        elif day in (4, 9, 13) and goal is not None:
            store.run_sync(memories.set_goals, "ana", [GoalSpec(id=goal, status=GoalStatus.COMPLETED)])
            goal = None
        has_fyi = rng.random() < 0.05
        if has_fyi:
            store.run_sync(push.push_event, Push(to="ana", source="news", content="fyi", priority=Priority.FYI))
        if 7 * DAY <= slot - START < 8 * DAY:
            continue  # no process is running
        office.signal_sink.clear()
        await background_tasks.fire_due_triggers(store)
        offset = 2 * HOUR if slot < parse_instant("2026-03-29T01:00:00Z") else 3 * HOUR
        is_active = 8 * HOUR <= (slot + offset) % DAY < 22 * HOUR
        pending = [item.event for item in store.read_sync(inbox.peek, "ana", limit=1_000)]
        has_reason = goal is not None or any(event.priority is Priority.FYI for event in pending)
        heartbeats = [event for event in pending if event.source == "pulse"]
        assert len(heartbeats) == int(is_active and has_reason)
        wake_count = sum(signal.wakes for signal in office.signal_sink.signals)
        assert wake_count == len(heartbeats), "a slot that passes wakes nobody"
        if heartbeats:
            expected_slots.append(slot)
            batch = store.run_sync(inbox.claim, "ana", owner="test", limit=1_000)
            assert batch.claim is not None
            store.run_sync(inbox.ack, batch.claim.id, owner="test", fence=batch.claim.fence)

    fired = [
        parse_instant(item.event.data["payload"]["dueAt"])
        for item in store.read_sync(inbox.list_page, "ana", limit=1_000)
        if item.event.source == "pulse"
    ]
    assert fired == expected_slots
    assert 5 * (end - START) // DAY < len(fired) < 22 * (end - START) // DAY
    assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))
