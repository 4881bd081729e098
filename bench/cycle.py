"""
What a resident's cycle costs when its model costs nothing: one event in, one reply out. It thinks as in a gateway: on
its kind of event loop, what is loaded is settled, and the message comes in by the same writer.

The floor is as many commits as the cycle makes, each of one row, one after the other through the same store; everything
else (the claim, the prompt, the journal, the reply and its fan-out) is on top of that. Ours and the floor have a store
each. On PostgreSQL a statement is a journey to the server and a commit is little more than one, so the ratio is told
there and no target is set. A history is a hundred times larger when its agent has a hundred times more cycles behind
it; its mind is as large as it may be in both.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench._measure import FULL, Effort, in_turns
from bench._process import runner as loops
from bench._table import Row, Target, at_most, millis
from gatepost.actions import agents, cycle, directory, leases, spaces
from gatepost.actions.directory import Newcomer
from gatepost.app import open_store
from gatepost.core.agent import Config, MindRules, ModelChoice
from gatepost.core.entity import Kind
from gatepost.core.mind import Call, Reply, Result, Usage
from gatepost.core.model import CallDelta, ChatRequest, ModelOutput
from gatepost.ports import HttpToolCaller, Model, Store, ToolServers
from gatepost.runtime import memory
from gatepost.runtime.cycle import Means, think
from gatepost.runtime.toolkit import Toolbox
from tests.servers import Postgres

SPACE: Final = "office"
AGENT: Final = "analyst"
_CALLS: Final = (
    Call("1", "enter_space", json.dumps({"spaceId": SPACE})),
    Call("2", "send_message", json.dumps({"text": "Q4 closed at 4.2M, up 9%."})),
)
#: cycles behind the agent with the small history, enough to fill its mind; the other has a hundred times as many
_BEHIND: Final = 10


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        yield _overhead(
            "SQLite FULL", f"sqlite:///{folder}/ours.db", f"sqlite:///{folder}/floor.db", effort, at_most(2.0)
        )
        yield _minds("SQLite FULL", f"sqlite:///{folder}/small.db", f"sqlite:///{folder}/large.db", effort)
    with Postgres(fsync="on" if effort.fsync else "off") as server, server.database() as url, server.database() as raw:
        yield _overhead("PostgreSQL", url, raw, effort)


class AtOnce:
    """A model that answers at once: it enters the space it was spoken to in, replies, and is done."""

    name = "instant"

    async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
        if isinstance(ask.turns[-1], Result):
            yield Reply(
                "Responded to Husam about Q4 revenue. Nothing is pending.", usage=Usage(100, 10), model=self.name
            )
            return
        for call in _CALLS:
            yield CallDelta(call.id, call.tool, call.arguments)
        yield Reply("", _CALLS, Usage(100, 20), self.name)

    async def close(self) -> None:
        pass


def _overhead(database: str, url: str, raw_url: str, effort: Effort, target: Target | None = None) -> Row:
    with closing(open_store(url)) as store, closing(open_store(raw_url)) as raw, loops() as runner:
        _furnish(store, Config(mind=MindRules(max_tokens=1_000)))
        raw.migrate()
        counted = _Counted(store)
        runner.run(_say(store))
        runner.run(_thinker(counted)())
        commits, think_once = counted.count, _thinker(store)
        memory.settled()

        async def one_by_one() -> None:
            for _ in range(commits * effort.cycles):
                await raw.run(leases.take, "floor", "me", 1_000_000, lane=AGENT)

        def floor() -> float:
            began = time.perf_counter()
            runner.run(one_by_one())
            return (time.perf_counter() - began) / effort.cycles

        return Row(
            claim=f"a think cycle without its model, one event in, one reply out, {database}",
            floor=f"its {commits} commits, of one row each",
            measured=in_turns(floor, _timed(store, runner, think_once, effort.cycles), effort.rounds),
            unit=millis,
            target=target,
        )


def _minds(database: str, url: str, large_url: str, effort: Effort) -> Row:
    config = Config(mind=MindRules(max_tokens=1_000))
    with closing(open_store(url)) as small, closing(open_store(large_url)) as large, loops() as runner:
        turns: list[Callable[[], float]] = []
        for store, behind in ((small, _BEHIND), (large, _BEHIND * 100)):
            _furnish(store, config)
            think_once = _thinker(store)
            for _ in range(behind if effort.fsync else _BEHIND):
                runner.run(_say(store))
                runner.run(think_once())
            turns.append(_timed(store, runner, think_once, effort.cycles))
        memory.settled()
        return Row(
            claim=f"the same when a hundred times more cycles are behind the agent, {database}",
            floor=f"with {_BEHIND} behind it",
            measured=in_turns(turns[0], turns[1], effort.rounds),
            unit=millis,
            target=at_most(1.2),
        )


def _timed(store: Store, runner: asyncio.Runner, think_once: Callable[[], Any], times: int) -> Callable[[], float]:
    async def measured() -> float:
        spent = 0.0
        for _ in range(times):
            await _say(store)
            began = time.perf_counter()
            await think_once()
            spent += time.perf_counter() - began
        return spent / times

    return lambda: runner.run(measured())


def _furnish(store: Store, config: Config) -> None:
    store.migrate()
    store.call(directory.register, Newcomer(name="husam", kind=Kind.HUMAN))
    store.call(agents.settle, Newcomer(name=AGENT, kind=Kind.AGENT), config)
    store.call(spaces.create, name=SPACE, members=["husam", AGENT])


async def _say(store: Store) -> None:
    await store.run(spaces.post, SPACE, sender="husam", content="Pull the Q4 revenue numbers", lane=SPACE)


def means_of(store: Store, model: Model) -> Means:
    async def opened(choice: ModelChoice) -> Model:  # noqa: ARG001 (it is the only one there is)
        return model

    toolbox = Toolbox(_Nowhere(), _Nowhere())
    return Means(store=store, model=opened, toolkit=toolbox.open, send=lambda _: None, chance=lambda: 0.5)


def _thinker(store: Store) -> Callable[[], Any]:
    means = means_of(store, AtOnce())

    async def think_once() -> None:
        taken = await store.run(cycle.take, AGENT, "bench", lane=AGENT)
        assert taken is not None
        await think(means, taken)

    return think_once


class _Nowhere(HttpToolCaller, ToolServers):
    """No tool is anywhere else."""

    def call(self, *_: Any) -> Any:
        raise AssertionError("nothing outside is called")

    @asynccontextmanager
    async def open_session(self) -> AsyncIterator[Any]:
        yield self


class _Counted:
    """Counts the commits of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def run(self, verb: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        return await self._store.run(verb, *args, **kwargs)
