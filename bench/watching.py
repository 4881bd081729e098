"""
What a gateway with much to watch and nothing to do costs: 10,000 agents, 1,000 plans and 100 schedules that are due in
months, and 50 readers of streams.

The first rows are of the whole process: its processor time as a share of one core, and its writes, as in `idle.py`.
Then each background duty alone: the processor time of a round with all threads that take part, divided by the seconds
until its next round.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Final, cast

import psutil

from bench.cycle import InstantModel, build_deps
from bench.idle import count_on_sqlite
from bench.support import fixtures
from bench.support.gateway import Gateway, run_gateway
from bench.support.measurement import FULL, Effort, Measurement, Spread
from bench.support.processes import create_runner
from bench.support.table import Row, Target, Unit, at_most, plain
from gatepost.app import open_store
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import TriggerConfig, TriggerSchedule
from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gateway.serve import freeze_loaded_objects
from gatepost.jobs.periodic_duty_background import Duty
from gatepost.plans import actions as plans
from gatepost.plans.plan import PlanSpec, parse_schedule
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import WorkerOptions, run_worker

_PLANS: Final = 1_000
_TRIGGERS: Final = 100
_STREAMS: Final = 50
_BATCH: Final = 1_000
#: the share of a core to which all of it is compared
_MAX_SHARE: Final = 0.002
#: seconds after the start of a gateway, in which it does what it does once, and rounds of a duty in one figure
_START_TIME: Final = 5.0
_ROUNDS: Final = 20

percent: Final = Unit(" %", 100, 3)


def main(effort: Effort = FULL) -> Iterator[Row]:
    agents = effort.recipients * 10
    sizes = f"{agents:,} agents, {_PLANS:,} plans, {_TRIGGERS} triggers, {_STREAMS} streams"
    with run_gateway(prepare=partial(create_much, agents)) as gateway, create_runner() as loop:
        freeze_loaded_objects()
        streams = loop.run(_open_streams(gateway))
        time.sleep(_START_TIME)
        process = psutil.Process(gateway.pid)
        with count_on_sqlite(gateway.store.removeprefix("sqlite:///")) as count:
            shares = []
            for _ in range(effort.untargeted_rounds):
                start, cpu_before = time.monotonic(), sum(process.cpu_times()[:2])
                end = start + effort.idle_time / effort.untargeted_rounds
                while time.monotonic() < end:
                    time.sleep(0.05)
                    count()
                shares.append((sum(process.cpu_times()[:2]) - cpu_before) / (time.monotonic() - start))
            writes = count()
        yield _build_row(f"a gateway with nothing to do, {sizes}, SQLite FULL", shares, at_most(1.0))
        yield Row(
            claim=f"writes of it in {effort.idle_time:,.0f} seconds",
            door="`gatepost up`",
            floor="one write",
            measurement=Measurement(Spread((1.0,)), Spread((writes,)), Spread((writes,))),
            unit=plain,
            target=at_most(0.0),
        )
        loop.run(_close_streams(streams))
        with closing(open_store(gateway.store)) as store:
            for name, duty_shares in loop.run(_measure_duties(store, effort)).items():
                yield _build_row(f"of it the duty `{name}`", duty_shares)


def _build_row(claim: str, shares: list[float], target: Target | None = None) -> Row:
    ratios = tuple(share / _MAX_SHARE for share in shares)
    return Row(
        claim=claim,
        door="`gatepost up`",
        floor="0.2 % of a core",
        measurement=Measurement(Spread((_MAX_SHARE,)), Spread(tuple(shares)), Spread(ratios)),
        unit=percent,
        target=target,
    )


def create_much(agents: int, store: Store) -> None:
    fixtures.create_agents(store)
    sleepers = agents - fixtures.AGENTS
    for first in range(0, sleepers, _BATCH):
        store.run_sync(_register_sleepers, first, min(first + _BATCH, sleepers))
    for number in range(_PLANS // 10):
        store.run_sync(_set_plans, fixtures.get_agent_name(number))
    store.run_sync(_add_triggers)


def _register_sleepers(tx: Transaction, first: int, last: int) -> None:
    for number in range(first, last):
        directory.register(tx, EntitySpec(name=f"sleeper-{number}", kind=EntityKind.AGENT))


def _set_plans(tx: Transaction, owner: str) -> None:
    for number in range(10):
        schedule = parse_schedule(run_after=f"{60 + number} days")
        plans.set_plan(
            tx, owner, PlanSpec(name=f"plan-{number}", instruction="Look at the figures.", schedule=schedule)
        )


def _add_triggers(tx: Transaction) -> None:
    schedule = TriggerSchedule(at=tx.now + 60 * 24 * 3_600 * 1_000_000)
    for number in range(_TRIGGERS):
        spec = TriggerSpec(
            name=f"trigger-{number}",
            provider="cron",
            target=fixtures.get_agent_name(number),
            config=TriggerConfig(schedule=schedule),
        )
        triggers.add(tx, spec)


class _Reader(asyncio.Protocol):
    """Takes what comes, and looks at nothing but the first of it."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if b"event: connected" in data:
            self.has_begun.set()


async def _open_streams(gateway: Gateway) -> list[_Reader]:
    loop, readers = asyncio.get_running_loop(), []
    for number in range(_STREAMS):
        _, reader = await loop.create_connection(_Reader, "127.0.0.1", gateway.port)
        path = f"/api/inbox/{fixtures.get_agent_name(number)}/stream"
        reader.transport.write(gateway.request("GET", path))
        await reader.has_begun.wait()
        readers.append(reader)
    return readers


async def _close_streams(readers: list[_Reader]) -> None:
    for reader in readers:
        reader.transport.close()


async def _measure_duties(store: Store, effort: Effort) -> dict[str, list[float]]:
    """Return by duty the shares of a core that it takes, each of some rounds that find nothing to do."""
    bus = SignalBus()
    deps = build_deps(store, InstantModel())
    async with bus.open(), run_worker(deps, bus, WorkerOptions(remind=lambda: None)) as worker:
        for duty in worker.duties:
            await _run_rounds(duty, 2)
        return {
            duty.name: [await _run_rounds(duty, _ROUNDS) for _ in range(effort.untargeted_rounds)]
            for duty in worker.duties
        }


async def _run_rounds(duty: Duty, count: int) -> float:
    """Return the processor time of some rounds by the seconds that they would take."""
    began, seconds = time.process_time(), 0.0
    for _ in range(count):
        seconds += await duty._run_round()
    return (time.process_time() - began) / seconds
