"""
The history of a store: throughput, waits and runs, step by step.

Everything is computed from the tables, so it survives a restart and is the same at every gateway. Events are numbered
as they arrive, so the numbers at the ends of a step say how many were accepted, without counting them, and also if the
janitor has removed them since. Waits are those of a few events of each step, spread evenly. So the cost does not grow
with the store, except with the number of runs.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Reader
from gatepost.core.text import parse_field
from gatepost.core.times import DAY, MINUTE, Duration, format_duration, parse_duration
from gatepost.errors import Invalid
from gatepost.inbox import event_rows
from gatepost.operations.access import Caller
from gatepost.reports import history_api as api
from gatepost.reports.history_api import History, HistoryStep
from gatepost.residents.runs.rows import find_first_since
from gatepost.stores.row_mapping import fetch_number, group_rows

#: steps of a history, the last of which has not ended yet
STEPS: Final = 60
MAX_LENGTH: Final = 30 * DAY
#: events of a step whose items are looked at
_SAMPLE_SIZE: Final = 20
#: items that are looked at altogether: an event may have many
_MAX_ITEMS: Final = 20_000


@api.ShowHistory.handler
def show_history(tx: Reader, request: api.ShowHistory, caller: Caller) -> api.HistoryView:
    return api.HistoryView.of(measure(tx, parse_field("within", request.within, parse_duration)))


def measure(tx: Reader, length: Duration) -> History:
    """Return what happened within a time up to now, in `STEPS` steps that begin at whole minutes."""
    if not STEPS * MINUTE <= length <= MAX_LENGTH:
        raise Invalid(
            f"within: {format_duration(length)} is not a length of a history",
            hint=f"use {format_duration(STEPS * MINUTE)} to {format_duration(MAX_LENGTH)}",
        )
    step = -(-length // (STEPS * MINUTE)) * MINUTE
    since = tx.now - tx.now % step - (STEPS - 1) * step
    arrivals = event_rows.find_first_arrivals(tx, since, since + STEPS * step, step)
    waits_by_arrival = _read_waits(tx, arrivals)
    first_run = find_first_since(tx, since)
    rows = tx.fetch_all("reports/history/count_runs", since=since, step=step, first=first_run)
    runs = {row.slot: (row.runs, row.failed_runs) for row in rows}
    steps = []
    for slot, sample in enumerate(map(_choose_sample, arrivals, arrivals[1:])):
        waits = [wait for arrival in sample for wait in waits_by_arrival.get(arrival, ())]
        lengths = [wait for wait in waits if wait is not None]
        run_count, failed_count = runs.get(slot, (0, 0))
        steps.append(
            HistoryStep(
                at=since + slot * step,
                accepted=max(0, arrivals[slot + 1] - arrivals[slot]),
                sampled=len(waits),
                waiting=len(waits) - len(lengths),
                longest_wait=max(lengths, default=None),
                mean_wait=sum(lengths) // len(lengths) if lengths else None,
                runs=run_count,
                failed_runs=failed_count,
            )
        )
    return History(step=step, steps=tuple(steps), store_size=fetch_number(tx, "reports/history/read_store_size"))


def _read_waits(tx: Reader, arrivals: Sequence[int]) -> dict[int, tuple[Duration | None, ...]]:
    """
    Return how long the items of some events, for agents and services, had waited when they were delivered, None for
    one that still waits; by the arrivals of the events.
    """
    samples = [arrival for sample in map(_choose_sample, arrivals, arrivals[1:]) for arrival in sample]
    rows = tx.fetch_all("reports/history/list_waits", arrivals=samples, limit=_MAX_ITEMS) if samples else []
    return group_rows(
        (row.arrival, row.ended_at - row.created_at if row.state == "delivered" else None)
        for row in rows
        if row.state in ("pending", "claimed", "delivered")
    )


def _choose_sample(first: int, end: int) -> Sequence[int]:
    """Return some arrivals of a step, spread evenly."""
    return range(first, end, max(1, -(-(end - first) // _SAMPLE_SIZE)))
