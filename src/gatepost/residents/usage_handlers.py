"""Usage of runs, and budgets."""

from gatepost.core.ports import Reader
from gatepost.core.text import parse_field
from gatepost.core.times import WEEK, Instant, parse_instant
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import parse_cursor_pair, read_page
from gatepost.residents import budget_actions as budgets, usage_actions as usage, usage_api as api
from gatepost.residents.runs.api import RunView


@api.ShowUsage.handler
def show_usage(tx: Reader, request: api.ShowUsage, caller: Caller) -> api.UsagePage:
    since, until = _parse_times(tx, request)
    groups = usage.list_page(
        tx,
        agent=request.agent,
        since=since,
        until=until,
        by=request.by,
        after=request.after,
        limit=request.limit,
    )
    is_complete = request.after == 0 and len(groups) < request.limit
    total = api.add_up(groups) if is_complete else usage.sum_all(tx, agent=request.agent, since=since, until=until)
    return api.UsagePage(
        items=[api.UsageView.of(group) for group in groups],
        next=str(request.after + len(groups)) if len(groups) == request.limit else None,
        total=api.UsageView.of(total),
    )


@api.ListExpensiveRuns.handler
def list_expensive_runs(tx: Reader, request: api.ListExpensiveRuns, caller: Caller) -> Page[RunView]:
    since, until = _parse_times(tx, request)
    return read_page(
        tx,
        request,
        usage.list_most_expensive,
        agent=request.agent,
        since=since,
        until=until,
        model=request.model,
        cause=request.cause,
        status=request.status,
        is_stopped=request.stopped,
        after=None if request.after is None else parse_cursor_pair(request.after),
        cursor=lambda run: f"{run.prompt_tokens + run.completion_tokens}-{run.number}",
    )


@api.ListBudgets.handler
def list_budgets(tx: Reader, request: api.ListBudgets, caller: Caller) -> api.BudgetPage:
    return read_page(tx, request, budgets.list_budgets, agent=request.agent, after=request.after)


def _parse_times(tx: Reader, request: api.ShowUsage | api.ListExpensiveRuns) -> tuple[Instant, Instant]:
    until = parse_field("until", request.until, parse_instant)
    since = parse_field("since", request.since, parse_instant)
    end = tx.now + 1 if until is None else until  # a run that has just started counts
    return max(0, end - WEEK) if since is None else since, end
