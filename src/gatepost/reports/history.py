"""What a store did over time, in steps of equal length."""

from msgspec import Struct

from gatepost.core.times import Duration, Instant


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
