"""
Repair what a wrong clock wrote.

When the clock is set back, times that were written before lie far ahead: the next slot of a recurring plan or of a
cron trigger, the next attempt of a job, the next check of a gate, the end of a rest. Each would wait for hours. So the
janitor notes the time in a row of `leases`, at most once a minute, and only if such a time has changed since the last
note: those of before were written by then, so an old note tells as much as a new one. When it finds that row more than
`CLOCK_TOLERANCE` ahead, the clock was set back, perhaps while no process ran, and it repairs in this order:

    every page of recurring plans -> every page of cron triggers (`channels/triggers/cron_fire_actions.py`)
        -> everything that only waits for its next attempt, together with the row

If it is killed in between, the row is still ahead, and the next round begins again. Each step may be done twice: a slot
that has fired already has the same dedup key, and what is tried too early is tried again later. Claims and leases need
no repair, because their own statements treat one that was taken in the future as lapsed. A time that a user asked for
(a deadline, a TTL, a plan that fires once) stays as it is.
"""

from contextlib import suppress
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import CLOCK_TOLERANCE, MINUTE
from gatepost.errors import Invalid
from gatepost.gates import gate_rows as gates
from gatepost.inbox.expiry_actions import BATCH_SIZE
from gatepost.jobs import job_actions as jobs
from gatepost.plans import actions as plans
from gatepost.residents import agent_actions as agents
from gatepost.stores.row_mapping import fetch_number

_NOTE_INTERVAL: Final = MINUTE


def was_clock_set_back(tx: Reader) -> bool:
    """Return True if the clock was set back since the last note."""
    row = tx.fetch_one("worker/maintenance/read_note")
    return row is not None and row.noted_at > tx.now + CLOCK_TOLERANCE


def is_time_note_due(tx: Reader) -> bool:
    """Return True if the last note is not of about now, and a time that would be repaired has changed since."""
    row = tx.fetch_one("worker/maintenance/read_note")
    return row is None or (abs(tx.now - row.noted_at) >= _NOTE_INTERVAL and row.digest != _digest_waits(tx))


def note_time(tx: Transaction) -> None:
    tx.execute_later("worker/maintenance/write_note", now=tx.now, digest=_digest_waits(tx))


def _digest_waits(tx: Reader) -> int:
    """Return a number that changes with the times that would be repaired."""
    return fetch_number(tx, "worker/maintenance/digest_waits")


def reschedule_plans(tx: Transaction, after: int) -> int | None:
    """Compute the next slots of a page of recurring plans anew; return where the next page begins, None at the end."""
    page = plans.list_recurring(tx, after, BATCH_SIZE)
    for plan in page:
        with suppress(Invalid):  # a zone that this machine does not know: the plan keeps its slot
            plans.reschedule(tx, plan)
    return page[-1].number if len(page) == BATCH_SIZE else None


def make_retries_due(tx: Transaction) -> None:
    """Make everything due that only waits for its next attempt, and note the time: the repair is complete."""
    jobs.make_due(tx, CLOCK_TOLERANCE)
    gates.make_checks_due(tx)
    agents.end_rests(tx)
    note_time(tx)
