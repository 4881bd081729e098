"""
A claim of 100 items from an inbox with a million waiting, against the same from one with a thousand.

A claim is timed from the call to the answer, its durable commit included. Its batch is acked and made up for (as many
pushes from the same sources) outside the timing, so that an inbox keeps its size and wears as it would in use. The two
inboxes are in databases of their own. Told besides: what a look into an empty inbox costs, and what the accounts of an
inbox cost, both beside a million waiting items.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from statistics import median
from typing import Any, Final

from bench import _office
from bench._backlog import CAP, FLOOD, READER, Backlog, Shape, evenly
from bench._measure import FULL, Effort, in_turns
from bench._raw import open_raw
from bench._table import Row, at_most, millis
from gatepost.actions import inbox, upkeep
from gatepost.app import open_store
from tests.servers import Postgres

SHAPES: Final = (evenly(10), evenly(1), evenly(1_000), FLOOD)

#: gives the URL of a new database
Fresh = Callable[[], AbstractContextManager[str]]


def main(effort: Effort = FULL) -> Iterator[Row]:
    yield from _compare("SQLite FULL", _file, effort)
    with Postgres(fsync="on" if effort.fsync else "off") as server:
        yield from _compare("PostgreSQL", server.database, effort)


def _compare(database: str, fresh: Fresh, effort: Effort) -> Iterator[Row]:
    for shape in SHAPES:
        with ExitStack() as stack:
            small, large = (_backlog(stack, fresh, size, shape) for size in effort.backlogs)
            for _ in range(effort.warm_up):
                small.claim()
                large.claim()
            yield Row(
                claim=f"claim of {CAP} at a backlog of {large.size:,}, {database}, {shape.words}",
                floor=f"itself at {small.size:,}",
                measured=in_turns(_turn(small.claim, effort), _turn(large.claim, effort), effort.rounds),
                unit=millis,
                target=at_most(1.50),
            )
            if shape == SHAPES[0]:
                yield from _beside(database, large, effort)


def _beside(database: str, large: Backlog, effort: Effort) -> Iterator[Row]:
    store, sleeper = large.store, _office.name(1)
    with closing(open_raw(large.url)) as raw:
        numbers = dict(raw.rows("SELECT name, number FROM entities"))
        update = f"UPDATE inboxes SET fence = fence + 1 WHERE recipient = {numbers[sleeper]}"
        count = f"SELECT count(*) FROM items WHERE recipient = {numbers[READER]}"
        yield Row(
            claim=f"drain of an empty inbox beside a backlog of {large.size:,}, {database}",
            floor="one raw update, committed",
            measured=in_turns(
                _turn(_timed(raw.rows, update), effort),
                _turn(_timed(store.call, inbox.claim, sleeper, owner="bench"), effort),
                effort.fewer,
            ),
            unit=millis,
        )
        yield Row(
            claim=f"accounts of an inbox with a backlog of {large.size:,}, {database}",
            floor="raw count of its items",
            measured=in_turns(
                _turn(_timed(raw.rows, count), effort),
                _turn(_timed(store.query, upkeep.accounts, READER), effort),
                effort.fewer,
            ),
            unit=millis,
        )
    [account] = store.query(upkeep.accounts, READER)
    assert account.balanced
    assert account.pending == large.size


@contextmanager
def _file() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="gatepost-bench-") as folder:
        yield f"sqlite:///{folder}/bench.db"


def _backlog(stack: ExitStack, fresh: Fresh, size: int, shape: Shape) -> Backlog:
    url = stack.enter_context(fresh())
    return Backlog(stack.enter_context(closing(open_store(url))), url, size, shape)


def _turn(measure: Callable[[], float], effort: Effort) -> Callable[[], float]:
    """Measure a few times and take the median: one flush of the disk may take longer than everything else."""
    return lambda: median(measure() for _ in range(effort.claims))


def _timed(act: Callable[..., object], /, *args: Any, **kwargs: Any) -> Callable[[], float]:
    """Measure the seconds of an act."""

    def measure() -> float:
        began = time.perf_counter()
        act(*args, **kwargs)
        return time.perf_counter() - began

    return measure
