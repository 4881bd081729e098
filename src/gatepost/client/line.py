"""
The line to a gateway: requests that are tried again where that is safe, lists that are read page by page, and streams
that resume.

A request may be repeated when it changes nothing, or nothing more when it is made twice, or carries an idempotency key:
one is made for all tries of a write, so a lost answer costs a repeat and never a second effect. What may not be
repeated (a claim, a new key) is tried again only if it never reached the gateway.

    lost, or 429, 503    ->  wait, as long as the gateway asks for  ->  again, until patience is over
    a problem            ->  the error that it was made of
"""

import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import httpx2

from gatepost.client import problems
from gatepost.client.patience import Patience
from gatepost.core.wire import Document
from gatepost.errors import Invalid, Refused, Unavailable

Ready = Callable[[], None]
N = TypeVar("N")

_PAGE: Final = 500
#: seconds without a sign of life after which a stream is lost; the gateway gives one every 15
_SILENCE: Final = 45.0
_LARGEST_EVENT: Final = 32 * 1024 * 1024
_LONGEST_KEY: Final = 255

_PASSING: Final = (httpx2.NetworkError, httpx2.TimeoutException, httpx2.RemoteProtocolError)
_NEVER_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_NOT_NOW: Final = (429, 503)


@dataclass(frozen=True, slots=True)
class Streamed:
    """One event of a stream."""

    event: str
    data: Any


class Line:
    def __init__(self, http: httpx2.AsyncClient, *, patience: float) -> None:
        """`patience` is how many seconds a request is tried again, or a stream is gone, before that is an error."""
        self._http = http
        self._patience = patience

    async def get(self, path: str, **query: Any) -> Any:
        return await self._request("GET", path, again=True, params=_given(query))

    async def write(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """A write that is done once, however often it is tried; a `key` makes it the same as an earlier one."""
        headers = {"idempotency-key": secrets.token_urlsafe(16) if key is None else _checked(key)}
        return await self._request(method, path, again=True, **_body(body, **headers))

    async def repeat(self, method: str, path: str, body: Any = None) -> Any:
        """A write that may be done twice."""
        return await self._request(method, path, again=True, **_body(body))

    async def ask(self, path: str, body: Any = None) -> Any:
        """A write that may not be repeated once the gateway has it."""
        return await self._request("POST", path, again=False, **_body(body))

    async def all(
        self, path: str, noun: Callable[[Document], N], *, limit: int | None = None, **query: Any
    ) -> AsyncIterator[N]:
        """Everything of a list, or so much of it, page by page."""
        after, left = None, limit
        while left is None or left > 0:
            answer = await self.get(path, after=after, limit=_PAGE if left is None else min(left, _PAGE), **query)
            for each in answer["items"]:
                yield noun(each)
            after, left = answer["next"], None if left is None else left - len(answer["items"])
            if after is None:
                return

    async def stream(
        self, path: str, *, after: str | None = None, ready: Ready | None = None, **query: Any
    ) -> AsyncGenerator[Streamed]:
        """
        What a stream brings, for ever: each thing once, and when the connection is lost it goes on where it was.
        `ready` is called when the stream stands, and whenever it stands again.
        """
        patience = Patience(self._patience)
        while True:
            lost: Exception | None = None
            try:
                async with aclosing(self._connected(path, after, _given(query))) as events:
                    async for event in events:
                        patience = Patience(self._patience)
                        after, data = event.id or after, _document(event)
                        if event.event == "ended":
                            after = _resumed(data)
                            break
                        if event.event == "connected" and ready is not None:
                            ready()
                        yield Streamed(event.event, data)
            except (*_PASSING, Unavailable) as error:
                lost = error
            if not await patience.again():
                raise problems.lost(lost) from lost

    async def _connected(
        self, path: str, after: str | None, query: dict[str, Any]
    ) -> AsyncGenerator[httpx2.ServerSentEvent]:
        headers = {"Last-Event-ID": after} if after is not None else {}
        timeout = httpx2.Timeout(10.0, read=_SILENCE)
        async with self._http.stream("GET", path, params=query, headers=headers, timeout=timeout) as answer:
            if answer.status_code != 200:
                await answer.aread()
                raise problems.error(answer)
            async for event in httpx2.EventSource(answer, max_event_size=_LARGEST_EVENT):
                yield event

    async def _request(self, method: str, path: str, *, again: bool, **options: Any) -> Any:
        patience = Patience(self._patience)
        while True:
            try:
                answer = await self._http.request(method, path, **options)
            except httpx2.TransportError as error:
                if not isinstance(error, _PASSING if again else _NEVER_SENT) or not await patience.again():
                    raise problems.lost(error) from error
            else:
                if not again or answer.status_code not in _NOT_NOW or not await patience.again(_asked(answer)):
                    return _read(answer)


def _body(body: Any, **headers: str) -> dict[str, Any]:
    """A request with this body as JSON, if it has one."""
    if body is None:
        return {"headers": headers}
    try:
        content = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (ValueError, TypeError, RecursionError):
        raise Invalid(
            "this is not JSON", hint="no NaN, no infinity, no half characters, nothing nested very deep"
        ) from None
    return {"headers": {"content-type": "application/json", **headers}, "content": content}


def _read(answer: httpx2.Response) -> Any:
    if answer.is_success:
        return answer.json() if answer.content else None
    raise problems.error(answer)


def _document(event: httpx2.ServerSentEvent) -> Any:
    return event.json()


def _resumed(ended: Document) -> str:
    """Where to go on after a stream was ended; where nobody may go on, that is an error."""
    if "resumeFrom" not in ended:
        raise Refused(ended["reason"])
    return str(ended["resumeFrom"])


def _asked(answer: httpx2.Response) -> float:
    """How many seconds the gateway asks to be left alone."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _checked(key: str) -> str:
    if not key or len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or key != key.strip():
        raise Invalid(
            f"{key[:60]!r} is not an idempotency key", hint=f"use 1 to {_LONGEST_KEY} printable ASCII characters"
        )
    return key


def _given(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}
