"""The same small store in every fault test, and how to look at it past the store."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg

from gatepost.app import open_store, parse_sqlite_path
from gatepost.core.times import HOUR, Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.stores.clock import SystemClock
from tests.support.servers.private_servers import wait_until

#: the agents, all of them in the team `crew`
CREW: Final = ("ana", "ben", "cleo")

#: asks the database itself, not the store
RunQuery = Callable[[str], list[tuple[Any, ...]]]


class LaterClock(SystemClock):
    """An hour ahead: by it every drain's claim has lapsed."""

    def now(self) -> Instant:
        return super().now() + HOUR


def create_crew(url: str) -> None:
    """Migrate, and register the crew."""
    with closing(open_store(url)) as store:
        store.migrate()
        for name in CREW:
            store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, team="crew"))


def resolve_recipients(address: str) -> list[str]:
    """Who gets what is pushed to this address."""
    return list(CREW) if address in ("team:crew", "*") else [address]


@contextmanager
def open_database(url: str) -> Iterator[RunQuery]:
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(parse_sqlite_path(url))) as db:
            yield lambda query: db.execute(query).fetchall()
    else:
        with psycopg.connect(url, application_name="witness", autocommit=True) as connection:
            yield lambda query: connection.execute(query.encode()).fetchall()


@contextmanager
def open_database_alone(url: str) -> Iterator[RunQuery]:
    """Wait until PostgreSQL has noticed that everybody else is gone; with SQLite there is nobody to wait for."""
    count_others = (
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    with open_database(url) as query:
        if not url.startswith("sqlite"):
            wait_until(lambda: query(count_others) == [(0,)], "the backends of the dead are gone")
        yield query
