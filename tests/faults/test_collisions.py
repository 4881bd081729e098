"""Two who want the same rows, or one whose neighbour is bad: nobody hears of what is not theirs."""

import signal
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import cast

import psycopg

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.app import open_store
from gatepost.core.entity import EntityKind
from gatepost.core.event import Push
from gatepost.core.limits import Limits
from gatepost.core.signals import Signal
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import RetryTransaction, Transaction
from tests.faults.clerk import together, wish
from tests.faults.conftest import NIGHTLY
from tests.faults.hands import hands
from tests.faults.office import CREW, LaterClock, lone_witness, witness
from tests.faults.points import watch
from tests.servers import until

WAITING = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'gatepost' AND wait_event_type = 'Lock'"
STRAY = """
    SELECT content FROM events e
    WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.arrival = e.arrival)
        AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival)
"""


def test_a_quarrel_over_the_same_rows(postgres_office: str, tmp_path: Path) -> None:
    """Overlapping keys and fan-outs in every order, claims, the reaper: what collides is run again by the store."""
    with psycopg.connect(postgres_office, autocommit=True) as connection:
        # A server waits a second before it looks for a deadlock: too long for as many as we want.
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET deadlock_timeout = '20ms'".encode())
    with hands(3, postgres_office, tmp_path) as three:
        for number, hand in enumerate(three):
            hand.start(life=f"life-{number}", kind="quarrel")
        for hand in three:
            hand.heard("warm")
        with closing(open_store(postgres_office)) as store:
            end = time.monotonic() + (60 if NIGHTLY else 3)
            while time.monotonic() < end:
                accounts = store.query(maintenance.list_accounts)
                assert all(account.is_balanced for account in accounts), accounts
        for hand in three:
            hand.signal(signal.SIGTERM)
        for hand in three:
            hand.finished()
    with lone_witness(postgres_office) as ask, closing(open_store(postgres_office, clock=LaterClock())) as store:
        assert ask("SELECT deadlocks > 0 FROM pg_stat_database WHERE datname = current_database()") == [(True,)]
        assert ask("SELECT sum(accepted) > 50 FROM tallies") == [(True,)]
        assert all(account.is_balanced for account in store.query(maintenance.list_accounts))
        assert ask(STRAY) == []


async def test_a_bad_one_among_good_ones_fails_alone(office: str) -> None:
    """In one bulk, in bulks that are run as one, and among single verbs."""
    rings: list[Signal] = []
    bad = {
        "unknown": Push(to="nobody", source="test", content="bad"),
        "malformed": Push(to="team:", source="test", content="bad"),
        "sender": Push(to="ana", source="test", sender="nobody", content="bad"),
        "retired": Push(to="gone", source="test", content="bad"),
        "large": Push(to="ana", source="test", content="bad" + "x" * 300_000),
        "nul": Push(to="ana", source="test", content="bad\0"),
        "surrogate": Push(to="ana", source="test", content="bad\ud800"),
        "nul in data": Push(to="ana", source="test", content="bad", data={"nul": "\0"}),
        "not json": Push(to="ana", source="test", content="bad", data={"not": float("nan")}),
        "key": Push(to="ana", source="test", content="bad", key=""),
        "hops": Push(to="ana", source="test", content="bad", hops=1_000_000),
        "ttl": Push(to="ana", source="test", content="bad", ttl=2**63),
        "negative ttl": Push(to="ana", source="test", content="bad", ttl=-1),
    }
    with closing(cast(ThreadedStore, open_store(office, signal_sink=rings.extend))) as store:
        store.call(directory.register, EntitySpec(name="gone", kind=EntityKind.AGENT))
        store.call(directory.retire, "gone")
        for what, one in bad.items():
            rings.clear()
            neighbours = [wish(f"{what}-{number}", CREW[number % 3]) for number in range(5)]
            alone, *others, single = await together(
                store,
                store.run(push.push_all, [neighbours[0], one, neighbours[1]], lane="one"),
                store.run(push.push_all, [neighbours[2]], lane="one"),
                store.run(push.push_event, neighbours[3], lane="one"),
                store.run(push.push_all, [neighbours[4]], lane="one"),
                store.run(push.push_event, one, lane="one"),
                lane="one",
            )
            assert isinstance(single, GatepostError), what
            assert [isinstance(outcome, GatepostError) for outcome in alone] == [False, True, False], what
            assert not any(isinstance(other, BaseException) for other in others), what
            assert len(rings) == 5
    with witness(office) as ask:
        assert ask("SELECT content FROM events WHERE content LIKE 'bad%'") == []
        assert ask(f"SELECT count(*) = {5 * len(bad)} FROM events") == [(True,)]


async def test_one_that_keeps_colliding_fails_alone(office: str) -> None:
    """Its neighbours are not kept from the disk by it, and ring once, however often they were run."""
    rings: list[Signal] = []

    def collide(tx: Transaction, wanted: Push) -> None:
        push.push_event(tx, wanted)
        raise RetryTransaction("collided")

    with closing(cast(ThreadedStore, open_store(office, signal_sink=rings.extend))) as store:
        errors = await together(
            store,
            *(store.run(push.push_event, wish(f"before-{number}", "ana"), lane="one") for number in range(5)),
            store.run(collide, wish("collided", "ana"), lane="one"),
            *(store.run(push.push_event, wish(f"after-{number}", "ana"), lane="one") for number in range(5)),
            lane="one",
        )
        assert [isinstance(error, BaseException) for error in errors] == [False] * 5 + [True] + [False] * 5
        assert isinstance(errors[5], Unavailable)
        found = [item.event for item in store.query(inbox.peek, "ana")]
        names = [f"{when}-{number}" for when in ("before", "after") for number in range(5)]
        assert [event.content for event in found] == names
        assert sorted(ring.event.id for ring in rings if ring.event) == sorted(event.id for event in found)
        assert all(account.is_balanced for account in store.query(maintenance.list_accounts))


def test_the_first_is_reaped_while_a_repeat_is_answered(postgres_office: str) -> None:
    """Then the repeat is no repeat."""
    with (
        closing(cast(ThreadedStore, open_store(postgres_office))) as store,
        closing(open_store(postgres_office, clock=LaterClock(), limits=Limits(remember=1))) as reaper,
    ):
        first = store.call(push.push_event, wish("again", "ana"))
        batch = store.call(inbox.claim, "ana", owner="test")
        assert batch.claim is not None
        store.call(inbox.ack, batch.claim.id, owner="test", fence=batch.claim.fence)
        assert store.call(push.push_event, wish("again", "ana")).deliveries[0].duplicate
        reaped: list[int] = []

        def visit(point: str) -> None:
            if point == "before items/keyed" and not reaped:
                reaped.append(reaper.call(maintenance.reap))

        watch(store, visit)
        store._local = threading.local()  # a watched connection
        second = store.call(push.push_event, wish("again", "ana"))
        assert reaped
        assert not second.deliveries[0].duplicate
        assert second.event != first.event
        assert all(account.is_balanced for account in store.query(maintenance.list_accounts))


def test_two_reapers_share_an_event(postgres_office: str) -> None:
    """Each takes some of its items; whoever is last takes the event too."""
    taken, go = threading.Event(), threading.Event()

    def slowly(tx: Transaction) -> int:
        count = maintenance.reap(tx, limit=1)
        taken.set()
        go.wait()
        return count

    with closing(open_store(postgres_office, clock=LaterClock(), limits=Limits(remember=1))) as store:
        store.call(push.push_event, wish("shared", "team:crew"))
        for name in CREW:
            batch = store.call(inbox.claim, name, owner="test")
            assert batch.claim is not None
            store.call(inbox.ack, batch.claim.id, owner="test", fence=batch.claim.fence)
        slow = threading.Thread(target=store.call, args=(slowly,))
        quick = threading.Thread(target=store.call, args=(maintenance.reap,), kwargs={"limit": 2})
        slow.start()
        taken.wait()
        quick.start()
        try:
            with witness(postgres_office) as ask:
                until(lambda: bool(ask(WAITING)) or not quick.is_alive(), "the second reaper waits or is done")
        finally:
            go.set()
        slow.join()
        quick.join()
        assert all(account.is_balanced and account.delivered == 1 for account in store.query(maintenance.list_accounts))
    with witness(postgres_office) as ask:
        assert ask("SELECT count(*) FROM items") == [(0,)]
        assert ask("SELECT count(*) FROM events") == [(0,)]
