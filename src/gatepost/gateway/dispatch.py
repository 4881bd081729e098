"""
Answer one request:

    path (404, 405)  ->  credential, kind of caller (401, 403)  ->  body (413, 415)  ->  form (400, 422)
        ->  names acted for (403)  ->  handler in one transaction (404, 409, ...)  ->  answer

Nothing of a body is read before its caller is known; the handler of a raw operation reads the body itself, when it
knows enough of the caller. The answer is encoded after the commit, except with an Idempotency-Key, whose answer is
stored in the transaction.
"""

import re
import time
from typing import Any, Final

import msgspec
import structlog

from gatepost.directory.authorization_actions import authorize_names
from gatepost.errors import GatepostError
from gatepost.executor import answer_request, take_steps, walk_to_answer
from gatepost.gateway import waiting_requests
from gatepost.gateway.authentication import CACHE_TIME
from gatepost.gateway.browser_checks import read_page_cookies
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import ClientDisconnect, HttpAnswer, HttpExchange, build_start, encode
from gatepost.operations import access
from gatepost.operations.access import Caller
from gatepost.operations.decoding import get_decoder
from gatepost.operations.operation import WAIT, Kind, Operation, Request
from gatepost.operations.problems import NotJson, Unexpected

log = structlog.get_logger("gatepost.gateway")

_ESCAPED: Final = re.compile(r"\\([\"\\])")
_NOBODY: Final = Caller(access.CallerKind.ENTITY, "")


class Dispatcher:
    """Answers the requests for operations."""

    def __init__(self, state: GatewayState) -> None:
        self._state = state

    async def answer(self, exchange: HttpExchange, operation: Operation, path: dict[str, str]) -> None:
        caller = await self._admit(exchange, operation)
        if operation.kind is Kind.RAW:
            answer = await operation.handler(self._state, operation.request(**path), exchange)
            await self._answer(exchange, operation, answer)
            return
        if exchange.method == "GET":
            await self._answer_request(
                exchange, operation, caller, get_decoder(operation).decode(path, exchange.query, None)
            )
            return
        async with self._state.large_bodies.admit(exchange, caller, operation.max_body):
            began = time.monotonic()
            body = await self._read_body(exchange, operation)
            if time.monotonic() - began > CACHE_TIME:
                caller = await self._admit(exchange, operation)
            request = get_decoder(operation).decode(path, exchange.query, body if operation.has_body else None)
            await self._answer_request(exchange, operation, caller, request)

    async def _answer_request(
        self, exchange: HttpExchange, operation: Operation, caller: Caller, request: Request[Any]
    ) -> None:
        request = operation.access.bind(request, caller)
        if operation.kind is Kind.STREAM:
            await self._stream(exchange, request, caller)
            return
        key = _find_key(exchange, operation)
        if operation.waiting is not None and getattr(request, WAIT):
            answer = await self._run_waiting(exchange, request, caller)
        elif operation.limits_guesses:
            with self._state.attempt_limits.watch_strictly(exchange.scope, operation.endpoint):
                answer = await self.run(request, caller, key)
        else:
            answer = await self.run(request, caller, key)
        if operation.follow_up is not None:
            await self._answer_and_follow_up(exchange, request, answer, caller)
        else:
            await self._answer(exchange, operation, answer)

    async def _answer(self, exchange: HttpExchange, operation: Operation, answer: Any) -> None:
        if isinstance(answer, HttpAnswer):
            await exchange.answer(answer.status, answer.body, answer.media_type, answer.headers)
        elif operation.status == 204:
            await exchange.answer(204, b"")
        else:
            await exchange.answer(operation.status, encode(answer))

    async def _admit(self, exchange: HttpExchange, operation: Operation) -> Caller:
        """Return who is calling; raise if this kind of caller may never ask."""
        if not operation.access.needs_credential:
            return _NOBODY
        caller = await self._authenticate(exchange)
        operation.access.admit(caller)
        return caller

    async def _authenticate(self, exchange: HttpExchange) -> Caller:
        cookies = read_page_cookies(exchange, self._state.hosts)
        return await self._state.authenticator.authenticate(exchange.headers, cookies)

    async def _read_body(self, exchange: HttpExchange, operation: Operation) -> bytes:
        body = await exchange.read_body(operation.max_body)
        if body and operation.has_body and operation.checks_media:
            media_type = exchange.headers.get("content-type", "").partition(";")[0].strip().lower()
            if media_type and not media_type.endswith(("/json", "+json")):
                raise NotJson(f"{media_type!r} is not JSON", hint="send Content-Type: application/json")
        return body

    async def run(self, request: Request[Any], caller: Caller, key: str | None = None) -> Any:
        """Return the answer to a request whose names the caller may act for; `key` is its idempotency key."""
        if request.operation.needs_gateway:
            return await request.operation.handler(self._state, await self._authorize_names(request, caller), caller)
        steps = walk_to_answer(request, caller, key)
        return await take_steps(self._state.store, steps, self._state.caller_locks.get(caller))

    async def _run_waiting(self, exchange: HttpExchange, request: Request[Any], caller: Caller) -> Any:
        request = await self._authorize_names(request, caller)

        async def ask() -> Any:
            await self._admit(exchange, request.operation)  # a credential may end while it waits
            return await self.run(request, caller)

        with self._state.stream_limits.reserve(caller):
            return await waiting_requests.wait_for_answer(self._state, exchange, request, ask)

    async def _authorize_names(self, request: Request[Any], caller: Caller) -> Request[Any]:
        if not request.operation.access.names_other(request, caller):
            return request
        return await self._state.store.read(authorize_names, request, caller)

    async def _answer_and_follow_up(
        self, exchange: HttpExchange, request: Request[Any], answer: Any, caller: Caller
    ) -> None:
        """
        Send an answer, and make the request that follows it. For a drain, which has claimed a batch:

            all but the last byte  ->  wait until it is sent  ->  is the caller connected?  ->  the last byte  ->  ack
                                                                  no: release

        A server is not told when its caller leaves; it writes on, and nobody reads. So the last byte is held back until
        the rest has left for the caller and the connection has been checked. Without it no caller can take the answer
        for complete: a caller that is gone by then has read nothing, and the batch is released at once. After it the
        caller has the answer, as far as anybody can tell. Any other failure leaves the claim open, and it lapses.
        """
        body = encode(answer)
        await exchange.send(build_start(request.operation.status, body))
        await exchange.send({"type": "http.response.body", "body": body[:-1], "more_body": True})
        await exchange.send({"type": "http.response.body", "body": b"", "more_body": True})  # waits while it is unsent
        is_sent = not await exchange.is_disconnected()
        if is_sent:
            await exchange.send({"type": "http.response.body", "body": body[-1:], "more_body": False})
        assert request.operation.follow_up is not None
        following = request.operation.follow_up(request, answer, is_sent)
        if following is None:
            return
        try:
            lane = following.operation.build_lane(following)
            await self._state.store.run(answer_request, following, caller, lane=lane)
        except GatepostError as error:
            log.warning("a follow-up failed", operation=following.operation.name, reason=error.message)

    async def _stream(self, exchange: HttpExchange, request: Request[Any], caller: Caller) -> None:
        last = exchange.headers.get("last-event-id")
        if last:
            request = msgspec.structs.replace(request, after=last)
        request = await self._authorize_names(request, caller)
        with self._state.stream_limits.reserve(caller):
            response = await request.operation.handler(self._state, request, caller)
            await response.run(exchange, caller, lambda: self._authenticate(exchange))


def _find_key(exchange: HttpExchange, operation: Operation) -> str | None:
    """Return the Idempotency-Key of a request, quoted as a structured field or not, if its operation takes one."""
    header = exchange.headers.get("idempotency-key")
    if header is None or not operation.takes_key:
        return None
    key = header.strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = _ESCAPED.sub(r"\1", key[1:-1])
    return operation.check_key(key)


async def answer_errors(exchange: HttpExchange, answering: Any) -> None:
    """Answer a request, or the error that this raises."""
    try:
        await answering
    except ClientDisconnect:
        return  # half a request is none, and nobody waits for an answer
    except GatepostError as error:
        if exchange.is_answered:
            raise
        await exchange.answer_error(error)
    except Exception as error:
        log.error("unexpected", path=exchange.path, error=repr(error), exc_info=error)
        if exchange.is_answered:
            raise
        await exchange.answer_error(Unexpected("something went wrong here; it was logged", hint="try again"))
