"""Where time and identity come from, so that tests can hold both still."""

from typing import Protocol

from gatepost.core.instants import Instant


class Clock(Protocol):
    def now(self) -> Instant:
        """The present, in microseconds UTC; never earlier than the answer before."""

    def entropy(self) -> int:
        """At least 74 random bits."""
