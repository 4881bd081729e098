"""
What the clients share: how a request is written, when it is repeated, and how its answer or its error is read.

A request may be repeated if it changes nothing, or carries an idempotency key: one key is made for all tries, so a lost
answer costs a repeat and never a second effect. A request that must not be repeated (a claim, a new key) is tried again
only if it never reached the gateway.
"""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec

from gatepost import errors
from gatepost.core import typed_json
from gatepost.core.backoff import Backoff
from gatepost.errors import GatepostError, Invalid, Late, Refused, Unavailable
from gatepost.operations.encoding import decode_answer, encode_request
from gatepost.operations.operation import WAIT, Kind, Page, Repetition, Request, Stream, StreamedView, View

R = TypeVar("R")
V = TypeVar("V")

#: seconds without a sign of life after which a stream is lost; the gateway sends one every 15
SILENCE_TIMEOUT: Final = 45.0
#: items of a page
PAGE_LENGTH: Final = 500
#: statuses of a gateway, or of a proxy, that asks to try again
_RETRY_STATUSES: Final = (429, 503)

_BACKOFF: Final = Backoff(0.05, cap=2.0, jitter=(0.5, 1.0))
#: errors by the last part of the type of a problem
_ERRORS: Final[dict[str, type[GatepostError]]] = {
    error.type: error
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, GatepostError) and "type" in vars(error)
}
#: for answers of a proxy in front of a gateway; of errors that share a status the first counts
_ERRORS_BY_STATUS: Final[dict[int, type[GatepostError]]] = {
    **{error.status: error for error in reversed(_ERRORS.values())},
    **dict.fromkeys((429, 502, 504), Unavailable),
}


class HttpCall(NamedTuple):
    """A request as it is sent."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None
    is_repeatable: bool
    #: whether the idempotency key is a new one, which no earlier request had
    has_new_key: bool
    #: seconds that the gateway may wait before it answers
    wait: float


def build_headers(key: str | None, public_key: str | None, token: str | None, act_as: str | None) -> dict[str, str]:
    """Return the headers that say who sends, and whom the administrator acts as."""
    headers = {"x-secret-key": key, "x-act-as": act_as}
    if public_key and token:
        headers |= {"x-public-key": public_key, "authorization": f"Bearer {token}"}
    return {name: value for name, value in headers.items() if value}


def build_call(request: Request[Any], key: str | None = None) -> HttpCall:
    """Return how to send a request; `key` makes it the same as an earlier one."""
    operation = request.operation
    encoded = encode_request(request)
    headers = {"content-type": "application/json"} if encoded.body is not None else {}
    has_new_key = key is None and operation.takes_key and not request.has_own_dedup_key
    if has_new_key:
        headers["idempotency-key"] = f"client:{os.urandom(16).hex()}"
    elif key is not None:
        headers["idempotency-key"] = operation.check_key(key)
    is_repeatable = operation.repetition is Repetition.SAFE or request.has_own_dedup_key or "idempotency-key" in headers
    wait = getattr(request, WAIT) if operation.waiting is not None else 0.0
    return HttpCall(encoded.method, encoded.target, headers, encoded.body, is_repeatable, has_new_key, wait)


def read_answer(request: Request[R], call: HttpCall, status: int, body: bytes) -> R:
    """Return the answer; raise the error that the gateway answered with."""
    if not 200 <= status < 300:
        raise _build_error(status, body)
    if request.operation.kind is Kind.RAW:
        raise Invalid(f"{request.operation.name} is sent by the service itself")
    try:
        answer = decode_answer(request, body)
    except msgspec.DecodeError as error:
        raise Unavailable(f"the gateway's answer cannot be read: {error}", hint="its version may be another") from None
    if call.has_new_key and isinstance(answer, View):
        return cast("R", answer.without_duplicates())
    return answer


class RetrySchedule:
    """When to try again: after pauses that grow and differ, until `seconds` have passed."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._retries = 0

    def next_pause(self, least: float = 0.0) -> float | None:
        """Return the seconds to wait before the next try, at least `least`; None if that would be too late."""
        # The random numbers of a program that seeds the global generator stay its own.
        pause = max(least, _BACKOFF.delay(self._retries, os.urandom(1)[0] / 255))
        self._retries += 1
        return pause if time.monotonic() + pause <= self._end else None

    def find_pause(self, call: HttpCall, status: int, retry_after: str | None) -> float | None:
        """Return the seconds to wait before a request is sent again; None if its answer is final."""
        if not call.is_repeatable or status not in _RETRY_STATUSES:
            return None
        is_number = retry_after is not None and retry_after.isascii() and retry_after.isdigit()
        return self.next_pause(float(retry_after or 0) if is_number else 0.0)


def list_pages(
    send: Callable[[Request[Page[V]]], Page[V]], request: Request[Page[V]], limit: int | None
) -> Iterator[V]:
    """Return the items of a list, or the first of them, page by page."""
    remaining, changes = limit, dict[str, Any]()
    while remaining is None or remaining > 0:
        changes["limit"] = PAGE_LENGTH if remaining is None else min(remaining, PAGE_LENGTH)
        page = send(msgspec.structs.replace(request, **changes))
        yield from page.items
        remaining = None if remaining is None else remaining - len(page.items)
        if page.next is None:
            return
        changes["after"] = convert_cursor(request, page.next)


def convert_cursor(request: Request[Any], text: str) -> int | str:
    """Return the cursor of a page as the request wants it: some are numbers."""
    return text if isinstance(getattr(request, "after", None), str | None) else int(text)


def decode_event(request: Stream[R], event: StreamedView) -> R | None:
    """Return the model of an event, or None if this stream has models and the event is another one."""
    operation = request.operation
    if operation.event is None:
        return cast("R", event)
    return cast("R", typed_json.decode(event.data, operation.answer)) if event.event == operation.event else None


def get_resume_position(event: StreamedView) -> str:
    """Return where to go on after a stream was ended; raise Refused if nobody may go on."""
    document: dict[str, Any] = msgspec.json.decode(event.data)
    if "resumeFrom" not in document:
        raise Refused(document["reason"])
    return str(document["resumeFrom"])


def build_connection_error(cause: Exception | None) -> Unavailable:
    """Return the error of a request that did not reach the gateway, or whose answer did not come."""
    reason = str(cause) or type(cause).__name__ if cause is not None else "it closes the connection"
    return Unavailable(f"the gateway cannot be reached: {reason}", hint="`gatepost up` starts one")


def _build_error(status: int, body: bytes) -> GatepostError:
    """Return the error that the gateway raised and answered as a problem."""
    problem = _parse_problem(body)
    kind = _ERRORS.get(str(problem.get("type", "")).rpartition(":")[2]) or _ERRORS_BY_STATUS.get(status, GatepostError)
    detail, hint = str(problem.get("detail", f"the gateway answered {status}")), problem.get("hint")
    return Late(detail, hint=hint, winner=problem.get("answer")) if kind is Late else kind(detail, hint=hint)


def _parse_problem(body: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    return document if isinstance(document, dict) else {}
