"""
Durable push in process: callers in one event loop, each of which awaits its push before the next one, against raw
inserts.

The floor inserts prepared rows into every table that a push writes, and commits once for as many pushes as there are
callers. The rows are copies of what a push wrote, with their own arrivals, ids and keys. The statements of one push are
recorded first: if it writes a table that the floor does not write, the benchmark stops. Ours and the floor have one
database each, and both grow at the same pace.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from bench import _fixtures
from bench._measure import Effort, measure_in_turns
from bench._raw import RawDatabase, find_written_tables
from bench._table import Row, Target, rate
from gatepost.core.ports import Store
from gatepost.inbox.event import Push, PushResult
from gatepost.inbox.push import actions as push

#: the number of callers that has a target
TARGET_CALLERS: Final = 100
CALLER_COUNTS: Final = (TARGET_CALLERS, 1, 10, 500)
#: turns around the loop after which a single caller has been measured long enough
MAX_PUSHES_PER_CALLER: Final = 500


class Floor(Protocol):
    def insert(self, count: int, batch: int) -> float:
        """Insert so many pushes, committing after each batch; return how many a second."""
        ...


def compare(
    database: str, store: Store, floor: Floor, floor_words: str, target: Target, effort: Effort
) -> Iterator[Row]:
    with asyncio.Runner() as runner:
        for callers in CALLER_COUNTS:
            has_target = callers == TARGET_CALLERS
            count = min(effort.pushes, callers * MAX_PUSHES_PER_CALLER)

            def ours(callers: int = callers, count: int = count) -> float:
                pushes = [_fixtures.build_push(number) for number in range(count)]
                return runner.run(run_pushes(store, callers, pushes))

            def raw(callers: int = callers, count: int = count) -> float:
                return floor.insert(count, callers)

            yield Row(
                claim=f"durable push in process, {database}, {callers} caller{'s' if callers > 1 else ''}",
                floor=f"{floor_words}, commit every {callers}",
                measurement=measure_in_turns(raw, ours, effort.rounds if has_target else effort.untargeted_rounds),
                unit=rate,
                target=target if has_target else None,
            )


async def run_pushes(store: Store, callers: int, pushes: Sequence[Push]) -> float:
    """Share these among callers; return how many were pushed a second."""

    async def push_share(share: Sequence[Push]) -> list[push.PushOutcome]:
        return [(await store.run(push.push_all, [event_push], lane=event_push.to))[0] for event_push in share]

    shares = [pushes[number::callers] for number in range(callers)]
    start = time.perf_counter()
    outcomes = await asyncio.gather(*map(push_share, shares))
    seconds = time.perf_counter() - start
    for outcome in (outcome for share in outcomes for outcome in share):
        assert isinstance(outcome, PushResult), outcome
        assert not any(delivery.duplicate for delivery in outcome.deliveries)
    return len(pushes) / seconds


def check_written_tables(store: Store, raw: RawDatabase, tables: set[str]) -> None:
    """Push one event, and see that these are the tables it is written to."""
    written_tables = find_written_tables(raw, lambda: store.run_sync(push.push_event, _fixtures.build_push(0)))
    assert written_tables == tables, f"a push writes {sorted(written_tables)}, the floor {sorted(tables)}"


def split_batches(count: int, size: int) -> list[range]:
    return [range(start, min(start + size, count)) for start in range(0, count, size)]
