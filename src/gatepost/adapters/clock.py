"""
The machine's clock and its source of randomness.

People and time servers set clocks back. Small steps (up to `SET_BACK`) are hidden: time goes on by the monotonic clock,
a little slower than it, until the wall clock has caught up, so that whatever was noted a moment ago is not in the
future. A larger step means that the clock was wrong before: it is followed at once, because time that stands still, or
is wrong for hours, ends no deadline and fires no plan. What was noted in that future is then repaired by the janitor
(`actions/maintenance.py`).
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Final

from gatepost.core.times import CLOCK_TOLERANCE, Instant

#: while time is ahead of the wall clock, it runs at nine tenths of its speed
_SLEW_RATE: Final = 0.9


class SystemClock:
    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._wall_ns = wall_ns
        self._monotonic_ns = monotonic_ns
        self._lock = threading.Lock()
        self._last: Instant = 0
        self._last_monotonic = monotonic_ns()

    def now(self) -> Instant:
        with self._lock:
            wall, monotonic = self._wall_ns() // 1000, self._monotonic_ns()
            slewed_time = self._last + int((monotonic - self._last_monotonic) // 1000 * _SLEW_RATE)
            self._last = slewed_time if self._last > wall >= slewed_time - CLOCK_TOLERANCE else wall
            self._last = max(self._last, wall)
            self._last_monotonic = monotonic
            return self._last

    def entropy(self) -> int:
        return int.from_bytes(os.urandom(10), "big")
