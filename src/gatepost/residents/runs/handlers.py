"""Runs of residents. Replaying one needs a gateway."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.core.times import parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page
from gatepost.residents.agent_handlers import find_agent
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.api import (
    AnswerCall,
    CancelRun,
    ListAgentRuns,
    ListRuns,
    ListSteps,
    OpenCallView,
    RunPage,
    RunView,
    RunWithCallsView,
    ShowRun,
    StepPage,
    StepView,
)
from gatepost.residents.runs.run import Run


@ListAgentRuns.handler
def list_agent_runs(tx: Reader, request: ListAgentRuns, caller: Caller) -> RunPage:
    return _read_runs(tx, request, find_agent(tx, request.name).name)


@ListRuns.handler
def list_runs(tx: Reader, request: ListRuns, caller: Caller) -> RunPage:
    return _read_runs(tx, request, request.agent)


@ShowRun.handler
def show_run(tx: Reader, request: ShowRun, caller: Caller) -> RunWithCallsView:
    run = find_run(tx, request.id, caller.entity)
    return RunWithCallsView.of(run, calls=runs.list_open_calls(tx, run.id))


@ListSteps.handler
def list_steps(tx: Reader, request: ListSteps, caller: Caller) -> StepPage:
    return read_page(
        tx,
        StepPage,
        runs.list_steps,
        find_run(tx, request.id, caller.entity).id,
        after=request.after,
        limit=request.limit,
        view=StepView.of,
        cursor=lambda step: step.number,
    )


@AnswerCall.handler
def answer_call(tx: Transaction, request: AnswerCall, caller: Caller) -> OpenCallView:
    run = runs.show(tx, request.id)
    if caller.entity not in (None, run.agent):  # an owner only reads
        raise runs.build_missing_error(request.id)
    return OpenCallView.of(runs.answer_call(tx, run.id, request.call_id, request.result))


@CancelRun.handler
def cancel_run(tx: Transaction, request: CancelRun, caller: Caller) -> RunView:
    return RunView.of(runs.cancel(tx, request.id))


def find_run(tx: Reader, id: str, viewer: str | None) -> Run:
    """Return a run of the viewer or of an agent that it owns; the administrator (None) sees all."""
    run = runs.show(tx, id)
    if viewer not in (None, run.agent, directory.find(tx, run.agent).owner):
        raise runs.build_missing_error(id)
    return run


def _read_runs(tx: Reader, request: ListAgentRuns | ListRuns, agent: str | None) -> RunPage:
    return read_page(
        tx,
        RunPage,
        runs.page,
        agent=agent,
        status=request.status,
        cause=request.cause,
        since=parse_field("since", request.since, parse_instant),
        until=parse_field("until", request.until, parse_instant),
        before=request.after or None,
        limit=request.limit,
        view=RunView.of,
    )
