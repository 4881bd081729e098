"""
Server-sent events: spaces, inboxes, agents, runs, and several of them in one stream.

Everything stored has an `id:`; a reader that comes back with it as `Last-Event-ID` (or `?after=`), to this gateway or
to another, goes on exactly there. Without it a stream begins now, but that of a run with its first step. The id of a
stream of one part is its position; that of a combined stream holds the position of each part.

A stream ends with `ended`, which says why and, where coming back may help, from where (`resumeFrom`). It ends when the
reader is too slow, when the gateway stops, and when its rights are gone: membership is read with every entry, and the
credential it came with is looked at again whenever a key or an entity changes, when its token ends, and at times.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Annotated, Any, Final, assert_never

import msgspec
import structlog
from fastapi import Depends, Header, Query, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gatepost.actions import inbox_feed, runs, spaces
from gatepost.actions.pages import limit_page
from gatepost.core import wire
from gatepost.core.run import Run, RunStatus, Step
from gatepost.core.signals import Frame
from gatepost.core.space import Message
from gatepost.errors import GatepostError, Invalid, Unauthorized, Unavailable
from gatepost.gateway import place, shapes
from gatepost.gateway.office import Office
from gatepost.gateway.shapes import reference
from gatepost.ports import Reader
from gatepost.runtime.live import StreamEnd, StreamEntry, StreamItem, StreamPage, StreamPosition, StreamSource

log = structlog.get_logger("gatepost.stream")

#: seconds between two signs of life, and between two looks at the reader's rights
PING: Final = 15.0
#: seconds that a reader may take nothing at all
STALLED: Final = 60.0
_PAGE: Final = 200
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_GONE: Final = StreamEnd("the credential is no longer good", is_resumable=True)

#: for the OpenAPI of the routes that stream
STREAMED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Server-sent events, for as long as you like",
        "content": {"text/event-stream": {"schema": {"$ref": reference(shapes.Streamed)}}},
    }
}


def resume(
    after: Annotated[str | None, Query(description="as Last-Event-ID, for those who cannot send it")] = None,
    last: Annotated[str | None, Header(alias="Last-Event-ID", description="the last `id:` that was read")] = None,
) -> str | None:
    """Where a reader was, if it says so."""
    return last or after


From = Annotated[str | None, Depends(resume)]

#: says why a stream must end, if it must
Still = Callable[[], Awaitable[StreamEnd | None]]


@dataclass(frozen=True, slots=True)
class Part:
    source: StreamSource
    #: where a reader begins that does not say where it was
    start: StreamPosition

    @property
    def topic(self) -> str:
        return self.source.topic


def space_part(office: Office, id: str, start: int) -> Part:
    async def page(after: StreamPosition) -> StreamPage:
        found, audience = (await office.store.read(limit_page(_messages), id, after)).value
        entries = [StreamEntry(message.seq, "space.message", _raw(wire.write_message(message))) for message in found]
        return StreamPage(entries, found[-1].seq if found else after, audience)

    return Part(StreamSource(f"space:{id}", page), start)


def inbox_part(office: Office, name: str, start: inbox_feed.Position) -> Part:
    async def page(after: StreamPosition) -> StreamPage:
        found = (await office.store.read(limit_page(inbox_feed.read_page), name, after=after, limit=_PAGE)).value
        entries = [StreamEntry(position, "inbox.item", _raw(wire.write_item(item))) for item, position in found.entries]
        return StreamPage(entries, found.position, has_hidden_entries=found.has_delayed_items)

    return Part(StreamSource(f"inbox:{name}", page), start)


def run_part(office: Office, id: str) -> Part:
    """A run from its first step on. That it waits for a tool, and that it ended, have the next two positions."""

    async def page(after: StreamPosition) -> StreamPage:
        run, steps = await office.store.read(_run, id)
        entries = [StreamEntry(step.number, "run.step", _raw(wire.write_step(step))) for step in steps]
        if run.status is not RunStatus.RUNNING:
            end = len(steps) + (1 if run.status is RunStatus.WAITING_TOOL else 2)
            entries.append(StreamEntry(end, f"run.{run.status}", _raw(wire.write_run(run))))
        new = [entry for entry in entries if entry.position > after]
        return StreamPage(new, new[-1].position if new else after)

    return Part(StreamSource(f"run:{id}", page), 0)


def _run(tx: Reader, id: str) -> tuple[Run, list[Step]]:
    return runs.show(tx, id), runs.list_steps(tx, id)


def _messages(tx: Reader, id: str, after: int) -> tuple[list[Message], frozenset[str]]:
    """Messages, and who may see them as of the same moment."""
    found = spaces.read(tx, id, after_seq=after, limit=_PAGE)
    return found, frozenset(member.name for member in spaces.list_members(tx, id))


def _raw(document: wire.Document) -> msgspec.Raw:
    """Written once, however many read it."""
    return msgspec.Raw(msgspec.json.encode(document))


async def respond(
    request: Request,
    office: Office,
    parts: Sequence[Part],
    *,
    who: str | None,
    last: str | None,
    combined: bool = False,
    still: Still | None = None,
) -> Response:
    """Stream the parts, each from where the reader was, or from its start; `still` may end it."""
    topics = [part.topic for part in parts]
    known = place.read(last, topics, combined=combined) if last else {}
    await office.store.read(_reached, known)
    positions = {part.topic: known.get(part.topic, part.start) for part in parts}

    async def guarded() -> StreamEnd | None:
        try:
            principal = await office.doorkeeper.admit(request)
            if principal != request.state.principal:
                return _GONE
            return await still() if still else None
        except Unavailable:
            return None
        except Unauthorized:
            return _GONE
        except GatepostError as error:
            return StreamEnd(error.message, is_resumable=False)

    expires_at = getattr(request.state.principal, "expires_at", None)
    sources = {part.topic: part.source for part in parts}
    return Stream(office, sources, positions, who, guarded, combined=combined, expires_at=expires_at)


def _reached(tx: Reader, known: Mapping[str, StreamPosition]) -> None:
    """Refuse a place that is not there yet: whoever waited there would miss everything up to it."""
    for topic, position in known.items():
        kind, _, name = topic.partition(":")
        if kind == "inbox":
            inbox_feed.read_page(tx, name, position, 1)
        elif kind == "run":
            if position > (last := len(runs.list_steps(tx, name)) + 2):
                raise Invalid(f"the run {name!r} has no step {position}", hint=f"it ends before {last + 1}")
        elif position > (last := spaces.show(tx, name).last_seq):
            raise Invalid(f"the space {name!r} has no message {position}", hint=f"its last one is {last}")


class EventStream(Response):
    """What routes that stream answer with."""

    media_type = "text/event-stream"


class Stream(EventStream):
    """
    A response that lasts. Each part is followed by a task of its own, and what they bring is written in the order in
    which it comes; a part waits until what it brought is taken, so a reader that takes nothing stops only itself.
    """

    def __init__(
        self,
        office: Office,
        sources: Mapping[str, StreamSource],
        positions: dict[str, StreamPosition],
        who: str | None,
        still: Still,
        *,
        combined: bool,
        expires_at: int | None = None,
    ) -> None:
        """`expires_at` is when the reader's token ends, in seconds since 1970."""
        self.status_code = 200
        self.background = None
        self.init_headers(_HEADERS)
        self._office = office
        self._sources = sources
        self._positions = positions
        self._who = who
        self._still = still
        self._combined = combined
        self._expires_at = math.inf if expires_at is None else expires_at
        self._queue: asyncio.Queue[tuple[str, StreamItem]] = asyncio.Queue(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 (the shape of ASGI)
        async with asyncio.TaskGroup() as group:
            following = [group.create_task(self._follow(source)) for source in self._sources.values()]
            guarding = group.create_task(self._guard())
            writing = group.create_task(self._write(send))
            leaving = group.create_task(_left(receive))
            await asyncio.wait((writing, leaving), return_when=asyncio.FIRST_COMPLETED)
            for task in (*following, guarding, writing, leaving):
                task.cancel()

    async def _follow(self, source: StreamSource) -> None:
        """Bring what a part has to show, in its order."""
        part = source.topic
        try:
            async with aclosing(self._office.hub.read(source, self._positions[part], entity=self._who)) as seen:
                async for what in seen:
                    await self._queue.put((part, what))
        except GatepostError as error:
            await self._queue.put((part, StreamEnd(error.message, is_resumable=isinstance(error, Unavailable))))

    async def _guard(self) -> None:
        """End the stream when its rights are gone; what changes during a look is looked at again."""
        while True:
            news = self._office.hub.access_change
            ended = _GONE if time.time() >= self._expires_at else await self._still()
            if ended is not None:
                await self._queue.put(("", ended))
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(min(PING, self._expires_at - time.time())):
                    await news.wait()

    async def _write(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            await _send(send, _frame("connected", {"parts": sorted(self._sources)}, self._id()))
            while True:
                try:
                    async with asyncio.timeout(PING):
                        part, what = await self._queue.get()
                except TimeoutError:
                    await _send(send, b": ping\n\n")
                    continue
                match what:
                    case StreamEntry():
                        self._positions[part] = what.position
                        await _send(send, _frame(what.event, what.data, self._id()))
                    case Frame():
                        await _send(send, _frame(what.event, what.data))
                    case StreamEnd():
                        # What the reader may not see any more may be only a part of what it asked for.
                        what = what if what.is_resumable else await self._still() or what
                        await _send(send, self._farewell(what), more=False)
                        return
                    case _:
                        assert_never(what)
        except TimeoutError:
            log.info("a reader took nothing and was left", parts=len(self._sources))

    def _farewell(self, ended: StreamEnd) -> bytes:
        resume = {"resumeFrom": self._id()} if ended.is_resumable else {}
        return _frame("ended", {"reason": ended.reason, **resume})

    def _id(self) -> str:
        return place.write(self._positions, combined=self._combined)


async def _left(receive: Receive) -> None:
    """Return when the reader has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, text: bytes, *, more: bool = True) -> None:
    async with asyncio.timeout(STALLED):
        await send({"type": "http.response.body", "body": text, "more_body": more})


def _frame(event: str, data: Any, id: str | None = None) -> bytes:
    head = f"id: {id}\n" if id is not None else ""
    return f"{head}event: {event}\ndata: ".encode() + msgspec.json.encode(data) + b"\n\n"
