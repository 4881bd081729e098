"""
The cost of a resident's cycle when its model costs nothing: one event in, one reply out. The cycle runs as in a
gateway: on the same kind of event loop, with all modules loaded, and with a message that the same writer stores.

The floor is the same number of commits, each of one row, one after the other through the same store. Everything else
(the claim, the prompt, the journal, the reply and its fan-out) is on top of that. Ours and the floor have one store
each. On PostgreSQL every statement is a round trip and a commit is little more, so the ratio is reported there without
a target. For the figure about the history, one agent has a hundred times more past cycles than the other; both have a
mind of the maximal size.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench._measure import FULL, Effort, measure_in_turns
from bench._process import create_runner
from bench._table import Row, Target, at_most, millis
from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gateway.serve import freeze_loaded_objects
from gatepost.jobs import lease_actions as leases
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig, MindRules, ModelChoice
from gatepost.residents.background.cycle_outcome import CycleDeps
from gatepost.residents.background.think_cycle import think
from gatepost.residents.background.toolkit import Toolbox
from gatepost.residents.model_port import (
    CallDelta,
    CallResult,
    ChatRequest,
    HttpToolCaller,
    Model,
    ModelOutput,
    ModelReply,
    ToolCall,
    ToolServers,
    Usage,
)
from gatepost.residents.runs import resume_actions as run_resume
from gatepost.spaces import actions as spaces
from tests.support.servers.private_servers import Postgres

SPACE: Final = "office"
AGENT: Final = "analyst"
_TOOL_CALLS: Final = (
    ToolCall("1", "enter_space", json.dumps({"spaceId": SPACE})),
    ToolCall("2", "send_message", json.dumps({"text": "Q4 closed at 4.2M, up 9%."})),
)
#: cycles behind the agent with the small history, enough to fill its mind; the other has a hundred times as many
_SMALL_HISTORY: Final = 10


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        yield _measure_overhead(
            "SQLite FULL", f"sqlite:///{folder}/ours.db", f"sqlite:///{folder}/floor.db", effort, at_most(2.0)
        )
        yield _measure_history("SQLite FULL", f"sqlite:///{folder}/small.db", f"sqlite:///{folder}/large.db", effort)
    with (
        Postgres(fsync="on" if effort.fsync else "off") as server,
        server.create_database() as url,
        server.create_database() as raw,
    ):
        yield _measure_overhead("PostgreSQL", url, raw, effort)


class InstantModel:
    """A model that answers at once: it enters the space it was spoken to in, replies, and is done."""

    name = "instant"

    async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
        if isinstance(ask.turns[-1], CallResult):
            yield ModelReply(
                "Responded to Husam about Q4 revenue. Nothing is pending.", usage=Usage(100, 10), model=self.name
            )
            return
        for call in _TOOL_CALLS:
            yield CallDelta(call.id, call.tool, call.arguments)
        yield ModelReply("", _TOOL_CALLS, Usage(100, 20), self.name)

    async def close(self) -> None:
        pass


def _measure_overhead(database: str, url: str, raw_url: str, effort: Effort, target: Target | None = None) -> Row:
    with closing(open_store(url)) as store, closing(open_store(raw_url)) as raw, create_runner() as runner:
        _create_agent(store, AgentConfig(mind=MindRules(max_tokens=1_000)))
        raw.migrate()
        counting_store = _CountingStore(store)
        runner.run(_post_message(store))
        runner.run(_build_thinker(counting_store)())
        commits, think_once = counting_store.count, _build_thinker(store)
        freeze_loaded_objects()

        async def commit_one_by_one() -> None:
            for _ in range(commits * effort.cycles):
                await raw.run(leases.take, "floor", "me", 1_000_000, lane=AGENT)

        def floor() -> float:
            start = time.perf_counter()
            runner.run(commit_one_by_one())
            return (time.perf_counter() - start) / effort.cycles

        return Row(
            claim=f"a think cycle without its model, one event in, one reply out, {database}",
            floor=f"its {commits} commits, of one row each",
            measurement=measure_in_turns(floor, _build_turn(store, runner, think_once, effort.cycles), effort.rounds),
            unit=millis,
            target=target,
        )


def _measure_history(database: str, url: str, large_url: str, effort: Effort) -> Row:
    config = AgentConfig(mind=MindRules(max_tokens=1_000))
    with closing(open_store(url)) as small, closing(open_store(large_url)) as large, create_runner() as runner:
        turns: list[Callable[[], float]] = []
        for store, cycle_count in ((small, _SMALL_HISTORY), (large, _SMALL_HISTORY * 100)):
            _create_agent(store, config)
            think_once = _build_thinker(store)
            for _ in range(cycle_count if effort.fsync else _SMALL_HISTORY):
                runner.run(_post_message(store))
                runner.run(think_once())
            turns.append(_build_turn(store, runner, think_once, effort.cycles))
        freeze_loaded_objects()
        return Row(
            claim=f"the same when a hundred times more cycles are behind the agent, {database}",
            floor=f"with {_SMALL_HISTORY} behind it",
            measurement=measure_in_turns(turns[0], turns[1], effort.rounds),
            unit=millis,
            target=at_most(1.2),
        )


def _build_turn(store: Store, runner: asyncio.Runner, think_once: Callable[[], Any], times: int) -> Callable[[], float]:
    async def measure() -> float:
        seconds = 0.0
        for _ in range(times):
            await _post_message(store)
            start = time.perf_counter()
            await think_once()
            seconds += time.perf_counter() - start
        return seconds / times

    return lambda: runner.run(measure())


def _create_agent(store: Store, config: AgentConfig) -> None:
    store.migrate()
    store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
    store.run_sync(agents.make_resident, EntitySpec(name=AGENT, kind=EntityKind.AGENT), config)
    store.run_sync(spaces.create, name=SPACE, members=["husam", AGENT])


async def _post_message(store: Store) -> None:
    await store.run(spaces.post, SPACE, sender="husam", content="Pull the Q4 revenue numbers", lane=SPACE)


def build_deps(store: Store, model: Model) -> CycleDeps:
    async def open_model(choice: ModelChoice) -> Model:  # noqa: ARG001 (it is the only one there is)
        return model

    toolbox = Toolbox(_NoExternalTools(), _NoExternalTools())
    return CycleDeps(
        store=store, get_model=open_model, open_toolkit=toolbox.open, send=lambda _: None, draw_random=lambda: 0.5
    )


def _build_thinker(store: Store) -> Callable[[], Any]:
    deps = build_deps(store, InstantModel())

    async def think_once() -> None:
        run = await store.run(run_resume.take_run, AGENT, "bench", lane=AGENT)
        assert run is not None
        await think(deps, run)

    return think_once


class _NoExternalTools(HttpToolCaller, ToolServers):
    """No tool is anywhere else."""

    def call(self, *_: Any) -> Any:
        raise AssertionError("nothing outside is called")

    @asynccontextmanager
    async def open_session(self) -> AsyncIterator[Any]:
        yield self


class _CountingStore:
    """Counts the commits of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def run(self, verb: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        return await self._store.run(verb, *args, **kwargs)
