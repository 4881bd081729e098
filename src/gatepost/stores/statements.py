"""
Every statement has a name: `inbox/items/insert` is the one under `-- name: insert` in `inbox/sql/items.sql`. Parameters
are written `:name`. Both dialects share a statement, except three things that each writes in its own way:

    column IN :names[]        a list as a parameter: `json_each` on SQLite, `ANY` on PostgreSQL (also `NOT IN`)
    FOR UPDATE ...            a lock on rows: nothing on SQLite, where a writer locks the whole database
    json_extract(c, '$.key')  a text in a column with JSON: `->>` on PostgreSQL

Where more differs there are two statements, `-- name: insert (sqlite)` and `-- name: insert (postgres)`. Text that
several statements of a file share is `-- name: filters (part)`, and they have `{filters}` in its place. A statement
about any table, made from the catalog, is in no file: it is given as `Sql` where others are named.
"""

import re
from functools import cache
from typing import Any, Final

TYPE_CHECKING = False
if TYPE_CHECKING:  # nearly every hook imports this module, and few need a reader
    from gatepost.core.ports import Reader

_LOADER: Final[Any] = __spec__.loader
#: this file, from the folder of the package
_PLACE: Final = "stores/statements.py"
#: the schema that an empty store gets first; older migrations were squashed into it
FIRST_VERSION: Final = 9
#: patterns, compiled when a statement has what they find: compiling each takes a hook a third of a millisecond
PARAMETER: Final = r"(?<!:):([a-z_]+)"

#: before the name of a statement, at the beginning of a line
_HEAD: Final = "\n-- name: "
#: in the place of a dialect: text that statements of the file share
_PART: Final = "part"
_LIST: Final = r"\b(NOT )?IN :([a-z_]+)\[\]"
_FIELD: Final = r"json_extract\(([a-z_.]+), '\$\.(\w+)'\)"
_LOCK: Final = r"\s*\bFOR UPDATE(?: OF [a-z]+)?(?: SKIP LOCKED)?\b"


class Sql(str):
    """The text of a statement itself, in the place of its name."""

    __slots__ = ()


class ConstraintViolation(Exception):
    """The schema does not allow a row: a type, a check, a key or a reference says no. Only an import expects it."""


@cache
def get_statement(dialect: str, name: str) -> str:
    """Return the text of a statement in that dialect, without its comments."""
    if isinstance(name, Sql):
        return str(name)
    file, _, statement_name = name.rpartition("/")
    texts = read_statements(file)
    text = texts.get((statement_name, dialect)) or texts.get((statement_name, None))
    if text is None:
        raise LookupError(f"there is no statement {name!r} for {dialect}")
    if "{" in text:
        for (part_name, kind), part in texts.items():
            if kind == _PART:
                text = text.replace(f"{{{part_name}}}", part.strip())
    if "--" in text:
        text = "\n".join([line.partition("--")[0] for line in text.split("\n")])
    if dialect == "sqlite" and "FOR UPDATE" in text:
        text = re.sub(_LOCK, "", text)
    if dialect == "postgres" and "json_extract" in text:
        text = re.sub(_FIELD, r"(CAST(\1 AS json) ->> '\2')", text)
    if "[]" in text:
        text = re.sub(_LIST, _write_list_for_sqlite if dialect == "sqlite" else _write_list_for_postgres, text)
    return text.strip()


def _write_list_for_sqlite(match: re.Match[str]) -> str:
    return f"{match[1] or ''}IN (SELECT value FROM json_each(:{match[2]}))"


def _write_list_for_postgres(match: re.Match[str]) -> str:
    return f"{'<> ALL' if match[1] else '= ANY'} (:{match[2]})"


@cache
def read_statements(file: str) -> dict[tuple[str, str | None], str]:
    """
    Return the statements of a file (`inbox/items`) as they are written, by name and dialect; no dialect where both
    share one, and "part" for text that several have.
    """
    room, _, noun = file.rpartition("/")
    try:
        _, *parts = f"\n{_read(f'{room}/sql/{noun}.sql').decode()}".split(_HEAD)
    except FileNotFoundError:
        return {}
    statements: dict[tuple[str, str | None], str] = {}
    for head, _, text in (part.partition("\n") for part in parts):
        name, _, dialect = head.partition(" ")
        statements[name, dialect.strip("()") or None] = text
    return statements


@cache
def read_migration(dialect: str, number: int) -> str | None:
    """Return the text of a migration, or None if there is none with that number."""
    try:
        return _read(f"stores/migrations/{dialect}/{number:04}.sql").decode()
    except FileNotFoundError:
        return None


@cache
def find_newest_version(dialect: str) -> int:
    """Return the number of the last migration: the version of the schema that this code needs."""
    number = FIRST_VERSION
    while read_migration(dialect, number + 1) is not None:
        number += 1
    return number


def read_schema_version(tx: "Reader") -> tuple[int, int]:
    """Return the version of the schema of a store, and the oldest version of the code that may use it."""
    from gatepost.stores.row_mapping import fetch_row

    row = fetch_row(tx, "stores/schema/read_version")
    return row.version, row.oldest


def parse_oldest_version(text: str) -> int:
    """Return the oldest code that may use the schema after a migration: its first line is `-- oldest: N`."""
    match = re.match(r"-- oldest: (\d+)\n", text)
    assert match, "a migration begins with '-- oldest: N'"
    return int(match[1])


def _read(path: str) -> bytes:
    """Return a file of the package, wherever it was loaded from; `pkgutil` is slow to import."""
    text: bytes = _LOADER.get_data(f"{__file__.removesuffix(_PLACE)}{path}")
    return text
