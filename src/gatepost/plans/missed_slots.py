"""
Which slots of a plan fire, also of those that passed while no process was running. It is a pure function, so the rule
can be read and tested alone:

    once only      fires, however late
    recurring      on time (at most a minute late): fires
                   missed: `once` - the latest of them, unless one on time follows
                           `skip` - none
                           `all`  - each, the latest hundred at most
"""

from typing import Final

from msgspec import Struct

from gatepost.core.times import MINUTE, Instant
from gatepost.plans.plan import CatchUp, Plan

#: how late a slot may be and still count as on time: the scheduler is not exact, and a gateway may be restarting
GRACE: Final = MINUTE
#: slots of a plan that fire at one time
MAX_SLOTS: Final = 100


class Firing(Struct, frozen=True, kw_only=True):
    """The slots of a due plan that fire now, and its next slot."""

    slots: tuple[Instant, ...]
    next_at: Instant | None


def compute_firing(plan: Plan, now: Instant) -> Firing:
    """Return what fires of a plan whose next slot is due."""
    assert plan.next_at is not None
    assert plan.next_at <= now
    cron = plan.recurrence
    if cron is None:
        return Firing(slots=(plan.next_at,), next_at=None)
    # The stored slot fires even if the rules of the zone have changed and it is no slot by the new rules.
    slots = [plan.next_at, *cron.list_latest(plan.next_at, now, MAX_SLOTS)][-MAX_SLOTS:]
    return Firing(slots=tuple(_apply_catch_up(plan.catch_up, slots, now)), next_at=cron.find_next(now))


def _apply_catch_up(catch_up: CatchUp, slots: list[Instant], now: Instant) -> list[Instant]:
    timely_slots = [slot for slot in slots if now - slot <= GRACE]
    match catch_up:
        case CatchUp.ONCE:
            return timely_slots or slots[-1:]
        case CatchUp.SKIP:
            return timely_slots
        case CatchUp.ALL:
            return slots
