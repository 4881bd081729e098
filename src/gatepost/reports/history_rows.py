"""Counts of what happened, by steps of time, and the size of the store."""

from collections.abc import Sequence
from typing import NamedTuple

from gatepost.core.ports import Reader
from gatepost.core.times import Duration, Instant
from gatepost.stores.row_mapping import fetch_number


class ItemWait(NamedTuple):
    """An item, and how long it had waited when it was delivered; None if it still waits."""

    arrival: int
    length: Duration | None


def list_waits(tx: Reader, arrivals: Sequence[int], limit: int) -> list[ItemWait]:
    """Return the items of these events that wait or were delivered, for agents and services, by their arrivals."""
    rows = tx.fetch_all("inbox/history/list_waits", arrivals=list(arrivals), limit=limit) if arrivals else []
    return [
        ItemWait(row.arrival, row.ended_at - row.created_at if row.state == "delivered" else None)
        for row in rows
        if row.state in ("pending", "claimed", "delivered")
    ]


def count_runs(tx: Reader, since: Instant, step: Duration, *, first: int) -> dict[int, tuple[int, int]]:
    """Count the runs from a number on, and the failed ones, by the number of the step in which they started."""
    rows = tx.fetch_all("inbox/history/count_runs", since=since, step=step, first=first)
    return {row.slot: (row.runs, row.failed_runs) for row in rows}


def read_store_size(tx: Reader) -> int:
    """Return the size of the store in bytes."""
    return fetch_number(tx, "inbox/history/read_store_size")
