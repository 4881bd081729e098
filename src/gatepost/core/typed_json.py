"""
Decode JSON into types, and convert values to them, in any thread.

msgspec prepares a type when it is first used, and does not expect two threads that do so at once: the second one gets a
type that is half prepared, and the process crashes (seen with msgspec 0.22). So the first use of each type is here, in
one thread at a time. A type that was used once is ready, and so is each type in it.
"""

from collections.abc import Callable
from threading import RLock
from typing import Any, Final, TypeVar

import msgspec

T = TypeVar("T")

_preparing: Final = RLock()
_prepared_types: Final[set[Any]] = set()


def decode(text: bytes | str, kind: type[T]) -> T:
    """Return JSON as a value of a type; raise msgspec's errors."""
    return _use(kind, lambda: msgspec.json.decode(text, type=kind))


def convert(document: Any, kind: type[T]) -> T:
    """Return a document as a value of a type; raise msgspec's errors."""
    return _use(kind, lambda: msgspec.convert(document, kind))


def make_decoder(kind: type[T]) -> Callable[[bytes | str], T]:
    """Return a function that decodes JSON into a type: faster than `decode`, which looks at its type each time."""
    with _preparing:
        return msgspec.json.Decoder(kind).decode


def _use(kind: Any, read: Callable[[], T]) -> T:
    if kind in _prepared_types:
        return read()
    with _preparing:
        try:
            return read()
        finally:
            _prepared_types.add(kind)
