"""
Send any request to a gateway, from an event loop.

    lost, or 429, 503    ->  wait, as long as the gateway asks for  ->  try again, for `retry_time` seconds
    a problem            ->  the error that it was made of
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, Final, TypeVar

import httpx2
import msgspec

from gatepost.api.operation import Page, Request, Stream, StreamedView
from gatepost.client import problems
from gatepost.client.patience import Patience
from gatepost.client.protocol import (
    PAGE_LENGTH,
    RETRY_STATUSES,
    SILENCE_TIMEOUT,
    build_call,
    convert_cursor,
    decode_event,
    get_resume_position,
    parse_retry_after,
    read_answer,
)
from gatepost.errors import Unavailable

R = TypeVar("R")
V = TypeVar("V")

_MAX_EVENT_SIZE: Final = 32 * 1024 * 1024
_LOST: Final = (httpx2.NetworkError, httpx2.TimeoutException, httpx2.RemoteProtocolError)
_NOT_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class RequestSender:
    """Sends requests by an HTTP client that has the address and the credential."""

    def __init__(self, http: httpx2.AsyncClient, retry_time: float) -> None:
        self._http = http
        self._retry_time = retry_time

    async def send(self, request: Request[R], *, key: str | None = None) -> R:
        """Return the answer to a request; `key` makes it the same as an earlier one."""
        call = build_call(request, key)
        patience = Patience(self._retry_time)
        while True:
            try:
                response = await self._http.request(call.method, call.target, headers=call.headers, content=call.body)
            except httpx2.TransportError as error:
                is_repeatable = isinstance(error, _LOST if call.is_repeatable else _NOT_SENT)
                if not is_repeatable or not await patience.again():
                    raise problems.lost(error) from error
                continue
            wait = parse_retry_after(response.headers.get("retry-after", ""))
            is_final = not call.is_repeatable or response.status_code not in RETRY_STATUSES
            if is_final or not await patience.again(wait):
                return read_answer(request, call, response.status_code, response.content)

    async def list_all(self, request: Request[Page[V]], *, limit: int | None = None) -> AsyncIterator[V]:
        """Return the items of a list, or the first of them, page by page."""
        remaining, changes = limit, dict[str, Any]()
        while remaining is None or remaining > 0:
            changes["limit"] = PAGE_LENGTH if remaining is None else min(remaining, PAGE_LENGTH)
            page = await self.send(msgspec.structs.replace(request, **changes))
            for item in page.items:
                yield item
            remaining = None if remaining is None else remaining - len(page.items)
            if page.next is None:
                return
            changes["after"] = convert_cursor(request, page.next)

    async def stream(self, request: Stream[R], *, on_connect: Callable[[], None] | None = None) -> AsyncGenerator[R]:
        """Return the models of a stream, for ever: messages of a space, items of an inbox, or else its events."""
        async with aclosing(self.events(request, on_connect=on_connect)) as events:
            async for event in events:
                model = decode_event(request, event)
                if model is not None:
                    yield model

    async def events(
        self, request: Stream[Any], *, on_connect: Callable[[], None] | None = None
    ) -> AsyncGenerator[StreamedView]:
        """
        Return the events of a stream, for ever, each once: after a lost connection it goes on where it was.
        `on_connect` is called when the stream begins, and whenever it goes on.
        """
        after, patience = request.after, Patience(self._retry_time)
        while True:
            error: Exception | None = None
            try:
                async with aclosing(self._read_events(msgspec.structs.replace(request, after=after))) as events:
                    async for event in events:
                        patience = Patience(self._retry_time)
                        after = event.id if isinstance(event.id, str) else after
                        if event.event == "ended":
                            after = get_resume_position(event)
                            break
                        if event.event != "connected":
                            yield event
                        elif on_connect is not None:
                            on_connect()
            except (*_LOST, Unavailable) as failure:
                error = failure
            if not await patience.again():
                raise problems.lost(error) from error

    async def _read_events(self, request: Stream[Any]) -> AsyncGenerator[StreamedView]:
        call = build_call(request)
        timeout = httpx2.Timeout(10.0, read=SILENCE_TIMEOUT)
        async with self._http.stream("GET", call.target, timeout=timeout) as response:
            if response.status_code != 200:
                read_answer(request, call, response.status_code, await response.aread())
            async for event in httpx2.EventSource(response, max_event_size=_MAX_EVENT_SIZE):
                yield StreamedView(event=event.event, data=event.data, id=event.id or msgspec.UNSET)
