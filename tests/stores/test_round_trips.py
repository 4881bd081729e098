"""
How often a verb waits for PostgreSQL: each wait takes longer than most statements do. What nobody has to wait for is
sent with the next statement, or with COMMIT.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from gatepost.core.ports import Reader, Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Push, PushResult
from gatepost.inbox.push import actions as push
from gatepost.stores import postgres
from gatepost.stores.group_commit import PendingCall
from gatepost.stores.postgres import Command, Cursor, PostgresConnection
from gatepost.stores.statements import ConstraintViolation
from gatepost.stores.threaded_store import ThreadedStore
from gatepost.testing import WAIT_TIMEOUT, Kit


@pytest.fixture
def store(migrated_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with the clock of the database, whose connections have been opened."""
    monkeypatch.setattr(postgres, "_MAX_TIME_AGE", WAIT_TIMEOUT)  # on a busy machine a second passes soon
    with Kit(migrated_postgres_url) as kit:
        store = kit.store
        store._prefer_clock = False  # type: ignore[attr-defined]
        store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        store.read_sync(inbox.peek, "ann")
        yield store


@contextmanager
def count_exchanges() -> Iterator[list[int]]:
    """Yield a list to which each round trip adds the number of its statements."""
    sizes: list[int] = []
    send = PostgresConnection._send

    def send_and_count(self: PostgresConnection, commands: Sequence[Command]) -> Cursor:
        sizes.append(len(commands))
        return send(self, commands)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresConnection, "_send", send_and_count)
        yield sizes


def build_push(key: str) -> Push:
    return Push(to="ann", source="test", content=key, dedup_key=key)


def test_a_push_waits_twice(store: Store) -> None:
    with count_exchanges() as sizes:
        store.run_sync(push.push_event, build_push("one"))
    # BEGIN, the time, whom nothing reaches, taken keys, arrivals, names; keys, events, items, accounts, COMMIT
    assert sizes == [6, 5]


def test_a_push_with_a_key_that_is_taken_waits_until_it_knows(store: Store) -> None:
    store.run_sync(push.push_event, build_push("one"))
    with count_exchanges() as sizes:
        result = store.run_sync(push.push_event, build_push("one"))
    assert result.deliveries[0].duplicate
    # the same; keys; who has them; the first event; COMMIT
    assert sizes == [6, 1, 1, 1, 1]


def test_a_key_that_somebody_took_meanwhile_is_a_repeat(store: Store) -> None:
    """The second push has seen that the key was free, and finds at the COMMIT that it is not: it runs again."""
    result = None

    def push_between(connection: PostgresConnection, commands: Sequence[Command]) -> Cursor:
        nonlocal result
        patch.undo()
        result = store.run_sync(push.push_event, build_push("one"))
        return connection._send(commands)

    def wait_for_keys(self: PostgresConnection, commands: Sequence[Command]) -> Cursor:
        return (push_between if any(command.may_collide for command in commands) else send)(self, commands)

    send = PostgresConnection._send
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresConnection, "_send", wait_for_keys)
        [second, other] = store.run_sync(push.push_all, [build_push("one"), build_push("two")])
    assert result is not None
    assert not result.deliveries[0].duplicate
    assert isinstance(second, PushResult)
    assert isinstance(other, PushResult)
    assert second.event == result.event
    assert [second.deliveries[0].duplicate, other.deliveries[0].duplicate] == [True, False]
    assert [item.event.content for item in store.read_sync(inbox.peek, "ann")] == ["one", "two"]


def test_a_hundred_pushes_wait_as_often(store: Store) -> None:
    with count_exchanges() as sizes:
        store.run_sync(push.push_all, [build_push(str(number)) for number in range(100)])
    assert len(sizes) == 2


def test_a_claim_waits_three_times(store: Store) -> None:
    store.run_sync(push.push_all, [build_push(str(number)) for number in range(5)])
    with count_exchanges() as sizes:
        batch = store.run_sync(inbox.claim, "ann", owner="s-1")
    assert [item.event.content for item in batch.items] == ["0", "1", "2", "3", "4"]
    # BEGIN, the time, the name, lock, candidates, state; claim, items to the past, the removal, their rows; COMMIT
    assert sizes == [6, 4, 1]
    assert batch.claim is not None
    with count_exchanges() as sizes:
        assert store.run_sync(inbox.ack, batch.claim.id, owner="s-1", fence=batch.claim.fence) == 5
    # BEGIN, the time, the end of the claim; COMMIT
    assert sizes == [3, 1]


def test_the_time_runs_on_for_a_second_and_is_asked_for_then(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_time(tx: Reader) -> tuple[int, int]:
        ours = tx.now
        tx.fetch_all("inbox/events/read_watermark")
        return ours, tx._connection._now  # type: ignore[attr-defined]

    for max_age, size in ((WAIT_TIMEOUT, 3), (-1.0, 2)):
        monkeypatch.setattr(postgres, "_MAX_TIME_AGE", max_age)
        with count_exchanges() as sizes:
            ours, theirs = store.read_sync(read_time)
        assert sizes[0] == size
        # it may be late by the time that an answer takes, and is never early
        assert 0 <= theirs - ours < 60_000_000


def test_a_query_waits_once_for_its_rows(store: Store) -> None:
    with count_exchanges() as sizes:
        store.read_sync(directory.find, "ann")
    assert sizes == [3]


def test_an_error_of_a_statement_that_was_sent_later_is_that_of_its_verb(store: Store) -> None:
    """Each verb has a savepoint; the one whose statement fails is undone, and the others are stored."""

    def fail_later(tx: Transaction) -> None:
        directory.find(tx, "ann")
        tx.execute_later("inbox/inboxes/insert", recipient=-1, cursor=0)  # there is no such entity

    def refuse(tx: Transaction) -> None:
        raise Invalid("before it has asked anything")

    outcomes = run_as_group(
        store,
        lambda tx: directory.register(tx, EntitySpec(name="bob", kind=EntityKind.AGENT)),
        fail_later,
        refuse,
        lambda tx: directory.register(tx, EntitySpec(name="cem", kind=EntityKind.AGENT)),
    )
    assert [error is None for error in outcomes] == [True, False, False, True]
    assert [entity.name for entity in store.read_sync(directory.list_page)] == ["ann", "bob", "cem"]


def test_what_was_not_prepared_because_its_round_trip_failed_is_prepared_later(migrated_postgres_url: str) -> None:
    """The driver prepares a statement at its sixth run; the server may have skipped that, as after a deadlock."""
    connection = PostgresConnection(migrated_postgres_url, writes=True, use_database_time=True)

    def roll_back_after_an_error() -> None:
        connection.begin()
        connection.run_later("inbox/inboxes/insert", {"recipient": -1, "cursor": 0})  # there is no such entity
        with pytest.raises(ConstraintViolation):
            connection.all("inbox/events/read_watermark", {})
        connection.abandon()

    try:
        roll_back_after_an_error()  # before anything is prepared
        for _ in range(5):
            connection.begin()
            connection.all("inbox/events/read_watermark", {})
            connection.commit()
        roll_back_after_an_error()
        connection.begin()
        assert connection.all("inbox/events/read_watermark", {})
        connection.commit()
    finally:
        connection.close()


@contextmanager
def lose_answer_to(text: str) -> Iterator[None]:
    """
    Let the driver fail after the first round trip that has this command, which the server has run: so it fails if the
    last words of a server have come and the end of the connection has not.
    """
    send = PostgresConnection._send
    pipeline = psycopg.Connection.pipeline
    lost_count = 0

    @contextmanager
    def fail_at_end(self: psycopg.Connection[Any]) -> Iterator[psycopg.Pipeline]:
        with pipeline(self) as result:
            yield result
        raise psycopg.OperationalError("cannot exit pipeline mode while busy")

    def send_and_fail(self: PostgresConnection, commands: Sequence[Command]) -> Cursor:
        nonlocal lost_count
        if lost_count or text not in [command.text for command in commands]:
            return send(self, commands)
        lost_count += 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(psycopg.Connection, "pipeline", fail_at_end)
            return send(self, commands)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PostgresConnection, "_send", send_and_fail)
        yield
    assert lost_count == 1


@pytest.mark.parametrize("text", ["BEGIN", "COMMIT"])
def test_a_connection_whose_round_trip_failed_is_lost(store: Store, text: str) -> None:
    """What was committed is known to be committed, and what was only begun is done on another connection."""
    with lose_answer_to(text):
        result = store.run_sync(push.push_event, build_push("one"))
    assert not result.deliveries[0].duplicate
    assert [item.event.content for item in store.read_sync(inbox.peek, "ann")] == ["one"]


def run_as_group(store: Store, *verbs: Callable[[Transaction], object]) -> list[BaseException | None]:
    assert isinstance(store, ThreadedStore)
    writer = store._make_writer(store.connect(writes=True))
    try:
        return [outcome.error for outcome in writer.write([PendingCall(verb, ()) for verb in verbs])]
    finally:
        writer.close()
