"""Two who want the same rows, or one whose neighbour is bad: nobody hears of what is not theirs."""

import signal
import threading
from contextlib import closing
from pathlib import Path
from typing import cast

import psycopg

from gatepost.app import open_store
from gatepost.core.policy import Policy
from gatepost.core.ports import RetryTransaction, Transaction
from gatepost.core.signals import Signal
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import GatepostError, Unavailable
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push_actions
from gatepost.stores.threaded_store import ThreadedStore
from gatepost.worker import retention_actions as retention
from tests.faults.commit_points import watch_store
from tests.faults.conftest import NIGHTLY
from tests.faults.crew_store import CREW, LaterClock, open_database, open_database_alone
from tests.faults.stores.journaled_client import build_push, run_together
from tests.faults.stores.worker_process import start_workers
from tests.support.servers.private_servers import wait_until

LIST_WAITING_SESSIONS = (
    "SELECT 1 FROM pg_stat_activity WHERE application_name = 'gatepost' AND wait_event_type = 'Lock'"
)
COUNT_COLLISIONS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
#: collisions that are enough
DEADLOCK_COUNT = 100 if NIGHTLY else 3
LIST_STRAY_EVENTS = """
    SELECT content FROM events e
    WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.arrival = e.arrival)
        AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival)
"""


def test_a_quarrel_over_the_same_rows(postgres_crew_url: str, tmp_path: Path) -> None:
    """Overlapping keys and fan-outs in every order, claims, the reaper: what collides is run again by the store."""
    with psycopg.connect(postgres_crew_url, autocommit=True) as connection:
        # A server waits a second before it looks for a deadlock: too long for as many as we want.
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET deadlock_timeout = '20ms'".encode())
    with start_workers(3, postgres_crew_url, tmp_path) as workers:
        for number, worker in enumerate(workers):
            worker.start(life=f"life-{number}", kind="quarrel")
        for worker in workers:
            worker.wait_for_message("warm")
        with closing(open_store(postgres_crew_url)) as store, open_database(postgres_crew_url) as query:

            def has_collided() -> bool:
                """Whether enough transactions have failed by a deadlock and enough was stored; the accounts balance."""
                accounts = store.read_sync(account_actions.list_accounts)
                assert all(account.is_balanced for account in accounts), accounts
                return query(COUNT_COLLISIONS) >= [(DEADLOCK_COUNT,)] and sum(a.accepted for a in accounts) > 50

            wait_until(has_collided, "the server has found deadlocks")
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait_until_finished()
    with (
        open_database_alone(postgres_crew_url) as query,
        closing(open_store(postgres_crew_url, clock=LaterClock())) as store,
    ):
        assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))
        assert query(LIST_STRAY_EVENTS) == []


async def test_a_bad_one_among_good_ones_fails_alone(crew_url: str) -> None:
    """In one bulk, in bulks that are run as one, and among single verbs."""
    signals: list[Signal] = []
    bad_pushes = {
        "unknown": Push(to="nobody", source="test", content="bad"),
        "malformed": Push(to="team:", source="test", content="bad"),
        "sender": Push(to="ana", source="test", sender="nobody", content="bad"),
        "retired": Push(to="gone", source="test", content="bad"),
        "large": Push(to="ana", source="test", content="bad" + "x" * 300_000),
        "nul": Push(to="ana", source="test", content="bad\0"),
        "surrogate": Push(to="ana", source="test", content="bad\ud800"),
        "nul in data": Push(to="ana", source="test", content="bad", data={"nul": "\0"}),
        "not json": Push(to="ana", source="test", content="bad", data={"not": float("nan")}),
        "key": Push(to="ana", source="test", content="bad", dedup_key=""),
        "hops": Push(to="ana", source="test", content="bad", hops=1_000_000),
        "ttl": Push(to="ana", source="test", content="bad", ttl=2**63),
        "negative ttl": Push(to="ana", source="test", content="bad", ttl=-1),
    }
    with closing(cast(ThreadedStore, open_store(crew_url, signal_sink=signals.extend))) as store:
        store.run_sync(directory.register, EntitySpec(name="gone", kind=EntityKind.AGENT))
        store.run_sync(directory.retire, "gone")
        for name, bad_push in bad_pushes.items():
            signals.clear()
            good_pushes = [build_push(f"{name}-{number}", CREW[number % 3]) for number in range(5)]
            bulk_outcomes, *other_outcomes, single_outcome = await run_together(
                store,
                store.run(push_actions.push_all, [good_pushes[0], bad_push, good_pushes[1]], lane="one"),
                store.run(push_actions.push_all, [good_pushes[2]], lane="one"),
                store.run(push_actions.push_event, good_pushes[3], lane="one"),
                store.run(push_actions.push_all, [good_pushes[4]], lane="one"),
                store.run(push_actions.push_event, bad_push, lane="one"),
                lane="one",
            )
            assert isinstance(single_outcome, GatepostError), name
            assert [isinstance(outcome, GatepostError) for outcome in bulk_outcomes] == [False, True, False], name
            assert not any(isinstance(other_outcome, BaseException) for other_outcome in other_outcomes), name
            assert len(signals) == 5
    with open_database(crew_url) as query:
        assert query("SELECT content FROM events WHERE content LIKE 'bad%'") == []
        assert query(f"SELECT count(*) = {5 * len(bad_pushes)} FROM events") == [(True,)]


async def test_one_that_keeps_colliding_fails_alone(crew_url: str) -> None:
    """Its neighbours are not kept from the disk by it, and signal once, however often they were run."""
    signals: list[Signal] = []

    def collide(tx: Transaction, push: Push) -> None:
        push_actions.push_event(tx, push)
        raise RetryTransaction("collided")

    with closing(cast(ThreadedStore, open_store(crew_url, signal_sink=signals.extend))) as store:
        outcomes = await run_together(
            store,
            *(
                store.run(push_actions.push_event, build_push(f"before-{number}", "ana"), lane="one")
                for number in range(5)
            ),
            store.run(collide, build_push("collided", "ana"), lane="one"),
            *(
                store.run(push_actions.push_event, build_push(f"after-{number}", "ana"), lane="one")
                for number in range(5)
            ),
            lane="one",
        )
        assert [isinstance(outcome, BaseException) for outcome in outcomes] == [False] * 5 + [True] + [False] * 5
        assert isinstance(outcomes[5], Unavailable)
        events = [item.event for item in store.read_sync(inbox.peek, "ana")]
        names = [f"{when}-{number}" for when in ("before", "after") for number in range(5)]
        assert [event.content for event in events] == names
        assert sorted(signal.event.id for signal in signals if signal.event) == sorted(event.id for event in events)
        assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))


def test_the_first_is_reaped_while_a_repeat_is_answered(postgres_crew_url: str) -> None:
    """Then the repeat is no repeat."""
    with (
        closing(cast(ThreadedStore, open_store(postgres_crew_url))) as store,
        closing(open_store(postgres_crew_url, clock=LaterClock(), policy=Policy(remember=1))) as reaper,
    ):
        first = store.run_sync(push_actions.push_event, build_push("again", "ana"))
        batch = store.run_sync(inbox.claim, "ana", owner="test")
        assert batch.claim is not None
        store.run_sync(inbox.ack, batch.claim.id, owner="test", fence=batch.claim.fence)
        assert store.run_sync(push_actions.push_event, build_push("again", "ana")).deliveries[0].duplicate
        reaped_counts: list[int] = []

        def on_point(point: str) -> None:
            if point == "before inbox/dedup_keys/find_events" and not reaped_counts:
                reaped_counts.append(reaper.run_sync(retention.reap))

        watch_store(store, on_point)
        store._local = threading.local()  # a watched connection
        second = store.run_sync(push_actions.push_event, build_push("again", "ana"))
        assert reaped_counts
        assert not second.deliveries[0].duplicate
        assert second.event != first.event
        assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))


def test_two_reapers_share_an_event(postgres_crew_url: str) -> None:
    """Each takes some of its items; whoever is last takes the event too."""
    reaped_event, release_event = threading.Event(), threading.Event()

    def reap_slowly(tx: Transaction) -> int:
        count = retention.reap(tx, limit=1)
        reaped_event.set()
        release_event.wait()
        return count

    with closing(open_store(postgres_crew_url, clock=LaterClock(), policy=Policy(remember=1))) as store:
        store.run_sync(push_actions.push_event, build_push("shared", "team:crew"))
        for name in CREW:
            batch = store.run_sync(inbox.claim, name, owner="test")
            assert batch.claim is not None
            store.run_sync(inbox.ack, batch.claim.id, owner="test", fence=batch.claim.fence)
        slow_thread = threading.Thread(target=store.run_sync, args=(reap_slowly,))
        quick_thread = threading.Thread(target=store.run_sync, args=(retention.reap,), kwargs={"limit": 2})
        slow_thread.start()
        reaped_event.wait()
        quick_thread.start()
        try:
            with open_database(postgres_crew_url) as query:
                wait_until(
                    lambda: bool(query(LIST_WAITING_SESSIONS)) or not quick_thread.is_alive(),
                    "the second reaper waits or is done",
                )
        finally:
            release_event.set()
        slow_thread.join()
        quick_thread.join()
        assert all(
            account.is_balanced and account.delivered == 1 for account in store.read_sync(account_actions.list_accounts)
        )
    with open_database(postgres_crew_url) as query:
        assert query("SELECT count(*) FROM items") == [(0,)]
        assert query("SELECT count(*) FROM events") == [(0,)]
