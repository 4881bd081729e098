"""The history of a store: what it did over time, for charts."""

from typing import Annotated

from msgspec import Meta, Struct

from gatepost.core.times import Duration, Instant
from gatepost.operations.access import Administrator
from gatepost.operations.fields import Count, Format, RecordView, Source, Time, describe
from gatepost.operations.operation import Request, read

#: the group of these operations in OpenAPI
TAG = "history"


class HistoryStep(Struct, frozen=True, kw_only=True):
    """What happened from an instant on, for the length of a step."""

    at: Instant
    #: events that were accepted
    accepted: int
    #: items of some of these events: how many were looked at, and how many of them still wait
    sampled: int
    waiting: int
    #: how long the others had waited when they were delivered; None if there are none
    longest_wait: Duration | None
    mean_wait: Duration | None
    #: runs that started, and those of them that have failed
    runs: int
    failed_runs: int


class History(Struct, frozen=True, kw_only=True):
    step: Duration
    #: the oldest first; the last one has not ended yet
    steps: tuple[HistoryStep, ...]
    #: bytes
    store_size: int


def _to_milliseconds(length: Duration) -> int:
    return max(0, length) // 1_000


class HistoryStepView(RecordView[HistoryStep]):
    at: Time
    accepted: Annotated[int, Meta(ge=0, description="number of events that were accepted")]
    sampled: Annotated[int, Meta(ge=0, description="number of items for agents and services that were looked at")]
    waiting: Annotated[int, Meta(ge=0, description="number of those that are not delivered yet")]
    longest_wait_ms: Annotated[
        int | None,
        describe("the longest time that one of the others had waited"),
        Source("longest_wait"),
        Format(_to_milliseconds),
    ]
    mean_wait_ms: Annotated[int | None, Source("mean_wait"), Format(_to_milliseconds)]
    runs: Annotated[int, Meta(ge=0, description="number of runs that started")]
    failed_runs: Count


class HistoryView(RecordView[History]):
    step_seconds: Annotated[int, Meta(ge=60), Source(lambda history: history.step // 1_000_000)]
    steps: Annotated[list[HistoryStepView], describe("the oldest first; the last one has not ended yet")]
    store_bytes: Annotated[Count, Source("store_size")]


@read("GET /api/health/history", access=Administrator())
class ShowHistory(Request[HistoryView]):
    """Show throughput, waits and runs of a store up to now, in 60 steps of equal length, and its size."""

    within: Annotated[str, Meta(max_length=30, description="a duration: 1h to 30d", examples=["1h"])] = "1h"
