"""The cost of calls against the number of items that wait in one inbox, on both databases."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial

from bench.claim import DatabaseFactory, create_file
from bench.growth._curve import Effort, Plot, Step, build_timer, measure_curves
from bench.support import fixtures
from bench.support.backlog import READER, Backlog, spread_evenly
from gatepost.api import ListAccounts, ListInbox, ListItemGroups, PeekInbox, ShowAccount, ShowOverview
from gatepost.app import open_store
from gatepost.client import LocalClient
from tests.support.servers.private_servers import Postgres


def main(effort: Effort) -> Iterator[Plot]:
    yield _measure("SQLite", create_file, effort)
    with Postgres() as server:
        yield _measure("PostgreSQL", server.create_database, effort)


def _measure(database: str, create_database: DatabaseFactory, effort: Effort) -> Plot:
    with ExitStack() as stack:
        steps = {}
        for size in effort.backlogs:
            url = stack.enter_context(create_database())
            store = stack.enter_context(closing(open_store(url)))
            steps[size] = build_steps(url, Backlog(store, url, size, spread_evenly(10)))
        curves = measure_curves(steps, effort)
    return Plot(f"backlog-{database.lower()}", f"One inbox with a backlog, {database}", "items that wait", curves)


def build_steps(url: str, backlog: Backlog) -> dict[str, Step]:
    client = backlog.client
    return {
        "PushEvent": partial(measure_push, client),
        "ClaimBatch and AckClaim of 100": lambda: backlog.claim() + backlog.ack_seconds,
        "PeekInbox": build_timer(client.send, PeekInbox(name=READER)),
        "ListInbox, first page": build_timer(client.send, ListInbox(name=READER)),
        "ListInbox, newest first": build_timer(client.send, ListInbox(name=READER, newest_first=True)),
        "ListInbox, a priority": build_timer(client.send, ListInbox(name=READER, priority=0)),
        "ListInbox, a text": build_timer(client.send, ListInbox(name=READER, text="not there")),
        "ListItemGroups": build_timer(client.send, ListItemGroups(name=READER)),
        "ShowOverview": build_timer(client.send, ShowOverview(name=READER)),
        "ShowAccount": build_timer(client.send, ShowAccount(name=READER)),
        "ListAccounts": build_timer(client.send, ListAccounts()),
        "start: open, one push": partial(measure_start, url),
    }


def measure_push(client: LocalClient) -> float:
    request = fixtures.build_request(0)
    return build_timer(client.send, request)()


def measure_start(url: str) -> float:
    """Open the store as a command does, and push once."""
    start = time.perf_counter()
    with closing(open_store(url)) as store:
        LocalClient(store).send(fixtures.build_request(1))
    return time.perf_counter() - start
