"""Run tools whose results an agent does not wait for."""

import json
from contextlib import suppress

from gatepost.errors import Conflict, Invalid
from gatepost.jobs.retry_policy import Job
from gatepost.residents import agent_actions as agents
from gatepost.residents.background.cycle_outcome import CycleDeps
from gatepost.residents.background.toolkit import OutsideTool
from gatepost.residents.mind import ToolCall
from gatepost.residents.runs import actions as runs


async def run_tool_job(deps: CycleDeps, job: Job) -> None:
    """Run a tool whose result the agent does not wait for, and answer its call."""
    payload = job.payload
    run = await deps.store.read(runs.show, payload["run"])
    resident = await deps.store.read(agents.show, run.agent)
    assert resident is not None, "an agent with a run is a resident"
    async with deps.open_toolkit(resident) as toolkit:
        tool = toolkit.find(payload["tool"])
        if not isinstance(tool, OutsideTool):
            raise Conflict(f"{tool.name!r} is not done here any more")
        result = await tool.run(payload["call"], ToolCall(payload["call"], tool.name, ""), payload["arguments"])
    with suppress(Conflict):  # it took so long that another process has answered, or the call is closed
        try:
            await deps.store.run(runs.answer_call, run.id, payload["call"], json.loads(result.content), lane=run.agent)
        except Invalid as error:  # the tool has run, and must not run again because of its answer
            answer = {"success": False, "error": f"the answer cannot be stored: {error.message}"}
            await deps.store.run(runs.answer_call, run.id, payload["call"], answer, lane=run.agent)
