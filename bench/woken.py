"""
A thousand residents that wake at once, with a model that answers in 50 ms: the time until the last one has replied.

Each resident replies once and ends, so it sends its model two requests. At most a hundred cycles run at once. The ideal
is the time of the models alone: ten times two answers. The rest is the cost of the store.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from math import ceil
from tempfile import TemporaryDirectory
from typing import Final

from msgspec.structs import replace

from bench._measure import FULL, Effort, Measurement, Spread
from bench._process import create_runner
from bench._table import Row, at_most, millis
from bench.cycle import InstantModel, build_deps
from gatepost.app import open_store
from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gateway.serve import freeze_loaded_objects
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.model_port import ChatRequest, ModelOutput, ModelReply, Prompt
from gatepost.spaces import actions as spaces
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import WorkerOptions, run_worker

_ANSWER_SECONDS: Final = 0.05
_MAX_CYCLES: Final = 100


class SlowModel(InstantModel):
    """Replies where it was spoken to: everybody has a space of their own."""

    async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
        await asyncio.sleep(_ANSWER_SECONDS)
        async for part in super().respond(ask):
            if isinstance(part, ModelReply) and part.calls:
                prompt_text = next(turn.text for turn in reversed(ask.turns) if isinstance(turn, Prompt))
                space = prompt_text.partition("(space ")[2].partition(",")[0]
                enter_call = replace(part.calls[0], arguments=json.dumps({"spaceId": space}))
                yield replace(part, calls=(enter_call, part.calls[1]))
            elif isinstance(part, ModelReply):
                yield part


def main(effort: Effort = FULL) -> Iterator[Row]:
    ideal = ceil(effort.recipients / _MAX_CYCLES) * 2 * _ANSWER_SECONDS
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        freeze_loaded_objects()
        figures: list[float] = []
        for turn in range(effort.untargeted_rounds):
            with create_runner() as loop:
                figures.append(loop.run(_measure_wake(f"sqlite:///{folder}/{turn}.db", effort)))
        yield Row(
            claim=f"{effort.recipients:,} residents woken at once, a model that answers in 50 ms, "
            "SQLite FULL: the last",
            floor=f"the models alone, {_MAX_CYCLES} at once",
            measurement=Measurement(
                Spread((ideal,)), Spread(tuple(figures)), Spread(tuple(figure / ideal for figure in figures))
            ),
            unit=millis,
            target=at_most(1.8),
        )


async def _measure_wake(url: str, effort: Effort) -> float:
    bus = SignalBus()
    with closing(open_store(url, signal_sink=bus.on_commit)) as store:
        _create_entities(store, effort.recipients)
        async with (
            bus.open(),
            run_worker(build_deps(store, SlowModel()), bus, WorkerOptions(max_cycles=_MAX_CYCLES)) as worker,
        ):
            start = time.perf_counter()
            await store.run(_post_messages, effort.recipients)
            await worker.supervisor.wait_until_idle()
            seconds = time.perf_counter() - start
        assert worker.supervisor.cycle_count >= effort.recipients
        return seconds


def _create_entities(store: Store, count: int) -> None:
    store.migrate()
    store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
    store.run_sync(_create_residents, count)


def _create_residents(tx: Transaction, count: int) -> None:
    for number in range(count):
        agents.make_resident(tx, EntitySpec(name=f"agent-{number}", kind=EntityKind.AGENT), AgentConfig())
        spaces.create(tx, name=f"room-{number}", members=["husam", f"agent-{number}"])


def _post_messages(tx: Transaction, count: int) -> None:
    for number in range(count):
        spaces.post(tx, f"room-{number}", sender="husam", content="Hello?")
