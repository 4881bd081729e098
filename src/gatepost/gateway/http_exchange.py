"""
One HTTP request and its answer, on plain ASGI.

A body is read whole, up to a limit, and only after the caller is known. A refusal of a request whose body was not read
closes the connection. Before that, a little of what the caller is still sending is discarded: the kernel resets a
connection that is closed with unread bytes, and the caller might not get to see the answer. One that sends on all the
same is made to wait, so that it cannot have itself refused a thousand times a second.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from gatepost.core.json_limits import count_values
from gatepost.errors import GatepostError, TooLarge, Unavailable
from gatepost.operations import problems
from gatepost.operations.operation import MAX_BODY
from gatepost.operations.problems import MethodNotAllowed

JSON: Final = "application/json"
#: counted for a caller that left before the answer
NO_ANSWER: Final = 499
#: seconds for which a caller that was refused may go on sending
_DISCARD_TIME: Final = 1.0
#: bytes that it may send in that time
_MAX_DISCARDED: Final = 256 * 1024
#: the extension of ASGI with which our own server writes a part of an answer at once (`http_limits.py`)
WRITE_NOW: Final = "gatepost.write_now"
#: of every answer: no page elsewhere may load it as a script, an image or a style
_SAFE_HEADERS: Final = [(b"x-content-type-options", b"nosniff"), (b"cross-origin-resource-policy", b"same-origin")]

#: bytes of a body from which on it is large, and of all large bodies at the same time
LARGE: Final = 1024 * 1024
_MAX_ALL_LARGE: Final = 64 * 1024 * 1024

# the types of ASGI
Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

Headers = Iterable[tuple[str, str]]

encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An answer that is not the JSON of a model, or has another status than usual."""

    body: bytes
    status: int = 200
    media_type: str = JSON
    headers: Headers = ()


class ClientDisconnect(Exception):
    """The caller has left before its request was complete."""


class HttpExchange:
    """A request, and the means to answer it once."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.method: str = scope["method"]
        #: as it came, with its quotes
        self.path: str = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
        self.query: bytes = scope["query_string"]
        #: the first of each name
        self.headers: Mapping[str, str] = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(scope["headers"])
        }
        self.receive = receive
        self._send = send
        #: the path of its operation, with the names of parameters
        self.template = "unknown"
        #: of the answer
        self.status = NO_ANSWER
        self.is_answered = False
        length = self.headers.get("content-length", "0")
        self._is_body_read = length == "0" and "transfer-encoding" not in self.headers

    @property
    def declared_size(self) -> int | None:
        """The size of the body as its head says it; None if it does not."""
        length = self.headers.get("content-length", "" if "transfer-encoding" in self.headers else "0")
        return int(length) if length.isdecimal() else None

    def list_headers(self) -> list[tuple[str, str]]:
        """Return all headers as they came, also those that came more than once."""
        return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in self.scope["headers"]]

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            self.is_answered = True
        await self._send(message)

    def write_now(self, chunk: bytes) -> bool:
        """
        Write a part of an answer without waiting, in the form of `encode_chunk`. Return False if nothing was written:
        the caller has not taken enough of what was sent before, has left, or the server cannot do this.
        """
        extension = self.scope.get("extensions", {}).get(WRITE_NOW)
        return extension is not None and bool(extension["write"](chunk))

    async def read_body(self, limit: int, on_part: Callable[[int], None] | None = None) -> bytes:
        """Return the whole body; `on_part` is called with the size of each part before it is kept."""
        declared = self.headers.get("content-length", "")
        if declared == "0" and self._is_body_read:
            return b""  # the request is complete, also if its caller has left meanwhile
        if declared.isdecimal() and int(declared) > limit:
            raise TooLarge(f"the body is {declared} bytes, over the limit of {limit}")
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self.receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            part: bytes = message.get("body", b"")
            size += len(part)
            if size > limit:
                raise TooLarge(f"the body is over the limit of {limit} bytes")
            if on_part is not None:
                on_part(len(part))
            parts.append(part)
            if not message.get("more_body"):
                self._is_body_read = True
                body = b"".join(parts)
                for _ in count_values(body):
                    await asyncio.sleep(0)  # others have their turn
                return body

    async def is_disconnected(self) -> bool:
        """Return True if the server knows that the caller has left. The body was read."""
        with suppress(TimeoutError):
            async with asyncio.timeout(0):  # ends what has to wait
                return bool((await self.receive())["type"] == "http.disconnect")
        return False

    async def answer(self, status: int, body: bytes, media_type: str = JSON, headers: Headers = ()) -> None:
        await self.send(build_start(status, body, media_type, headers))
        await self.send({"type": "http.response.body", "body": body})

    async def answer_empty(self, status: int, headers: Headers, *, length: int | None = None) -> None:
        """Answer without a body; `length` is that of the body that a GET would get."""
        raw = [*_SAFE_HEADERS, *((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)]
        if length is not None:
            raw.append((b"content-length", str(length).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": raw})
        await self.send({"type": "http.response.body", "body": b""})

    async def answer_error(self, error: GatepostError) -> None:
        """Answer with a problem; if the body was not read, close the connection."""
        headers: list[tuple[str, str]] = []
        if error.status == 401:
            headers.append(("www-authenticate", 'Bearer realm="gatepost"'))
        if isinstance(error, Unavailable):
            headers.append(("retry-after", str(math.ceil(error.retry_after or 1))))
        if isinstance(error, MethodNotAllowed):
            headers.append(("allow", ", ".join(error.allowed)))
        if error.status == 401 or not self._is_body_read:
            # A caller that guesses gets no second guess on the same connection.
            headers.append(("connection", "close"))
        body = encode(problems.build_problem(error))
        if self._is_body_read:
            await self.answer(error.status, body, problems.MEDIA_TYPE, headers)
            return
        await self.send(build_start(error.status, body, problems.MEDIA_TYPE, headers))
        await self.send({"type": "http.response.body", "body": body, "more_body": True})
        await self._discard_body()
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _discard_body(self) -> None:
        size = 0
        with suppress(TimeoutError):
            async with asyncio.timeout(_DISCARD_TIME):
                while size < _MAX_DISCARDED:
                    message = await self.receive()
                    size += len(message.get("body", b""))
                    if not message.get("more_body"):
                        return
                await asyncio.sleep(_DISCARD_TIME)  # nothing is read meanwhile


def encode_chunk(part: bytes) -> bytes:
    """Return a part of an answer without a length as it is on the wire."""
    return b"%x\r\n%b\r\n" % (len(part), part)


def build_start(status: int, body: bytes, media_type: str = JSON, headers: Headers = ()) -> dict[str, Any]:
    """Return the beginning of an answer; nobody keeps it, unless its headers say otherwise."""
    raw = [*_SAFE_HEADERS, *((name.encode("latin-1"), value.encode("latin-1")) for name, value in headers)]
    if not any(name == b"cache-control" for name, _ in raw):
        raw.append((b"cache-control", b"no-store"))
    if status != 204:
        raw += [(b"content-type", media_type.encode()), (b"content-length", str(len(body)).encode())]
    return {"type": "http.response.start", "status": status, "headers": raw}


class CallerLocks:
    """A lock for each caller: what takes long is done for one caller once at a time, and others come in between."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    def get(self, caller: Hashable) -> asyncio.Lock:
        lock = self._locks.get(caller)
        if lock is None:
            lock = self._locks[caller] = asyncio.Lock()
        return lock


class LargeBodies:
    """
    Limits the large bodies that are received and answered at the same time, so that none keeps the event loop from
    other callers. A body is large if it has over 1 MiB, or an unknown size where more than usual is taken. Its
    memory is held until its request is answered.

        large bodies of one caller   one at a time: the next one is not read before the answer to the first
        large bodies of all callers  64 MiB; what comes then is refused with 503 and can be sent again
    """

    def __init__(self) -> None:
        self._locks = CallerLocks()
        self._size = 0

    @asynccontextmanager
    async def admit(self, exchange: HttpExchange, caller: Hashable, limit: int) -> AsyncIterator[None]:
        """While entered, the body of a request, which has at most `limit` bytes, may be read and is held."""
        size = exchange.declared_size
        if size is None:  # it is sent in chunks
            size = limit if limit > MAX_BODY else 0
        size = min(size, limit)
        if size <= LARGE:
            yield
            return
        async with self._locks.get(caller):
            if self._size + size > _MAX_ALL_LARGE:
                raise Unavailable("too many large bodies are being received", hint="send it again in a moment")
            self._size += size
            try:
                yield
            finally:
                self._size -= size
