"""Runs of residents. Replaying one needs a gateway."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.core.times import parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page
from gatepost.residents.agent_handlers import find_agent
from gatepost.residents.runs import actions as runs, api, deferred_call_actions as deferred_calls
from gatepost.residents.runs.run import Run


@api.ListAgentRuns.handler
def list_agent_runs(tx: Reader, request: api.ListAgentRuns, caller: Caller) -> Page[api.RunView]:
    return _read_runs(tx, request, find_agent(tx, request.name).name)


@api.ListRuns.handler
def list_runs(tx: Reader, request: api.ListRuns, caller: Caller) -> Page[api.RunView]:
    return _read_runs(tx, request, request.agent)


@api.ShowRun.handler
def show_run(tx: Reader, request: api.ShowRun, caller: Caller) -> api.RunWithCallsView:
    run = find_run(tx, request.id, caller.entity)
    return api.RunWithCallsView.of(run, calls=deferred_calls.list_open_calls(tx, run.id))


@api.ListSteps.handler
def list_steps(tx: Reader, request: api.ListSteps, caller: Caller) -> Page[api.StepView]:
    return read_page(
        tx,
        request,
        runs.list_steps,
        find_run(tx, request.id, caller.entity).id,
        after=request.after,
        cursor=lambda step: step.number,
    )


@api.AnswerCall.handler
def answer_call(tx: Transaction, request: api.AnswerCall, caller: Caller) -> api.OpenCallView:
    run = runs.show(tx, request.id)
    if caller.entity not in (None, run.agent):  # an owner only reads
        raise runs.build_missing_error(request.id)
    return api.OpenCallView.of(deferred_calls.answer_call(tx, run.id, request.call_id, request.result))


@api.CancelRun.handler
def cancel_run(tx: Transaction, request: api.CancelRun, caller: Caller) -> api.RunView:
    return api.RunView.of(runs.cancel(tx, request.id))


def find_run(tx: Reader, id: str, viewer: str | None) -> Run:
    """Return a run of the viewer or of an agent that it owns; the administrator (None) sees all."""
    run = runs.show(tx, id)
    if viewer not in (None, run.agent, directory.find(tx, run.agent).owner):
        raise runs.build_missing_error(id)
    return run


def _read_runs(tx: Reader, request: api.ListAgentRuns | api.ListRuns, agent: str | None) -> Page[api.RunView]:
    return read_page(
        tx,
        request,
        runs.list_page,
        agent=agent,
        status=request.status,
        cause=request.cause,
        model=request.model,
        since=parse_field("since", request.since, parse_instant),
        until=parse_field("until", request.until, parse_instant),
        before=request.after or None,
    )
