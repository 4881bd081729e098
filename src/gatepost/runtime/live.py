"""
The hub: live streams for any number of readers, from any gateway, without gap or repeat.

A stream has a stored part (messages of a space, items of an inbox), whose entries have positions to resume from, and a
live part (frames), which is shown to whoever is there. The stored part is always read from the store; a signal only
says that there is more. So there is nothing to hand over between replay and live.

Readers of one topic share a `_Tail`: one query for each change, however many they are. Why nobody misses anything or
gets it twice:

- A reader has a position. It joins a tail only when the tail's position is not past its own, and the check and the
  joining happen in one turn of the event loop. Everything after the reader's position will yet come by.
- A tail gives a reader only entries after the reader's own position, so what the tail has to catch up on is left out.
- While the tail is past it, a newcomer reads from the store by itself.

Rights are read with the entries: each page says who may see it, as of the same transaction, and a reader that is no
longer among those ends there. A page is read for every ring, also when it has no entries, so whoever is removed is let
go at once; and if that ring was lost, with the next page, before anything of it is shown. Who came while a page was
being read may have been let in after it was; such a reader is not judged by it, but reads for itself.

A slow reader never slows the writer or the others: what waits for it is bounded, and past that the reader is dropped.
It knows its last position and may come back with it. Whoever comes from far behind is not slow for that: until a tail
has reached the end for the first time, it reads on only when one of its readers has taken everything.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import structlog

from gatepost.core import key
from gatepost.core.frame import Frame, TransportMessage
from gatepost.errors import GatepostError, Unavailable

log = structlog.get_logger("gatepost.hub")

#: entries a reader may be behind before it is dropped
BACKLOG: Final = 1_000
_RETRY: Final = 1.0
_RECHECK_DELAY: Final = 0.02
#: causes of rings that change who is in a space
_MEMBERSHIP_CAUSES: Final = ("create", "join", "leave")

#: comparable: later is greater
StreamPosition = Any


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """Something stored: its position, and what readers see of it."""

    position: StreamPosition
    event: str
    data: Any


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """Nothing follows: the reader was too slow, or may not read on."""

    reason: str
    #: whether it may come back with its last position
    is_resumable: bool


StreamItem = StreamEntry | Frame | StreamEnd

_STOPPING: Final = StreamEnd("the gateway stops", is_resumable=True)
_TOO_SLOW: Final = StreamEnd("too slow", is_resumable=True)
_NOT_A_MEMBER: Final = StreamEnd("no longer a member", is_resumable=False)
#: not shown: the page was read before this reader came
_TOO_EARLY: Final = StreamEnd("read before it came", is_resumable=True)
_BROKEN: Final = StreamEnd("something went wrong here", is_resumable=True)


@dataclass(frozen=True, slots=True)
class StreamPage:
    """Some entries, none at the end, and the position after them."""

    entries: list[StreamEntry]
    position: StreamPosition
    #: who may see them, and any that follow; None for whoever was let in
    audience: frozenset[str] | None = None
    #: whether something was committed that cannot be shown yet: no ring will come for it
    has_hidden_entries: bool = False


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A topic, and how to read what is stored of it after a position."""

    topic: str
    read_page: Callable[[StreamPosition], Awaitable[StreamPage]]


class _Reader:
    def __init__(self, position: StreamPosition, entity: str | None, reads_at_join: int) -> None:
        self.position = position
        self.entity = entity
        #: how many pages the tail had begun to read when it came
        self.reads_at_join = reads_at_join
        self.backlog: deque[StreamEntry | Frame] = deque()
        self.stream_end: StreamEnd | None = None
        self.wake_event = asyncio.Event()

    def deliver(self, item: StreamEntry | Frame) -> None:
        if self.stream_end or (isinstance(item, StreamEntry) and not item.position > self.position):
            return
        if len(self.backlog) >= BACKLOG:
            self.end(_TOO_SLOW)
            return
        self.backlog.append(item)
        self.wake_event.set()

    def end(self, stream_end: StreamEnd) -> None:
        self.stream_end = self.stream_end or stream_end
        self.wake_event.set()


class _Tail:
    """The end of a topic, and the readers that are there."""

    def __init__(self, source: StreamSource, position: StreamPosition) -> None:
        self.source = source
        self.position = position
        self.readers: set[_Reader] = set()
        self.read_count = 0
        self.wake_event = asyncio.Event()
        #: set when a reader has taken everything, and when one comes or goes
        self.drained_event = asyncio.Event()
        self._is_caught_up = False
        self.task = asyncio.create_task(self._follow(), name=f"tail-{source.topic}")

    async def _follow(self) -> None:
        while True:
            await self.wake_event.wait()
            self.wake_event.clear()
            try:
                while await self._deliver_page():
                    if not self._is_caught_up:
                        await self._wait_for_demand()
                self._is_caught_up = True
            except Unavailable as error:
                log.warning("stream waits", topic=self.source.topic, reason=error.message)
                await asyncio.sleep(_RETRY)
                self.wake_event.set()
            except GatepostError as error:
                self.end(StreamEnd(error.message, is_resumable=False))
            except Exception as error:
                log.exception("stream broke", topic=self.source.topic, error=repr(error))
                self.end(_BROKEN)

    async def _deliver_page(self) -> bool:
        self.read_count += 1
        page = await self.source.read_page(self.position)
        self.position = page.position
        for reader in self.readers:
            if not _can_see(reader.entity, page):
                reader.end(_TOO_EARLY if reader.reads_at_join == self.read_count else _NOT_A_MEMBER)
        for entry in page.entries:
            for reader in self.readers:
                reader.deliver(entry)
        if page.has_hidden_entries:
            asyncio.get_running_loop().call_later(_RECHECK_DELAY, self.wake_event.set)
        return bool(page.entries)

    async def _wait_for_demand(self) -> None:
        """Return when somebody waits for more."""
        while all(reader.backlog for reader in self.readers):
            self.drained_event.clear()
            await self.drained_event.wait()

    def end(self, stream_end: StreamEnd) -> None:
        for reader in self.readers:
            reader.end(stream_end)


class LiveStreams:
    def __init__(self) -> None:
        self._tails: dict[str, _Tail] = {}
        self._access_change = asyncio.Event()
        self._stream_end: StreamEnd | None = None

    @property
    def readers(self) -> int:
        return sum(len(tail.readers) for tail in self._tails.values())

    def on_signal(self, signal: TransportMessage) -> None:
        """Pass a frame on, or look for what a ring announces."""
        match signal:
            case Frame(topic=topic):
                for reader in self._tails[topic].readers if topic in self._tails else ():
                    reader.deliver(signal)
            case _ if signal.recipient == key.TOPIC:
                self._announce_access_change()
            case _ if signal.recipient == "*":
                self.wake("inbox:")
            case _:
                topic = signal.recipient if ":" in signal.recipient else f"inbox:{signal.recipient}"
                if topic in self._tails:
                    self._tails[topic].wake_event.set()
                if signal.cause in _MEMBERSHIP_CAUSES:
                    self._announce_access_change()

    def _announce_access_change(self) -> None:
        self._access_change.set()
        self._access_change = asyncio.Event()

    @property
    def access_change(self) -> asyncio.Event:
        """Set when rights may have changed since: a key, an entity, who is in a space."""
        return self._access_change

    def wake(self, prefix: str = "") -> None:
        """Look at every topic that somebody reads: a ring may have been lost."""
        for topic, tail in self._tails.items():
            if topic.startswith(prefix):
                tail.wake_event.set()

    async def read(
        self, source: StreamSource, position: StreamPosition, *, entity: str | None
    ) -> AsyncGenerator[StreamItem]:
        """Everything of a topic after a position, until the reader's end; `who` None may see everything."""
        while True:
            while self._is_tail_past(source, position):
                page = await source.read_page(position)
                position = page.position
                if not _can_see(entity, page):
                    yield _NOT_A_MEMBER
                    return
                for entry in page.entries:
                    yield entry
            tail, reader = self._join(source, position, entity)
            try:
                while reader.backlog or reader.stream_end is None:
                    while reader.backlog:
                        yield reader.backlog.popleft()
                    tail.drained_event.set()
                    reader.wake_event.clear()
                    if reader.stream_end is None:
                        await reader.wake_event.wait()
            finally:
                self._leave(tail, reader)
            if reader.stream_end is not _TOO_EARLY:
                yield reader.stream_end
                return

    def _is_tail_past(self, source: StreamSource, position: StreamPosition) -> bool:
        """Whether the tail of the topic is past that position."""
        tail = self._tails.get(source.topic)
        return tail is not None and tail.position > position

    def _join(self, source: StreamSource, position: StreamPosition, entity: str | None) -> tuple[_Tail, _Reader]:
        tail = self._tails.get(source.topic)
        if tail is None:
            tail = self._tails[source.topic] = _Tail(source, position)
        reader = _Reader(position, entity, tail.read_count)
        reader.stream_end = self._stream_end
        tail.readers.add(reader)
        tail.drained_event.set()
        tail.wake_event.set()
        return tail, reader

    def _leave(self, tail: _Tail, reader: _Reader) -> None:
        tail.readers.discard(reader)
        tail.drained_event.set()
        if not tail.readers and self._tails.get(tail.source.topic) is tail:
            del self._tails[tail.source.topic]
            tail.task.cancel()

    def end(self) -> None:
        """Let every reader go, with its position, and whoever is still catching up when it has: the gateway stops."""
        self._stream_end = _STOPPING
        for tail in self._tails.values():
            tail.end(_STOPPING)

    async def close(self) -> None:
        tails = list(self._tails.values())
        self._tails.clear()
        for tail in tails:
            tail.task.cancel()
            with suppress(asyncio.CancelledError):
                await tail.task


def _can_see(entity: str | None, page: StreamPage) -> bool:
    return entity is None or page.audience is None or entity in page.audience
