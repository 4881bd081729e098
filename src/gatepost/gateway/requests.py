"""
What all routes do alike: pages and idempotent writes.

A write with an `Idempotency-Key` is done once: its answer is kept in the transaction that did it, under the caller and
the route, and a repeat gets the same answer. The same key with another body is refused.
"""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Header, Query, Request
from starlette.responses import Response

from gatepost.actions.idempotency import run_once
from gatepost.actions.pages import PAGE_SIZE, BoundedResult
from gatepost.errors import Invalid
from gatepost.gateway.auth import Principal, caller
from gatepost.gateway.office import Office, office
from gatepost.ports import Transaction

T = TypeVar("T")

_LONGEST_KEY: Final = 255
#: what is around the items of a page
_FRAME: Final = 1_024
_encode: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_ESCAPED: Final = re.compile(r"\\([\"\\])")

Limit = Annotated[int, Query(ge=1, le=1000, description="how many at most")]
After = Annotated[int, Query(ge=0, le=2**62, description="`next` of the page before")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=_LONGEST_KEY + 2,
        description="a repeat with the same key and body gets the same answer and changes nothing",
    ),
]


async def _house(request: Request) -> Office:
    return office(request)


Who = Annotated[Principal, Depends(caller)]
House = Annotated[Office, Depends(_house)]


@dataclass(frozen=True, slots=True)
class Writer:
    """What one request writes by."""

    request: Request
    principal: Principal
    office: Office
    header: str | None

    async def __call__(self, verb: Callable[[Transaction], Any], *, lane: str = "") -> Any:
        """Run a verb that returns what to answer; with an idempotency key, once."""
        key = idempotency_key(self.header)
        if key is None:
            return await self.office.store.run(verb, lane=lane)
        scope = f"{self.request.method} {self.request.url.path} {self.principal!r}"
        digest = hashlib.sha256(await self.request.body()).hexdigest()
        return await self.office.store.run(run_once, scope, key, digest, verb, lane=lane)


async def _writer(request: Request, who: Who, house: House, key: IdempotencyKey = None) -> Writer:
    return Writer(request, who, house, key)


Write = Annotated[Writer, Depends(_writer)]


def page(
    found: BoundedResult[Sequence[T]],
    limit: int,
    write: Callable[[T], Any],
    cursor: Callable[[T], int | str],
    *,
    backwards: bool = False,
) -> Response:
    """
    Answer with a page of a list: as many rows as there is room for, one at least. `next` is where the next page begins,
    null on the last. A list that is read `backwards` ends with the row that it was read from.
    """
    written: list[bytes] = []
    room, last = PAGE_SIZE - _FRAME, None
    for row in reversed(found.value) if backwards else found.value:
        document = _encode(write(row)).encode()
        room -= len(document) + 1
        if room < 0 and written:
            break
        written.append(document)
        last = row
    is_last = len(written) == len(found.value) < limit and not found.is_cut
    following = "null" if is_last or last is None else _encode(str(cursor(last)))
    items = b",".join(reversed(written) if backwards else written)
    return Response(b'{"items":[%b],"next":%b}' % (items, following.encode()), media_type="application/json")


def idempotency_key(header: str | None) -> str | None:
    """The key, which may be quoted as a structured field or not."""
    if header is None:
        return None
    key = header.strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = _ESCAPED.sub(r"\1", key[1:-1])
    if not key or len(key) > _LONGEST_KEY or not key.isprintable():
        raise Invalid(
            f"{header[:60]!r} is not an idempotency key", hint=f"use 1 to {_LONGEST_KEY} printable characters"
        )
    return key
