"""
A client for an event loop, on httpx2.

    lost, or 429, 503    ->  wait, as long as the gateway asks for  ->  try again, for `retry_time` seconds
    a problem            ->  the error that it was made of
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import httpx2
import msgspec

from gatepost.client import push_batches, request_retries, work_loop
from gatepost.errors import GatepostError, Invalid, Unavailable
from gatepost.inbox.event_api import ItemView
from gatepost.inbox.item_api import ReleaseClaim
from gatepost.inbox.push.api import PushEvent, PushOutcomeView
from gatepost.operations.operation import Page, Request, Stream, StreamedView

R = TypeVar("R")
V = TypeVar("V")

_MAX_EVENT_SIZE: Final = 32 * 1024 * 1024
_LOST: Final = (httpx2.NetworkError, httpx2.TimeoutException, httpx2.RemoteProtocolError)
_NOT_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_LOCAL_HOSTS: Final = ("127.0.0.1", "::1", "localhost")


class Client:
    """
    Sends requests to a gateway: with a secret key as the administrator or one agent, with a public key and a token as
    one entity. The administrator is another entity if `act_as` names one.

        async with Client("http://127.0.0.1:4283", key="sk_...") as client:
            await client.send(PushEvent(to="analyst", content="The build is red"))

    An error of the gateway is raised as the same error here. Requests are tried again for `retry_time` seconds, and are
    done once all the same. Before each try, `check` may raise Unavailable: then nothing is sent.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        public_key: str | None = None,
        token: str | None = None,
        act_as: str | None = None,
        retry_time: float = 30.0,
        timeout: float = 30.0,
        check: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        async def check_gateway(request: httpx2.Request) -> None:
            try:
                if check is not None:
                    await check()
            except Unavailable as error:
                raise httpx2.ConnectError(error.message, request=request) from error

        try:
            base = httpx2.URL(url)
            self._http = httpx2.AsyncClient(
                base_url=base,
                headers=request_retries.build_headers(key, public_key, token, act_as),
                timeout=timeout,
                # a proxy that the environment names is not for this machine
                trust_env=base.host not in _LOCAL_HOSTS,
                # certificates take long to read, and without TLS there is nothing to hold against them
                verify=base.scheme != "http",
                event_hooks={"request": [check_gateway]},
            )
        except (httpx2.InvalidURL, UnicodeEncodeError) as error:
            raise Invalid(f"this is not a gateway and a key for it: {error}") from None
        self._retry_time = retry_time
        self._timeout = timeout
        self._claims: set[ReleaseClaim] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for release in tuple(self._claims):
            await self._end_claim(release)
        await self._http.aclose()

    async def send(self, request: Request[R], *, key: str | None = None) -> R:
        """Return the answer to a request; `key` makes it the same as an earlier one."""
        call = request_retries.build_call(request, key)
        retries = request_retries.RetrySchedule(self._retry_time)
        while True:
            try:
                response = await self._http.request(
                    call.method,
                    call.target,
                    headers=call.headers,
                    content=call.body,
                    timeout=httpx2.Timeout(self._timeout, read=self._timeout + call.wait),
                )
            except httpx2.TransportError as error:
                is_repeatable = isinstance(error, _LOST if call.is_repeatable else _NOT_SENT)
                pause = retries.next_pause() if is_repeatable else None
                if pause is None:
                    raise request_retries.build_connection_error(error) from error
            else:
                pause = retries.find_pause(call, response.status_code, response.headers.get("retry-after"))
                if pause is None:
                    return request_retries.read_answer(request, call, response.status_code, response.content)
            await asyncio.sleep(pause)

    async def push_many(self, pushes: Iterable[PushEvent]) -> list[PushOutcomeView]:
        """
        Push any number of events; return the outcome of each in their order: status 201 with its result, or a problem.
        Each thousand is one commit. If the gateway cannot be reached any more, the first thousands may be stored.
        """
        outcomes: list[PushOutcomeView] = []
        for batch in push_batches.split_pushes(pushes, add_keys=True):
            outcomes += batch.list_outcomes(await self.send(batch.request))
        return outcomes

    async def list_all(self, request: Request[Page[V]], *, limit: int | None = None) -> AsyncIterator[V]:
        """Return the items of a list, or the first of them, page by page."""
        remaining, changes = limit, dict[str, Any]()
        while remaining is None or remaining > 0:
            changes["limit"] = (
                request_retries.PAGE_LENGTH if remaining is None else min(remaining, request_retries.PAGE_LENGTH)
            )
            page = await self.send(msgspec.structs.replace(request, **changes))
            for item in page.items:
                yield item
            remaining = None if remaining is None else remaining - len(page.items)
            if page.next is None:
                return
            changes["after"] = request_retries.convert_cursor(request, page.next)

    async def stream(self, request: Stream[R], *, on_connect: Callable[[], None] | None = None) -> AsyncGenerator[R]:
        """Return the models of a stream, for ever: messages of a space, items of an inbox, or else its events."""
        async with aclosing(self.events(request, on_connect=on_connect)) as events:
            async for event in events:
                model = request_retries.decode_event(request, event)
                if model is not None:
                    yield model

    async def events(
        self, request: Stream[Any], *, on_connect: Callable[[], None] | None = None
    ) -> AsyncGenerator[StreamedView]:
        """
        Return the events of a stream, for ever, each once: after a lost connection it goes on where it was.
        `on_connect` is called when the stream begins, and whenever it goes on.
        """
        after, retries = request.after, request_retries.RetrySchedule(self._retry_time)
        while True:
            error: Exception | None = None
            try:
                async with aclosing(self._read_events(msgspec.structs.replace(request, after=after))) as events:
                    async for event in events:
                        retries = request_retries.RetrySchedule(self._retry_time)
                        after = event.id if isinstance(event.id, str) else after
                        if event.event == "ended":
                            after = request_retries.get_resume_position(event)
                            break
                        if event.event != "connected":
                            yield event
                        elif on_connect is not None:
                            on_connect()
            except (*_LOST, Unavailable) as failure:
                error = failure
            pause = retries.next_pause()
            if pause is None:
                raise request_retries.build_connection_error(error) from error
            await asyncio.sleep(pause)

    async def work(self, name: str, *, hold: str = "5m") -> AsyncGenerator[ItemView]:
        """
        Return the items of an inbox, one at a time, for ever, and wait while there are none:

            async for item in client.work("analyst"):
                await handle(item)

        An item is claimed for `hold`, and acked when the body of the loop ends. If the body raises, or leaves the loop,
        the item is released, and the next reader gets it. Several loops on one inbox share its items.
        """
        claim = work_loop.build_claim(name, hold)
        retries = request_retries.RetrySchedule(self._retry_time)
        while True:
            try:
                batch = await self.send(claim)
            except Unavailable:
                pause = retries.next_pause()
                if pause is None:
                    raise
                await asyncio.sleep(pause)
                continue
            retries = request_retries.RetrySchedule(self._retry_time)
            if batch.claim is None:
                continue
            ack, release = work_loop.build_claim_ends(batch.claim)
            self._claims.add(release)
            try:
                for item in batch.items:
                    yield item
            except BaseException:
                await self._end_claim(release)
                raise
            self._claims.discard(release)
            await self.send(ack)

    async def _end_claim(self, release: ReleaseClaim) -> None:
        if release in self._claims:
            self._claims.discard(release)
            with suppress(GatepostError):  # then the claim lapses
                await self.send(release)

    async def _read_events(self, request: Stream[Any]) -> AsyncGenerator[StreamedView]:
        call = request_retries.build_call(request)
        timeout = httpx2.Timeout(10.0, read=request_retries.SILENCE_TIMEOUT)
        async with self._http.stream("GET", call.target, timeout=timeout) as response:
            if response.status_code != 200:
                request_retries.read_answer(request, call, response.status_code, await response.aread())
            async for event in httpx2.EventSource(response, max_event_size=_MAX_EVENT_SIZE):
                yield StreamedView(event=event.event, data=event.data, id=event.id or msgspec.UNSET)
