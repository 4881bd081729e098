"""
A client without an event loop: for commands and scripts.

It keeps one connection. A gateway closes a connection that is idle for some seconds, so a request that finds it closed
is sent again on a new one; a request that must not be repeated is sent on a new connection in the first place.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import urlsplit

import msgspec

from gatepost.client import request_retries
from gatepost.client.plain_http import HttpConnection
from gatepost.errors import Invalid, Unavailable
from gatepost.operations.operation import Page, Request, Stream, StreamedView

if TYPE_CHECKING:  # few commands need them, and all must start fast
    from gatepost.inbox.event_api import ItemView
    from gatepost.inbox.push.api import PushEvent, PushOutcomeView

R = TypeVar("R")
V = TypeVar("V")

_MAX_LINE_LENGTH: Final = 32 * 1024 * 1024


class SyncClient:
    """
    Sends requests to a gateway, one at a time.

        with SyncClient("http://127.0.0.1:4283", key="sk_...") as client:
            client.send(PushEvent(to="analyst", content="The build is red"))

    An error of the gateway is raised as the same error here. Requests are tried again for `retry_time` seconds, and are
    done once all the same. Before each connection, `check` may raise Unavailable: then nothing is sent.
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
        check: Callable[[], None] | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Invalid(f"{url!r} is not the URL of a gateway", hint="write it as http://127.0.0.1:4283")
        self._parts = parts
        self._headers = request_retries.build_headers(key, public_key, token, act_as)
        self._retry_time = retry_time
        self._timeout = timeout
        self._check = check
        self._connection: HttpConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def send(self, request: Request[R], *, key: str | None = None) -> R:
        """Return the answer to a request; `key` makes it the same as an earlier one."""
        call = request_retries.build_call(request, key)
        retries = request_retries.RetrySchedule(self._retry_time)
        while True:
            try:
                status, headers, body = self._exchange(call)
            except (_NotSent, OSError) as failure:
                self.close()
                is_unsent = isinstance(failure, _NotSent)
                cause = failure.cause if isinstance(failure, _NotSent) else failure
                pause = retries.next_pause() if call.is_repeatable or is_unsent else None
                if pause is None:
                    raise request_retries.build_connection_error(cause) from cause
            else:
                pause = retries.find_pause(call, status, headers.get("retry-after"))
                if pause is None:
                    return request_retries.read_answer(request, call, status, body)
            time.sleep(pause)

    def push_many(self, pushes: "Iterable[PushEvent]") -> "list[PushOutcomeView]":
        """
        Push any number of events; return the outcome of each in their order: status 201 with its result, or a problem.
        Each thousand is one commit. If the gateway cannot be reached any more, the first thousands may be stored.
        """
        from gatepost.client.push_batches import push_many  # commands push one

        return push_many(self.send, pushes, add_keys=True)

    def list_all(self, request: Request[Page[V]], *, limit: int | None = None) -> Iterator[V]:
        """Return the items of a list, or the first of them, page by page."""
        return request_retries.list_pages(self.send, request, limit)

    def stream(self, request: Stream[R], *, on_connect: Callable[[], None] | None = None) -> Iterator[R]:
        """Return the models of a stream, for ever: messages of a space, items of an inbox, or else its events."""
        for event in self.events(request, on_connect=on_connect):
            model = request_retries.decode_event(request, event)
            if model is not None:
                yield model

    def events(self, request: Stream[Any], *, on_connect: Callable[[], None] | None = None) -> Iterator[StreamedView]:
        """
        Return the events of a stream, for ever, each once: after a lost connection it goes on where it was.
        `on_connect` is called when the stream begins, and whenever it goes on.
        """
        after, retries = request.after, request_retries.RetrySchedule(self._retry_time)
        while True:
            error: Exception | None = None
            try:
                for event in self._read_events(msgspec.structs.replace(request, after=after)):
                    retries = request_retries.RetrySchedule(self._retry_time)
                    after = event.id if isinstance(event.id, str) else after
                    if event.event == "ended":
                        after = request_retries.get_resume_position(event)
                        break
                    if event.event != "connected":
                        yield event
                    elif on_connect is not None:
                        on_connect()
            except (OSError, Unavailable) as failure:
                error = failure
            pause = retries.next_pause()
            if pause is None:
                raise request_retries.build_connection_error(error) from error
            time.sleep(pause)

    def work(self, name: str, *, hold: str = "5m") -> "Iterator[ItemView]":
        """
        Return the items of an inbox, one at a time, for ever, and wait while there are none:

            for item in client.work("analyst"):
                handle(item)

        An item is claimed for `hold`, and acked when the body of the loop ends. If the body raises, or leaves the loop,
        the item is released, and the next reader gets it. Several loops on one inbox share its items.
        """
        from gatepost.client import work_loop

        return work_loop.work(self.send, name, hold, self._retry_time)

    def _read_events(self, request: Stream[Any]) -> Iterator[StreamedView]:
        call = request_retries.build_call(request)
        connection = self._connect(request_retries.SILENCE_TIMEOUT)
        try:
            headers = {**self._headers, "accept": "text/event-stream"}
            response = connection.request(call.method, call.target, headers)
            if response.status != 200:
                request_retries.read_answer(request, call, response.status, connection.read())
            fields: dict[str, str] = {}
            while line := connection.read_line(_MAX_LINE_LENGTH):
                text = line.rstrip(b"\r\n").decode()
                if not text and "event" in fields:
                    yield StreamedView(
                        event=fields["event"], data=fields.get("data", ""), id=fields.get("id", msgspec.UNSET)
                    )
                    fields = {}
                elif text and not text.startswith(":"):
                    name, _, value = text.partition(": ")
                    fields[name] = value
        finally:
            connection.close()

    def _exchange(self, call: request_retries.HttpCall) -> tuple[int, Mapping[str, str], bytes]:
        if self._connection is None or not call.is_repeatable:
            self.close()
            try:
                self._connection = self._connect(self._timeout + call.wait)
            except (OSError, Unavailable) as error:
                raise _NotSent(error) from error
        headers = {**self._headers, **call.headers}
        response = self._connection.request(call.method, call.target, headers, call.body)
        body = self._connection.read()
        if not self._connection.can_continue:
            self.close()
        return response.status, response.headers, body

    def _connect(self, timeout: float) -> HttpConnection:
        if self._check is not None:
            self._check()
        parts = self._parts
        return HttpConnection(parts.hostname or "", parts.port, is_secure=parts.scheme == "https", timeout=timeout)


class _NotSent(Exception):
    """There was no connection, so the gateway has seen nothing of a request."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause
