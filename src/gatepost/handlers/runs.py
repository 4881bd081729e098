"""Runs."""

from gatepost.actions import runs
from gatepost.api.access import Caller
from gatepost.api.runs import ListAgentRuns, RunPage, RunView
from gatepost.handlers.agents import find_agent
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader


@ListAgentRuns.handler
def list_agent_runs(tx: Reader, request: ListAgentRuns, caller: Caller) -> RunPage:
    return read_page(
        tx,
        RunPage,
        runs.page,
        agent=find_agent(tx, request.name).name,
        status=request.status,
        before=request.after or None,
        limit=request.limit,
        view=RunView.of,
        cursor=lambda run: run.number,
    )
