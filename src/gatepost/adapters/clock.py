"""The machine's clock and its source of randomness."""

import os
import time

from gatepost.core.instants import Instant


class SystemClock:
    """Never goes back, even when the machine's clock is set back."""

    def __init__(self) -> None:
        self._last = 0

    def now(self) -> Instant:
        self._last = max(self._last, time.time_ns() // 1000)
        return self._last

    def entropy(self) -> int:
        return int.from_bytes(os.urandom(10), "big")
