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
_SOON: Final = 0.02
#: causes of rings that change who is in a space
_MOVED: Final = ("create", "join", "leave")

#: comparable: later is greater
Position = Any


@dataclass(frozen=True, slots=True)
class Entry:
    """Something stored: its position, and what readers see of it."""

    position: Position
    event: str
    data: Any


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing follows: the reader was too slow, or may not read on."""

    reason: str
    #: whether it may come back with its last position
    resumable: bool


Seen = Entry | Frame | Ended

_STOPPING: Final = Ended("the gateway stops", resumable=True)
_TOO_SLOW: Final = Ended("too slow", resumable=True)
_NOT_A_MEMBER: Final = Ended("no longer a member", resumable=False)
#: not shown: the page was read before this reader came
_TOO_EARLY: Final = Ended("read before it came", resumable=True)
_BROKEN: Final = Ended("something went wrong here", resumable=True)


@dataclass(frozen=True, slots=True)
class Page:
    """Some entries, none at the end, and the position after them."""

    entries: list[Entry]
    position: Position
    #: who may see them, and any that follow; None for whoever was let in
    audience: frozenset[str] | None = None
    #: whether something was committed that cannot be shown yet: no ring will come for it
    held: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A topic, and how to read what is stored of it after a position."""

    topic: str
    page: Callable[[Position], Awaitable[Page]]


class _Reader:
    def __init__(self, position: Position, who: str | None, came: int) -> None:
        self.position = position
        self.who = who
        #: how many pages the tail had begun to read when it came
        self.came = came
        self.waiting: deque[Entry | Frame] = deque()
        self.ended: Ended | None = None
        self.stirred = asyncio.Event()

    def give(self, what: Entry | Frame) -> None:
        if self.ended or (isinstance(what, Entry) and not what.position > self.position):
            return
        if len(self.waiting) >= BACKLOG:
            self.end(_TOO_SLOW)
            return
        self.waiting.append(what)
        self.stirred.set()

    def end(self, why: Ended) -> None:
        self.ended = self.ended or why
        self.stirred.set()


class _Tail:
    """The end of a topic, and the readers that are there."""

    def __init__(self, source: Source, position: Position) -> None:
        self.source = source
        self.position = position
        self.readers: set[_Reader] = set()
        self.reads = 0
        self.stirred = asyncio.Event()
        #: set when a reader has taken everything, and when one comes or goes
        self.taken = asyncio.Event()
        self._level = False
        self.task = asyncio.create_task(self._follow(), name=f"tail-{source.topic}")

    async def _follow(self) -> None:
        while True:
            await self.stirred.wait()
            self.stirred.clear()
            try:
                while await self._pass_on():
                    if not self._level:
                        await self._wanted()
                self._level = True
            except Unavailable as error:
                log.warning("stream waits", topic=self.source.topic, reason=error.message)
                await asyncio.sleep(_RETRY)
                self.stirred.set()
            except GatepostError as error:
                self.end(Ended(error.message, resumable=False))
            except Exception as error:
                log.exception("stream broke", topic=self.source.topic, error=repr(error))
                self.end(_BROKEN)

    async def _pass_on(self) -> bool:
        self.reads += 1
        page = await self.source.page(self.position)
        self.position = page.position
        for reader in self.readers:
            if not _may_see(reader.who, page):
                reader.end(_TOO_EARLY if reader.came == self.reads else _NOT_A_MEMBER)
        for entry in page.entries:
            for reader in self.readers:
                reader.give(entry)
        if page.held:
            asyncio.get_running_loop().call_later(_SOON, self.stirred.set)
        return bool(page.entries)

    async def _wanted(self) -> None:
        """Return when somebody waits for more."""
        while all(reader.waiting for reader in self.readers):
            self.taken.clear()
            await self.taken.wait()

    def end(self, why: Ended) -> None:
        for reader in self.readers:
            reader.end(why)


class Hub:
    def __init__(self) -> None:
        self._tails: dict[str, _Tail] = {}
        self._news = asyncio.Event()
        self._over: Ended | None = None

    @property
    def readers(self) -> int:
        return sum(len(tail.readers) for tail in self._tails.values())

    def heard(self, signal: TransportMessage) -> None:
        """Pass a frame on, or look for what a ring announces."""
        match signal:
            case Frame(topic=topic):
                for reader in self._tails[topic].readers if topic in self._tails else ():
                    reader.give(signal)
            case _ if signal.recipient == key.TOPIC:
                self._tell_news()
            case _ if signal.recipient == "*":
                self.stir("inbox:")
            case _:
                topic = signal.recipient if ":" in signal.recipient else f"inbox:{signal.recipient}"
                if topic in self._tails:
                    self._tails[topic].stirred.set()
                if signal.cause in _MOVED:
                    self._tell_news()

    def _tell_news(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    @property
    def news(self) -> asyncio.Event:
        """Set when rights may have changed since: a key, an entity, who is in a space."""
        return self._news

    def stir(self, prefix: str = "") -> None:
        """Look at every topic that somebody reads: a ring may have been lost."""
        for topic, tail in self._tails.items():
            if topic.startswith(prefix):
                tail.stirred.set()

    async def read(self, source: Source, position: Position, *, who: str | None) -> AsyncGenerator[Seen]:
        """Everything of a topic after a position, until the reader's end; `who` None may see everything."""
        while True:
            while self._past(source, position):
                page = await source.page(position)
                position = page.position
                if not _may_see(who, page):
                    yield _NOT_A_MEMBER
                    return
                for entry in page.entries:
                    yield entry
            tail, reader = self._joined(source, position, who)
            try:
                while reader.waiting or reader.ended is None:
                    while reader.waiting:
                        yield reader.waiting.popleft()
                    tail.taken.set()
                    reader.stirred.clear()
                    if reader.ended is None:
                        await reader.stirred.wait()
            finally:
                self._leave(tail, reader)
            if reader.ended is not _TOO_EARLY:
                yield reader.ended
                return

    def _past(self, source: Source, position: Position) -> bool:
        """Whether the tail of the topic is past that position."""
        tail = self._tails.get(source.topic)
        return tail is not None and tail.position > position

    def _joined(self, source: Source, position: Position, who: str | None) -> tuple[_Tail, _Reader]:
        tail = self._tails.get(source.topic)
        if tail is None:
            tail = self._tails[source.topic] = _Tail(source, position)
        reader = _Reader(position, who, tail.reads)
        reader.ended = self._over
        tail.readers.add(reader)
        tail.taken.set()
        tail.stirred.set()
        return tail, reader

    def _leave(self, tail: _Tail, reader: _Reader) -> None:
        tail.readers.discard(reader)
        tail.taken.set()
        if not tail.readers and self._tails.get(tail.source.topic) is tail:
            del self._tails[tail.source.topic]
            tail.task.cancel()

    def end(self) -> None:
        """Let every reader go, with its position, and whoever is still catching up when it has: the gateway stops."""
        self._over = _STOPPING
        for tail in self._tails.values():
            tail.end(_STOPPING)

    async def close(self) -> None:
        tails = list(self._tails.values())
        self._tails.clear()
        for tail in tails:
            tail.task.cancel()
            with suppress(asyncio.CancelledError):
                await tail.task


def _may_see(who: str | None, page: Page) -> bool:
    return who is None or page.audience is None or who in page.audience
