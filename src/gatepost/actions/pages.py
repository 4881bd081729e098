"""
Pages of lists: how much of a list is read at a time.

Rows differ: a thousand of them may be a few kilobytes or a gigabyte. A page therefore ends after so many rows, or when
its text is as much as a page may have, whichever comes first, and has one row at least. What comes after it is not read
from the database, so that a large page costs no more memory than any other.

    found = await store.read(limit_page(inbox.page), "analyst", limit=100)
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
    """What a query has found, and when."""

    value: T_co
    #: whether it ends early, because there was no more room
    is_cut: bool
    now: Instant


def limit_page(query: Callable[Concatenate[Reader, P], T]) -> Callable[Concatenate[Reader, P], BoundedResult[T]]:
    """Return the same query, which reads only as much as a page may have."""

    def read(tx: Reader, /, *args: P.args, **kwargs: P.kwargs) -> BoundedResult[T]:
        tx.room = PAGE_SIZE
        try:
            return BoundedResult(query(tx, *args, **kwargs), tx.is_cut, tx.now)
        finally:
            tx.room = None

    return read
