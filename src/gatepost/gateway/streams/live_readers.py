"""
The readers of live streams: any number of them, on any gateway, without gap or repeat.

A stream has a stored part (messages of a space, items of an inbox), whose entries have positions to resume from, and a
live part (frames), which reaches only the readers of that moment. The stored part is always read from the store; a
signal only says that there is more. So there is no switch from replay to live in which an entry could be lost.

Readers of one topic share a `_Tail`: one query for each change, however many readers there are. Why no reader misses an
entry or gets it twice:

- A reader has a position. It joins a tail only if the tail's position is not past its own, and the check and the
  joining happen in one turn of the event loop. So the tail has still to read everything after the reader's position.
- A tail gives a reader only entries after the reader's own position, so a tail that is behind the reader repeats
  nothing.
- While the tail is past its position, a new reader reads from the store by itself.

Rights are read with the entries: each page says who may see it, as of the same transaction, and a reader that is not
in that audience ends there. A page is read for every signal, also if it has no entries, so a removed member is dropped
at once; if that signal was lost, with the next page, before any entry of it is delivered. A reader that joined while a
page was being read may have become a member after the read; it is not judged by that page, but reads for itself.

A reader that keeps up gets an item at once, in the loop over all readers of its tail, and no task is woken for it
(`TakeItem`). While an item of its own is not written yet, or it does not take what was written, the items go to its
backlog, and its own task writes them, in their order.

A slow reader never slows the writer or the other readers: its backlog is bounded (`limits.py`), and a reader
that exceeds the bound is dropped. It knows its last position and may come back with it. A reader that starts far behind
is not dropped for that: until a tail has reached the end for the first time, it reads on only when a reader has taken
its whole backlog.

Frames come with signals, or are made of them (`frames.py`). They are live only. What must not be missed is also an
item of an inbox, and resumes like every other item.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import structlog

from gatepost.core.signals import EVERY_INBOX, KEYS, Frame, Signal, SignalTopicKind, Topic, TransportMessage
from gatepost.errors import GatepostError, Unavailable
from gatepost.gateway.streams.frames import ALL_AGENTS, ALL_FIRES, build_change_frame, build_fire_frame
from gatepost.gateway.streams.limits import Backlog

log = structlog.get_logger("gatepost.live")

#: seconds before a tail reads again when the store is unavailable
_RETRY: Final = 1.0
#: seconds before a tail reads again when committed entries cannot be shown yet
_RECHECK_DELAY: Final = 0.02
#: causes of signals that change who is a member of a space
_MEMBERSHIP_CAUSES: Final = ("create", "join", "leave")

#: called with an item that is to be written now; returns False if it cannot be, and goes to the backlog
TakeItem = Callable[["StreamEntry | Frame"], bool]

#: comparable: a later position is greater
StreamPosition = Any


@dataclass(frozen=True, slots=True)
class StreamEntry:
    """An entry of the stored part: its position, and what readers see of it."""

    position: StreamPosition
    event: str
    data: Any


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The end of a stream: the reader was too slow, or may not read on."""

    reason: str
    #: whether the reader may come back with its last position
    is_resumable: bool


StreamItem = StreamEntry | Frame | StreamEnd

_STOPPING: Final = StreamEnd("the gateway stops", is_resumable=True)
_TOO_SLOW: Final = StreamEnd("too slow", is_resumable=True)
_NOT_A_MEMBER: Final = StreamEnd("no longer a member", is_resumable=False)
#: never delivered: the page was read before this reader joined, so it reads for itself
_TOO_EARLY: Final = StreamEnd("read before it came", is_resumable=True)
_BROKEN: Final = StreamEnd("something went wrong here", is_resumable=True)


@dataclass(frozen=True, slots=True)
class StreamPage:
    """Some entries (no entries means the end of the topic), and the position after them."""

    entries: list[StreamEntry]
    position: StreamPosition
    #: who may see these entries and later ones; None for every reader that was admitted
    audience: frozenset[str] | None = None
    #: whether committed entries cannot be shown yet; there will be no signal for them
    has_hidden_entries: bool = False


@dataclass(frozen=True, slots=True)
class StreamSource:
    """A topic, and how to read its stored entries after a position."""

    topic: Topic
    read_page: Callable[[StreamPosition], Awaitable[StreamPage]]


@dataclass(slots=True, eq=False)
class _StreamReader:
    position: StreamPosition
    entity: str | None
    #: how many pages the tail had begun to read when the reader joined
    reads_at_join: int
    stream_end: StreamEnd | None
    take: TakeItem
    backlog: Backlog[StreamEntry | Frame] = field(default_factory=Backlog)
    wake_event: asyncio.Event = field(default_factory=asyncio.Event)

    def deliver(self, item: StreamEntry | Frame) -> None:
        if self.stream_end or (isinstance(item, StreamEntry) and not item.position > self.position):
            return
        if not self.backlog and self.take(item):
            return
        if self.backlog.is_full:
            self.end(_TOO_SLOW)
            return
        self.backlog.append(item)
        self.wake_event.set()

    def end(self, stream_end: StreamEnd) -> None:
        self.stream_end = self.stream_end or stream_end
        self.wake_event.set()


class _Tail:
    """The end of a topic, and the readers that follow it together."""

    def __init__(self, source: StreamSource, position: StreamPosition) -> None:
        self.source = source
        self.position = position
        self.readers: set[_StreamReader] = set()
        self.read_count = 0
        self.wake_event = asyncio.Event()
        #: set when a reader has taken its whole backlog, and when one joins or leaves
        self.drained_event = asyncio.Event()
        self._is_caught_up = False
        self.task = asyncio.create_task(self._follow(), name=f"tail-{source.topic}")

    async def _follow(self) -> None:
        """Read and deliver pages whenever the tail is woken."""
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
        """Read one page and deliver it; return False if it had no entries."""
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
        """Wait until a reader has taken its whole backlog."""
        while all(reader.backlog for reader in self.readers):
            self.drained_event.clear()
            await self.drained_event.wait()

    def end(self, stream_end: StreamEnd) -> None:
        for reader in self.readers:
            reader.end(stream_end)


class LiveStreams:
    def __init__(self) -> None:
        self._tails: dict[Topic, _Tail] = {}
        self._access_change = asyncio.Event()
        self._stream_end: StreamEnd | None = None
        #: called when the gateway stops
        self.end_handlers: list[Callable[[], None]] = []

    @property
    def is_ending(self) -> bool:
        """Whether the gateway stops."""
        return self._stream_end is not None

    @property
    def readers(self) -> int:
        return sum(len(tail.readers) for tail in self._tails.values())

    def on_signal(self, signal: TransportMessage) -> None:
        """Deliver a frame, or wake the tail that a signal is about."""
        match signal:
            case Frame(topic=topic):
                self._deliver(topic, signal)
                if topic.kind == "agent":
                    self._deliver(ALL_AGENTS, signal)
            case Signal(topic=topic) if topic == KEYS:
                self._announce_access_change()
            case Signal(topic=topic) if topic == EVERY_INBOX or topic.kind == "shared":
                self.wake(topic.kind)  # each tail of the shared inbox has a filter of its own
            case Signal(topic=topic):
                if topic in self._tails:
                    self._tails[topic].wake_event.set()
                    if (change := build_change_frame(signal)) is not None:
                        self._deliver(topic, change)
                if ALL_FIRES in self._tails and (frame := build_fire_frame(signal)) is not None:
                    self._deliver(ALL_FIRES, frame)
                if signal.cause in _MEMBERSHIP_CAUSES:
                    self._announce_access_change()

    def _deliver(self, topic: Topic, frame: Frame) -> None:
        for reader in self._tails[topic].readers if topic in self._tails else ():
            reader.deliver(frame)

    def _announce_access_change(self) -> None:
        self._access_change.set()
        self._access_change = asyncio.Event()

    @property
    def access_change(self) -> asyncio.Event:
        """An event that is set when access rights may have changed: a key, an entity, a membership."""
        return self._access_change

    def wake(self, kind: SignalTopicKind | None = None) -> None:
        """Wake the tails whose topics are of a kind, or all of them: a signal may have been lost."""
        for topic, tail in self._tails.items():
            if kind in (None, topic.kind):
                tail.wake_event.set()

    async def read(
        self, source: StreamSource, position: StreamPosition, *, entity: str | None, take: TakeItem = lambda _: False
    ) -> AsyncGenerator[StreamItem]:
        """
        Yield every entry of a topic after a position, and its frames, until the reader ends; last a `StreamEnd`. An
        `entity` of None may see everything. What `take` takes is not yielded.
        """
        while True:
            while (tail := self._tails.get(source.topic)) is not None and tail.position > position:
                page = await source.read_page(position)
                position = page.position
                if not _can_see(entity, page):
                    yield _NOT_A_MEMBER
                    return
                for entry in page.entries:
                    yield entry
            tail, reader = self._join(source, position, entity, take)
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

    def _join(
        self, source: StreamSource, position: StreamPosition, entity: str | None, take: TakeItem
    ) -> tuple[_Tail, _StreamReader]:
        tail = self._tails.get(source.topic)
        if tail is None:
            tail = self._tails[source.topic] = _Tail(source, position)
        reader = _StreamReader(position, entity, tail.read_count, self._stream_end, take)
        tail.readers.add(reader)
        tail.drained_event.set()
        tail.wake_event.set()
        return tail, reader

    def _leave(self, tail: _Tail, reader: _StreamReader) -> None:
        tail.readers.discard(reader)
        tail.drained_event.set()
        if not tail.readers and self._tails.get(tail.source.topic) is tail:
            del self._tails[tail.source.topic]
            tail.task.cancel()

    def end(self) -> None:
        """End all readers, those that are still catching up when they have: the gateway stops."""
        self._stream_end = _STOPPING
        for tail in self._tails.values():
            tail.end(_STOPPING)
        for handle in self.end_handlers:
            handle()

    async def close(self) -> None:
        tails = list(self._tails.values())
        self._tails.clear()
        for tail in tails:
            tail.task.cancel()
            with suppress(asyncio.CancelledError):
                await tail.task


def _can_see(entity: str | None, page: StreamPage) -> bool:
    return entity is None or page.audience is None or entity in page.audience
