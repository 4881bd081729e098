"""
What waits to be sent. Any thread puts signals in, and never waits: when the box is full the oldest are dropped and
counted, because a newer ring for the same recipient says more than an older one.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Final

from gatepost.core.frame import TransportMessage

#: signals that may wait
MOST: Final = 10_000


class Outbox:
    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._waiting: deque[TransportMessage] = deque()
        self._lock = threading.Lock()
        self._attended = False
        #: signals that were dropped, for lack of room or because they could not be sent
        self.lost = 0

    def put(self, signals: Sequence[TransportMessage]) -> bool:
        """Put signals in; return whether somebody has to be told, because nobody is emptying the box."""
        with self._lock:
            self._waiting.extend(signals)
            self._trim()
            alone, self._attended = not self._attended, True
            return alone

    def put_back(self, signals: Sequence[TransportMessage]) -> None:
        """Put signals in front, which were taken out and may not have been sent."""
        with self._lock:
            self._waiting.extendleft(reversed(signals))
            self._trim()

    def take(self, most: int) -> list[TransportMessage]:
        """Take out some, oldest first. Whoever is given none has to be told when there are some again."""
        with self._lock:
            taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
            self._attended = bool(taken)
            return taken

    def leave(self) -> bool:
        """Say that nobody empties the box any more; return whether something is in it."""
        with self._lock:
            self._attended = False
            return bool(self._waiting)

    def drop(self, count: int) -> None:
        """Count signals that could not be sent."""
        with self._lock:
            self.lost += count

    def _trim(self) -> None:
        over = len(self._waiting) - self._most
        for _ in range(over):
            self._waiting.popleft()
        self.lost += max(0, over)
