"""Gates that wait for an event: a look goes on where the last one ended, and misses nothing."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from gatepost.actions import deadlines, directory, gates
from gatepost.actions import push as push_actions
from gatepost.actions.deadlines import RESCAN_AFTER, EventScan
from gatepost.actions.directory import EntitySpec
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Push
from gatepost.core.gate import Gate, GateKind, GateSpec
from gatepost.core.position import Position
from gatepost.errors import Invalid
from gatepost.ports import Store, Transaction
from gatepost.runtime import gate_deadlines
from gatepost.runtime.gate_deadlines import GateDeadlines
from gatepost.tables import gates as gate_rows
from gatepost.testing import Kit
from tests.acceptance.moving import lines_of, take_all

PATIENCE = 20.0


def furnish(store: Store) -> None:
    store.call(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    for name in ("ann", "bob"):
        store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, team="red"))


@pytest.fixture
def store(kit: Kit) -> Store:
    furnish(kit.store)
    return kit.store


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[Store]:
    with Kit(postgres_url) as kit:
        furnish(kit.store)
        yield kit.store


def wait_for(source: str, owner: str = "ann") -> GateSpec:
    return GateSpec(name=source, kind=GateKind.EVENT, awaits=f"service:{source}", owner=owner)


def hung(store: Store, source: str = "jira", owner: str = "ann") -> Gate:
    return store.call(gates.add, wait_for(source, owner), by="admin")


def service(source: str = "jira", to: str = "ann") -> Push:
    return Push(to=to, type=EventType.SERVICE, source=source, content="x", data={"payload": source})


def push(store: Store, source: str = "jira", to: str = "ann") -> str:
    return store.call(push_actions.push_event, service(source, to)).event


def met(looked: EventScan) -> list[str]:
    return [id for id, *_ in looked.matches]


class TestGoingOn:
    def test_what_came_since_is_found_and_what_was_looked_at_is_not_looked_at_again(
        self, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate, other = hung(store), hung(store, "ci")
        push(store, "other")
        first = store.query(deadlines.scan_events)
        monkeypatch.setattr(gate_rows, "matched", lambda _, which: pytest.fail(f"{which} once more") if which else {})
        assert met(first) == met(store.query(deadlines.scan_events, first)) == []
        came = [push(store), push(store)]
        looked = store.query(deadlines.scan_events, first)
        assert looked.matches == ((gate.id, came[0], 0),), "the first that is it"
        push(store, "ci", to="*")
        assert met(store.query(deadlines.scan_events, first)) == [gate.id, other.id]

    def test_one_that_is_met_is_found_until_it_has_ended(self, store: Store) -> None:
        gate = hung(store)
        looked = store.query(deadlines.scan_events)
        push(store)
        for _ in range(3):
            looked = store.query(deadlines.scan_events, looked)
            push(store, "other")
            assert met(looked) == [gate.id]
        assert store.call(deadlines.end_due, last_scan=looked) == 1
        assert met(store.query(deadlines.scan_events, looked)) == []

    def test_a_gate_that_was_made_since_is_looked_at_from_its_beginning(self, store: Store) -> None:
        hung(store)
        push(store, "ci")
        looked = store.query(deadlines.scan_events)
        gate = hung(store, "ci")
        event = push(store, "ci")
        assert store.query(deadlines.scan_events, looked).matches == ((gate.id, event, 0),)

    def test_more_than_are_ended_at_once_are_not_lost(self, store: Store) -> None:
        made = [hung(store) for _ in range(5)]
        looked = store.query(deadlines.scan_events)
        push(store)
        for count in (2, 2, 1, 0):
            looked = store.query(deadlines.scan_events, looked)
            assert store.call(deadlines.end_due, limit=2, last_scan=looked) == count
        assert not any(store.query(gates.show, gate.id).is_pending for gate in made)

    def test_in_a_store_that_is_not_so_far_it_begins_anew(self, store: Store) -> None:
        """A copy from before was put in its place, under a process that lives on."""
        gate = hung(store)
        looked = store.query(deadlines.scan_events)
        push(store)
        far = replace(looked, position=Position(2**62, 2**62))
        assert met(store.query(deadlines.scan_events, far)) == [gate.id]

    def test_what_an_import_adds_to_an_event_that_was_here_is_found_after_a_while(self, kit: Kit, store: Store) -> None:
        gate = hung(store, owner="bob")
        with Kit(clock=kit.clock) as other:
            furnish(other.store)
            push(other.store, to="team:red")
            whole = lines_of(other.store)
        part = [line for line in whole if json.loads(line).get("recipient") != "bob"]
        part[-1] = json.dumps({"record": "end", "lines": len(part) - 1}).encode()
        take_all(store, part)
        looked = store.query(deadlines.scan_events)
        take_all(store, whole)
        kit.clock.advance(RESCAN_AFTER)
        assert met(store.query(deadlines.scan_events, looked)) == [gate.id]


class Slow:
    """A transaction that does something at once, or late, and is held open until it is let go."""

    def __init__(self, store: Store, verb: Callable[[Transaction], Any], *, late: bool = False) -> None:
        self._began, self._go = threading.Event(), threading.Event()
        self._verb, self._late = verb, late
        self._thread = threading.Thread(target=store.call, args=(self._held,))

    def __enter__(self) -> None:
        self._thread.start()
        assert self._began.wait(PATIENCE)

    def __exit__(self, *_: object) -> None:
        self._go.set()
        self._thread.join(PATIENCE)

    def _held(self, tx: Transaction) -> None:
        if not self._late:
            self._verb(tx)
        self._began.set()
        assert self._go.wait(PATIENCE)
        if self._late:
            self._verb(tx)


class TestOutOfOrder:
    """On PostgreSQL what took its number first may be committed last."""

    @pytest.mark.parametrize("late", [False, True])
    @pytest.mark.parametrize("to", ["ann", "*"])
    def test_an_event(self, postgres_store: Store, late: bool, to: str) -> None:
        store = postgres_store
        gate = hung(store)
        looked = store.query(deadlines.scan_events)
        with Slow(store, lambda tx: push_actions.push_event(tx, service(to=to)), late=late):
            for _ in range(3):
                push(store, "other")
                looked = store.query(deadlines.scan_events, looked)
                assert met(looked) == []
        assert met(store.query(deadlines.scan_events, looked)) == [gate.id]

    def test_an_event_of_a_later_transaction_that_has_the_lower_number(self, postgres_store: Store) -> None:
        store = postgres_store
        gate = hung(store)
        looked = store.query(deadlines.scan_events)
        with ExitStack() as early, ExitStack() as late:
            early.enter_context(Slow(store, lambda tx: push_actions.push_event(tx, service("other")), late=True))
            late.enter_context(Slow(store, lambda tx: push_actions.push_event(tx, service())))
            early.close()
            looked = store.query(deadlines.scan_events, looked)
            assert met(looked) == []
        assert met(store.query(deadlines.scan_events, looked)) == [gate.id]

    def test_a_gate(self, postgres_store: Store) -> None:
        """What it waits for comes, and is passed over, before anybody can see it."""
        store = postgres_store
        hung(store, "other")
        looked = store.query(deadlines.scan_events)
        with ExitStack() as early, ExitStack() as late:
            early.enter_context(Slow(store, lambda tx: push_actions.push_event(tx, service()), late=True))
            late.enter_context(Slow(store, lambda tx: gates.add(tx, wait_for("jira"), by="admin")))
            early.close()
            for _ in range(3):
                looked = store.query(deadlines.scan_events, looked)
                assert met(looked) == []
        assert len(met(store.query(deadlines.scan_events, looked))) == 1

    def test_many_at_once(self, postgres_store: Store) -> None:
        """Eight push, each to a gate of its own, while one looks without pause; nobody is left waiting."""
        store, done = postgres_store, threading.Event()
        made = [hung(store, f"s{number}") for number in range(80)]

        def pushes(part: int) -> None:
            for number in range(part, 80, 8):
                push(store, f"s{number}")

        def looks() -> None:
            looked: EventScan | None = None
            last = False
            while not last:
                last = done.is_set()
                looked = store.query(deadlines.scan_events, looked)
                found.update(met(looked))

        found: set[str] = set()
        looker = threading.Thread(target=looks)
        pushers = [threading.Thread(target=pushes, args=(part,)) for part in range(8)]
        looker.start()
        for thread in pushers:
            thread.start()
        for thread in pushers:
            thread.join(PATIENCE)
        done.set()
        looker.join(PATIENCE)
        assert found == {gate.id for gate in made}


async def test_a_keeper_comes_back_to_one_that_it_could_not_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, house, ends = hung(store), GateDeadlines(store), gates.end
    await house.check()
    push(store)

    def end(*args: Any, **more: Any) -> Gate:
        raise Invalid("it cannot be told")

    monkeypatch.setattr(gates, "end", end)
    for _ in range(2):
        assert await house.check() == gate_deadlines.MAX_WAIT
        push(store, "other")
    monkeypatch.setattr(gates, "end", ends)
    assert await house.check() == gate_deadlines.MAX_WAIT
    assert not store.query(gates.show, gate.id).is_pending
