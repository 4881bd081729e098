"""
Select the pending items that make the next batch. It is a pure function, so the rule can be read and tested alone:

    candidates -> all critical items -> up to the limit, in order, shared fairly -> shown in order

Priority decides which items are selected, then people come before machines, then arrival. While a batch is limited, no
source takes more than half of it as long as others wait. Selected items are shown by priority and arrival.

The budget (UTF-8 bytes) binds critical items too: an item longer than a third of it is cut to a third, and when the
budget is used up, the rest stays pending and the header says how many. A batch is never empty while an item is pending:
the first item always fits.

The candidates are the first `4 x limit` items in order and, if there are more, the first few items of at most 32 other
sources. So the cost of a claim does not grow with the backlog.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from gatepost.inbox.event import ItemState, Priority

#: items of a batch for a guest's hook, and for a resident
GUEST_LIMIT: Final = 20
RESIDENT_LIMIT: Final = 100
#: bytes of a batch for a guest's hook: hosts cut at 10,000 bytes or UTF-16 units, and bytes are never fewer
GUEST_BUDGET: Final = 9_000
#: candidates for each place in the batch
CANDIDATES_PER_SLOT: Final = 4
#: other sources whose first items are candidates
MAX_OTHER_SOURCES: Final = 32
#: candidates from each of them; more if there are few sources
HEADS_PER_SOURCE: Final = 4

#: pending items are counted up to this number; the header shows a plus beyond it
COUNT_LIMIT: Final = 1_000
#: bytes: the smallest budget that has room for an item and for how to read the rest of it
MIN_BUDGET: Final = 600

_HEADER_SIZE: Final = 80
_MIN_LINE: Final = 160


class Candidate(NamedTuple):
    """What the selection needs to know of an item. (A named tuple, because a claim makes hundreds of them.)"""

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
    #: the number of bytes to cut its line to; None if it is not longer
    size_limit: int | None = None


def select_batch(candidates: Iterable[Candidate], *, limit: int, budget: int) -> list[SelectedItem]:
    """Return the items to show now, in the order to show them."""
    ranking = sorted(set(candidates), key=_rank)
    selection = _apply_limit(ranking, limit) if len(ranking) > limit else ranking
    return [
        selected_item
        for _, selected_item in sorted(
            _apply_budget(selection, budget), key=lambda pair: (pair[0].priority, pair[0].arrival)
        )
    ]


def is_crowded(candidates: Iterable[Candidate], limit: int) -> bool:
    """Return True if the candidates fill a batch only when a source takes more than its share: then more are needed."""
    counts = Counter(item.source for item in candidates)
    return sum(min(count, compute_share(limit)) for count in counts.values()) < limit


def compute_share(limit: int) -> int:
    """Return the number of items that one source may have in a batch while others wait."""
    return max(1, limit // 2)


def count_lines_that_fit(budget: int) -> int:
    """Return how many of the shortest lines fit into a budget."""
    return budget // len('[System] ""\n') + 1


def _rank(item: Candidate) -> tuple[int, bool, int]:
    return item.priority, not item.is_person, item.arrival


def _apply_limit(ranking: Sequence[Candidate], limit: int) -> list[Candidate]:
    """Return all critical items, then others up to the limit; one source has at most half while others wait."""
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
    """Yield as many items as fit, each cut to a third of the budget; a critical item may be cut to what is left."""
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


class StoredState(Struct, frozen=True, kw_only=True):
    """The item of a line in the store."""

    arrival: int
    state: ItemState
    #: it is snoozed
    is_hidden: bool = False
