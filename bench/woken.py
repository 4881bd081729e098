"""
A thousand residents that wake at once, with a model that answers in 50 ms: the time until the last one has replied.

They are agents of one program that embeds Gatepost. It sends a `PostMessage` for each in one turn of its loop, and
waits with `until_idle()`. Each resident replies once and ends, so it sends its model two requests. At most a hundred
cycles run at once. The ideal is the time of the models alone: ten times two answers. The rest is the cost of the store.
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

from bench.cycle import InstantModel, replace_models
from bench.support.measurement import FULL, Effort, Measurement, Spread
from bench.support.processes import create_runner
from bench.support.table import Row, at_most, millis
from gatepost import Gatepost
from gatepost.app import open_store
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gateway.serve import freeze_loaded_objects
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.model_port import ChatRequest, ModelOutput, ModelReply, Prompt
from gatepost.spaces import actions as spaces
from gatepost.spaces.api import PostMessage, ReadMessages

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
            with replace_models(SlowModel()), create_runner() as loop:
                figures.append(loop.run(_measure_wake(f"sqlite:///{folder}/{turn}.db", effort.recipients)))
        yield Row(
            claim=f"{effort.recipients:,} residents woken at once, a model that answers in 50 ms, "
            "SQLite FULL: the last",
            door="`Gatepost.send(PostMessage)`, `until_idle`",
            floor=f"the models alone, {_MAX_CYCLES} at once",
            measurement=Measurement(
                Spread((ideal,)), Spread(tuple(figures)), Spread(tuple(figure / ideal for figure in figures))
            ),
            unit=millis,
            target=at_most(1.8),
        )


async def _measure_wake(url: str, count: int) -> float:
    names = [f"agent-{number}" for number in range(count)]
    with closing(open_store(url)) as store:  # each in a transaction of its own would take longer than the benchmark
        store.migrate()
        store.run_sync(_create_entities, names)
    post = Gatepost(url)
    async with post:
        requests = [PostMessage(id=f"room-{name}", sender="husam", content="Hello?") for name in names]
        start = time.perf_counter()
        await asyncio.gather(*map(post.send, requests))
        await post.until_idle()
        seconds = time.perf_counter() - start
        for name in (names[0], names[-1]):
            page = await post.send(ReadMessages(id=f"room-{name}"))
            assert [message.sender for message in page.items] == ["husam", name]
    return seconds


def _create_entities(tx: Transaction, names: list[str]) -> None:
    directory.register(tx, EntitySpec(name="husam", kind=EntityKind.HUMAN))
    for name in names:
        agents.make_resident(tx, EntitySpec(name=name, kind=EntityKind.AGENT), AgentConfig())
        spaces.create(tx, name=f"room-{name}", members=["husam", name])
