"""Rows as nouns, and nouns as rows: columns are attributes of a noun."""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Generic, TypeVar

from gatepost.ports import Row

N = TypeVar("N")


class Columns(Generic[N]):
    def __init__(self, noun: Callable[..., N], columns: str) -> None:
        self._noun = noun
        self._names = columns.split()
        self._made = [(name, make) for name in self._names if (make := _made(noun.__annotations__[name]))]

    def read(self, row: Row, **more: Any) -> N:
        """The noun of a row; `more` is what is not in it, or is written otherwise there."""
        found = dict(zip(self._names, row, strict=True))
        for name, make in self._made:
            found[name] = make(found[name])
        found.update(more)
        return self._noun(**found)


def grouped(rows: Iterable[Row]) -> dict[int, tuple[Any, ...]]:
    """What is in the second of two columns, by what is in the first."""
    found: dict[int, list[Any]] = {}
    for key, value in rows:
        found.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in found.items()}


def columns(noun: object, names: str) -> dict[str, Any]:
    """What a noun has in these columns, to be given to a statement."""
    return {name: getattr(noun, name) for name in names.split()}


def _made(kind: Any) -> Callable[[Any], Any] | None:
    """What a value becomes that a database knows no type for; None if it stays as it is."""
    return kind if isinstance(kind, type) and issubclass(kind, Enum | bool) else None
