"""
Repair what was noted in a future that the clock has left (X7).

While the clock was wrong, times were written that now lie far ahead: the next slot of a plan that recurs, the next try
of an errand, the next look at a gate, the end of a rest. Each would wait for hours. The janitor writes the time into a
row of its own once a minute. When it finds that row more than `SET_BACK` ahead, the clock was set back, also while no
process ran, and it repairs in this order:

    every page of recurring plans -> everything that only waits for its next try, together with the row

Killed in between, the row is still ahead, and the next round begins again. Each step may be done twice: a slot that
fired already has the same dedup key, and whatever is tried too early is tried again later. Claims and leases are not
here, because their own statements treat one that was taken in the future as lapsed. What has a time that somebody
asked for (a deadline, a TTL, a plan that fires once) keeps it.
"""

from contextlib import suppress
from typing import Final

from gatepost.core.times import CLOCK_TOLERANCE, MINUTE
from gatepost.errors import Invalid
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, errands, gates, leases, plans

#: the row with the time of the janitor's last note
_CLOCK_ROW: Final = "clock"
_NOTE_INTERVAL: Final = MINUTE
_BATCH_SIZE: Final = 500


def was_set_back(tx: Reader) -> bool:
    """Return True if the clock was set back since the last note."""
    noted_at = leases.read_deadline(tx, _CLOCK_ROW)
    return noted_at is not None and noted_at > tx.now + CLOCK_TOLERANCE


def is_note_due(tx: Reader) -> bool:
    """Return True if the time of the last note is not about now."""
    noted_at = leases.read_deadline(tx, _CLOCK_ROW)
    return noted_at is None or abs(tx.now - noted_at) >= _NOTE_INTERVAL


def note_time(tx: Transaction) -> None:
    leases.set_deadline(tx, _CLOCK_ROW, tx.now)


def reschedule_plans(tx: Transaction, after: int) -> int | None:
    """Compute the next slots of a page of recurring plans anew; return where the next page begins, None at the end."""
    page = plans.recurring(tx, after, _BATCH_SIZE)
    for plan in page:
        with suppress(Invalid):  # a zone that this machine does not know: the plan keeps its slot
            plans.reschedule(tx, plan)
    return page[-1].number if len(page) == _BATCH_SIZE else None


def make_retries_due(tx: Transaction) -> None:
    """Make everything due that only waits for its next try, and note the time: the repair is complete."""
    errands.hurry(tx, CLOCK_TOLERANCE)
    gates.look_now(tx)
    agents.end_rests(tx)
    note_time(tx)
