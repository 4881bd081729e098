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
MAX_MESSAGES: Final = 10_000


class SendQueue:
    def __init__(self, limit: int = MAX_MESSAGES) -> None:
        self._limit = limit
        self._messages: deque[TransportMessage] = deque()
        self._lock = threading.Lock()
        self._has_consumer = False
        #: signals that were dropped, for lack of room or because they could not be sent
        self.lost_count = 0

    def put(self, messages: Sequence[TransportMessage]) -> bool:
        """Put signals in; return whether somebody has to be told, because nobody is emptying the box."""
        with self._lock:
            self._messages.extend(messages)
            self._trim()
            needs_consumer, self._has_consumer = not self._has_consumer, True
            return needs_consumer

    def put_back(self, messages: Sequence[TransportMessage]) -> None:
        """Put signals in front, which were taken out and may not have been sent."""
        with self._lock:
            self._messages.extendleft(reversed(messages))
            self._trim()

    def take(self, limit: int) -> list[TransportMessage]:
        """Take out some, oldest first. Whoever is given none has to be told when there are some again."""
        with self._lock:
            messages = [self._messages.popleft() for _ in range(min(limit, len(self._messages)))]
            self._has_consumer = bool(messages)
            return messages

    def detach_consumer(self) -> bool:
        """Say that nobody empties the box any more; return whether something is in it."""
        with self._lock:
            self._has_consumer = False
            return bool(self._messages)

    def add_lost(self, count: int) -> None:
        """Count signals that could not be sent."""
        with self._lock:
            self.lost_count += count

    def _trim(self) -> None:
        excess = len(self._messages) - self._limit
        for _ in range(excess):
            self._messages.popleft()
        self.lost_count += max(0, excess)
