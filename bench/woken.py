"""
A thousand residents woken at once, with a model that answers in 50 ms: how long until the last has replied.

Each replies once and ends, so it asks its model twice. At most a hundred think at once; the ideal is the time that the
models alone take then, ten times two answers. The rest is the store.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing
from dataclasses import replace
from math import ceil
from tempfile import TemporaryDirectory
from typing import Final

from bench._measure import FULL, Effort, Measured, Spread
from bench._process import runner
from bench._table import Row, millis
from bench.cycle import AtOnce, means_of
from gatepost.actions import agents, directory, spaces
from gatepost.actions.directory import Newcomer
from gatepost.app import open_store
from gatepost.core.agent import Config
from gatepost.core.entity import Kind
from gatepost.core.mind import Prompt, Reply
from gatepost.core.model import ChatRequest, ModelOutput
from gatepost.ports import Store, Transaction
from gatepost.runtime import memory
from gatepost.runtime.exchange import Exchange
from gatepost.runtime.household import Habits, living

_ANSWER: Final = 0.05
_MOST: Final = 100


class Slow(AtOnce):
    """Replies where it was spoken to: everybody has a space of their own."""

    async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
        await asyncio.sleep(_ANSWER)
        async for heard in super().respond(ask):
            if isinstance(heard, Reply) and heard.calls:
                shown = next(turn.text for turn in reversed(ask.turns) if isinstance(turn, Prompt))
                space = shown.partition("(space ")[2].partition(",")[0]
                enter = replace(heard.calls[0], arguments=json.dumps({"spaceId": space}))
                yield replace(heard, calls=(enter, heard.calls[1]))
            elif isinstance(heard, Reply):
                yield heard


def main(effort: Effort = FULL) -> Iterator[Row]:
    ideal = ceil(effort.hearers / _MOST) * 2 * _ANSWER
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        memory.settled()
        figures: list[float] = []
        for turn in range(effort.fewer):
            with runner() as loop:
                figures.append(loop.run(_woken(f"sqlite:///{folder}/{turn}.db", effort)))
        yield Row(
            claim=f"{effort.hearers:,} residents woken at once, a model that answers in 50 ms, SQLite FULL: the last",
            floor=f"the models alone, {_MOST} at once",
            measured=Measured(
                Spread((ideal,)), Spread(tuple(figures)), Spread(tuple(figure / ideal for figure in figures))
            ),
            unit=millis,
        )


async def _woken(url: str, effort: Effort) -> float:
    exchange = Exchange()
    with closing(open_store(url, bell=exchange.bell)) as store:
        _furnish(store, effort.hearers)
        async with exchange.open(), living(means_of(store, Slow()), exchange, Habits(most=_MOST)) as household:
            began = time.perf_counter()
            await store.run(_say, effort.hearers)
            await household.supervisor.idle()
            spent = time.perf_counter() - began
        assert household.supervisor.cycles >= effort.hearers
        return spent


def _furnish(store: Store, count: int) -> None:
    store.migrate()
    store.call(directory.register, Newcomer(name="husam", kind=Kind.HUMAN))
    store.call(_move_in, count)


def _move_in(tx: Transaction, count: int) -> None:
    for number in range(count):
        agents.settle(tx, Newcomer(name=f"agent-{number}", kind=Kind.AGENT), Config())
        spaces.create(tx, name=f"room-{number}", members=["husam", f"agent-{number}"])


def _say(tx: Transaction, count: int) -> None:
    for number in range(count):
        spaces.post(tx, f"room-{number}", sender="husam", content="Hello?")
