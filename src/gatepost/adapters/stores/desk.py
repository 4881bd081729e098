"""
A desk: a queue, and a thread that writes what lies in it, a group at a time.

The thread takes the first call that comes and everything that came with it, up to the limits of a group. While it is
at the disk, more calls gather, so groups grow with the load by themselves and no call waits for company.

The calls of a group are run lane by lane, in the order of the lanes' names. A lane is what its verbs lock (a space, an
inbox), so groups that are run at the same time, in other processes too, lock in one order: they wait for each other and
do not deadlock.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from gatepost.adapters.stores.group import ELEMENTS, SAVEPOINTS, Call, Outcome, Writer, weight
from gatepost.errors import Unavailable

Settle = Callable[[Sequence[tuple[Call, Outcome]]], None]


class Desk:
    def __init__(self, writer: Writer, settle: Settle, name: str) -> None:
        """`settle` is told, on the writing thread, what became of the calls of a group."""
        self._writer = writer
        self._settle = settle
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def put(self, call: Call) -> None:
        self._calls.put(call)

    def close(self) -> None:
        """Write what was put before, then stop."""
        self._calls.put(None)
        self._thread.join()

    def _serve(self) -> None:
        left: Call | None = None
        while True:
            first = left or self._calls.get()
            if first is None:
                break
            calls, left, closing = self._gather(first)
            calls.sort(key=lambda call: call.lane)
            waited = time.monotonic() - min(call.since for call in calls)
            try:
                outcomes = self._writer.write(calls, waited=waited)
            except BaseException as error:  # noqa: BLE001 (whatever it was, those who wait are told)
                outcomes = [Outcome(error=Unavailable(f"the writer failed: {error}")) for _ in calls]
            self._settle(list(zip(calls, outcomes, strict=True)))
            if closing and left is None:
                break
            if closing:
                self._calls.put(None)
        self._writer.close()

    def _gather(self, first: Call) -> tuple[list[Call], Call | None, bool]:
        """Take what waits, up to the limits of a group; return it, the first that did not fit, and whether to stop."""
        calls = [first]
        savepoints, elements = weight(first)
        while savepoints < SAVEPOINTS and elements < ELEMENTS:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                break
            if call is None:
                return calls, None, True
            more = weight(call)
            if elements + more[1] > ELEMENTS:
                return calls, call, False
            savepoints, elements = savepoints + more[0], elements + more[1]
            calls.append(call)
        return calls, None, False
