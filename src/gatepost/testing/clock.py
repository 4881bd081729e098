"""A clock for tests: time stands still until it is moved, and identity is the same in every run."""

from itertools import count
from typing import Final

from gatepost.core.instants import Duration, Instant, duration, instant

MORNING: Final = instant("2026-02-18T09:00:00Z")


class FakeClock:
    def __init__(self, now: Instant = MORNING, *, seed: int = 0) -> None:
        """Clocks with different seeds never make the same id."""
        self._now = now
        self._entropy = count(seed << 40)

    def now(self) -> Instant:
        return self._now

    def advance(self, by: Duration | str) -> Instant:
        """Move on by microseconds, or by a duration such as `5 minutes`; return the new present."""
        length = duration(by) if isinstance(by, str) else by
        assert length >= 0, "a clock never goes back"
        self._now += length
        return self._now

    def entropy(self) -> int:
        return next(self._entropy)
