"""
What gateways with nothing to do write: one on SQLite, and two on one PostgreSQL, with the default settings, for ten
minutes. A hundred agents are registered, and one of them has an event that nobody reads.

The figure is how often the database has changed, by its own count: `PRAGMA data_version` of another connection, looked
at many times a second, and the number of the next transaction that writes. The floor is the same count for one push,
which shows that a single write would be seen.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from tempfile import TemporaryDirectory
from typing import Final

import psycopg

from bench.support import fixtures
from bench.support.measurement import FULL, Effort, Measurement, Spread
from bench.support.processes import ChildProcess, ParentPipe
from bench.support.table import Row, at_most, plain
from gatepost import paths, telemetry
from gatepost.app import open_store
from gatepost.gateway.serve import open_gateway
from gatepost.gateway.web_app import GatewayApp
from gatepost.inbox.push import actions as push
from gatepost.settings import load
from tests.support.servers.private_servers import Postgres

#: seconds after the start of a gateway, which notes the time once
_START_TIME: Final = 3.0
#: seconds between two looks
_LOOK_INTERVAL: Final = 0.05

#: returns the number of changes since it was made
Counter = Callable[[], int]


def main(effort: Effort = FULL) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="gatepost-bench-"))
        server = stack.enter_context(Postgres(fsync="on" if effort.fsync else "off", autovacuum="off"))
        lite_url, post_url = f"sqlite:///{folder}/idle.db", stack.enter_context(server.create_database())
        stores = [fixtures.create_agents(open_store(url)) for url in (lite_url, post_url)]
        for store in stores:
            stack.callback(store.close)
        counters = [
            stack.enter_context(count_on_sqlite(f"{folder}/idle.db")),
            stack.enter_context(_count_on_postgres(post_url)),
        ]
        for store in stores:
            store.run_sync(push.push_event, fixtures.build_push(0))
        floors = [count() for count in counters]
        for url in (lite_url, post_url, post_url):
            home = stack.enter_context(TemporaryDirectory(prefix="gatepost-bench-"))
            stack.enter_context(ChildProcess(_run_gateway, home, url)).receive()
        time.sleep(_START_TIME)
        starts, end_time = [count() for count in counters], time.monotonic() + effort.idle_time
        while time.monotonic() < end_time:
            time.sleep(_LOOK_INTERVAL)
            for count in counters:
                count()
        changes = [count() - start for count, start in zip(counters, starts, strict=True)]
    places = ("one gateway, SQLite FULL", "two gateways, PostgreSQL")
    for place, floor, change in zip(places, floors, changes, strict=True):
        yield Row(
            claim=f"writes in {effort.idle_time:,.0f} seconds with nothing to do, {place}",
            door="`gatepost up`",
            floor="the same for one push",
            measurement=Measurement(Spread((floor,)), Spread((change,)), Spread((change / floor,))),
            unit=plain,
            target=at_most(0.0),
        )


async def _run_gateway(pipe: ParentPipe, home: str, url: str) -> None:
    telemetry.configure_logging("json")
    configuration = load({"GATEPOST_HOME": home, "GATEPOST_STORE": url})
    paths.make_home(configuration.home)
    async with open_gateway(configuration) as gateway, GatewayApp(gateway.state).lifespan():
        pipe.send("ready")
        await asyncio.Event().wait()


@contextmanager
def count_on_sqlite(path: str) -> Iterator[Counter]:
    with closing(sqlite3.connect(path)) as db:
        [version] = db.execute("PRAGMA data_version").fetchone()
        changes = 0

        def count() -> int:
            nonlocal version, changes
            [new_version] = db.execute("PRAGMA data_version").fetchone()
            changes += int(new_version != version)
            version = new_version
            return changes

        yield count


@contextmanager
def _count_on_postgres(url: str) -> Iterator[Counter]:
    with psycopg.connect(url, autocommit=True) as db:

        def read_next() -> int:
            row = db.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()
            assert row is not None
            return int(row[0])

        first = read_next()
        yield lambda: read_next() - first
