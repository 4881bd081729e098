"""
The backoff: how long to wait before the next try. Written once, for every layer.

    delay = min(cap, first * factor ** retries) * (a number between the two of `jitter`)

It is pure: the caller passes the number of retries and a random number from 0 to 1 (`chance`), and does the waiting.
The jitter is applied after the cap, so that processes that failed together do not try again together, however long they
fail.
"""

from typing import NamedTuple


class Backoff(NamedTuple):
    first: float
    #: the longest delay, before the jitter
    cap: float
    factor: float = 2.0
    #: whether a delay is `first` longer than the one before, rather than `factor` times as long
    is_linear: bool = False
    #: the least and the most that a delay is multiplied by
    jitter: tuple[float, float] = (1.0, 1.0)

    def delay(self, retries: int, chance: float = 0.0) -> float:
        """Return the delay before the next retry, in the unit of `first`; `retries` is 0 before the first retry."""
        try:
            grown = self.first * (retries + 1 if self.is_linear else float(self.factor) ** retries)
        except OverflowError:
            grown = self.cap
        return apply_jitter(min(self.cap, grown), self.jitter, chance)


def apply_jitter(delay: float, jitter: tuple[float, float], chance: float) -> float:
    """Return the delay times a number between the two of `jitter`: the first for a `chance` of 0, the second for 1."""
    low, high = jitter
    return delay * (low + (high - low) * chance)
