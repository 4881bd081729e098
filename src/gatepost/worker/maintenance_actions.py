"""
What the janitor does to the store: release what was held too long, remove what is old enough, repair what a wrong clock
wrote. Every verb works on a small batch, so that other writers never wait for long, and returns how much it did; the
caller repeats it until that is nothing.

When the clock is set back, times that were written before lie far ahead: the next slot of a recurring plan or of a
cron trigger, the next attempt of a job, the next check of a gate, the end of a rest. Each would wait for hours. So the
janitor notes the time in a row of its own once a minute. When it finds that row more than `CLOCK_TOLERANCE` ahead, the
clock was set back, perhaps while no process ran, and it repairs in this order:

    every page of recurring plans -> every page of cron triggers (`channels/triggers/schedule_actions.py`)
        -> everything that only waits for its next attempt, together with the row

If it is killed in between, the row is still ahead, and the next round begins again. Each step may be done twice: a slot
that has fired already has the same dedup key, and what is tried too early is tried again later. Claims and leases need
no repair, because their own statements treat one that was taken in the future as lapsed. A time that a user asked for
(a deadline, a TTL, a plan that fires once) stays as it is.

`find_unbalanced` and `find_orphans` check the store for `gatepost doctor`.
"""

from contextlib import suppress
from typing import Final

from gatepost.channels import message_rows as channel_messages
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import CLOCK_TOLERANCE, DAY, MINUTE
from gatepost.errors import Invalid
from gatepost.gates import gate_rows as gates
from gatepost.inbox import (
    broadcast_actions as broadcasts,
    claim_rows as inboxes,
    event_rows as events,
    item_rows as items,
)
from gatepost.inbox.expiry_and_death_actions import BATCH_SIZE
from gatepost.jobs import job_rows as jobs
from gatepost.mail import mail_rows as outgoing
from gatepost.plans import rows as plans
from gatepost.residents import agent_rows as agents

#: the row with the time of the janitor's last note
_CLOCK_ROW: Final = "clock"
_NOTE_INTERVAL: Final = MINUTE


def reap(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Remove what ended longer ago than `limits.remember`; add removed items to the tally of the state they had."""
    before = tx.now - tx.limits.remember
    old_items = items.reap(tx, before, limit)
    for recipient, _, state, _ in old_items:
        tx.add_to_account(recipient, state, 1)
    if old_items:
        outgoing.keep_states(tx, old_items)
    # Broadcasts of the last day stay, because they are counted (`limits.broadcasts`).
    broadcast_arrivals = broadcasts.reap(tx, min(before, tx.now - DAY), limit)
    event_arrivals = {arrival for _, arrival, _, _ in old_items}.union(broadcast_arrivals)
    if event_arrivals:
        events.reap(tx, sorted(event_arrivals))
    counts = [
        reap_table(tx, before, limit)
        for reap_table in (
            inboxes.reap_claims,
            jobs.reap,
            plans.reap,
            gates.reap,
            jobs.reap_replies,
            channel_messages.reap,
        )
    ]
    return len(old_items) + len(broadcast_arrivals) + sum(counts)


def was_clock_set_back(tx: Reader) -> bool:
    """Return True if the clock was set back since the last note."""
    noted_at = jobs.read_lease_deadline(tx, _CLOCK_ROW)
    return noted_at is not None and noted_at > tx.now + CLOCK_TOLERANCE


def is_time_note_due(tx: Reader) -> bool:
    """Return True if the time of the last note is not about now."""
    noted_at = jobs.read_lease_deadline(tx, _CLOCK_ROW)
    return noted_at is None or abs(tx.now - noted_at) >= _NOTE_INTERVAL


def note_time(tx: Transaction) -> None:
    jobs.set_lease_deadline(tx, _CLOCK_ROW, tx.now)


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
