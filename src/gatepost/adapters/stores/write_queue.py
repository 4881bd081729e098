"""
A write queue: a queue of calls, and a thread that writes them, one group at a time.

The thread takes the first call and all that came with it, up to the limits of a group. While it waits for the disk,
more calls gather, so groups grow with the load by themselves and no call waits for others to come.

The calls of a group run lane by lane, in the order of the lanes' names. A lane names what its verbs lock (a space, an
inbox). So groups that run at the same time, in other processes too, lock in the same order: they wait for each other
and do not deadlock.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from gatepost.adapters.stores.group import (
    MAX_ELEMENTS,
    MAX_SAVEPOINTS,
    CallOutcome,
    GroupWriter,
    PendingCall,
    weigh_call,
)
from gatepost.errors import Unavailable

OutcomeHandler = Callable[[Sequence[tuple[PendingCall, CallOutcome]]], None]


class WriteQueue:
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
            calls, overflow, is_closing = self._collect_group(first_call)
            calls.sort(key=lambda call: call.lane)
            waited_seconds = time.monotonic() - min(call.waiting_since for call in calls)
            try:
                outcomes = self._writer.write(calls, waited_seconds=waited_seconds)
            except BaseException as error:  # noqa: BLE001 (all callers get every error)
                outcomes = [CallOutcome(error=Unavailable(f"the writer failed: {error}")) for _ in calls]
            self._on_outcomes(list(zip(calls, outcomes, strict=True)))
            if is_closing and overflow is None:
                break
            if is_closing:
                self._calls.put(None)
        self._writer.close()

    def _collect_group(self, first_call: PendingCall) -> tuple[list[PendingCall], PendingCall | None, bool]:
        """Return the waiting calls up to the limits of a group, the first one beyond, and True if the queue closes."""
        calls = [first_call]
        savepoints, elements = weigh_call(first_call)
        while savepoints < MAX_SAVEPOINTS and elements < MAX_ELEMENTS:
            try:
                call = self._calls.get_nowait()
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
