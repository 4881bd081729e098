"""
Rows, and the records that are made of them.

A column is read by its name in the statement: `row.name`. `RowMaker` reads the names from the cursor when a statement
runs for the first time, and keeps the type of its rows. `Mapper` makes a record whose fields have the names of columns;
it looks up the places of the fields once for each type of rows.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import cache
from operator import itemgetter
from typing import Any, Final, Generic, Protocol, TypeVar, get_args

from gatepost.core.ports import Reader, Row

N = TypeVar("N")

#: columns that are true or false; SQLite gives 0 or 1 for them
BOOLEANS: Final = frozenset({"active", "free_text", "sender_is_person", "wakes"})
_TRUTH: Final = {0: False, 1: True, None: None}
#: reads an element of a tuple by its place, as named tuples do: it takes half as long as a property
_ELEMENT: Final[Any] = type(vars(namedtuple("_One", "element"))["element"])


class Cursor(Protocol):
    @property
    def description(self) -> Any: ...


class RowMaker:
    """Makes the rows of one statement."""

    __slots__ = ("_booleans", "_convert", "_type")

    def __init__(self, *, convert_booleans: bool = False) -> None:
        self._convert = convert_booleans
        self._booleans: list[int] = []
        self._type: type[Row] | None = None

    def make_all(self, cursor: Cursor, values: Sequence[tuple[Any, ...]]) -> list[Row]:
        """Return rows of these values. The cursor has run the statement."""
        row_type = self._type or self._describe(cursor)
        if not self._booleans or not values:
            return list(map(row_type, values))
        columns: list[Iterable[Any]] = [*zip(*values, strict=True)]
        for place in self._booleans:
            columns[place] = map(_TRUTH.__getitem__, columns[place])
        return list(map(row_type, zip(*columns, strict=True)))

    def make_each(self, cursor: Cursor, values: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
        """Return rows one by one, as the values are read."""
        for row in values:
            yield from self.make_all(cursor, (row,))

    def _describe(self, cursor: Cursor) -> type[Row]:
        columns = tuple(column[0] for column in cursor.description)
        if self._convert:
            self._booleans = [place for place, column in enumerate(columns) if is_boolean(column)]
        self._type = make_row_type(columns)
        return self._type


@cache
def make_row_type(columns: tuple[str, ...]) -> type[Row]:
    """Return the type of rows with these columns."""
    if len(set(columns)) < len(columns) or not all(column.isidentifier() for column in columns):
        raise ValueError(f"columns of a statement need names of their own: {', '.join(columns)}")
    elements = {column: _ELEMENT(place, column) for place, column in enumerate(columns)}
    return type("Row", (Row,), {"__slots__": (), "columns": columns, **elements})


def is_boolean(column: str) -> bool:
    return column in BOOLEANS or column.startswith(("is_", "has_"))


class Mapper(Generic[N]):
    """
    Makes a noun of a row that has a column for each of its fields, except those in `without`. Enums are made of their
    values; `converters` make other fields of what is in their columns.
    """

    def __init__(self, noun: Callable[..., N], *, without: str = "", **converters: Callable[[Any], Any]) -> None:
        self._noun = noun
        self.fields = tuple(name for name in noun.__annotations__ if name not in without.split())
        self._converters = [
            (name, convert)
            for name in self.fields
            if (convert := converters.get(name) or _get_converter(noun.__annotations__[name]))
        ]
        self._pickers: dict[type[Row], Callable[[Row], tuple[Any, ...]]] = {}

    def fetch_one(self, tx: Reader, statement: str, /, **parameters: Any) -> N | None:
        """Return the noun of the first row; None if there is no row."""
        row = tx.fetch_one(statement, **parameters)
        return self.read(row) if row else None

    def fetch_all(self, tx: Reader, statement: str, /, **parameters: Any) -> list[N]:
        return [self.read(row) for row in tx.fetch_all(statement, **parameters)]

    def fetch_later(self, tx: Reader, statement: str, /, **parameters: Any) -> Callable[[], list[N]]:
        """Return a function that returns the nouns, once another statement has run."""
        fetch = tx.fetch_later(statement, **parameters)
        return lambda: [self.read(row) for row in fetch()]

    def fetch_page(self, tx: Reader, statement: str, /, **parameters: Any) -> list[N]:
        return [self.read(row) for row in tx.fetch_page(statement, **parameters)]

    def read(self, row: Row, **other_fields: Any) -> N:
        """Return the noun of a row; `other_fields` are those that the row does not have."""
        pick = self._pickers.get(type(row)) or self._find_fields(type(row))
        fields = dict(zip(self.fields, pick(row), strict=True))
        for name, convert in self._converters:
            fields[name] = convert(fields[name])
        return self._noun(**fields, **other_fields)

    def _find_fields(self, row_type: type[Row]) -> Callable[[Row], tuple[Any, ...]]:
        if missing := set(self.fields).difference(row_type.columns):
            raise ValueError(f"a row has no columns for these fields: {', '.join(sorted(missing))}")
        self._pickers[row_type] = itemgetter(*map(row_type.columns.index, self.fields))
        return self._pickers[row_type]


def fetch_row(tx: Reader, statement: str, /, **parameters: Any) -> Row:
    """Return the row of a statement that always has one."""
    row = tx.fetch_one(statement, **parameters)
    assert row is not None, statement
    return row


def fetch_number(tx: Reader, statement: str, /, **parameters: Any) -> int:
    """Return the number in the first column of a statement that always has a row."""
    return int(fetch_row(tx, statement, **parameters)[0])


def load_json(text: str | None) -> Any:
    """Return what is in a column of JSON; None if it is empty."""
    if text is None:
        return None
    import json  # a hook with nothing to do reads no such column

    return json.loads(text)


def zip_columns(names: str, rows: Sequence[tuple[Any, ...]]) -> dict[str, list[Any]]:
    """Return rows as the columns of a statement that runs for many rows; `names` are those of their elements."""
    return dict(zip(names.split(), map(list, zip(*rows, strict=True)), strict=True))


def group_rows(rows: Iterable[tuple[Any, Any]]) -> dict[int, tuple[Any, ...]]:
    """Return what is in the second of two columns, by what is in the first."""
    groups: dict[int, list[Any]] = {}
    for key, value in rows:
        groups.setdefault(key, []).append(value)
    return {key: tuple(values) for key, values in groups.items()}


def get_columns(noun: object, names: str) -> dict[str, Any]:
    """Return what a noun has in these columns, to be given to a statement."""
    return {name: getattr(noun, name) for name in names.split()}


def _get_converter(annotation: Any) -> Callable[[Any], Any] | None:
    """Return what makes an enum of a column's value; None if the value stays as it is."""
    for kind in get_args(annotation) or (annotation,):
        if isinstance(kind, type) and issubclass(kind, Enum):
            members: dict[Any, Any] = {member.value: member for member in kind}
            return (members | {None: None}).__getitem__
    return None
