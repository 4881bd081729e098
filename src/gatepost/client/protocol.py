"""
What the clients share: how a request is written, when it may be repeated, and how its answer is read.

A request may be repeated if it changes nothing, or carries an idempotency key: one key is made for all tries, so a lost
answer costs a repeat and never a second effect. A request that must not be repeated (a claim, a new key) is tried again
only if it never reached the gateway.
"""

import secrets
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec

from gatepost.api.encoding import decode_answer, encode_request
from gatepost.api.operation import Kind, Page, Repetition, Request, Stream, StreamedView
from gatepost.api.push import PushResultView, TriggeredView
from gatepost.client import problems
from gatepost.errors import Invalid, Refused, Unavailable

R = TypeVar("R")
V = TypeVar("V")

#: seconds without a sign of life after which a stream is lost; the gateway sends one every 15
SILENCE_TIMEOUT: Final = 45.0
#: items of a page
PAGE_LENGTH: Final = 500
#: statuses of a gateway, or of a proxy, that asks to try again
RETRY_STATUSES: Final = (429, 503)


class HttpCall(NamedTuple):
    """A request as it is sent."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None
    is_repeatable: bool
    #: whether the idempotency key is a new one, which no earlier request had
    has_new_key: bool


def build_call(request: Request[Any], key: str | None = None) -> HttpCall:
    """Return how to send a request; `key` makes it the same as an earlier one."""
    operation = request.operation
    encoded = encode_request(request)
    headers = {"content-type": "application/json"} if encoded.body is not None else {}
    takes_key = operation.repetition in (Repetition.KEYED, Repetition.DEDUP)
    has_new_key = key is None and takes_key and not request.is_recognised
    if has_new_key:
        headers["idempotency-key"] = f"client:{secrets.token_urlsafe(16)}"
    elif key is not None:
        headers["idempotency-key"] = operation.check_key(key)
    is_repeatable = operation.repetition is Repetition.SAFE or request.is_recognised or "idempotency-key" in headers
    return HttpCall(encoded.method, encoded.target, headers, encoded.body, is_repeatable, has_new_key)


def read_answer(request: Request[R], call: HttpCall, status: int, body: bytes) -> R:
    """Return the answer; raise the error that the gateway answered with."""
    if not 200 <= status < 300:
        raise problems.of(_parse_problem(body), status)
    if request.operation.kind is Kind.RAW:
        raise Invalid(f"{request.operation.name} is sent by the service itself")
    try:
        answer = decode_answer(request, body)
    except msgspec.DecodeError as error:
        raise Unavailable(f"the gateway's answer cannot be read: {error}", hint="its version may be another") from None
    if call.has_new_key and isinstance(answer, PushResultView | TriggeredView):
        return cast("R", answer.without_duplicates())
    return answer


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
    return cast("R", msgspec.json.decode(event.data, type=operation.answer)) if event.event == operation.event else None


def get_resume_position(event: StreamedView) -> str:
    """Return where to go on after a stream was ended; raise Refused if nobody may go on."""
    document: dict[str, Any] = msgspec.json.decode(event.data)
    if "resumeFrom" not in document:
        raise Refused(document["reason"])
    return str(document["resumeFrom"])


def parse_retry_after(text: str) -> float:
    """Return how many seconds the gateway asks to wait."""
    return float(text) if text.isascii() and text.isdigit() else 0.0


def _parse_problem(body: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return {}
    return document if isinstance(document, dict) else {}
