"""
What the janitor does to the store: release what was held too long, remove what is old enough, repair what a wrong clock
wrote. Every verb works on a small batch, so that other writers never wait for long, and returns how much it did; the
caller repeats it until that is nothing.

When the clock is set back, times that were written before lie far ahead: the next slot of a recurring plan or of a
cron trigger, the next attempt of a job, the next check of a gate, the end of a rest. Each would wait for hours. So the
janitor notes the time in a row of its own once a minute. When it finds that row more than `CLOCK_TOLERANCE` ahead, the
clock was set back, perhaps while no process ran, and it repairs in this order:

    every page of recurring plans -> every page of cron triggers (`actions/schedules.py`)
        -> everything that only waits for its next attempt, together with the row

If it is killed in between, the row is still ahead, and the next round begins again. Each step may be done twice: a slot
that has fired already has the same dedup key, and what is tried too early is tried again later. Claims and leases need
no repair, because their own statements treat one that was taken in the future as lapsed. A time that a user asked for
(a deadline, a TTL, a plan that fires once) stays as it is.

`find_unbalanced` and `find_orphans` check the store for `gatepost doctor`.
"""

from contextlib import suppress
from typing import Final

from gatepost.actions import directory
from gatepost.core.event import Account
from gatepost.core.signals import Signal
from gatepost.core.times import CLOCK_TOLERANCE, DAY, MINUTE, Duration
from gatepost.errors import Invalid
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, channel_messages, events, gates, inboxes, items, jobs, outgoing, plans

BATCH_SIZE: Final = 500
#: the row with the time of the janitor's last note
_CLOCK_ROW: Final = "clock"
_NOTE_INTERVAL: Final = MINUTE


def lapse_claims(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Release the items of claims that are past their deadline; return the number of claims."""
    lapsed_claims = inboxes.lapse_claims(tx, None, limit)
    for number, recipient in lapsed_claims:
        items.release(tx, number)
        tx.after_commit(Signal(recipient, "lapse"))
    return len(lapsed_claims)


def expire_items(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Mark items past their time as expired; no claim has taken them since then anyway."""
    return items.expire(tx, limit)


def reap(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Remove what ended longer ago than `limits.remember`; add removed items to the tally of the state they had."""
    before = tx.now - tx.limits.remember
    old_items = items.reap(tx, before, limit)
    for recipient, _, state, _ in old_items:
        tx.add_to_account(recipient, state, 1)
    if old_items:
        outgoing.keep_states(tx, old_items)
    # Broadcasts of the last day stay, because they are counted (`limits.broadcasts`).
    broadcast_arrivals = inboxes.reap_broadcasts(tx, min(before, tx.now - DAY), limit)
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


def find_inboxes_to_wake(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """
    Return the names of entities that should wake and that nobody works for: their items were committed, but the signal
    may have been lost. Read one batch of inboxes with items, from the number `after` on; return also where the next
    batch begins, None at the end.
    """
    rows = inboxes.list_pending_recipients(tx, after, BATCH_SIZE)
    names = [name for _, name, wakes in rows if wakes]
    return names, rows[-1][0] if len(rows) == BATCH_SIZE else None


def find_agents_behind(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """Return the names of agents that have not taken the last broadcast, and where the next batch begins."""
    rows = inboxes.list_agents_behind(tx, after, BATCH_SIZE)
    return [name for _, name in rows], rows[-1][0] if len(rows) == BATCH_SIZE else None


def measure_lag(tx: Reader) -> Duration:
    """Return for how long the oldest pending item of an agent or a service has waited."""
    oldest = items.find_oldest_pending(tx)
    return max(0, tx.now - oldest) if oldest is not None else 0


def list_accounts(tx: Reader, name: str | None = None) -> list[Account]:
    """Return the account of one inbox, or of all: how many items it accepted, and how many are in each state."""
    return inboxes.read_accounts(tx, directory.find_number(tx, name))


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


def find_unbalanced(tx: Reader) -> tuple[list[Account], int, int]:
    """
    Return the accounts that do not balance, the number of all inboxes, and the number of items that all have accepted.
    """
    accounts = list_accounts(tx)
    return (
        [account for account in accounts if not account.is_balanced],
        len(accounts),
        sum(account.accepted for account in accounts),
    )


def find_orphans(tx: Reader) -> list[str]:
    """Return a sentence for each kind of row that belongs to nothing, with the number of rows and the first one."""
    events, event = inboxes.count_lost_events(tx)
    items, recipient = inboxes.count_stuck_items(tx)
    entities, entity = inboxes.count_incomplete_entities(tx)
    findings = [
        (events, f"events in no inbox: {events}, the first is {event!r}"),
        (items, f"items claimed by nobody: {items}, the first is for {recipient!r}"),
        (entities, f"entities without name or inbox: {entities}, the first is {entity!r}"),
    ]
    return [text for count, text in findings if count]
