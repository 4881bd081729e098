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
from typing import Final, NamedTuple

from msgspec import Struct

from gatepost.core.event import Priority

#: items of a batch for a guest's hook, and for a resident
GUEST_LIMIT: Final = 20
RESIDENT_LIMIT: Final = 100
#: bytes of a batch for a guest's hook: hosts cut at 10,000, be it bytes or UTF-16 units, of which there are never more
GUEST_BUDGET: Final = 9_000
#: candidates looked at for each place in the batch
CANDIDATES_PER_SLOT: Final = 4
#: other sources whose first items are candidates too
MAX_OTHER_SOURCES: Final = 32
#: how many items of each of them, unless these sources are few
HEADS_PER_SOURCE: Final = 4

#: waiting items are counted up to this; past it the header says so with a plus
COUNT_LIMIT: Final = 1_000
#: bytes below which a budget has no room for an item and how to read the rest of it
MIN_BUDGET: Final = 600

_HEADER_SIZE: Final = 80
_MIN_LINE: Final = 160


class Candidate(NamedTuple):
    """What has to be known of an item to choose it. (A named tuple, because a claim makes hundreds of them.)"""

    arrival: int
    priority: int
    #: whether a person sent it
    is_person: bool
    #: the sender, else the source
    source: str
    #: bytes of its line
    size: int


class SelectedItem(Struct, frozen=True):
    arrival: int
    #: the bytes it may be shown in, where its line is longer
    size_limit: int | None = None


def select_batch(candidates: Iterable[Candidate], *, limit: int, budget: int) -> list[SelectedItem]:
    """Return what to show now, in the order to show it."""
    ranking = sorted(set(candidates), key=_rank)
    selection = _apply_limit(ranking, limit) if len(ranking) > limit else ranking
    return [
        selected_item
        for _, selected_item in sorted(
            _apply_budget(selection, budget), key=lambda pair: (pair[0].priority, pair[0].arrival)
        )
    ]


def is_crowded(candidates: Iterable[Candidate], limit: int) -> bool:
    """Whether these cannot fill a batch without one source taking more than its share: then others matter."""
    counts = Counter(item.source for item in candidates)
    return sum(min(count, compute_share(limit)) for count in counts.values()) < limit


def compute_share(limit: int) -> int:
    """What one source may take of a batch while others wait."""
    return max(1, limit // 2)


def count_lines_that_fit(budget: int) -> int:
    """How many of the shortest lines a budget has room for."""
    return budget // len('[System] ""\n') + 1


def _rank(item: Candidate) -> tuple[int, bool, int]:
    return item.priority, not item.is_person, item.arrival


def _apply_limit(ranking: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Every critical item, then up to the cap, half of it at most for one source while others wait."""
    selection = [item for item in ranking if item.priority == Priority.CRITICAL]
    counts = Counter(item.source for item in selection)
    leftovers: list[Candidate] = []
    for item in ranking[len(selection) :]:
        if len(selection) >= limit:
            break
        if counts[item.source] >= compute_share(limit):
            leftovers.append(item)
        else:
            counts[item.source] += 1
            selection.append(item)
    selection += leftovers[: max(0, limit - len(selection))]
    return sorted(selection, key=_rank)


def _apply_budget(selection: Iterable[Candidate], budget: int) -> Iterable[tuple[Candidate, SelectedItem]]:
    """As many as fit, each cut to a third of the budget; a critical one to what is left, if it still says something."""
    room = budget - _HEADER_SIZE
    max_size = max(_MIN_LINE, room // 3)
    for item in selection:
        size = min(item.size, max_size)
        if size > room and item.priority == Priority.CRITICAL and room >= _MIN_LINE:
            size = room
        if size > room:
            return
        room -= size + 1
        yield item, SelectedItem(item.arrival, None if item.size <= size else size)
