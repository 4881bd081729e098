"""
Every statement has a name and a file: `items/insert` is `sql/items/insert.sql`, or `sql/sqlite/items/insert.sql` and
`sql/postgres/items/insert.sql` where the dialects differ. Parameters are written `:name`.
"""

import re
from functools import cache
from typing import Any, Final

_LOADER: Final[Any] = __spec__.loader
PARAMETER: Final = re.compile(r"(?<!:):([a-z_]+)")


@cache
def statement(dialect: str, name: str) -> str:
    """Return the text of a statement in that dialect, without its comments."""
    for path in (f"sql/{dialect}/{name}.sql", f"sql/{name}.sql"):
        try:
            text = _read(path)
        except FileNotFoundError:
            continue
        return re.sub(r"--[^\n]*", "", text.decode()).strip()
    raise LookupError(f"there is no statement {name!r} for {dialect}")


@cache
def migration(dialect: str, number: int) -> str | None:
    """Return the text of a migration, or None when there is none of that number."""
    try:
        return _read(f"migrations/{dialect}/{number:04}.sql").decode()
    except FileNotFoundError:
        return None


@cache
def newest(dialect: str) -> int:
    """The number of the last migration: the version of the schema that this code is written for."""
    number = 0
    while migration(dialect, number + 1) is not None:
        number += 1
    return number


def oldest(text: str) -> int:
    """The oldest code that may use the schema a migration leaves: its first line says `-- oldest: N`."""
    found = re.match(r"-- oldest: (\d+)\n", text)
    assert found, "a migration begins with '-- oldest: N'"
    return int(found[1])


def _read(path: str) -> bytes:
    """A file of this folder, wherever the package was loaded from; `pkgutil` can do no more, and is not light."""
    text: bytes = _LOADER.get_data(f"{__file__.removesuffix('statements.py')}{path}")
    return text
