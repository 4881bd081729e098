"""
The named points of a writing transaction: before and after everything that is asked of the connection, before and
after the bell, before and after the answers.

`watch` puts itself between a store and its connections without changing either; whoever is told of the points may
note them, or die at one.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from gatepost.adapters.stores import threaded
from gatepost.adapters.stores.group import CallOutcome, GroupWriter, PendingCall, StoreConnection
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.adapters.stores.write_queue import WriteQueue
from gatepost.core.signals import Signal
from gatepost.core.times import Instant
from gatepost.ports import Row

Visit = Callable[[str], None]


class Watched:
    """A connection that tells of every point it passes."""

    def __init__(self, connection: StoreConnection, visit: Visit) -> None:
        self._connection = connection
        self._visit = visit

    def begin(self, waited: float = 0.0) -> Instant | None:
        with self._around("begin"):
            return self._connection.begin(waited)

    def savepoint(self) -> None:
        with self._around("savepoint"):
            self._connection.savepoint()

    def release(self) -> None:
        with self._around("release"):
            self._connection.release()

    def rollback_to(self) -> None:
        with self._around("rollback_to"):
            self._connection.rollback_to()

    def commit(self) -> None:
        with self._around("commit"):
            self._connection.commit()

    def abandon(self) -> None:
        with self._around("abandon"):
            self._connection.abandon()

    def all(self, statement: str, parameters: Mapping[str, Any], /) -> list[Row]:
        with self._around(statement):
            return self._connection.all(statement, parameters)

    def page(self, statement: str, parameters: Mapping[str, Any], room: int, /) -> tuple[list[Row], bool]:
        with self._around(statement):
            return self._connection.page(statement, parameters, room)

    def run(self, statement: str, parameters: Mapping[str, Any], /) -> int:
        with self._around(statement):
            return self._connection.run(statement, parameters)

    def many(self, statement: str, columns: Mapping[str, Sequence[Any]], /) -> int:
        with self._around(statement):
            return self._connection.many(statement, columns)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _around(self, what: str) -> Iterator[None]:
        self._visit(f"before {what}")
        yield
        self._visit(f"after {what}")


def watch(store: ThreadedStore, visit: Visit) -> None:
    """Tell of every point that the store's writers pass from now on."""
    connect, ring = store.connect, store._signal_sink

    def watched(*, writes: bool) -> StoreConnection:
        connection = connect(writes=writes)
        return Watched(connection, visit) if writes else connection

    def bell(rings: Sequence[Signal]) -> None:
        visit("before bell")
        ring(rings)
        visit("after bell")

    def settle(group: Sequence[tuple[PendingCall, CallOutcome]]) -> None:
        visit("before answer")
        threaded._deliver_outcomes(group)
        visit("after answer")

    def desk(number: int) -> WriteQueue:
        writer = GroupWriter(watched(writes=True), store._clock, store._limits, bell)
        return WriteQueue(writer, settle, f"watched-{number}")

    store.connect = watched  # type: ignore[method-assign]
    store._make_write_queue = desk  # type: ignore[method-assign]
    store._signal_sink = bell


class Doom:
    """Counts the points from when it is armed, and kills this process at one of them."""

    def __init__(self, point: str | None = None, nth: int = 1) -> None:
        self._point = point
        self._nth = nth
        self.armed = False
        #: what to wait for first: whoever was answered too early must have time to say so
        self.linger: Callable[[], None] = lambda: None
        self.visited: Counter[str] = Counter()

    def __call__(self, point: str) -> None:
        if not self.armed:
            return
        self.visited[point] += 1
        if point == self._point and self.visited[point] == self._nth:
            self.linger()
            os.kill(os.getpid(), signal.SIGKILL)
