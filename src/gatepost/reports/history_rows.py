"""
The history of a store: throughput, waits and runs, step by step.

Everything is computed from the tables, so it survives a restart and is the same at every gateway. Events are numbered
as they arrive, so the numbers at the ends of a step say how many were accepted, without counting them, and also if the
janitor has removed them since. Waits are those of a few events of each step, spread evenly. So the cost does not grow
with the store, except with the number of runs.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from gatepost.core.ports import Reader
from gatepost.core.times import DAY, MINUTE, Duration, Instant, format_duration
from gatepost.errors import Invalid
from gatepost.inbox import event_rows
from gatepost.reports.history_api import History, HistoryStep
from gatepost.residents.runs.rows import find_first_since
from gatepost.stores.row_mapping import fetch_number

#: steps of a history, the last of which has not ended yet
STEPS: Final = 60
MAX_LENGTH: Final = 30 * DAY
#: events of a step whose items are looked at
_SAMPLE_SIZE: Final = 20
#: items that are looked at altogether: an event may have many
_MAX_ITEMS: Final = 20_000


class _ItemWait(NamedTuple):
    """An item, and how long it had waited when it was delivered; None if it still waits."""

    arrival: int
    length: Duration | None


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
    samples = [_choose_sample(arrivals[slot], arrivals[slot + 1]) for slot in range(STEPS)]
    waits_by_arrival: dict[int, list[_ItemWait]] = {}
    for wait in _list_waits(tx, [arrival for sample in samples for arrival in sample], _MAX_ITEMS):
        waits_by_arrival.setdefault(wait.arrival, []).append(wait)
    runs = _count_runs(tx, since, step, first=find_first_since(tx, since))
    steps = []
    for slot, sample in enumerate(samples):
        waits = [wait for arrival in sample for wait in waits_by_arrival.get(arrival, ())]
        lengths = [wait.length for wait in waits if wait.length is not None]
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


def _choose_sample(first: int, end: int) -> Sequence[int]:
    """Return some arrivals of a step, spread evenly."""
    return range(first, end, max(1, -(-(end - first) // _SAMPLE_SIZE)))


def _list_waits(tx: Reader, arrivals: Sequence[int], limit: int) -> list[_ItemWait]:
    """Return the items of these events that wait or were delivered, for agents and services, by their arrivals."""
    rows = tx.fetch_all("reports/history/list_waits", arrivals=list(arrivals), limit=limit) if arrivals else []
    return [
        _ItemWait(row.arrival, row.ended_at - row.created_at if row.state == "delivered" else None)
        for row in rows
        if row.state in ("pending", "claimed", "delivered")
    ]


def _count_runs(tx: Reader, since: Instant, step: Duration, *, first: int) -> dict[int, tuple[int, int]]:
    """Count the runs from a number on, and the failed ones, by the number of the step in which they started."""
    rows = tx.fetch_all("reports/history/count_runs", since=since, step=step, first=first)
    return {row.slot: (row.runs, row.failed_runs) for row in rows}
