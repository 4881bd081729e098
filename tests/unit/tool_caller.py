"""An agent at work in a run, for the tests of its tools."""

import json
from typing import Any

from gatepost.core.ports import Transaction
from gatepost.residents.background import tool_arguments as tool_schema
from gatepost.residents.runs.run import Run, RunStatus
from gatepost.residents.tools import BUILT_IN_TOOLS, ToolContext, call_tool
from tests.unit.conftest import StoreContext


class ToolCaller:
    """An agent at work in a run, who uses tools as a model would: by name, with JSON."""

    def __init__(self, ctx: StoreContext, name: str = "ann") -> None:
        self.ctx = ctx
        self.name = name
        self.active: str | None = None
        self.taken_contents: list[str] = []
        self._calls = 0
        run = ctx.kit.store.run_sync(lambda tx: tx.new_id("run"))
        ctx.push_event("wake", to=name)
        claim = ctx.claim(name, owner=run, kind="run", limit=1).claim
        assert claim is not None
        self.run = Run(
            number=1,
            id=run,
            agent=name,
            status=RunStatus.RUNNING,
            cycle=1,
            cause="event",
            claim=claim.id,
            claim_fence=claim.fence,
            events=1,
            hops=3,
            started_at=ctx.clock.now(),
        )

    def use(self, tool: str, /, call: str | None = None, **arguments: Any) -> Any:
        parsed = tool_schema.parse_arguments(BUILT_IN_TOOLS[tool].function, json.dumps(arguments))
        self._calls += 1
        return self.ctx.store.run_sync(self._use, tool, parsed, call or f"{self.run.id}/{self._calls}")

    def _use(self, tx: Transaction, tool: str, arguments: dict[str, Any], call: str) -> Any:
        from gatepost.directory import entity_actions as directory

        entity = directory.find_live(tx, self.name)
        tool_ctx = ToolContext(tx=tx, agent=entity, run=self.run, call=call, active_space=self.active)
        result = call_tool(tool_ctx, tool, arguments)
        json.dumps(result)
        self.active = tool_ctx.active_space
        self.taken_contents += [item.event.content for item in tool_ctx.taken_items]
        return result
