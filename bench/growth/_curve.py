"""A call and what it costs at each size, and where that bends."""

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

#: a call bends at the size at which it costs this much more than at the smallest
BEND: Final = 2.0


@dataclass(frozen=True, slots=True)
class Effort:
    #: turns of each size; the figure is the least of all calls
    turns: int
    #: calls in one turn
    calls: int
    backlogs: tuple[int, ...]
    agents: tuple[int, ...]
    messages: tuple[int, ...]
    cycles: tuple[int, ...]
    readers: tuple[int, ...]
    gateways: tuple[int, ...]
    #: pushes of one turn over HTTP
    pushes: int


FULL: Final = Effort(
    turns=3,
    calls=3,
    backlogs=(1_000, 10_000, 100_000, 1_000_000),
    agents=(1_000, 10_000, 100_000),
    messages=(1_000, 10_000, 100_000),
    cycles=(10, 100, 1_000),
    readers=(1, 10, 100, 1_000),
    gateways=(1, 2, 4),
    pushes=2_000,
)
LARGEST: Final = Effort(
    turns=2,
    calls=2,
    backlogs=(*FULL.backlogs, 10_000_000),
    agents=(*FULL.agents, 1_000_000),
    messages=FULL.messages,
    cycles=FULL.cycles,
    readers=FULL.readers,
    gateways=FULL.gateways,
    pushes=FULL.pushes,
)
QUICK: Final = Effort(
    turns=3,
    calls=2,
    backlogs=(1_000, 10_000, 100_000),
    agents=(1_000, 10_000),
    messages=(1_000, 10_000),
    cycles=(10, 100),
    readers=(1, 10, 100),
    gateways=(1, 2),
    pushes=200,
)
TINY: Final = Effort(
    turns=1,
    calls=1,
    backlogs=(100, 200),
    agents=(10, 20),
    messages=(10, 20),
    cycles=(1, 2),
    readers=(1, 2),
    gateways=(1, 2),
    pushes=20,
)


@dataclass(frozen=True, slots=True)
class Curve:
    """What a call costs."""

    #: the public call
    call: str
    #: seconds of one call, by size
    seconds: Mapping[int, float]

    def find_bend(self) -> int | None:
        """Return the first size at which a call costs more than twice what it costs at the smallest one."""
        first = next(iter(self.seconds.values()))
        return next((size for size, seconds in self.seconds.items() if seconds > BEND * first), None)


@dataclass(frozen=True, slots=True)
class Plot:
    #: of its file
    name: str
    title: str
    #: what gets larger
    size_label: str
    curves: Sequence[Curve]


#: does something, and returns the seconds that count
Step = Callable[[], float]


def measure_curves(steps: Mapping[int, Mapping[str, Step]], effort: Effort) -> list[Curve]:
    """
    Measure each call at each size, in turns; the first turn does not count. The figure is the least: what a call costs
    while nothing else has the processor.
    """
    figures: dict[str, dict[int, list[float]]] = {}
    for turn in range(effort.turns + 1):
        for size, calls in steps.items():
            for call, step in calls.items():
                gc.collect()
                seconds = min(step() for _ in range(effort.calls))
                if turn:
                    figures.setdefault(call, {}).setdefault(size, []).append(seconds)
    return [Curve(call, {size: min(values) for size, values in sizes.items()}) for call, sizes in figures.items()]


def build_timer(operation: Callable[..., object], /, *args: object) -> Step:
    """Return a step that measures the seconds of an act."""

    def measure() -> float:
        start = time.perf_counter()
        operation(*args)
        return time.perf_counter() - start

    return measure
