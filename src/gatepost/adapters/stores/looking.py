"""Where queries are answered: a queue, and threads that look things up; any of them may take any query."""

import queue
import threading
from collections.abc import Callable
from typing import Any, Final

from gatepost.adapters.stores.desk import Settle
from gatepost.adapters.stores.group import Call, Outcome

_THREADS: Final = 2


class Looking:
    """Threads that look things up, for whoever comes first; each has a connection of its own."""

    def __init__(self, look: Callable[..., Any], settle: Settle) -> None:
        self._look = look
        self._settle = settle
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        names = [f"gatepost-read-{number}" for number in range(_THREADS)]
        self._threads = [threading.Thread(target=self._serve, name=name, daemon=True) for name in names]
        for thread in self._threads:
            thread.start()

    def put(self, call: Call) -> None:
        self._calls.put(call)

    def close(self) -> None:
        """Answer what was put before, then stop."""
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                outcome = Outcome(self._look(call.verb, *call.args, **call.kwargs))
            except BaseException as error:  # noqa: BLE001 (whatever it was, it is the caller's to see)
                outcome = Outcome(error=error)
            self._settle([(call, outcome)])
