"""
The limits of live streams: how many streams a caller may read, and when a reader that is too slow is dropped.

    streams of one caller     `gateway.streams`, 100 by default, requests that wait included; one more gets 429
    entries behind            1,000; a reader that is further behind gets `ended`, with a position to resume from
    time without reading      60 s; a reader that takes nothing at all for so long is dropped without a word
"""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from gatepost.errors import TooManyStreams
from gatepost.gateway.http_exchange import Send
from gatepost.operations.access import Caller

T = TypeVar("T")

#: streams of one caller, if the settings say nothing else
DEFAULT_STREAMS: Final = 100
#: entries that a reader may be behind before it is dropped
BACKLOG: Final = 1_000
#: seconds that a reader may take nothing at all
STALL_TIMEOUT: Final = 60.0


class StreamLimits:
    """Limits the streams that one caller reads at the same time: each takes memory, and a part of every signal."""

    def __init__(self, limit: int = DEFAULT_STREAMS) -> None:
        self._limit = limit
        self._counts: Counter[Caller] = Counter()

    @contextmanager
    def reserve(self, caller: Caller) -> Iterator[None]:
        """Count a stream of a caller while entered; raise TooManyStreams if it has as many as it may have."""
        if self._counts[caller] >= self._limit:
            raise TooManyStreams(
                f"this caller reads {self._limit} streams, waits included, and may read no more at the same time",
                hint="close some, read several spaces and inboxes in one (GET /api/stream), or raise gateway.streams",
            )
        self._counts[caller] += 1
        try:
            yield
        finally:
            self._counts[caller] -= 1
            if not self._counts[caller]:
                del self._counts[caller]


class Backlog(deque[T]):
    """What a reader has still to take."""

    @property
    def is_full(self) -> bool:
        """Whether the reader is too slow: it is dropped instead of getting more."""
        return len(self) >= BACKLOG


async def send_in_time(send: Send, body: bytes, *, more: bool = True) -> None:
    """Send a part of an answer; raise TimeoutError if the reader takes nothing for too long."""
    async with asyncio.timeout(STALL_TIMEOUT):
        await send({"type": "http.response.body", "body": body, "more_body": more})
