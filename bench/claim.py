"""
A claim of 100 items from an inbox with a million pending items, against a claim from an inbox with a thousand.

A claim is `send(ClaimBatch(...))` of a client on the store, timed from the call to the answer, with its durable commit.
Outside the timing its batch is acked, and as many events from the same sources are pushed, so that an inbox keeps its
size and its tables age as in use. The two inboxes are in separate databases. Two other figures are the cost of a claim
from an empty inbox and the cost of the accounts of all inboxes, both beside a million pending items.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from statistics import median
from typing import Any, Final

from bench.support import fixtures
from bench.support.backlog import FLOOD_SHAPE, LIMIT, READER, Backlog, BacklogShape, spread_evenly
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.raw_databases import open_raw
from bench.support.table import Row, at_most, millis
from gatepost.app import open_store
from gatepost.inbox.account_api import ListAccounts
from gatepost.inbox.item_api import ClaimBatch
from tests.support.servers.private_servers import Postgres

SHAPES: Final = (spread_evenly(10), spread_evenly(1), spread_evenly(1_000), FLOOD_SHAPE)

#: gives the URL of a new database
DatabaseFactory = Callable[[], AbstractContextManager[str]]


def main(effort: Effort = FULL) -> Iterator[Row]:
    yield from _compare("SQLite FULL", create_file, effort)
    with Postgres(fsync="on" if effort.fsync else "off") as server:
        yield from _compare("PostgreSQL", server.create_database, effort)


def _compare(database: str, create_database: DatabaseFactory, effort: Effort) -> Iterator[Row]:
    for shape in SHAPES:
        with ExitStack() as stack:
            small, large = (_open_backlog(stack, create_database, size, shape) for size in effort.backlogs)
            for _ in range(effort.warm_up):
                small.claim()
                large.claim()
            yield Row(
                claim=f"claim of {LIMIT} at a backlog of {large.size:,}, {database}, {shape.description}",
                door="`LocalClient.send(ClaimBatch)`",
                floor=f"itself at {small.size:,}",
                measurement=measure_in_turns(
                    _build_turn(small.claim, effort), _build_turn(large.claim, effort), effort.rounds
                ),
                unit=millis,
                target=at_most(1.50),
            )
            if shape == SHAPES[0]:
                yield from _measure_other_calls(database, large, effort)


def _measure_other_calls(database: str, large: Backlog, effort: Effort) -> Iterator[Row]:
    client, sleeper = large.client, fixtures.get_agent_name(1)
    with closing(open_raw(large.url)) as raw:
        numbers = dict(raw.execute("SELECT name, number FROM entities"))
        update = f"UPDATE inboxes SET fence = fence + 1 WHERE recipient = {numbers[sleeper]}"
        count = f"SELECT count(*) FROM pending WHERE recipient = {numbers[READER]}"
        yield Row(
            claim=f"claim from an empty inbox beside a backlog of {large.size:,}, {database}",
            door="`LocalClient.send(ClaimBatch)`",
            floor="one raw update, committed",
            measurement=measure_in_turns(
                _build_turn(_build_timer(raw.execute, update), effort),
                _build_turn(_build_timer(client.send, ClaimBatch(name=sleeper, owner="bench")), effort),
                effort.untargeted_rounds,
            ),
            unit=millis,
        )
        yield Row(
            claim=f"accounts of all inboxes, one with a backlog of {large.size:,}, {database}",
            door="`LocalClient.send(ListAccounts)`",
            floor="raw count of its items",
            measurement=measure_in_turns(
                _build_turn(_build_timer(raw.execute, count), effort),
                _build_turn(_build_timer(client.send, ListAccounts()), effort),
                effort.untargeted_rounds,
            ),
            unit=millis,
        )
    total = client.send(ListAccounts()).total
    assert (total.unbalanced, total.pending) == (0, large.size)


@contextmanager
def create_file() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        yield f"sqlite:///{folder}/bench.db"


def _open_backlog(stack: ExitStack, create_database: DatabaseFactory, size: int, shape: BacklogShape) -> Backlog:
    url = stack.enter_context(create_database())
    return Backlog(stack.enter_context(closing(open_store(url))), url, size, shape)


def _build_turn(measure: Callable[[], float], effort: Effort) -> Callable[[], float]:
    """Measure a few times and take the median: one flush of the disk may take longer than everything else."""
    return lambda: median(measure() for _ in range(effort.claims))


def _build_timer(operation: Callable[..., object], /, *args: Any, **kwargs: Any) -> Callable[[], float]:
    """Measure the seconds of an act."""

    def measure() -> float:
        start = time.perf_counter()
        operation(*args, **kwargs)
        return time.perf_counter() - start

    return measure
