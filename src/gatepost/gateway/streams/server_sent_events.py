"""
Server-sent events: spaces, inboxes, agents, runs, and several of them in one stream.

A part is stored, as a space is, or live: frames alone, which cannot be resumed.

Everything stored has an `id:`; a reader that comes back with it as `Last-Event-ID` (or `?after=`), to this gateway or
to another, goes on exactly there (`resume_positions.py`). Without it a stream begins now, but that of a run with its
first step.

A stream ends with `ended`, which says why and, where coming back may help, from where (`resumeFrom`). It ends when the
reader is too slow, when the gateway stops, and when its rights are gone: membership is read with every entry, and the
credential it came with is looked at again whenever a key or an entity changes, when its token ends, and at times.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, assert_never

import msgspec
import structlog

from gatepost.core.signals import Frame, Topic
from gatepost.errors import GatepostError, Unauthorized, Unavailable
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import HttpExchange, Receive, encode_chunk
from gatepost.gateway.streams.event_models import StreamConnectedView, StreamEndedView
from gatepost.gateway.streams.frames import ALL_GATES, GATE_EVENTS
from gatepost.gateway.streams.limits import send_in_time
from gatepost.gateway.streams.live_readers import StreamEnd, StreamEntry, StreamItem, StreamPosition, StreamSource
from gatepost.gateway.streams.resume_positions import check_positions, format_cursor, parse_cursor
from gatepost.operations.access import Caller

log = structlog.get_logger("gatepost.stream")

#: seconds between two signs of life, and between two checks of the reader's rights
PING_INTERVAL: Final = 15.0
_HEADERS: Final = [
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-type", b"text/event-stream; charset=utf-8"),
]
_CREDENTIAL_ENDED: Final = StreamEnd("the credential is no longer valid", is_resumable=True)

#: returns why a stream must end, if it must
EndCheck = Callable[[], Awaitable[StreamEnd | None]]


@dataclass(frozen=True, slots=True)
class StreamPart:
    source: StreamSource
    #: where a reader begins that does not say where it was
    start: StreamPosition
    #: whether it has only frames
    is_live: bool = False

    @property
    def topic(self) -> Topic:
        return self.source.topic


async def open_stream(
    state: GatewayState,
    parts: Sequence[StreamPart],
    *,
    viewer: str | None,
    after: str | None,
    is_combined: bool = False,
    check_end: EndCheck | None = None,
) -> "EventStream":
    """Return a stream of parts, each from the reader's last position, or from its start."""
    topics = [part.topic for part in parts if not part.is_live]
    positions = parse_cursor(after, topics, is_combined=is_combined) if after else {}
    await state.store.read(check_positions, positions)
    return EventStream(
        state=state,
        sources=[part.source for part in parts],
        positions={part.topic: positions.get(part.topic, part.start) for part in parts},
        live_topics=frozenset(part.topic for part in parts if part.is_live),
        viewer=viewer,
        is_combined=is_combined,
        check_end=check_end,
    )


@dataclass(slots=True, kw_only=True, eq=False)
class EventStream:
    """
    An answer that lasts. An item is written at once, by whoever delivers it, if nothing waits before it and the reader
    has taken what was written (`_take`). Else it waits: each part is followed by a task of its own, and what they bring
    is written in the order in which it comes; a part waits until what it brought is taken, so a reader that takes
    nothing stops only itself.
    """

    state: GatewayState
    sources: Sequence[StreamSource]
    #: by topic: the last entry that was sent
    positions: dict[Topic, StreamPosition]
    live_topics: frozenset[Topic]
    viewer: str | None
    is_combined: bool
    check_end: EndCheck | None
    _queue: asyncio.Queue[tuple[Topic | None, StreamItem]] = field(default_factory=lambda: asyncio.Queue(1))
    #: items that tasks have brought and that are not written yet: what is delivered meanwhile comes after them
    _unwritten: int = 0
    #: while the stream is open
    _write_now: Callable[[bytes], bool] | None = None

    async def run(self, exchange: HttpExchange, caller: Caller, authenticate: Callable[[], Awaitable[Caller]]) -> None:
        """Write the stream until it ends or the reader leaves; `authenticate` checks the credential again."""

        async def check_rights() -> StreamEnd | None:
            try:
                if await authenticate() != caller:
                    return _CREDENTIAL_ENDED
                return await self.check_end() if self.check_end else None
            except Unavailable:
                return None
            except Unauthorized:
                return _CREDENTIAL_ENDED
            except GatepostError as error:
                return StreamEnd(error.message, is_resumable=False)

        expires_at = math.inf if caller.expires_at is None else caller.expires_at
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._follow(source)) for source in self.sources]
            tasks.append(group.create_task(self._guard(check_rights, expires_at)))
            writing = group.create_task(self._write(exchange, check_rights))
            leaving = group.create_task(_wait_until_left(exchange.receive))
            await asyncio.wait((writing, leaving), return_when=asyncio.FIRST_COMPLETED)
            for task in (*tasks, writing, leaving):
                task.cancel()

    async def _follow(self, source: StreamSource) -> None:
        """Bring the entries of a part, in its order."""
        topic = source.topic
        try:
            items = self.state.live_streams.read(
                source, self.positions[topic], entity=self.viewer, take=partial(self._take, topic)
            )
            async with aclosing(items):
                async for item in items:
                    await self._put(topic, item)
        except GatepostError as error:
            await self._put(topic, StreamEnd(error.message, is_resumable=isinstance(error, Unavailable)))

    async def _put(self, topic: Topic | None, item: StreamItem) -> None:
        self._unwritten += 1
        await self._queue.put((topic, item))

    def _take(self, topic: Topic, item: StreamEntry | Frame) -> bool:
        """Write an item now; return False if it has to wait."""
        if self._write_now is None or self._unwritten:
            return False
        if isinstance(item, Frame):
            return self._is_repeated(topic, item) or self._write_now(encode_item(item).chunk)
        if not self.is_combined:
            is_written = self._write_now(encode_item(item).chunk)
            self.positions[topic] = item.position if is_written else self.positions[topic]
            return is_written
        last_position, self.positions[topic] = self.positions[topic], item.position
        is_written = self._write_now(encode_chunk(encode_item(item).add_id(self._format_id())))
        if not is_written:
            self.positions[topic] = last_position
        return is_written

    async def _guard(self, check_rights: EndCheck, expires_at: float) -> None:
        """End the stream when its rights are gone; what changes during a check is checked again."""
        while True:
            change = self.state.live_streams.access_change
            end = _CREDENTIAL_ENDED if time.time() >= expires_at else await check_rights()
            if end is not None:
                await self._put(None, end)
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(min(PING_INTERVAL, expires_at - time.time())):
                    await change.wait()

    async def _write(self, exchange: HttpExchange, check_rights: EndCheck) -> None:
        send = exchange.send
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        try:
            await send_in_time(
                send,
                _format_frame(
                    "connected", StreamConnectedView(parts=sorted(map(str, self.positions))), self._format_id()
                ),
            )
            self._write_now = exchange.write_now
            while True:
                try:
                    async with asyncio.timeout(PING_INTERVAL):
                        topic, item = await self._queue.get()
                except TimeoutError:
                    await send_in_time(send, b": ping\n\n")
                    continue
                match item:
                    case StreamEntry():
                        assert topic is not None
                        self.positions[topic] = item.position
                        await send_in_time(send, encode_item(item).add_id(self._format_id()))
                    case Frame():
                        if not self._is_repeated(topic, item):
                            await send_in_time(send, encode_item(item).frame)
                    case StreamEnd():
                        # What the reader may not see any more may be only a part of what it asked for.
                        end = item if item.is_resumable else await check_rights() or item
                        end_view = StreamEndedView(
                            reason=end.reason, resume_from=self._format_id() if end.is_resumable else msgspec.UNSET
                        )
                        await send_in_time(send, _format_frame("ended", end_view), more=False)
                        return
                    case _:
                        assert_never(item)
                self._unwritten -= 1
        except TimeoutError:
            log.info("a reader took nothing and was dropped", parts=len(self.sources))
        finally:
            self._write_now = None

    def _is_repeated(self, topic: Topic | None, frame: Frame) -> bool:
        """Return True for a frame about a gate of one entity, if the stream has those of all gates."""
        return ALL_GATES in self.live_topics and topic != ALL_GATES and frame.event in GATE_EVENTS

    def _format_id(self) -> str:
        stored = {topic: value for topic, value in self.positions.items() if topic not in self.live_topics}
        return format_cursor(stored if self.is_combined else self.positions, is_combined=self.is_combined)


async def _wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@dataclass(frozen=True, slots=True)
class EncodedItem:
    """An item as it is sent, made once for all readers."""

    item: StreamEntry | Frame
    #: without the id
    frame: bytes
    #: with the id that it has in a stream of one part, as it is on the wire
    chunk: bytes

    def add_id(self, id: str) -> bytes:
        return f"id: {id}\n".encode() + self.frame


_last_encoded: EncodedItem | None = None


def encode_item(item: StreamEntry | Frame) -> EncodedItem:
    """Encode an item, unless it is the last one: all its readers get it one after the other."""
    global _last_encoded  # noqa: PLW0603 (a memory of one item)
    if _last_encoded is None or _last_encoded.item is not item:
        frame = _format_frame(item.event, item.data)
        id = f"id: {item.position}\n".encode() if isinstance(item, StreamEntry) else b""
        _last_encoded = EncodedItem(item, frame, encode_chunk(id + frame))
    return _last_encoded


def _format_frame(event: str, data: Any, id: str | None = None) -> bytes:
    head = f"id: {id}\n" if id is not None else ""
    return f"{head}event: {event}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"
