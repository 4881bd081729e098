"""
The named points of a writing transaction: before and after everything that is asked of the connection, before and
after the signals, before and after the answers.

`watch_store` puts itself between a store and its connections without changing either; whoever is told of the points may
note them, or die at one.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gatepost.core.ports import Row
from gatepost.core.signals import Signal
from gatepost.core.times import Instant
from gatepost.stores import threaded_store as threaded
from gatepost.stores.call_queues import SharedTurns, WriteQueue
from gatepost.stores.group_commit import CallOutcome, GroupWriter, PendingCall, StoreConnection
from gatepost.stores.sqlite import SqliteConnection
from gatepost.stores.threaded_store import ThreadedStore

PointHandler = Callable[[str], None]


class WatchedConnection:
    """A connection that tells of every point it passes."""

    def __init__(self, connection: StoreConnection, on_point: PointHandler) -> None:
        self._connection = connection
        self._on_point = on_point

    @property
    def is_remote(self) -> bool:
        return self._connection.is_remote

    def begin(self, waited_seconds: float = 0.0) -> None:
        with self._report_around("begin"):
            self._connection.begin(waited_seconds)

    def read_time(self) -> Instant | None:
        return self._connection.read_time()

    def try_to_begin(self) -> bool:
        with self._report_around("begin"):
            return isinstance(self._connection, SqliteConnection) and self._connection.try_to_begin()

    def copy_journal(self) -> None:
        assert isinstance(self._connection, SqliteConnection)
        self._connection.copy_journal()

    def savepoint(self) -> None:
        with self._report_around("savepoint"):
            self._connection.savepoint()

    def release(self) -> None:
        with self._report_around("release"):
            self._connection.release()

    def rollback_to(self) -> None:
        with self._report_around("rollback_to"):
            self._connection.rollback_to()

    def commit(self) -> None:
        with self._report_around("commit"):
            self._connection.commit()

    def abandon(self) -> None:
        with self._report_around("abandon"):
            self._connection.abandon()

    def all(self, statement: str, parameters: Mapping[str, Any], /) -> list[Row]:
        with self._report_around(statement):
            return self._connection.all(statement, parameters)

    def all_later(self, statement: str, parameters: Mapping[str, Any], /) -> Callable[[], list[Row]]:
        with self._report_around(statement):
            return self._connection.all_later(statement, parameters)

    def fetch_page(self, statement: str, parameters: Mapping[str, Any], room: int, /) -> tuple[list[Row], bool]:
        with self._report_around(statement):
            return self._connection.fetch_page(statement, parameters, room)

    def run(self, statement: str, parameters: Mapping[str, Any], /) -> int:
        with self._report_around(statement):
            return self._connection.run(statement, parameters)

    def many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        with self._report_around(statement):
            return self._connection.many(statement, columns)

    def get_cache(self, tables: str) -> dict[Any, Any] | None:
        return self._connection.get_cache(tables)

    def run_later(self, statement: str, parameters: Mapping[str, Any], /) -> None:
        with self._report_around(statement):
            self._connection.run_later(statement, parameters)

    def many_later(self, statement: str, columns: Mapping[str, Sequence[Any]], /, *, may_collide: bool = False) -> None:
        with self._report_around(statement):
            self._connection.many_later(statement, columns, may_collide=may_collide)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _report_around(self, operation: str) -> Iterator[None]:
        self._on_point(f"before {operation}")
        yield
        self._on_point(f"after {operation}")


def watch_store(store: ThreadedStore, on_point: PointHandler) -> None:
    """Tell of every point that the store's writers pass from now on."""
    open_connection, send_signals = store.connect, store._signal_sink

    def open_watched(*, writes: bool) -> StoreConnection:
        connection = open_connection(writes=writes)
        return WatchedConnection(connection, on_point) if writes else connection

    def make_watched_writer(connection: StoreConnection) -> GroupWriter:
        return GroupWriter(connection, store._clock, store._policy, send_watched_signals)

    def send_watched_signals(signals: Sequence[Signal]) -> None:
        on_point("before signals")
        send_signals(signals)
        on_point("after signals")

    def handle_outcomes(pairs: Sequence[tuple[PendingCall, CallOutcome]]) -> None:
        on_point("before answer")
        threaded._deliver_outcomes(pairs)
        on_point("after answer")

    def make_write_queue(number: int) -> WriteQueue:
        writer = store._turns or make_watched_writer(open_watched(writes=True))
        return WriteQueue(writer, handle_outcomes, f"watched-{number}")

    store.connect = open_watched  # type: ignore[method-assign]
    store._make_write_queue = make_write_queue  # type: ignore[method-assign]
    store._signal_sink = send_watched_signals
    if store._turns is not None:
        watched = WatchedConnection(open_connection(writes=True), on_point)
        store._turns = SharedTurns(watched, make_watched_writer)


class KillPoint:
    """Counts the points from when it is armed, and kills this process at one of them."""

    def __init__(self, point: str | None = None, nth: int = 1) -> None:
        self._point = point
        self._nth = nth
        self.is_armed = False
        #: what to wait for first: whoever was answered too early must have time to say so
        self.before_kill: Callable[[], None] = lambda: None
        self.point_counts: Counter[str] = Counter()

    def __call__(self, point: str) -> None:
        if not self.is_armed:
            return
        self.point_counts[point] += 1
        if point == self._point and self.point_counts[point] == self._nth:
            self.before_kill()
            os.kill(os.getpid(), signal.SIGKILL)
