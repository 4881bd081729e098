"""
HTTP connections that cost little until a whole request has arrived.

uvicorn accepts a request head of any size, waits for it without a limit, and closes idle connections only after their
first response. One caller without a credential can then use all memory and all connections. The protocol in this module
is uvicorn's own with limits. A connection waits in at most one queue:

    queue     waits for                       limit                          a connection over the limit
    heads     a whole request head            64 KiB, 256 headers, 10 s      431, 431, 408
    bodies    the rest of a request body      4 KiB in each 10 s             408
    kept      the next request                uvicorn's keep-alive timeout   is closed
    stalled   the caller to read a response   -                              -

A connection whose whole request is being answered is in no queue and has no deadline, so long polls and event streams
last as long as they like. The rules, and why they hold:

- **Size.** At most 64 KiB may arrive without result: without completing a head, or without a byte of body (endless
  chunk extensions and trailers). The parser gets no more than that, so a long head costs no more than a short one. A
  head that begins in the middle of a read is counted from the next read on: it can be one read (256 KiB) longer. Each
  header is a call into Python, so their number has a limit too: 64 KiB of short ones would stop everybody for 10 ms.
- **Time.** All connections of a queue have the same time, so the queue is in the order of its deadlines: one timer for
  the first is enough, and a request costs two dictionary operations. The time of a head starts with the connection, or
  with the first byte of a later head. The time of a body is a series of windows; a window in which we did not read does
  not count: flow control had paused the connection, `100 Continue` was not sent yet, or an earlier request on the same
  connection is still being answered.
- **Errors** are written only where the caller cannot take them for something else: never inside a response, and never
  in place of the response to an earlier request. Otherwise the connection is closed without a word.
- **Full.** When there are more connections than allowed, one is closed at once: the oldest without a whole head, or
  else one that has its response before its body was read (it was refused), or else the oldest kept one, or else the one
  that has not read its response for longest. A caller that sends its request promptly is served, however many others
  hold their connections. uvicorn's `limit_concurrency` would do the opposite: it answers 503 to the caller that does
  send a request.
- **Pipelines.** At most 16 requests wait on one connection. When more come, those that wait are answered, for some
  seconds, no more are read, and the connection is closed.
- **Stop.** A server that stops closes the connections without a whole request. Nothing of those was accepted.

A response that is complete before its request is whole leaves the rest of the body to be discarded; over 64 KiB of that
the connection is closed.
"""

import asyncio
import resource
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Final

import httptools
import msgspec
import structlog
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from gatepost.gateway.http_exchange import WRITE_NOW
from gatepost.operations.problems import MEDIA_TYPE, format_problem

log = structlog.get_logger("gatepost.connections")

#: files that are kept free for the store, hooks and everything else that is not a connection
RESERVED_FILES: Final = 200
#: connections that are allowed at least, however low the file limit is
MIN_CONNECTIONS: Final = 16
#: the soft file limit is raised up to this, unless `gateway.connections` asks for more
_SOFT_LIMIT: Final = 65_536
#: seconds between two log lines about closed connections
_REPORT_INTERVAL: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    #: bytes that may arrive without completing a head, or without a byte of body
    head_size: int = 64 * 1024
    headers: int = 256
    #: seconds until a head is whole
    head_time: float = 10.0
    #: bytes of body that must arrive in each window
    body_size: int = 4 * 1024
    #: seconds of a window
    body_time: float = 10.0
    #: requests that wait on one connection until the one before is answered
    pipelined: int = 16
    #: seconds in which they are answered, if there are more than that; then the connection is closed
    pipelined_time: float = 2.0
    #: connections that are open at the same time; None for any number
    connections: int | None = None


def allow_connections(requested: int | None) -> int:
    """
    Raise the soft file limit as far as needed and allowed; return how many connections may be open.

    If no number is requested, that is all that the file limit leaves.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    goal = max(_SOFT_LIMIT, (requested or 0) + RESERVED_FILES)
    goal = goal if hard == resource.RLIM_INFINITY else min(goal, hard)
    if soft != resource.RLIM_INFINITY and soft < goal:
        with suppress(OSError, ValueError):  # some systems have a limit below the hard one
            resource.setrlimit(resource.RLIMIT_NOFILE, (goal, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    available = max(MIN_CONNECTIONS, (goal if soft == resource.RLIM_INFINITY else soft) - RESERVED_FILES)
    if requested is not None and requested > available:
        log.warning("gateway.connections is over the file limit", connections=requested, used=available)
    return min(requested or available, available)


def build_protocol(limits: ConnectionLimits) -> type["ServerConnection"]:
    """Return the class to give to `uvicorn.Config(http=...)`; its connections share one pool."""

    class LimitedConnection(ServerConnection):
        pool = ConnectionPool(limits)

    return LimitedConnection


class ConnectionQueue:
    """Connections that wait for the same thing, the longest first."""

    def __init__(self, time_limit: float | None = None) -> None:
        self._time_limit = time_limit
        self._deadlines: OrderedDict[ServerConnection, float] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def __iter__(self) -> "Iterator[ServerConnection]":
        return iter(self._deadlines)

    def add(self, connection: "ServerConnection") -> None:
        self._deadlines[connection] = connection.loop.time() + (self._time_limit or 0.0)
        if self._time_limit is not None and self._timer is None:
            self._timer = connection.loop.call_later(self._time_limit, self._expire, connection.loop)

    def remove(self, connection: "ServerConnection") -> None:
        self._deadlines.pop(connection, None)

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        while self._deadlines:
            connection, deadline = next(iter(self._deadlines.items()))
            if deadline > loop.time():
                self._timer = loop.call_at(deadline, self._expire, loop)
                return
            connection.expire()


class ConnectionPool:
    """The connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.heads = ConnectionQueue(limits.head_time)
        self.bodies = ConnectionQueue(limits.body_time)
        self.kept = ConnectionQueue()
        self.stalled = ConnectionQueue()
        self._closed_count = 0
        self._next_report = 0.0

    def make_room(self, newcomer: "ServerConnection") -> None:
        """Close one connection; the newcomer, if every other one is being answered."""
        refused = (connection for connection in self.bodies if connection.cycle.response_started)
        next(chain(self.heads, refused, self.kept, self.stalled), newcomer).abort()
        self._closed_count += 1
        if (now := newcomer.loop.time()) >= self._next_report:
            log.warning(
                "all connections are in use; the oldest without a request are closed",
                limit=self.limits.connections,
                closed=self._closed_count,
                hint="raise gateway.connections, and the file limit (ulimit -n) with it",
            )
            self._closed_count, self._next_report = 0, now + _REPORT_INTERVAL


class _Refused(Exception):
    """Raised in a callback of the parser, to stop it."""


class ServerConnection(HttpToolsProtocol):
    """A connection of uvicorn's server, with the limits of its pool."""

    pool: ClassVar[ConnectionPool]

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._queue: ConnectionQueue | None = None
        #: whether the next byte belongs to a head, as opposed to a body
        self._in_head = True
        #: whether the last read completed a head or brought some body, and bytes since one did
        self._has_result = False
        self._pending_size = 0
        #: bytes of body in this window, and whether it does not count because we did not read in it
        self._window_size = 0
        self._is_window_void = False
        #: bytes of body that came after the response
        self._discarded_size = 0
        #: True when more requests came than may wait: those that wait are answered, and no more are read
        self._is_overfull = False
        self._is_stopping = False
        self._is_gone = False

    # what the transport calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as in uvicorn
        super().connection_made(transport)
        limit = self.pool.limits.connections
        if limit is not None and len(self.connections) > limit:
            self.pool.make_room(self)
        self._update_queue()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_gone = True
        self._update_queue()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_overfull:
            return
        limit = self.pool.limits.head_size
        room = limit - self._pending_size if self._in_head else len(data)
        for part in (data[:room], data[room:]):
            if part and not self.transport.is_closing():
                self._has_result = False
                self._parse(part)
                self._pending_size = 0 if self._has_result else self._pending_size + len(part)
                if self._pending_size >= limit:
                    self._refuse_head(f"{limit} bytes")
        self._is_window_void = self._is_window_void or self.flow.read_paused
        self._update_queue()

    def _parse(self, data: bytes) -> None:
        """The same as uvicorn's `data_received`, which writes a line to the log for everything that is not HTTP."""
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # we stay with HTTP/1.1, as a server may
        except httptools.HttpParserError:
            if not self._is_overfull:
                self._refuse(400, "malformed", "this is not a request of HTTP/1.1")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._update_queue()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._update_queue()

    # what the parser calls

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # what comes after the body, a trailer, is not a header of the request
        if len(self.headers) >= self.pool.limits.headers:
            self._refuse_head(f"{self.pool.limits.headers} headers")
            raise _Refused
        super().on_header(name, value.rstrip(b" \t"))  # the parser has taken the spaces before it

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= self.pool.limits.pipelined:
            self._is_overfull = True
            self.loop.call_later(self.pool.limits.pipelined_time, self.transport.close)
            raise _Refused
        super().on_headers_complete()
        if self.scope["method"] == "GET":  # its answer may be a stream
            self.scope["extensions"] = {WRITE_NOW: {"write": partial(_write_now, self.cycle)}}
        self._in_head = False
        self._has_result = True
        self._window_size = self._discarded_size = 0

    def on_body(self, body: bytes) -> None:
        self._has_result = True
        self._window_size += len(body)
        if self.cycle.response_complete:
            self._discarded_size += len(body)
            if self._discarded_size > self.pool.limits.head_size:
                self.transport.close()
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True
        self._has_result = True

    # what the server calls

    def on_response_complete(self) -> None:
        super().on_response_complete()
        is_last = self._is_overfull and not self.pipeline and not self._is_answering()
        if is_last or (self._is_stopping and not self._is_whole()):
            self.transport.close()
        self._update_queue()

    def shutdown(self) -> None:
        self._is_stopping = True
        if self._is_whole():
            super().shutdown()
        else:
            self.transport.close()

    # what the pool calls

    def abort(self) -> None:
        """Close the connection without a word, and without waiting until everything is sent."""
        self._is_gone = True
        self._update_queue()
        self.transport.abort()

    def expire(self) -> None:
        """Refuse a request that did not arrive in time; a body gets another window if enough of it came."""
        limits = self.pool.limits
        if self._in_head:
            self._refuse(408, "request-timeout", f"no whole request head arrived within {limits.head_time:g} s")
        elif self._is_window_void or self._is_paused() or self._window_size >= limits.body_size:
            self._window_size = 0
            self._enter(None)
            self._update_queue()
        else:
            self._refuse(
                408,
                "request-timeout",
                f"less than {limits.body_size} bytes of the request body arrived within {limits.body_time:g} s",
            )

    def _is_answering(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first request
        return cycle is not None and not cycle.response_complete

    def _is_whole(self) -> bool:
        """Return whether the request that is answered next, or was last, has arrived whole."""
        return self._in_head or bool(self.pipeline)

    def _is_paused(self) -> bool:
        """Return whether it is our doing that no body arrives."""
        return self.flow.read_paused or self.cycle.waiting_for_100_continue or bool(self.pipeline)

    def _update_queue(self) -> None:
        queue: ConnectionQueue | None
        if self._is_gone:
            queue = None
        elif self.transport.is_closing():  # until everything is sent
            queue = self.pool.stalled
        elif not self._in_head:
            queue = self.pool.bodies
        elif self._is_answering():
            queue = self.pool.stalled if self.flow.write_paused else None
        else:
            queue = self.pool.heads if self.timeout_keep_alive_task is None else self.pool.kept
        self._enter(queue)

    def _enter(self, queue: ConnectionQueue | None) -> None:
        if queue is self._queue:
            return
        if self._queue is not None:
            self._queue.remove(self)
        self._queue = queue
        if queue is not None:
            queue.add(self)
        if queue is self.pool.bodies:
            self._is_window_void = self._is_paused()

    def _refuse_head(self, limit: str) -> None:
        self._refuse(431, "head-too-large", f"the request head is over the limit of {limit}")

    def _refuse(self, status: int, type: str, detail: str) -> None:
        """Close the connection; say why, unless a response is under way or owed to an earlier request."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        can_write = not self._is_answering() if self._in_head else not (cycle.response_started or self.pipeline)
        if can_write:
            body = msgspec.json.encode(format_problem(status, type, detail))
            head = f"connection: close\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + head.encode() + body)
        if self._is_answering():
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.close()
        self._update_queue()


def _write_now(cycle: RequestResponseCycle, chunk: bytes) -> bool:
    """Write a chunk of an open response, unless its caller is behind or gone; return True if it was written."""
    is_open = cycle.response_started and not cycle.response_complete and not cycle.disconnected
    if not is_open or not cycle.chunked_encoding or cycle.flow.write_paused or cycle.transport.is_closing():
        return False
    cycle.transport.write(chunk)
    return True
