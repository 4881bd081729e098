"""The threads that run queries. They share one queue, and each may take any query."""

import queue
import threading
from collections.abc import Callable
from typing import Any, Final

from gatepost.adapters.stores.group import CallOutcome, PendingCall
from gatepost.adapters.stores.write_queue import OutcomeHandler

_THREADS: Final = 2


class ReadPool:
    """Runs queries on a few threads; each has its own connection."""

    def __init__(self, run_query: Callable[..., Any], on_outcomes: OutcomeHandler) -> None:
        self._run_query = run_query
        self._on_outcomes = on_outcomes
        self._calls: queue.SimpleQueue[PendingCall | None] = queue.SimpleQueue()
        names = [f"gatepost-read-{number}" for number in range(_THREADS)]
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
