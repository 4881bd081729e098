"""
The cost of a resident's cycle when its model costs nothing: one event in, one reply out. A program that embeds Gatepost
has one agent with a model. It sends `PostMessage`, and then waits with `until_idle()`: the clock runs from the answer
to the post until the agent has replied and its cycle has ended, with the wake before and the check after. The model is
that of the benchmark; it answers at once, with two calls of tools, and then ends its cycle.

The floor is the same number of commits, of one row each, one after the other through a store of the same kind.
Everything else (the wake, the claim, the prompt, the journal, the reply and its fan-out) is on top of that. For the
figure about the history, one agent has a hundred times more past cycles than the other; both have a mind of the maximal
size.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from tempfile import TemporaryDirectory
from typing import Any, Final, cast
from unittest.mock import patch

from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.processes import create_runner
from bench.support.table import Row, Target, at_most, millis
from gatepost import Gatepost
from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.gateway.serve import freeze_loaded_objects
from gatepost.jobs import lease_actions as leases
from gatepost.residents.agent_config import DEMO, MindRules, ModelChoice
from gatepost.residents.background.cycle_outcome import CycleDeps
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
from gatepost.residents.models import factory as model_factory
from gatepost.spaces.api import PostMessage
from tests.support.servers.private_servers import Postgres

SPACE: Final = "office"
AGENT: Final = "analyst"
_TOOL_CALLS: Final = (
    ToolCall("1", "enter_space", json.dumps({"spaceId": SPACE})),
    ToolCall("2", "send_message", json.dumps({"text": "Q4 closed at 4.2M, up 9%."})),
)
#: cycles behind the agent with the small history, enough to fill its mind; the other has a hundred times as many
_SMALL_HISTORY: Final = 10
_DOOR: Final = "`Gatepost.agent`, `send(PostMessage)`, `until_idle`"


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
        yield _measure_overhead("PostgreSQL", url, raw, effort, at_most(3.0))


class InstantModel:
    """A model that answers at once: it enters the space it was spoken to in, replies, and is done."""

    name = DEMO  # it stands for the demo

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


def _measure_overhead(database: str, url: str, raw_url: str, effort: Effort, target: Target) -> Row:
    with closing(open_store(raw_url)) as raw, create_runner() as runner:
        raw.migrate()
        office = Office(url)
        with office.open(runner):
            runner.run(office.run_cycle())  # the first one opens the model
            commits = runner.run(office.count_commits())
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
                door=_DOOR,
                floor=f"its {commits} commits, of one row each",
                measurement=measure_in_turns(floor, office.build_turn(runner, effort.cycles), effort.rounds),
                unit=millis,
                target=target,
            )


def _measure_history(database: str, url: str, large_url: str, effort: Effort) -> Row:
    small, large = Office(url), Office(large_url)
    with create_runner() as runner, small.open(runner), large.open(runner):
        for office, cycle_count in ((small, _SMALL_HISTORY), (large, _SMALL_HISTORY * 100)):
            office.build_turn(runner, cycle_count if effort.fsync else _SMALL_HISTORY)()
        freeze_loaded_objects()
        return Row(
            claim=f"the same when a hundred times more cycles are behind the agent, {database}",
            door=_DOOR,
            floor=f"with {_SMALL_HISTORY} behind it",
            measurement=measure_in_turns(
                small.build_turn(runner, effort.cycles), large.build_turn(runner, effort.cycles), effort.rounds
            ),
            unit=millis,
            target=at_most(1.2),
        )


class Office:
    """A program with one agent, to which a person writes in a space."""

    def __init__(self, url: str, *, max_tokens: int = 1_000) -> None:
        self._post = Gatepost(url)
        self._post.agent(AGENT, instructions="Answer with the figures.", mind=MindRules(max_tokens=max_tokens))
        self._store = _CountingStore(self._post._raw_store)
        self._post._raw_store = cast(Store, self._store)

    @contextmanager
    def open(self, runner: asyncio.Runner) -> Iterator[None]:
        with replace_models(InstantModel()):
            runner.run(self._post.__aenter__())
            try:
                space = runner.run(self._post.space(SPACE, members=["husam", AGENT]))
                self._request = PostMessage(id=space.id, sender="husam", content="Pull the Q4 revenue numbers")
                yield
            finally:
                runner.run(self._post.__aexit__(None, None, None))

    async def run_cycle(self) -> float:
        """Return the seconds of a cycle."""
        await self._post.send(self._request)
        start = time.perf_counter()
        await self._post.until_idle()
        return time.perf_counter() - start

    async def count_commits(self) -> int:
        await self._post.send(self._request)
        count = self._store.count
        await self._post.until_idle()
        return self._store.count - count

    def build_turn(self, runner: asyncio.Runner, times: int) -> Callable[[], float]:
        async def measure() -> float:
            return sum([await self.run_cycle() for _ in range(times)]) / times

        return lambda: runner.run(measure())


@contextmanager
def replace_models(model: Model) -> Iterator[None]:
    """Let every agent think with this model, whatever its configuration names."""
    with patch.object(model_factory, "open_model", lambda *_: model):
        yield


def build_deps(store: Store, model: Model) -> CycleDeps:
    async def open_model(choice: ModelChoice) -> Model:  # noqa: ARG001 (it is the only one there is)
        return model

    toolbox = Toolbox(_NoExternalTools(), _NoExternalTools())
    return CycleDeps(
        store=store, get_model=open_model, open_toolkit=toolbox.open, send=lambda _: None, draw_random=lambda: 0.5
    )


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
