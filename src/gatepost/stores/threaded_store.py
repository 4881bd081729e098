"""
The common part of both stores: threads that write, threads that read, and the four methods that use them.

Synchronous callers (the command line, hooks) get a connection for their own thread, and no other thread is started. On
SQLite, which has one writer, those that wait at the same time share a commit (`SharedTurns`). Asynchronous callers use
the write queues and the read pool: calls of one turn of the event loop are handed over together, and the outcomes of a
group come back together, so a group costs two switches between threads, whatever its size.

Modules that only asynchronous callers need are imported at the first such call: a hook of a guest has to start fast.
"""

import queue
import threading
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from gatepost.core.limits import Limits
from gatepost.core.ports import Clock, SignalSink, ignore_signals
from gatepost.core.signals import Signal
from gatepost.errors import Unavailable
from gatepost.stores.disk_space import DiskSpace
from gatepost.stores.group_commit import (
    MAX_ELEMENTS,
    MAX_SAVEPOINTS,
    CallOutcome,
    GroupWriter,
    PendingCall,
    StoreConnection,
    StoreTransaction,
    measure_calls,
    weigh_call,
)

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
OutcomeHandler = Callable[[Sequence[tuple[PendingCall, CallOutcome]]], None]

_READ_THREADS: Final = 2


class WriteQueue:
    """
    A queue of calls, and a thread that writes them, one group at a time.

    The thread takes the first call and all that came with it, up to the limits of a group. While it waits for the disk,
    more calls gather, so groups grow with the load by themselves and no call waits for others to come.

    The calls of a group run lane by lane, in the order of the lanes' names. A lane names what its verbs lock (a space,
    an inbox). So groups that run at the same time, in other processes too, lock in the same order: they wait for each
    other and do not deadlock.
    """

    def __init__(self, writer: GroupWriter, on_outcomes: OutcomeHandler, name: str) -> None:
        """`on_outcomes` is called on the writing thread with the outcomes of each group."""
        self._writer = writer
        self._on_outcomes = on_outcomes
        self._calls: queue.SimpleQueue[PendingCall | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def put(self, call: PendingCall) -> None:
        self._calls.put(call)

    def close(self) -> None:
        """Write the calls in the queue, then stop."""
        self._calls.put(None)
        self._thread.join()

    def _run(self) -> None:
        overflow: PendingCall | None = None
        while True:
            first_call = overflow or self._calls.get()
            if first_call is None:
                break
            calls, overflow, is_closing = _collect_group(self._calls, first_call)
            calls.sort(key=lambda call: call.lane)
            waited_seconds = time.monotonic() - min(call.waiting_since for call in calls)
            try:
                outcomes = self._writer.write(calls, waited_seconds=waited_seconds)
            except BaseException as error:  # noqa: BLE001 (all callers get every error)
                outcomes = [CallOutcome(error=Unavailable(f"the writer failed: {error}")) for _ in calls]
            self._on_outcomes(list(zip(calls, outcomes, strict=True)))
            if is_closing:  # there is no overflow then: what closes the queue is its last entry
                break
        self._writer.close()


def _collect_group(
    waiting_calls: "queue.SimpleQueue[PendingCall | None]", first_call: PendingCall
) -> tuple[list[PendingCall], PendingCall | None, bool]:
    """Return the waiting calls up to the limits of a group, the first one beyond, and True if the queue closes."""
    calls = [first_call]
    savepoints, elements = weigh_call(first_call)
    while savepoints < MAX_SAVEPOINTS and elements < MAX_ELEMENTS:
        try:
            call = waiting_calls.get_nowait()
        except queue.Empty:
            break
        if call is None:
            return calls, None, True
        call_weight = weigh_call(call)
        if elements + call_weight[1] > MAX_ELEMENTS:
            return calls, call, False
        savepoints, elements = savepoints + call_weight[0], elements + call_weight[1]
        calls.append(call)
    return calls, None, False


class SharedTurns:
    """
    Threads that write in turns: the thread whose turn it is writes the calls of all that wait, in one transaction.

    A thread alone writes at once, and wakes no other. While it waits for the disk the calls of other threads gather;
    one of them writes those of all, and the others find their outcomes when their turn comes.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._waiting_calls: queue.SimpleQueue[PendingCall | None] = queue.SimpleQueue()
        self._overflow: PendingCall | None = None

    def write(self, writer: GroupWriter, call: PendingCall) -> CallOutcome:
        """Return the outcome of a call. `writer` is that of this thread; another one may write the call."""
        self._waiting_calls.put(call)
        with self._turn:
            while call.outcome is None:
                first_call = self._overflow or self._waiting_calls.get_nowait()
                assert first_call is not None
                calls, self._overflow, _ = _collect_group(self._waiting_calls, first_call)
                outcomes = [CallOutcome(error=Unavailable("the writing thread was interrupted")) for _ in calls]
                try:
                    outcomes = writer.write(calls, waited_seconds=time.monotonic() - first_call.waiting_since)
                finally:
                    for written_call, outcome in zip(calls, outcomes, strict=True):
                        written_call.outcome = outcome
        return call.outcome


class ReadPool:
    """A queue of queries, and a few threads that run them; each has its own connection, and takes any query."""

    def __init__(self, run_query: Callable[..., Any], on_outcomes: OutcomeHandler) -> None:
        self._run_query = run_query
        self._on_outcomes = on_outcomes
        self._calls: queue.SimpleQueue[PendingCall | None] = queue.SimpleQueue()
        names = [f"gatepost-read-{number}" for number in range(_READ_THREADS)]
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    def put(self, call: PendingCall) -> None:
        self._calls.put(call)

    def close(self) -> None:
        """Run the queries in the queue, then stop."""
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                outcome = CallOutcome(self._run_query(call.verb, *call.args, **call.kwargs))
            except BaseException as error:  # noqa: BLE001 (the caller gets every error)
                outcome = CallOutcome(error=error)
            self._on_outcomes([(call, outcome)])


class ThreadedStore(ABC):
    #: whether the database has one writer at a time, so that threads lose nothing if they write in turns
    has_one_writer: ClassVar[bool] = False

    def __init__(
        self,
        *,
        clock: Clock,
        prefer_clock: bool = False,
        limits: Limits | None = None,
        signal_sink: SignalSink = ignore_signals,
        writers: int = 1,
    ) -> None:
        """With `prefer_clock`, time comes from `clock` even if the database has its own: for tests."""
        self._clock = clock
        self._prefer_clock = prefer_clock
        self._limits = limits or Limits()
        self._signal_sink = signal_sink
        self._writers = writers
        self._lock = threading.RLock()
        self._write_queues: list[WriteQueue] = []
        self._read_pool: ReadPool | None = None
        self._local = threading.local()
        self._turns = SharedTurns() if self.has_one_writer else None
        #: connections of threads that use the synchronous methods
        self._thread_connections: list[tuple[threading.Thread, StoreConnection]] = []
        self._pending_calls: dict[asyncio.AbstractEventLoop, list[tuple[int, PendingCall]]] = {}
        self._turn_count = 0
        self._is_closed = False
        self._disk_space = DiskSpace(self._limits.reserve)
        #: writing transactions that succeeded
        self.commit_count = 0
        #: how often the signal sink raised after a commit
        self.signal_failures = 0

    @abstractmethod
    def connect(self, *, writes: bool) -> StoreConnection:
        """Return a connection. It is not open yet: `begin` opens it, and again after it was lost."""

    @abstractmethod
    def measure_free_space(self) -> int | None: ...

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
        writer: GroupWriter | None = getattr(self._local, "writer", None)
        if writer is None:
            writer = self._local.writer = self._make_writer(self._open_thread_connection(writes=True))
        call = PendingCall(verb, args, kwargs)
        outcome = self._turns.write(writer, call) if self._turns is not None else writer.write([call])[0]
        if outcome.error is not None:
            raise outcome.error
        value: T = outcome.value
        return value

    def read_sync(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        self._refuse_if_closed()
        return self._run_query(query, *args, **kwargs)

    def _run_query(self, query: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        connection: StoreConnection | None = getattr(self._local, "reader", None)
        if connection is None:
            connection = self._local.reader = self._open_thread_connection(writes=False)
        try:
            connection.begin()
            return query(StoreTransaction(connection, self._clock, self._limits), *args, **kwargs)
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
            if calls := self._pending_calls.pop(loop, None):
                self._write_queues = self._write_queues or [
                    self._make_write_queue(number) for number in range(self._writers)
                ]
                for writer_index, call in calls:
                    self._write_queues[writer_index].put(call)

    def _make_write_queue(self, number: int) -> WriteQueue:
        return WriteQueue(self._make_writer(self.connect(writes=True)), _deliver_outcomes, f"gatepost-write-{number}")

    def _make_writer(self, connection: StoreConnection) -> GroupWriter:
        return GroupWriter(
            connection, self._clock, self._limits, self._send_signals, self._record_outcome, self.require_disk_space
        )

    def _send_signals(self, signals: Sequence[Signal]) -> None:
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
