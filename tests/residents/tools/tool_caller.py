"""An agent at work in a run, for the tests of its tools."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.agent_config_json import SKILLS
from gatepost.residents.background.toolkit import build_built_in_tools
from gatepost.residents.runs import rows as runs
from gatepost.residents.runs.run import Run, RunStatus
from gatepost.residents.tools import ToolContext, call_tool
from tests.support.store_context import StoreContext


class ToolCaller:
    """An agent at work in a run, who uses tools as a model would: by name, with JSON."""

    def __init__(self, ctx: StoreContext, name: str = "ann", hops: int = 3) -> None:
        self.ctx = ctx
        self.name = name
        self.active: str | None = None
        self.taken_contents: list[str] = []
        self._calls = 0
        ctx.push_event("wake", to=name)
        id = ctx.kit.store.run_sync(lambda tx: tx.new_id("run"))
        claim = ctx.claim(name, owner=id, kind="run", limit=1).claim
        assert claim is not None
        self.run = ctx.kit.store.run_sync(begin_run, name, id=id, claim=claim.id, claim_fence=claim.fence, hops=hops)

    def use(self, tool: str, /, call: str | None = None, **arguments: Any) -> Any:
        parsed = build_built_in_tools(frozenset(SKILLS))[tool].parse_arguments(json.dumps(arguments))
        self._calls += 1
        return self.ctx.store.run_sync(self._use, tool, parsed, call or f"{self.run.id}/{self._calls}")

    def _use(self, tx: Transaction, tool: str, arguments: dict[str, Any], call: str) -> Any:
        entity = directory.find_live(tx, self.name)
        tool_ctx = ToolContext(tx=tx, agent=entity, run=self.run, call=call, active_space=self.active)
        result = json.loads(json.dumps(call_tool(tool_ctx, tool, arguments)))
        self.active = tool_ctx.active_space
        self.taken_contents += [item.event.content for item in tool_ctx.taken_items]
        return result


@contextmanager
def continue_chain(store: Store, name: str, hops: int) -> Iterator[None]:
    """While entered, an agent is in a run whose next event has this number of hops; with 0, it is in none."""
    if not hops:
        yield
        return
    id = store.run_sync(lambda tx: tx.new_id("run"))
    run = store.run_sync(begin_run, name, id=id, claim=id.replace("run", "clm"), claim_fence=1, hops=hops - 1)
    yield
    store.run_sync(runs.end, run.number, RunStatus.SKIPPED)


def begin_run(tx: Transaction, name: str, /, **fields: Any) -> Run:
    """Make an agent a resident, unless it is one, and begin a run."""
    if agents.show(tx, name) is None:
        agents.make_resident(tx, name, AgentConfig())
    number = directory.find_live(tx, name).number
    return runs.create(
        tx, number, tokens=0, agent=name, cycle=1, cause="event", events=1, version=1, model="demo", **fields
    )
