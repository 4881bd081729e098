"""
The common part of both stores: threads that write, threads that read, and the four methods that use them.

Synchronous callers (the command line, hooks) get a connection for their own thread, and no other thread is started. On
SQLite, which has one writer, all threads write through one connection, and those that wait at the same time share a
commit (`SharedTurns`). Asynchronous callers use the write queues and the read pool: calls of one turn of the event loop
are handed over together, and the outcomes of a group come back together, so a group costs two switches between
threads, whatever its size.

With `writes_in_loop`, a small call that is alone is written by the event loop itself, which is quicker than two
switches: if nothing waits in the queue, nobody else writes, and the disk was quick before.

Modules that only asynchronous callers need are imported at the first such call: a hook of a guest has to start fast.
"""

import threading
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gatepost.core.policy import Policy
from gatepost.core.ports import Clock, SignalSink, ignore_signals, is_batched
from gatepost.errors import Unavailable
from gatepost.stores.call_queues import ReadPool, SharedTurns, WriteQueue
from gatepost.stores.disk_space import DiskSpace
from gatepost.stores.group_commit import (
    CallOutcome,
    GroupWriter,
    PendingCall,
    StoreConnection,
    StoreTransaction,
    measure_calls,
)

if TYPE_CHECKING:
    import asyncio

    from gatepost.core.signals import Signal

T = TypeVar("T")

#: elements of a call that an event loop writes itself, seconds after which a write was not quick, and calls that are
#: queued after such a write
_MAX_LOOP_ELEMENTS: Final = 10
_QUICK_WRITE: Final = 0.002
_DETOURS: Final = 50


class ThreadedStore(ABC):
    def __init__(
        self,
        *,
        clock: Clock,
        prefer_clock: bool = False,
        policy: Policy | None = None,
        signal_sink: SignalSink = ignore_signals,
        writers: int = 1,
        writes_in_loop: bool = False,
    ) -> None:
        """
        With `prefer_clock`, time comes from `clock` even if the database has its own: for tests. With `writes_in_loop`
        an event loop may write a small call itself.
        """
        self._clock = clock
        self._prefer_clock = prefer_clock
        self._policy = policy or Policy()
        self._signal_sink = signal_sink
        self._writers = writers
        self._lock = threading.RLock()
        self._write_queues: list[WriteQueue] = []
        self._read_pool: ReadPool | None = None
        self._local = threading.local()
        #: calls in the write queues that were not answered yet
        self._queued_count = 0
        #: calls of an event loop that are to be queued before the next is written there
        self._detour_count = 0
        #: connections of threads that use the synchronous methods
        self._thread_connections: list[tuple[threading.Thread, StoreConnection]] = []
        self._pending_calls: dict[asyncio.AbstractEventLoop, list[tuple[int, PendingCall]]] = {}
        self._turn_count = 0
        self._is_closed = False
        self._disk_space = DiskSpace(self._policy.reserve)
        #: writing transactions that succeeded
        self.commit_count = 0
        #: how often the signal sink raised after a commit
        self.signal_failures = 0
        self._turns = self._make_turns()
        self._writes_in_loop = writes_in_loop and self._turns is not None

    @abstractmethod
    def connect(self, *, writes: bool) -> StoreConnection:
        """Return a connection. It is not open yet: `begin` opens it, and again after it was lost."""

    @abstractmethod
    def measure_free_space(self) -> int | None: ...

    def _make_turns(self) -> SharedTurns | None:
        """Return the turns of threads that write; None if each has a connection of its own."""
        return None

    @abstractmethod
    def write_and_undo(self, size: int) -> None:
        """Have the database grow by `size` bytes, and roll that back; raise Unavailable if it cannot."""

    @property
    def failure(self) -> str | None:
        return self._disk_space.failure

    def require_disk_space(self) -> None:
        self._disk_space.require_reserve(self.measure_free_space())

    def try_to_write(self) -> None:
        self._disk_space.try_to_write(self.measure_free_space(), self.write_and_undo)

    def run_sync(self, verb: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        self._refuse_if_closed()
        call = PendingCall(verb, args, kwargs)
        outcome = self._turns.write_call(call) if self._turns is not None else self._get_own_writer().write([call])[0]
        if outcome.error is not None:
            raise outcome.error
        value: T = outcome.value
        return value

    def _get_own_writer(self) -> GroupWriter:
        """Return the writer of this thread."""
        writer: GroupWriter | None = getattr(self._local, "writer", None)
        if writer is None:
            writer = self._local.writer = self._make_writer(self._open_thread_connection(writes=True))
        return writer

    def read_sync(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        self._refuse_if_closed()
        return self._run_query(query, *args, **kwargs)

    def _run_query(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        connection: StoreConnection | None = getattr(self._local, "reader", None)
        if connection is None:
            connection = self._local.reader = self._open_thread_connection(writes=False)
        try:
            connection.begin()
            return query(StoreTransaction(connection, self._clock, self._policy), *args, **kwargs)
        finally:
            connection.abandon()

    async def run(self, verb: Callable[..., T], /, *args: Any, lane: str = "", **kwargs: Any) -> T:
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            self._refuse_if_closed()
            calls = self._pending_calls.setdefault(loop, [])
            if not calls:
                loop.call_soon(self._submit_calls, loop)
            calls.append((self._pick_writer(lane), PendingCall(verb, args, kwargs, lane, future)))
        return await future

    async def read(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        import asyncio

        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        with self._lock:
            self._refuse_if_closed()
            self._read_pool = self._read_pool or ReadPool(self._run_query, _deliver_outcomes)
            self._read_pool.put(PendingCall(query, args, kwargs, future=future))
        return await future

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            for loop in list(self._pending_calls):
                self._submit_calls(loop)
            write_queues, self._write_queues = self._write_queues, []
        for write_queue in write_queues:
            write_queue.close()
        if self._read_pool is not None:
            self._read_pool.close()
        if self._turns is not None:
            self._turns.close()
        for _, connection in self._thread_connections:
            connection.close()
        self._thread_connections.clear()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise Unavailable("the store is closed")

    def _open_thread_connection(self, *, writes: bool) -> StoreConnection:
        """Return a connection for this thread, and close the connections of threads that have ended."""
        connection = self.connect(writes=writes)
        with self._lock:
            stale_entries = [entry for entry in self._thread_connections if not entry[0].is_alive()]
            self._thread_connections = [entry for entry in self._thread_connections if entry not in stale_entries]
            self._thread_connections.append((threading.current_thread(), connection))
        for _, stale_connection in stale_entries:
            stale_connection.close()
        return connection

    def _pick_writer(self, lane: str) -> int:
        """Return the index of the writer for a lane; without a lane the writers take turns."""
        if lane:
            return zlib.crc32(lane.encode(errors="surrogatepass")) % self._writers
        self._turn_count += 1
        return self._turn_count % self._writers

    def _submit_calls(self, loop: "asyncio.AbstractEventLoop") -> None:
        """Put the calls of this turn of the loop into the write queues, unless `close` has done so."""
        with self._lock:
            calls = self._pending_calls.pop(loop, [])
            may_write = self._writes_in_loop and not self._is_closed and not self._queued_count and len(calls) == 1
        if may_write and self._write_in_loop(calls[0][1]):
            return
        with self._lock:
            if calls:
                self._queued_count += len(calls)
                self._write_queues = self._write_queues or [
                    self._make_write_queue(number) for number in range(self._writers)
                ]
            for writer_index, call in calls:
                self._write_queues[writer_index].put(call)

    def _write_in_loop(self, call: PendingCall) -> bool:
        """Write a call in this event loop, if that is quick; return False if it has to be queued."""
        assert self._turns is not None
        if not is_batched(call.verb) or len(call.args[0]) > _MAX_LOOP_ELEMENTS:
            return False
        if self._detour_count:
            self._detour_count -= 1
            return False
        start = time.monotonic()
        outcome = self._turns.try_to_write(call)
        if time.monotonic() - start > _QUICK_WRITE:
            self._detour_count = _DETOURS
        if outcome is None:
            return False
        assert call.future is not None
        _resolve_futures([(call.future, outcome)])
        return True

    def _make_write_queue(self, number: int) -> WriteQueue:
        writer = self._turns or self._make_writer(self.connect(writes=True))
        return WriteQueue(writer, self._deliver_queued, f"gatepost-write-{number}")

    def _deliver_queued(self, pairs: Sequence[tuple[PendingCall, CallOutcome]]) -> None:
        with self._lock:
            self._queued_count -= len(pairs)
        _deliver_outcomes(pairs)

    def _make_writer(self, connection: StoreConnection) -> GroupWriter:
        return GroupWriter(
            connection, self._clock, self._policy, self._send_signals, self._record_outcome, self.require_disk_space
        )

    def _send_signals(self, signals: "Sequence[Signal]") -> None:
        """Send signals after a commit, and count a failure: the transaction is stored all the same."""
        try:
            self._signal_sink(signals)
        except Exception:  # noqa: BLE001 (a signal is a hint: every process looks for work without one)
            with self._lock:
                self.signal_failures += 1

    def _record_outcome(self, failure: str | None, calls: Sequence[PendingCall]) -> None:
        with self._lock:
            self.commit_count += failure is None
        self._disk_space.record_outcome(failure, lambda: measure_calls(calls))


def _deliver_outcomes(pairs: Sequence[tuple[PendingCall, CallOutcome]]) -> None:
    """Hand the outcomes of a group back to the event loops that await them, in one callback for each loop."""
    results_by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], CallOutcome]]] = {}
    for call, outcome in pairs:
        if call.future is not None:
            results_by_loop.setdefault(call.future.get_loop(), []).append((call.future, outcome))
    for loop, results in results_by_loop.items():
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(_resolve_futures, results)


def _resolve_futures(results: Sequence[tuple["asyncio.Future[Any]", CallOutcome]]) -> None:
    for future, outcome in results:
        if future.done():
            continue
        match outcome.error:
            case None:
                future.set_result(outcome.value)
            case StopIteration():  # a future does not accept it
                future.set_exception(RuntimeError("the verb raised StopIteration"))
            case error:
                future.set_exception(error)
