"""
Durable push in process: callers in one event loop, each of which awaits `Gatepost.send(PushEvent(...))` before its next
one, against raw inserts.

The floor inserts prepared rows into every table that a push writes, and commits once for as many pushes as there are
callers. The rows are copies of what a push wrote, with their own arrivals, ids and keys. The statements of one push are
recorded first: if it writes a table that the floor does not write, the benchmark stops. Ours and the floor have one
database each, and both grow at the same pace.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from bench.support import fixtures
from bench.support.measurement import Effort, measure_in_turns
from bench.support.raw_databases import RawDatabase, find_written_tables
from bench.support.table import Row, Target, rate
from gatepost import Gatepost
from gatepost.core.ports import Store
from gatepost.inbox.push import actions as push
from gatepost.inbox.push.api import PushEvent, PushResultView

#: the number of callers that has a target
TARGET_CALLERS: Final = 100
CALLER_COUNTS: Final = (TARGET_CALLERS, 1, 10, 500)
#: turns around the loop after which a single caller has been measured long enough
MAX_PUSHES_PER_CALLER: Final = 500


class Floor(Protocol):
    def insert(self, count: int, batch: int) -> float:
        """Insert so many pushes, committing after each batch; return how many a second."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """Pushes of so many callers, against a floor that commits as many rows, or fewer, at once."""

    callers: int
    floor: Floor
    floor_words: str
    target: Target | None = None
    #: rows that the floor commits at once; None for as many as there are callers
    batch: int | None = None
    #: what tells the row from another with as many callers
    remark: str = ""


def compare_all(
    database: str, url: str, floor: Floor, floor_words: str, target: Target, effort: Effort
) -> Iterator[Row]:
    """Compare with a floor that writes the same tables, for several numbers of callers, of which one has a target."""
    comparisons = [
        Comparison(callers, floor, floor_words, target if callers == TARGET_CALLERS else None)
        for callers in CALLER_COUNTS
    ]
    yield from compare(database, url, comparisons, effort)


def compare(database: str, url: str, comparisons: Sequence[Comparison], effort: Effort) -> Iterator[Row]:
    with asyncio.Runner() as runner:
        post = Gatepost(url)
        runner.run(post.__aenter__())
        try:
            for comparison in comparisons:
                yield _compare_one(database, runner, post, comparison, effort)
        finally:
            runner.run(post.__aexit__(None, None, None))


def _compare_one(database: str, runner: asyncio.Runner, post: Gatepost, comparison: Comparison, effort: Effort) -> Row:
    callers, batch = comparison.callers, comparison.batch or comparison.callers
    count = min(effort.pushes, callers * MAX_PUSHES_PER_CALLER)

    def ours() -> float:
        return runner.run(run_pushes(post, callers, [fixtures.build_request(number) for number in range(count)]))

    return Row(
        claim=f"durable push in process, {database}, {callers} caller{'s' if callers > 1 else ''}{comparison.remark}",
        door="`Gatepost.send(PushEvent)`",
        floor=f"{comparison.floor_words}, commit every {batch}",
        measurement=measure_in_turns(
            lambda: comparison.floor.insert(count, batch),
            ours,
            effort.rounds if comparison.target else effort.untargeted_rounds,
        ),
        unit=rate,
        target=comparison.target,
    )


async def run_pushes(post: Gatepost, callers: int, pushes: Sequence[PushEvent]) -> float:
    """Share these among callers; return how many were pushed a second."""

    async def push_share(share: Sequence[PushEvent]) -> list[PushResultView]:
        return [await post.send(event_push) for event_push in share]

    shares = [pushes[number::callers] for number in range(callers)]
    start = time.perf_counter()
    results = await asyncio.gather(*map(push_share, shares))
    seconds = time.perf_counter() - start
    assert not any(delivery.duplicate for share in results for result in share for delivery in result.recipients)
    return len(pushes) / seconds


def check_written_tables(store: Store, raw: RawDatabase, tables: set[str]) -> None:
    """Push one event, and see that these are the tables it is written to."""
    written_tables = find_written_tables(raw, lambda: store.run_sync(push.push_event, fixtures.build_push(0)))
    assert written_tables == tables, f"a push writes {sorted(written_tables)}, the floor {sorted(tables)}"


def split_batches(count: int, size: int) -> list[range]:
    return [range(start, min(start + size, count)) for start in range(0, count, size)]
