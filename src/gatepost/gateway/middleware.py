"""
What surrounds every request: its body is read whole, up to a limit, before anything is done with it; and the answer is
counted and logged, without its headers or body, where secrets are.
"""

import time
from typing import Final

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gatepost.errors import TooLarge
from gatepost.gateway import problems
from gatepost.gateway.health import Meters

log = structlog.get_logger("gatepost.http")

_MOST: Final = 4 * 1024 * 1024
_MOST_IN_BATCH: Final = 32 * 1024 * 1024
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
#: counted for a caller that left before the answer
_NO_ANSWER: Final = 499


class Bodies:
    """Reads the body of a request up to a limit; a larger one is refused before anybody sees it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        most = _MOST_IN_BATCH if scope["path"] == "/api/inbox/batch" else _MOST
        try:
            body = await _read(receive, most)
        except ClientDisconnect:
            return  # half a request is none, and nobody waits for an answer
        except TooLarge as error:
            await problems.of_error(error)(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)


async def _read(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > most:
            raise TooLarge(f"the body is over the limit of {most} bytes")
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


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
