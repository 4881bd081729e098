"""
What residents cost that sleep: a process that would think for them, with 100,000 of them in its store and with none.

The process has gone through a few rounds of its background duties, and then tells how much memory it holds. What is
measured is the difference, in megabytes.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import closing
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Final

import psutil

from bench._measure import FULL, Effort, Measured, Spread
from bench._table import Row, Target, Unit
from gatepost import app
from gatepost.actions import agents
from gatepost.actions.directory import Newcomer
from gatepost.app import open_store
from gatepost.core.agent import Config
from gatepost.core.entity import Kind
from gatepost.ports import Transaction
from gatepost.runtime.exchange import Exchange
from gatepost.runtime.household import Habits, living
from tests.servers import until

_BATCH: Final = 1_000
_ROUNDS: Final = 5

megabytes: Final = Unit(" MB", 1, 1)


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        none, many = f"sqlite:///{folder}/none.db", f"sqlite:///{folder}/many.db"
        for url, count in ((none, 0), (many, effort.sleepers)):
            with closing(open_store(url)) as store:
                store.migrate()
                for first in range(0, count, _BATCH):
                    store.call(_settle, first, min(count, first + _BATCH))
        floors = [_held(none) for _ in range(effort.fewer)]
        ours = [_held(many) for _ in range(effort.fewer)]
        more = tuple(each - floor for each, floor in zip(ours, floors, strict=True))
        yield Row(
            claim=f"{effort.sleepers:,} sleeping residents: memory on top of the process",
            floor="the process without them",
            measured=Measured(Spread(tuple(floors)), Spread(tuple(ours)), Spread(more)),
            unit=megabytes,
            target=Target("at most +20 MB", lambda found: found <= 20),
        )


def _settle(tx: Transaction, first: int, last: int) -> None:
    for number in range(first, last):
        agents.settle(tx, Newcomer(name=f"sleeper-{number}", kind=Kind.AGENT), Config(instructions="Sleep."))


def _held(url: str) -> float:
    """The memory of a process that is ready to think for everybody in a store."""
    done = run([sys.executable, "-m", "bench.sleepers", url], check=True, capture_output=True, text=True)
    return float(done.stdout)


async def _stay_awake(url: str) -> None:
    exchange = Exchange()
    with closing(open_store(url, bell=exchange.bell)) as store:
        async with (
            exchange.open(),
            app.means(store, exchange.send) as means,
            living(means, exchange, Habits(interval=0.05)) as household,
        ):
            await asyncio.to_thread(until, lambda: household.duties[-1].rounds >= _ROUNDS, "some rounds are done")
            print(psutil.Process().memory_info().rss / 1e6)


if __name__ == "__main__":
    asyncio.run(_stay_awake(sys.argv[1]))
