"""
Where calls wait: for the thread that writes, for their turn to write, or for a thread that reads.

A group of calls is written in one transaction. Groups form by themselves: while one is being written, more calls
gather.
"""

import threading
import time
from _queue import Empty, SimpleQueue  # `queue` has other queues, which take a hook as long again to import
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from gatepost.errors import Unavailable
from gatepost.stores.group_commit import (
    MAX_ELEMENTS,
    MAX_SAVEPOINTS,
    CallOutcome,
    GroupWriter,
    PendingCall,
    StoreConnection,
    weigh_call,
)

OutcomeHandler = Callable[[Sequence[tuple[PendingCall, CallOutcome]]], None]

_READ_THREADS: Final = 2
#: calls that are tried to be written before the journal is copied: less than what makes SQLite copy it
_MAX_TRIES: Final = 200


class OneWriterConnection(StoreConnection, Protocol):
    """A connection to a database that has one writer at a time."""

    def try_to_begin(self) -> bool:
        """Begin a transaction, for the next `begin`, if nobody writes; return False at once if somebody does."""
        ...

    def copy_journal(self) -> None:
        """Copy what was committed from the journal into the file, as far as nobody has to wait for it."""
        ...


class WriteQueue:
    """
    A queue of calls, and a thread that writes them, one group at a time.

    The thread takes the first call and all that came with it, up to the limits of a group. While it waits for the disk,
    more calls gather, so groups grow with the load by themselves and no call waits for others to come.

    The calls of a group run lane by lane, in the order of the lanes' names. A lane names what its verbs lock (a space,
    an inbox). So groups that run at the same time, in other processes too, lock in the same order: they wait for each
    other and do not deadlock.
    """

    def __init__(self, writer: "GroupWriter | SharedTurns", on_outcomes: OutcomeHandler, name: str) -> None:
        """`on_outcomes` is called on the writing thread with the outcomes of each group."""
        self._writer = writer
        self._on_outcomes = on_outcomes
        self._calls: SimpleQueue[PendingCall | None] = SimpleQueue()
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
    waiting_calls: "SimpleQueue[PendingCall | None]", first_call: PendingCall
) -> tuple[list[PendingCall], PendingCall | None, bool]:
    """Return the waiting calls up to the limits of a group, the first one beyond, and True if the queue closes."""
    calls = [first_call]
    savepoints, elements = weigh_call(first_call)
    while savepoints < MAX_SAVEPOINTS and elements < MAX_ELEMENTS:
        try:
            call = waiting_calls.get_nowait()
        except Empty:
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
    Threads that write in turns through one connection: the thread whose turn it is writes the calls of all that wait,
    in one transaction.

    A thread alone writes at once, and wakes no other. While it waits for the disk the calls of other threads gather;
    one of them writes those of all, and the others find their outcomes when their turn comes. One connection for all
    keeps the pages that it has read; another one would read them anew after each of its commits.
    """

    def __init__(self, connection: OneWriterConnection, make_writer: Callable[[StoreConnection], GroupWriter]) -> None:
        self._connection = connection
        self._writer = make_writer(connection)
        #: calls that were tried to be written since the last checkpoint
        self._try_count = 0
        self._turn = threading.Lock()
        self._waiting_calls: SimpleQueue[PendingCall | None] = SimpleQueue()
        self._overflow: PendingCall | None = None

    def write_call(self, call: PendingCall) -> CallOutcome:
        """Return the outcome of a call; another thread may write it."""
        self._waiting_calls.put(call)
        with self._turn:
            while call.outcome is None:
                first_call = self._overflow or self._waiting_calls.get_nowait()
                assert first_call is not None
                calls, self._overflow, _ = _collect_group(self._waiting_calls, first_call)
                outcomes = [CallOutcome(error=Unavailable("the writing thread was interrupted")) for _ in calls]
                try:
                    outcomes = self._write(calls, time.monotonic() - first_call.waiting_since)
                finally:
                    for written_call, outcome in zip(calls, outcomes, strict=True):
                        written_call.outcome = outcome
        return call.outcome

    def write(self, calls: Sequence[PendingCall], *, waited_seconds: float = 0.0) -> list[CallOutcome]:
        """Write a group of calls when its turn comes; copy the journal, if that would soon delay a call elsewhere."""
        start = time.monotonic()
        with self._turn:
            outcomes = self._write(calls, waited_seconds + time.monotonic() - start)
            if self._try_count >= _MAX_TRIES:
                self._connection.copy_journal()
                self._try_count = 0
            return outcomes

    def try_to_write(self, call: PendingCall) -> CallOutcome | None:
        """
        Write a call if nobody writes, in other processes neither; return None, at once, if somebody does, and now and
        then, so that the journal is copied by `write`.
        """
        if self._try_count >= _MAX_TRIES or not self._turn.acquire(blocking=False):
            return None
        try:
            if self._overflow is not None or not self._waiting_calls.empty() or not self._connection.try_to_begin():
                return None
            self._try_count += 1
            return self._write([call], 0.0)[0]
        finally:
            self._turn.release()

    def _write(self, calls: Sequence[PendingCall], waited_seconds: float) -> list[CallOutcome]:
        return self._writer.write(calls, waited_seconds=waited_seconds)

    def close(self) -> None:
        with self._turn:
            self._writer.close()


class ReadPool:
    """A queue of queries, and a few threads that run them; each has its own connection, and takes any query."""

    def __init__(self, run_query: Callable[..., Any], on_outcomes: OutcomeHandler) -> None:
        self._run_query = run_query
        self._on_outcomes = on_outcomes
        self._calls: SimpleQueue[PendingCall | None] = SimpleQueue()
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
