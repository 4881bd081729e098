"""
Measure a claim as a ratio to a floor, in turns.

Machines differ, and one machine differs from itself a minute later; so no figure here is absolute. The floor and ours
take turns (floor, ours, floor, ours, ..., floor), and each figure of ours is divided by the mean of the floor before it
and the floor after it. The report has the median of these ratios, the least and the most.
"""

import gc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is done; less of it makes the figures coarser, not the benchmarks other ones."""

    #: turns of what has a target; what is only told gets a third of them
    rounds: int
    #: claims in one turn, and before the first: after some ten, prepared statements have their final plans
    claims: int
    warm_up: int
    #: pushes in one turn, at the most
    pushes: int
    #: items in the small and in the large inbox
    backlogs: tuple[int, int]
    #: events in one turn that another process wakes for
    wakes: int
    #: messages in one turn, and how many hear each
    posts: int
    recipients: int
    #: cycles of a resident in one turn: after the first, it has all the history that it is told
    cycles: int
    #: residents that sleep
    sleepers: int
    #: hooks in one turn
    hooks: int
    #: commands in one turn
    commands: int
    #: half requests that are open at the same time
    half_requests: int
    #: seconds for which gateways have nothing to do
    idle_time: float
    #: whether PostgreSQL waits for the disk: only where figures do not matter it does not
    fsync: bool = True

    @property
    def untargeted_rounds(self) -> int:
        return max(1, self.rounds // 3)


FULL = Effort(
    rounds=21,
    pushes=5_000,
    claims=5,
    warm_up=15,
    backlogs=(1_000, 1_000_000),
    wakes=100,
    posts=5,
    recipients=1_000,
    cycles=25,
    sleepers=100_000,
    hooks=10,
    commands=4,
    half_requests=2_000,
    idle_time=120.0,
)
QUICK = Effort(
    rounds=3,
    pushes=300,
    claims=1,
    warm_up=2,
    backlogs=(1_000, 10_000),
    wakes=10,
    posts=2,
    recipients=1_000,
    cycles=5,
    sleepers=5_000,
    hooks=3,
    commands=1,
    half_requests=200,
    idle_time=20.0,
)
TINY = Effort(
    rounds=1,
    pushes=20,
    claims=1,
    warm_up=0,
    backlogs=(500, 1_000),
    wakes=2,
    posts=1,
    recipients=10,
    cycles=1,
    sleepers=10,
    hooks=1,
    commands=1,
    half_requests=5,
    idle_time=1.0,
    fsync=False,
)


@dataclass(frozen=True, slots=True)
class Spread:
    values: tuple[float, ...]

    @property
    def median_value(self) -> float:
        return median(self.values)

    @property
    def minimum(self) -> float:
        return min(self.values)

    @property
    def maximum(self) -> float:
        return max(self.values)


@dataclass(frozen=True, slots=True)
class Measurement:
    floor: Spread
    ours: Spread
    ratio: Spread


def measure_in_turns(floor: Callable[[], float], ours: Callable[[], float], rounds: int) -> Measurement:
    """Let both measure themselves in turns, after one turn each that does not count."""
    for measure in (floor, ours):
        measure()
    floors = [_measure_after_gc(floor)]
    figures: list[float] = []
    for _ in range(rounds):
        figures.append(_measure_after_gc(ours))
        floors.append(_measure_after_gc(floor))
    return Measurement(_build_spread(floors), _build_spread(figures), _build_spread(compute_ratios(floors, figures)))


def compute_ratios(floors: Sequence[float], figures: Sequence[float]) -> list[float]:
    """Each figure over the mean of the floors before and after it."""
    mean_floors = [(before + after) / 2 for before, after in pairwise(floors)]
    return [figure / floor for figure, floor in zip(figures, mean_floors, strict=True)]


def _measure_after_gc(measure: Callable[[], float]) -> float:
    """Collect garbage before, not meanwhile: it may be that of the turn before."""
    gc.collect()
    return measure()


def _build_spread(values: Sequence[float]) -> Spread:
    return Spread(tuple(values))
