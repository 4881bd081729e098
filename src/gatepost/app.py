"""Where settings meet adapters: the only place that knows adapters by name."""

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from gatepost.adapters.clock import SystemClock
from gatepost.errors import Invalid, Unavailable
from gatepost.ports.clock import Clock
from gatepost.ports.store import Store


def open_store(url: str, *, clock: Clock | None = None, **options: Any) -> Store:
    """Make the store that a URL names; nothing is opened before it is first used. A `clock` rules time and identity."""
    options |= {"clock": clock or SystemClock(), "clock_rules": clock is not None}
    match urlsplit(url).scheme:
        case "sqlite":
            from gatepost.adapters.stores.sqlite import SqliteStore

            return SqliteStore(sqlite_path(url), **options)
        case "postgresql" | "postgres":
            try:
                from gatepost.adapters.stores.postgres import PostgresStore
            except ImportError:
                raise Unavailable(
                    "PostgreSQL needs the driver psycopg", hint="pip install 'gatepost[postgres]'"
                ) from None
            return PostgresStore(url, **options)
        case _:
            raise Invalid(f"{url!r} is not a store", hint="use sqlite:///FILE or postgresql://...")


def sqlite_path(url: str) -> Path:
    """`sqlite:///office.db` is a file here, `sqlite:////var/office.db` one anywhere."""
    path = unquote(url.removeprefix("sqlite://"))
    if not path.startswith("/") or path == "/":
        raise Invalid(f"{url!r} names no file", hint="use sqlite:///FILE, or sqlite:////FOLDER/FILE")
    return Path(path[1:])
