"""
The fires of plans and cron triggers: when they will be due, and when they were.

    next    computed: from the slot that is stored, by the schedule
    past    stored: each fire made an event, whose dedup key ends with its slot
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels.triggers.trigger import TriggerSchedule
from gatepost.core.times import Instant
from gatepost.errors import Invalid
from gatepost.inbox.event import ItemState
from gatepost.plans.cron import Cron


class FireKind(StrEnum):
    PLAN = "plan"
    TRIGGER = "trigger"


class Fire(Struct, frozen=True, kw_only=True):
    """A time at which a plan or a trigger will be due."""

    at: Instant
    kind: FireKind
    #: the id of a plan, the name of a trigger
    id: str
    name: str
    #: the entity that gets the event of a plan; the address that owns a trigger
    owner: str
    is_recurring: bool
    #: whether it fires only if its target has something to do
    is_heartbeat: bool = False

    @property
    def position(self) -> "FirePosition":
        return self.at, self.kind.value, self.id


#: where a fire is in the order of all
FirePosition = tuple[Instant, str, str]
START: Final[FirePosition] = (0, "", "")


class Recurrence(Struct, frozen=True, kw_only=True):
    """The next fire of a plan or a trigger, and what says when the others are; None if there is only one."""

    first: Fire
    schedule: Cron | TriggerSchedule | None = None
    #: intervals of a trigger count from this time
    since: Instant = 0

    def find_next(self, after: Instant) -> Instant | None:
        """Return the first slot after an instant. A time zone that this machine does not know has none."""
        try:
            if isinstance(self.schedule, TriggerSchedule):
                return self.schedule.find_next(after, since=self.since)
            return self.schedule.find_next(after) if self.schedule is not None else None
        except Invalid:
            return None


class PastFire(Struct, frozen=True, kw_only=True):
    """A slot that has fired, for one recipient of its event."""

    #: the slot; None if the key of the event does not say it
    due_at: Instant | None
    fired_at: Instant
    event: str
    recipient: str
    state: ItemState
    ended_at: Instant | None
    #: the arrival of the event and the number of the recipient
    position: tuple[int, int]


def iter_fires(recurrences: Sequence[Recurrence], until: Instant, after: FirePosition = START) -> Iterator[Fire]:
    """Yield the fires after a position and before an instant, in the order of time. A slot is computed when needed."""
    heap: list[tuple[Instant, str, str, int]] = []
    for number, recurrence in enumerate(recurrences):
        first = recurrence.first
        at = first.at if first.at >= after[0] else recurrence.find_next(after[0] - 1)
        if at is not None and (at, first.kind.value, first.id) <= after:
            at = recurrence.find_next(at)
        if at is not None and at < until:
            heap.append((at, first.kind.value, first.id, number))
    heapify(heap)
    while heap:
        at, kind, id, number = heappop(heap)
        first = recurrences[number].first
        yield replace(first, at=at)
        following = recurrences[number].find_next(at)
        if following is not None and following < until:
            heappush(heap, (following, kind, id, number))
