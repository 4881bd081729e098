"""
The transport: what carries rings, and frames of live streams, to other processes.

A transport may lose, repeat, delay and reorder; nothing is true because it said so. Whoever hears a ring looks into the
store, and what no ring was heard for is found by the janitor. Therefore a transport never raises towards those who
send, never makes them wait, and heals by itself: while it cannot reach its server it is `degraded`, tries again with
growing pauses, and what was sent meanwhile may be lost.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from gatepost.core.frame import Frame
from gatepost.core.ring import Ring

Signal = Ring | Frame
Heard = Callable[[Signal], None]


@dataclass(frozen=True, slots=True)
class Condition:
    """How a transport is: `up`, or `degraded` and why."""

    degraded: bool = False
    reason: str | None = None


class Transport(Protocol):
    @property
    def name(self) -> str:
        """Its kind, as in the settings: `memory`, `socket`, `postgres`, `redis` or `nats`."""

    @property
    def condition(self) -> Condition: ...

    def send(self, signals: Sequence[Signal]) -> None:
        """Pass signals on to every other process that listens. From any thread; returns at once; never raises."""

    def listening(self, heard: Heard) -> AbstractAsyncContextManager[None]:
        """
        While entered, call `heard` in this event loop for every signal of another process. It may also be called
        for signals of one's own. Entered once the subscription stands, so that no later signal is missed for lack
        of it; if the server cannot be reached then, it is entered all the same, degraded.
        """
