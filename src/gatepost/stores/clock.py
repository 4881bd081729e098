"""
The clock of the machine and its source of randomness.

People and time servers set clocks back. Small steps (up to `CLOCK_TOLERANCE`) are hidden: time continues by the
monotonic clock, slightly slower, until the wall clock has caught up; so a timestamp of a moment ago is never in the
future. A larger step means that the clock was wrong before. It is followed at once, because with a time that stands
still, or is wrong for hours, no deadline ends and no plan fires. The janitor then repairs the timestamps that are in
the future (`worker/clock_repair_actions.py`).
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Final

from gatepost.core.times import CLOCK_TOLERANCE, Instant

#: speed of the returned time, relative to the monotonic clock, while it is ahead of the wall clock
_SLEW_RATE: Final = 0.9


class SystemClock:
    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
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
