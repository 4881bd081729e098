"""
Durable push in process: callers in one event loop, each awaiting its push before its next, against raw inserts.

A floor inserts ready-made rows into every table a push writes, a batch as large as there are callers to a commit. The
rows are copies of what a push wrote, with arrivals, ids and keys of their own; and a push is watched, so that a table
which the floor leaves out is noticed. Ours and the floor have a database each, and these grow at the same pace.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from bench import _office
from bench._measure import Effort, in_turns
from bench._raw import Raw, written_by
from bench._table import Row, Target, rate
from gatepost.actions import intake
from gatepost.core.event import Push, Pushed
from gatepost.ports import Store

#: the number of callers that has a target
CLAIMED: Final = 100
CALLERS: Final = (CLAIMED, 1, 10, 500)
#: turns around the loop after which a single caller has been measured long enough
TURNS: Final = 500


class Floor(Protocol):
    def insert(self, count: int, batch: int) -> float:
        """Insert so many pushes, committing after each batch; return how many a second."""
        ...


def compare(
    database: str, store: Store, floor: Floor, floor_words: str, target: Target, effort: Effort
) -> Iterator[Row]:
    with asyncio.Runner() as runner:
        for callers in CALLERS:
            claimed = callers == CLAIMED
            count = min(effort.pushes, callers * TURNS)

            def ours(callers: int = callers, count: int = count) -> float:
                wishes = [_office.wish(number) for number in range(count)]
                return runner.run(push(store, callers, wishes))

            def raw(callers: int = callers, count: int = count) -> float:
                return floor.insert(count, callers)

            yield Row(
                claim=f"durable push in process, {database}, {callers} caller{'s' if callers > 1 else ''}",
                floor=f"{floor_words}, commit every {callers}",
                measured=in_turns(raw, ours, effort.rounds if claimed else effort.fewer),
                unit=rate,
                target=target if claimed else None,
            )


async def push(store: Store, callers: int, wishes: Sequence[Push]) -> float:
    """Share these among callers; return how many were pushed a second."""

    async def caller(mine: Sequence[Push]) -> list[intake.Outcome]:
        return [(await store.run(intake.push_all, [wish], lane=wish.to))[0] for wish in mine]

    shares = [wishes[number::callers] for number in range(callers)]
    began = time.perf_counter()
    answers = await asyncio.gather(*map(caller, shares))
    took = time.perf_counter() - began
    for outcome in (outcome for share in answers for outcome in share):
        assert isinstance(outcome, Pushed), outcome
        assert not any(delivery.duplicate for delivery in outcome.deliveries)
    return len(wishes) / took


def watch(store: Store, raw: Raw, tables: set[str]) -> None:
    """Push one event, and see that these are the tables it is written to."""
    written = written_by(raw, lambda: store.call(intake.push, _office.wish(0)))
    assert written == tables, f"a push writes {sorted(written)}, the floor {sorted(tables)}"


def batches(count: int, size: int) -> list[range]:
    return [range(start, min(start + size, count)) for start in range(0, count, size)]
