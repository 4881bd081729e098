"""
Whoever fires cron triggers may be killed at any point: each slot is one event for each recipient, whoever fires it in
the end, and three at once do not fire it twice.
"""

from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

from gatepost.app import open_store
from gatepost.channels.triggers import actions as triggers, rows as trigger_rows
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import Heartbeat, Trigger, TriggerConfig, TriggerSchedule
from gatepost.core.ports import Store, Transaction
from gatepost.core.times import SECOND, Instant, format_rfc3339, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.residents import goal_and_memory_actions as memories
from gatepost.residents.goal_and_memory import GoalSpec
from tests.faults.conftest import NIGHTLY
from tests.faults.grids import list_passes, select_points
from tests.faults.stores.worker_process import WorkerProcess

REQUIRED_POINTS = {
    "channels/triggers/lock_due",
    "inbox/items/insert",
    "inbox/events/insert",
    "channels/triggers/set_next_at",
    "commit",
    "answer",
}
#: where a slot could be fired twice, or never
CRITICAL_POINTS = [
    *((f"after {name}", 1) for name in ("inbox/items/insert", "channels/triggers/set_next_at")),
    *(("before commit", 1), ("after commit", 1)),
]
#: the time of all triggers; the test sets the slots that are due
LATER = TriggerSchedule(at=parse_instant("2099-01-01T00:00:00Z"))
RECIPIENTS = {"plain": ("dora",), "wide": ("dora", "emil"), "pulse": ("emil",)}


def make_due(tx: Transaction, names: list[str], slot: Instant) -> None:
    for name in names:
        trigger = trigger_rows.find(tx, name)
        assert trigger is not None
        trigger_rows.set_next_at(tx, trigger.number, slot)


def prepare(store: Store) -> dict[str, Trigger]:
    for name, kind in (("admin", EntityKind.HUMAN), ("dora", EntityKind.AGENT), ("emil", EntityKind.AGENT)):
        store.run_sync(directory.register, EntitySpec(name=name, kind=kind, team=None if name == "admin" else "clock"))
    store.run_sync(memories.set_goals, "emil", [GoalSpec(description="Ship it")])
    specs = (("plain", "dora", None), ("wide", "team:clock", None), ("pulse", "team:clock", Heartbeat()))
    return {
        name: store.run_sync(
            triggers.add,
            TriggerSpec(
                name=name,
                provider="cron",
                target=target,
                config=TriggerConfig(schedule=LATER, heartbeat=heartbeat),
            ),
        )
        for name, target, heartbeat in specs
    }


def read_inbox(store: Store, name: str) -> None:
    """Read everything, because a heartbeat that was not read is enough."""
    while (claim := store.run_sync(inbox.claim, name, owner="test", limit=1_000).claim) is not None:
        store.run_sync(inbox.ack, claim.id, owner="test", fence=claim.fence)


def count_events(store: Store) -> Counter[tuple[str, str]]:
    """Count the items, by recipient and dedup key."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in ("dora", "emil"):
        after = 0
        while page := store.read_sync(inbox.list_page, name, after=after, limit=1_000):
            counts.update((name, item.event.dedup_key or "") for item in page)
            after = page[-1].event.arrival
    return counts


def test_each_slot_fires_once_wherever_one_is_killed_who_fires_it(crew_url: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(crew_url)))
        worker = stack.enter_context(WorkerProcess(crew_url, tmp_path))
        made = prepare(store)
        slot = store.read_sync(lambda tx: tx.now) // SECOND * SECOND - 3_600 * SECOND
        slots: list[Instant] = []

        def live(life: str, point: str | None = None, nth: int = 1) -> dict[str, int]:
            """Make all triggers due, and let a worker fire them; one that is killed is followed by another."""
            slots.append(slot + len(slots) * SECOND)
            store.run_sync(make_due, [*made], slots[-1])
            if point is not None:
                worker.start(life=f"{life}k", kind="triggers", point=point, nth=nth)
                worker.wait_until_killed()
            worker.start(life=life, kind="triggers")
            point_counts: dict[str, int] = worker.wait_for_message("visited")
            worker.wait_until_finished()
            read_inbox(store, "emil")
            return point_counts

        point_counts = live("0000")
        assert point_counts.keys() >= {f"{moment} {name}" for name in REQUIRED_POINTS for moment in ("before", "after")}
        selection = select_points(list_passes(point_counts), at_least=100, by_day=CRITICAL_POINTS)
        for number, (point, nth) in enumerate(selection):
            live(f"{number:04}-{nth}", point, nth)

        assert count_events(store) == Counter(
            (recipient, f"cron:{trigger.id}:{format_rfc3339(moment)}")
            for moment in slots
            for name, trigger in made.items()
            for recipient in RECIPIENTS[name]
        )
        assert len(slots) == 1 + len(selection)
        assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))


def test_three_at_once_of_which_some_are_killed_fire_each_slot_once(crew_url: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        store = stack.enter_context(closing(open_store(crew_url)))
        workers = [stack.enter_context(WorkerProcess(crew_url, tmp_path)) for _ in range(3)]
        made = prepare(store)
        names = ["plain", "wide"]
        slot = store.read_sync(lambda tx: tx.now) // SECOND * SECOND - 3_600 * SECOND
        points = ("before commit", "after commit", "after channels/triggers/lock_due", "after inbox/items/insert")
        rounds = 24 if NIGHTLY else 4  # one for each point
        for number in range(rounds):
            store.run_sync(make_due, names, slot + number * SECOND)
            jobs: list[dict[str, object]] = [{}, {}, {}]
            jobs[number % 3] = {"point": points[number % len(points)]}
            for worker, job in zip(workers, jobs, strict=True):
                worker.start(life=f"{number:04}", kind="triggers", **job)
            for worker in workers:
                worker.wait_for_exit()
            # whatever the killed one had in hand
            workers[0].start(life=f"{number:04}-last", kind="triggers")
            workers[0].wait_for_message("visited")
            workers[0].wait_until_finished()
        assert count_events(store) == Counter(
            (recipient, f"cron:{made[name].id}:{format_rfc3339(slot + number * SECOND)}")
            for number in range(rounds)
            for name in names
            for recipient in RECIPIENTS[name]
        )
