"""Where time and identity come from, so that tests can hold both still."""

from typing import Protocol

from gatepost.core.instants import Instant


class Clock(Protocol):
    def now(self) -> Instant:
        """
        Return the present, in microseconds UTC. It is earlier than the answer before only when the machine's clock was
        set back by more than a few minutes.
        """

    def entropy(self) -> int:
        """At least 74 random bits."""
