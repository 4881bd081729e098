"""
What surrounds every request: the caller is known before the body is read; the body is read whole, up to a limit, before
anything is done with it; and the answer is counted and logged, without its headers or body, where secrets are.

    credential (401, 403)  ->  declared size (413)  ->  body (413)  ->  route

A refusal closes the connection. Before that, a little of what the caller is still sending is discarded: the kernel
resets a connection that is closed with unread bytes, and the caller might not get to see the answer. One that sends on
all the same is made to wait, so that it cannot have itself refused a thousand times a second.
"""

import asyncio
import time
from contextlib import suppress
from typing import Final

import structlog
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gatepost.errors import GatepostError, NotFound, TooLarge
from gatepost.gateway import problems
from gatepost.gateway.auth import FRESH
from gatepost.gateway.health import Meters
from gatepost.gateway.office import Office

log = structlog.get_logger("gatepost.http")

_MOST: Final = 4 * 1024 * 1024
#: a caller that was refused may send so many bytes more, and is kept for so many seconds if it does
_DISCARD_TIME: Final = 1.0
_MAX_DISCARDED: Final = 256 * 1024
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_HOOKS: Final = "/hooks/"
#: counted for a caller that left before the answer
_NO_ANSWER: Final = 499


class Bodies:
    """Reads the body of a request whose caller is known, up to a limit."""

    def __init__(self, app: ASGIApp, office: Office) -> None:
        self._app = app
        self._office = office

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        try:
            body = await self._receive(Request(scope), receive)
        except ClientDisconnect:
            return  # half a request is none, and nobody waits for an answer
        except GatepostError as error:
            await _refuse(error, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    async def _receive(self, request: Request, receive: Receive) -> bytes:
        """Return the body if its caller may send one; raise why not, without reading it."""
        path: str = request.scope["path"]
        limit = _MOST
        if request.headers.get("content-length", "0") == "0" and "transfer-encoding" not in request.headers:
            return await _read(request, receive, limit)
        if request.method == "POST" and path.startswith(_HOOKS):  # callers of webhooks have no credential
            raise NotFound("there is no such webhook")
        began = time.monotonic()
        principal = await self._office.doorkeeper.admit(request)
        body = await _read(request, receive, limit)
        if time.monotonic() - began < FRESH:  # else the route looks again
            request.state.principal = principal
        return body


async def _read(request: Request, receive: Receive, limit: int) -> bytes:
    """Return the whole body."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise TooLarge(f"the body is {declared} bytes, over the limit of {limit}")
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise TooLarge(f"the body is over the limit of {limit} bytes")
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


async def _refuse(error: GatepostError, receive: Receive, send: Send) -> None:
    """Send the answer, discard a little of what still comes, and have the server close the connection."""
    response = problems.of_error(error)
    await send(
        {
            "type": "http.response.start",
            "status": response.status_code,
            "headers": [*response.raw_headers, (b"connection", b"close")],
        }
    )
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
    size = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(_DISCARD_TIME):
            while size < _MAX_DISCARDED:
                message = await receive()
                size += len(message.get("body", b""))
                if not message.get("more_body"):
                    break
            else:
                await asyncio.sleep(_DISCARD_TIME)  # nothing is read meanwhile
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


class Counted:
    """Counts and logs answers by the route's template, never by the path: paths have names in them."""

    def __init__(self, app: ASGIApp, meters: Meters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), _NO_ANSWER

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            status = 500
            raise
        finally:
            route = getattr(scope.get("route"), "path", "unknown")
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            seconds = time.perf_counter() - began
            self._meters.requests.labels(route, method, status).inc()
            self._meters.seconds.labels(route).observe(seconds)
            log.debug("answered", route=route, method=method, status=status, ms=round(seconds * 1000, 2))
