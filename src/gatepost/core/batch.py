"""
Which of the waiting items make the next batch. A pure function, so that the rule can be read, and proved, alone.

    candidates -> every critical one -> up to the cap, in order, shared fairly -> shown in order

*Which* items get in is decided by priority, then people before machines, then arrival. While a batch is capped, no
source takes more than half of it as long as others wait. What got in is shown by priority and arrival.

The budget (UTF-8 bytes) binds everything, critical items too: an item longer than a third of it is shown cut to that,
and when the room runs out the rest stays pending and is announced in the header. A batch is never empty while
something waits: the first item always fits.

The candidates are the first `4 x cap` in order, and, when there are more than those, the first few of at most 32 other
sources, so that the cost of a claim does not grow with the backlog.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from gatepost.core.event import Priority

#: items of a batch for a guest's hook, and for a resident
GUEST_CAP: Final = 20
RESIDENT_CAP: Final = 100
#: bytes of a batch for a guest's hook: hosts cut at 10,000, be it bytes or UTF-16 units, of which there are never more
GUEST_BUDGET: Final = 9_000
#: candidates looked at for each place in the batch
DEPTH: Final = 4
#: other sources whose first items are candidates too
SOURCES: Final = 32
#: how many items of each of them, unless these sources are few
FEW: Final = 4

#: waiting items are counted up to this; past it the header says so with a plus
COUNTED: Final = 1_000
#: bytes below which a budget has no room for an item and how to read the rest of it
LEAST_BUDGET: Final = 600

_HEADER: Final = 80
_SHORTEST: Final = 160


@dataclass(frozen=True, slots=True)
class Candidate:
    arrival: int
    priority: int
    #: whether a person sent it
    person: bool
    #: the sender, else the source
    source: str
    #: bytes of its line
    size: int


@dataclass(frozen=True, slots=True)
class Chosen:
    arrival: int
    #: the bytes it may be shown in, where its line is longer
    room: int | None = None


def choose(candidates: Iterable[Candidate], *, cap: int, budget: int) -> list[Chosen]:
    """Return what to show now, in the order to show it."""
    ranked = sorted(set(candidates), key=_rank)
    picked = _shared(ranked, cap) if len(ranked) > cap else ranked
    return [
        chosen for _, chosen in sorted(_fitted(picked, budget), key=lambda pair: (pair[0].priority, pair[0].arrival))
    ]


def crowded(candidates: Iterable[Candidate], cap: int) -> bool:
    """Whether these cannot fill a batch without one source taking more than its share: then others matter."""
    counts = Counter(item.source for item in candidates)
    return sum(min(count, share(cap)) for count in counts.values()) < cap


def share(cap: int) -> int:
    """What one source may take of a batch while others wait."""
    return max(1, cap // 2)


def most_that_fit(budget: int) -> int:
    """How many of the shortest lines a budget has room for."""
    return budget // len('[System] ""\n') + 1


def _rank(item: Candidate) -> tuple[int, bool, int]:
    return item.priority, not item.person, item.arrival


def _shared(ranked: Sequence[Candidate], cap: int) -> list[Candidate]:
    """Every critical item, then up to the cap, half of it at most for one source while others wait."""
    taken = [item for item in ranked if item.priority == Priority.CRITICAL]
    shares = Counter(item.source for item in taken)
    passed_over: list[Candidate] = []
    for item in ranked[len(taken) :]:
        if len(taken) >= cap:
            break
        if shares[item.source] >= share(cap):
            passed_over.append(item)
        else:
            shares[item.source] += 1
            taken.append(item)
    taken += passed_over[: max(0, cap - len(taken))]
    return sorted(taken, key=_rank)


def _fitted(picked: Iterable[Candidate], budget: int) -> Iterable[tuple[Candidate, Chosen]]:
    """As many as fit, each cut to a third of the budget; a critical one to what is left, if it still says something."""
    left = budget - _HEADER
    longest = max(_SHORTEST, left // 3)
    for item in picked:
        size = min(item.size, longest)
        if size > left and item.priority == Priority.CRITICAL and left >= _SHORTEST:
            size = left
        if size > left:
            return
        left -= size + 1
        yield item, Chosen(item.arrival, None if item.size <= size else size)
