"""`gatepost agent usage` and `budgets`: what agents have used, and what is left to them."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import UNSET
from msgspec.structs import replace

from gatepost.cli import inputs, output
from gatepost.cli.command import LimitOption, TableRow
from gatepost.cli.connect import connect
from gatepost.cli.parameters import JsonFlag, option
from gatepost.core.times import format_rfc3339
from gatepost.residents.usage.api import BudgetStatusView, ShowUsage, UsageView
from gatepost.settings import Configuration


def print_usage(
    request: ShowUsage,
    configuration: Configuration,
    since: Annotated[str, option("--since", "7d", "only runs since then: how long ago, or a time")] = "7d",
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    Show what agents have used, in tokens.

    The earliest groups come first, then the largest. Days and hours are those of UTC. The cause of a run is the type of
    the event that woke the agent.

    Examples:
      gatepost agent usage
      gatepost agent usage --agent analyst --by day --since 30d
      gatepost agent usage --by model --by cause --json
    """
    with connect(configuration) as connection:
        start = max(0, inputs.parse_past(since, "--since", connection.read_clock()))  # a request has no times before
        groups = connection.list_all(replace(request, since=format_rfc3339(start)), limit + 1)
    output.listing(groups, limit, _print_groups, empty=f"no runs since {format_rfc3339(start)}", json=json)


def _print_groups(groups: Sequence[UsageView]) -> None:
    """Print a row for each group, with the columns that it is grouped by."""
    names = {"starts_at": "FROM", "agent": "AGENT", "model": "MODEL", "cause": "CAUSE"}
    keys = [name for name in names if getattr(groups[0], name) is not UNSET]
    headings = [*(names[key] for key in keys), "RUNS", "FAILED", "STOPPED", "STEPS", "PROMPT", "COMPLETION"]
    output.table(headings, [[str(getattr(group, key)) for key in keys] + _format_counts(group) for group in groups])


def _format_counts(group: UsageView) -> list[str]:
    counts = (
        group.runs,
        group.failed_runs,
        group.budget_stops,
        group.steps,
        group.prompt_tokens,
        group.completion_tokens,
    )
    return [str(count) for count in counts]


def build_budget_row(budget: BudgetStatusView) -> TableRow:
    """
    List the budgets of agents, and what is used of them.

    A budget counts in its present period, an hour or a day of UTC. It stops runs, and lets items wait.

    Example:
      gatepost agent budgets
    """
    return [
        budget.agent,
        budget.per,
        _format_share(budget.used_tokens, budget.tokens),
        _format_share(budget.used_cycles, budget.cycles),
        output.format_seconds(budget.period_end),
        "exhausted" if budget.exhausted else "",
        str(budget.stopped_runs),
        str(budget.waiting_items),
    ]


def _format_share(used: int, limit: int | None) -> str:
    return str(used) if limit is None else f"{used}/{limit}"
