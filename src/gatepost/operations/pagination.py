"""
Pages of lists: as many rows as there is room for, and where the next page begins.

Rows differ: a thousand of them may be a few kilobytes or a gigabyte. So a page ends after `limit` rows, or when its
text reaches `PAGE_SIZE`, whichever comes first, and has one row at least. The rows after it are not read from the
database, so that a page of large rows takes no more memory than any other.

    page = await store.read(limit_page(inbox.list_page), "analyst", limit=100)
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Concatenate, Final, ParamSpec, TypeVar, cast, get_args

import msgspec

from gatepost.core.ports import Reader
from gatepost.errors import Invalid, quote_value
from gatepost.operations.operation import Page, Request

A = ParamSpec("A")
P = TypeVar("P", bound=Page[Any])
T = TypeVar("T")

#: bytes of a page
PAGE_SIZE: Final = 4 * 1024 * 1024
#: bytes around the items of a page
_FRAME: Final = 1_024
_encode: Final = msgspec.json.Encoder().encode


def limit_page(
    query: Callable[Concatenate[Reader, A], T], size: int = PAGE_SIZE
) -> Callable[Concatenate[Reader, A], T]:
    """Return the same query, which reads at most `size` bytes; its reader has `is_truncated` if there is more."""

    def read(tx: Reader, /, *args: A.args, **kwargs: A.kwargs) -> T:
        tx.max_page_chars = size
        try:
            return query(tx, *args, **kwargs)
        finally:
            tx.max_page_chars = None

    return read


def _get_number(row: Any) -> int:
    number: int = row.number
    return number


def read_page(
    tx: Reader,
    request: Request[P],
    query: Callable[..., Sequence[T]],
    *args: Any,
    view: Callable[[T], Any] | None = None,
    cursor: Callable[[T], int | str] = _get_number,
    backwards: bool = False,
    **filters: Any,
) -> P:
    """
    Return the page that a request asks for: as many rows of a query as its `limit` says, and one at least, each as the
    `view` that the page has. `next` is the `cursor` of the last row, which the next page begins after, and None on the
    last page. A list that is read `backwards` ends with the row that it was read from.
    """
    page: type[P] = request.operation.answer
    limit: int = cast("Any", request).limit
    result = limit_page(query)(tx, *args, **filters | {"limit": limit})
    rows = list(reversed(result)) if backwards else result
    views = _fit([*map(view or _get_item_view(page).of, rows)])
    is_last = len(views) == len(rows) < limit and not tx.is_truncated
    following = None if is_last or not views else str(cursor(rows[len(views) - 1]))
    return page(items=views[::-1] if backwards else views, next=following)


@cache
def _get_item_view(page: type[Page[Any]]) -> Any:
    """Return the model of the items of a page, which is made from a row."""
    [view] = get_args(next(field.type for field in msgspec.structs.fields(page) if field.name == "items"))
    return view


def _fit(views: list[Any]) -> list[Any]:
    """Return the first models whose JSON fits into a page."""
    room = PAGE_SIZE - _FRAME
    if len(_encode(views)) <= room:
        return views
    for number, view in enumerate(views):
        room -= len(_encode(view)) + 1
        if room < 0:
            return views[: number or 1]
    return views


def parse_cursor_number(text: str, cursor: str) -> int:
    """Return a number that a cursor contains."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise Invalid(f"{quote_value(cursor)} is not the end of a page", hint="send `next` back as it was")
    return int(text)


def parse_cursor_pair(cursor: str) -> tuple[int, int]:
    """Return the two numbers of a cursor, such as `12-7`."""
    first, _, second = cursor.partition("-")
    return parse_cursor_number(first, cursor), parse_cursor_number(second, cursor)
