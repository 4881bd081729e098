"""
Pages of lists: limit the bytes that one query reads.

Rows differ: a thousand of them may be a few kilobytes or a gigabyte. So a page ends after `limit` rows, or when its
text reaches `PAGE_SIZE`, whichever comes first, and has one row at least. The rows after it are not read from the
database, so that a page of large rows takes no more memory than any other.

    page = await store.read(limit_page(inbox.page), "analyst", limit=100)
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, Final, Generic, ParamSpec, TypeVar

from gatepost.core.times import Instant
from gatepost.ports import Reader

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: bytes of a page
PAGE_SIZE: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class BoundedResult(Generic[T_co]):
    """The result of a query that reads at most `PAGE_SIZE`."""

    value: T_co
    #: True if there are more rows than fit
    is_cut: bool
    #: when the query ran
    now: Instant


def limit_page(query: Callable[Concatenate[Reader, P], T]) -> Callable[Concatenate[Reader, P], BoundedResult[T]]:
    """Return the same query, which reads at most `PAGE_SIZE` bytes."""

    def read(tx: Reader, /, *args: P.args, **kwargs: P.kwargs) -> BoundedResult[T]:
        tx.room = PAGE_SIZE
        try:
            return BoundedResult(query(tx, *args, **kwargs), tx.is_cut, tx.now)
        finally:
            tx.room = None

    return read
