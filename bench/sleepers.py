"""
The memory that sleeping residents cost: a worker process with 100,000 residents in its store, and one with none.

The process runs a few rounds of its background duties, and then reports its memory. The figure is the difference, in
megabytes.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import closing
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Final

import psutil

from bench.support.measurement import FULL, Effort, Measurement, Spread
from bench.support.table import Row, Target, Unit
from gatepost import app
from gatepost.app import open_store
from gatepost.core.ports import Transaction
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import WorkerOptions, run_worker
from tests.support.servers.private_servers import wait_until

_BATCH: Final = 1_000
_ROUNDS: Final = 5

megabytes: Final = Unit(" MB", 1, 1)


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        empty_url, full_url = f"sqlite:///{folder}/none.db", f"sqlite:///{folder}/many.db"
        for url, count in ((empty_url, 0), (full_url, effort.sleepers)):
            with closing(open_store(url)) as store:
                store.migrate()
                for first in range(0, count, _BATCH):
                    store.run_sync(_register_residents, first, min(count, first + _BATCH))
        floors = [_measure_memory(empty_url) for _ in range(effort.untargeted_rounds)]
        ours = [_measure_memory(full_url) for _ in range(effort.untargeted_rounds)]
        differences = tuple(value - floor for value, floor in zip(ours, floors, strict=True))
        yield Row(
            claim=f"{effort.sleepers:,} sleeping residents: memory on top of the process",
            door="the worker of `gatepost up`",
            floor="the process without them",
            measurement=Measurement(Spread(tuple(floors)), Spread(tuple(ours)), Spread(differences)),
            unit=megabytes,
            target=Target("at most +20 MB", lambda difference: difference <= 20),
        )


def _register_residents(tx: Transaction, first: int, last: int) -> None:
    for number in range(first, last):
        agents.make_resident(
            tx, EntitySpec(name=f"sleeper-{number}", kind=EntityKind.AGENT), AgentConfig(instructions="Sleep.")
        )


def _measure_memory(url: str) -> float:
    """The memory of a process that is ready to think for everybody in a store."""
    result = run([sys.executable, "-m", "bench.sleepers", url], check=True, capture_output=True, text=True)
    return float(result.stdout)


async def _print_memory(url: str) -> None:
    bus = SignalBus()
    with closing(open_store(url, signal_sink=bus.on_commit)) as store:
        async with (
            bus.open(),
            app.open_cycle_deps(store, bus.send) as deps,
            run_worker(deps, bus, WorkerOptions(recheck_interval=0.05)) as worker,
        ):
            await asyncio.to_thread(wait_until, lambda: worker.duties[-1].rounds >= _ROUNDS, "some rounds are done")
            print(psutil.Process().memory_info().rss / 1e6)


if __name__ == "__main__":
    asyncio.run(_print_memory(sys.argv[1]))
