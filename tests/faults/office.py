"""The same small office in every fault test, and how to look at it past the store."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg

from gatepost.actions import directory
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.clock import SystemClock
from gatepost.app import open_store, parse_sqlite_path
from gatepost.core.entity import EntityKind
from gatepost.core.times import HOUR, Instant
from tests.servers import until

#: the agents, all of them in the team `crew`
CREW: Final = ("ana", "ben", "cleo")

#: asks the database itself, not the store
Ask = Callable[[str], list[tuple[Any, ...]]]


class LaterClock(SystemClock):
    """An hour ahead: by it every drain's claim has lapsed."""

    def now(self) -> Instant:
        return super().now() + HOUR


def furnish(url: str) -> None:
    """Migrate, and register the crew."""
    with closing(open_store(url)) as store:
        store.migrate()
        for name in CREW:
            store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, team="crew"))


def behind(to: str) -> list[str]:
    """Who gets what is pushed to this address."""
    return list(CREW) if to in ("team:crew", "*") else [to]


@contextmanager
def witness(url: str) -> Iterator[Ask]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(parse_sqlite_path(url))) as db:
            yield lambda query: db.execute(query).fetchall()
    else:
        with psycopg.connect(url, application_name="witness", autocommit=True) as connection:
            yield lambda query: connection.execute(query.encode()).fetchall()


@contextmanager
def lone_witness(url: str) -> Iterator[Ask]:
    """Wait until PostgreSQL has noticed that everybody else is gone; with SQLite there is nobody to wait for."""
    others = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    with witness(url) as ask:
        if not url.startswith("sqlite"):
            until(lambda: ask(others) == [(0,)], "the backends of the dead are gone")
        yield ask
