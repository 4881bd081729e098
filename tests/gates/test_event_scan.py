"""Gates that wait for an event: a look goes on where the last one ended, and misses nothing."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, cast

import pytest

from gatepost.core.ports import Reader, Row, Store, Transaction
from gatepost.core.signals import Position
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid
from gatepost.gates import automatic_end_actions as automatic_ends, gate_actions as gates
from gatepost.gates.automatic_end_actions import RESCAN_AFTER, EventScan
from gatepost.gates.gate import Gate, GateKind, GateSpec
from gatepost.inbox.event import EventType, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.stores.statements import Sql
from gatepost.testing import Kit
from gatepost.worker import background_tasks
from gatepost.worker.background_tasks import GateEnder
from tests.support.races import lift_idle_limit
from tests.support.waits import LAST_RESORT

ADD_RECIPIENT = Sql(
    "INSERT INTO pending (recipient, priority, is_from_machine, arrival, source, wakes, attempts, size, times)"
    " SELECT :recipient, priority, is_from_machine, arrival, source, wakes, attempts, size, times FROM pending"
)


def register_entities(store: Store) -> None:
    store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    for name in ("ann", "bob"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, team="red"))


@pytest.fixture
def store(kit: Kit) -> Store:
    register_entities(kit.store)
    return kit.store


@pytest.fixture
def postgres_store(empty_postgres_url: str) -> Iterator[Store]:
    with Kit(empty_postgres_url) as kit:
        register_entities(kit.store)
        yield kit.store


def build_gate_spec(source: str, owner: str = "ann") -> GateSpec:
    return GateSpec(name=source, kind=GateKind.EVENT, awaits=f"service:{source}", owner=owner)


def create_gate(store: Store, source: str = "jira", owner: str = "ann") -> Gate:
    return store.run_sync(gates.add, build_gate_spec(source, owner), by="admin")


def build_push(source: str = "jira", to: str = "ann") -> Push:
    return Push(to=to, type=EventType.SERVICE, source=source, content="x", data={"payload": source})


def push_event(store: Store, source: str = "jira", to: str = "ann") -> str:
    return store.run_sync(push_actions.push_event, build_push(source, to)).event


def list_met(scan: EventScan) -> list[str]:
    return [id for id, *_ in scan.matches]


class NewEventsReader:
    """A reader that fails if a gate is looked at from its beginning."""

    def __init__(self, tx: Reader) -> None:
        self._tx = tx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    def fetch_all(self, statement: str, /, **parameters: Any) -> list[Row]:
        assert statement != "gates/gates/find_matches", f"{parameters} once more"
        return self._tx.fetch_all(statement, **parameters)


def scan_new_events(tx: Reader, last_scan: EventScan) -> EventScan:
    return automatic_ends.scan_events(cast("Reader", NewEventsReader(tx)), last_scan)


class TestGoingOn:
    def test_what_came_since_is_found_and_what_was_looked_at_is_not_looked_at_again(self, store: Store) -> None:
        gate, other = create_gate(store), create_gate(store, "ci")
        push_event(store, "other")
        first = store.read_sync(automatic_ends.scan_events)
        assert list_met(first) == list_met(store.read_sync(scan_new_events, first)) == []
        event_ids = [push_event(store), push_event(store)]
        scan = store.read_sync(scan_new_events, first)
        assert scan.matches == ((gate.id, event_ids[0], 0),), "the first that is it"
        push_event(store, "ci", to="*")
        assert list_met(store.read_sync(scan_new_events, first)) == [gate.id, other.id]

    def test_one_that_is_met_is_found_until_it_has_ended(self, store: Store) -> None:
        gate = create_gate(store)
        scan = store.read_sync(automatic_ends.scan_events)
        push_event(store)
        for _ in range(3):
            scan = store.read_sync(automatic_ends.scan_events, scan)
            push_event(store, "other")
            assert list_met(scan) == [gate.id]
        assert store.run_sync(automatic_ends.end_due, last_scan=scan) == 1
        assert list_met(store.read_sync(automatic_ends.scan_events, scan)) == []

    def test_a_gate_that_was_made_since_is_looked_at_from_its_beginning(self, store: Store) -> None:
        create_gate(store)
        push_event(store, "ci")
        scan = store.read_sync(automatic_ends.scan_events)
        gate = create_gate(store, "ci")
        event = push_event(store, "ci")
        assert store.read_sync(automatic_ends.scan_events, scan).matches == ((gate.id, event, 0),)

    def test_more_than_are_ended_at_once_are_not_lost(self, store: Store) -> None:
        created_gates = [create_gate(store) for _ in range(5)]
        scan = store.read_sync(automatic_ends.scan_events)
        push_event(store)
        for count in (2, 2, 1, 0):
            scan = store.read_sync(automatic_ends.scan_events, scan)
            assert store.run_sync(automatic_ends.end_due, limit=2, last_scan=scan) == count
        assert not any(store.read_sync(gates.show, gate.id).is_pending for gate in created_gates)

    def test_in_a_store_that_is_not_so_far_it_begins_anew(self, store: Store) -> None:
        """A copy from before was put in its place, under a process that lives on."""
        gate = create_gate(store)
        scan = store.read_sync(automatic_ends.scan_events)
        push_event(store)
        far_scan = replace(scan, position=Position(2**62, 2**62))
        assert list_met(store.read_sync(automatic_ends.scan_events, far_scan)) == [gate.id]

    def test_a_recipient_that_is_added_to_an_event_that_was_here_is_found_after_a_while(
        self, kit: Kit, store: Store
    ) -> None:
        gate = create_gate(store, owner="bob")
        push_event(store)
        scan = store.read_sync(automatic_ends.scan_events)
        bob = store.read_sync(directory.find, "bob").number
        store.run_sync(lambda tx: tx.execute(ADD_RECIPIENT, recipient=bob))
        assert list_met(store.read_sync(automatic_ends.scan_events, scan)) == []
        kit.clock.advance(RESCAN_AFTER)
        assert list_met(store.read_sync(automatic_ends.scan_events, scan)) == [gate.id]


class SlowTransaction:
    """A transaction that does something at once, or late, and is held open until it is let go."""

    def __init__(self, store: Store, verb: Callable[[Transaction], Any], *, late: bool = False) -> None:
        self._started, self._may_commit = threading.Event(), threading.Event()
        self._verb, self._is_late = verb, late
        self._thread = threading.Thread(target=store.run_sync, args=(self._run_slowly,))

    def __enter__(self) -> None:
        self._thread.start()
        assert self._started.wait(LAST_RESORT)

    def __exit__(self, *_: object) -> None:
        self._may_commit.set()
        self._thread.join(LAST_RESORT)

    def _run_slowly(self, tx: Transaction) -> None:
        lift_idle_limit(tx)
        if not self._is_late:
            self._verb(tx)
        self._started.set()
        assert self._may_commit.wait(LAST_RESORT)
        if self._is_late:
            self._verb(tx)


class TestOutOfOrder:
    """On PostgreSQL what took its number first may be committed last."""

    @pytest.mark.parametrize("late", [False, True])
    @pytest.mark.parametrize("to", ["ann", "*"])
    def test_an_event(self, postgres_store: Store, late: bool, to: str) -> None:
        store = postgres_store
        gate = create_gate(store)
        scan = store.read_sync(automatic_ends.scan_events)
        with SlowTransaction(store, lambda tx: push_actions.push_event(tx, build_push(to=to)), late=late):
            for _ in range(3):
                push_event(store, "other")
                scan = store.read_sync(automatic_ends.scan_events, scan)
                assert list_met(scan) == []
        assert list_met(store.read_sync(automatic_ends.scan_events, scan)) == [gate.id]

    def test_an_event_of_a_later_transaction_that_has_the_lower_number(self, postgres_store: Store) -> None:
        store = postgres_store
        gate = create_gate(store)
        scan = store.read_sync(automatic_ends.scan_events)
        with ExitStack() as early, ExitStack() as late:
            early.enter_context(
                SlowTransaction(store, lambda tx: push_actions.push_event(tx, build_push("other")), late=True)
            )
            late.enter_context(SlowTransaction(store, lambda tx: push_actions.push_event(tx, build_push())))
            early.close()
            scan = store.read_sync(automatic_ends.scan_events, scan)
            assert list_met(scan) == []
        assert list_met(store.read_sync(automatic_ends.scan_events, scan)) == [gate.id]

    def test_a_gate(self, postgres_store: Store) -> None:
        """What it waits for comes, and is passed over, before anybody can see it."""
        store = postgres_store
        create_gate(store, "other")
        scan = store.read_sync(automatic_ends.scan_events)
        with ExitStack() as early, ExitStack() as late:
            early.enter_context(SlowTransaction(store, lambda tx: push_actions.push_event(tx, build_push()), late=True))
            late.enter_context(SlowTransaction(store, lambda tx: gates.add(tx, build_gate_spec("jira"), by="admin")))
            early.close()
            for _ in range(3):
                scan = store.read_sync(automatic_ends.scan_events, scan)
                assert list_met(scan) == []
        assert len(list_met(store.read_sync(automatic_ends.scan_events, scan))) == 1

    def test_many_at_once(self, postgres_store: Store) -> None:
        """Eight push, each to a gate of its own, while one looks without pause; nobody is left waiting."""
        store, done = postgres_store, threading.Event()
        created_gates = [create_gate(store, f"s{number}") for number in range(80)]

        def push_part(part: int) -> None:
            for number in range(part, 80, 8):
                push_event(store, f"s{number}")

        def scan_until_done() -> None:
            scan: EventScan | None = None
            last = False
            while not last:
                last = done.is_set()
                scan = store.read_sync(automatic_ends.scan_events, scan)
                met_ids.update(list_met(scan))

        met_ids: set[str] = set()
        scan_thread = threading.Thread(target=scan_until_done)
        push_threads = [threading.Thread(target=push_part, args=(part,)) for part in range(8)]
        scan_thread.start()
        for thread in push_threads:
            thread.start()
        for thread in push_threads:
            thread.join(LAST_RESORT)
        done.set()
        scan_thread.join(LAST_RESORT)
        assert met_ids == {gate.id for gate in created_gates}


async def test_the_duty_of_deadlines_comes_back_to_one_that_it_could_not_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, deadline_loop, real_end = create_gate(store), GateEnder(store), gates.end
    await deadline_loop.check()
    push_event(store)

    def end(*args: Any, **kwargs: Any) -> Gate:
        raise Invalid("it cannot be told")

    monkeypatch.setattr(gates, "end", end)
    for _ in range(2):
        assert await deadline_loop.check() == background_tasks.MAX_WAIT
        push_event(store, "other")
    monkeypatch.setattr(gates, "end", real_end)
    assert await deadline_loop.check() == background_tasks.MAX_WAIT
    assert not store.read_sync(gates.show, gate.id).is_pending
