"""
Which tasks the janitor has, and one of them: remove what ended longer ago than the setting `inbox.remember`.

That works on a small batch, so that other writers never wait for long, and returns how much it removed; the caller
repeats it until that is nothing.
"""

from gatepost.channels import outgoing_message_actions as channel_messages
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import CLOCK_TOLERANCE, DAY, Instant
from gatepost.gates import gate_rows as gates
from gatepost.guests import wake_actions as wakes
from gatepost.inbox import broadcast_actions, event_rows, item_rows
from gatepost.inbox.expiry_actions import BATCH_SIZE
from gatepost.jobs import idempotency_actions as idempotency, job_actions as jobs
from gatepost.mail import sent_record_rows as outgoing
from gatepost.plans import actions as plans


def list_due_tasks(tx: Reader) -> list[str]:
    """Return the names of the tasks that have something to do."""
    before, broadcasts_before = _find_ends(tx)
    times = {"before": before, "broadcasts_before": broadcasts_before, "future": tx.now + CLOCK_TOLERANCE}
    filters = {**times, **wakes.build_unseen_filters(tx)}
    return [row.task for row in tx.fetch_all("worker/maintenance/list_due_tasks", now=tx.now, **filters)]


def reap(tx: Transaction, *, limit: int = BATCH_SIZE) -> int:
    """Remove what ended longer ago than `policy.remember`; add removed items to the tally of the state they had."""
    before, broadcasts_before = _find_ends(tx)
    old_items = item_rows.reap(tx, before, limit)
    for recipient, _, state, _ in old_items:
        tx.add_to_account(recipient, state, 1)
    if old_items:
        outgoing.keep_states(tx, old_items)
    broadcast_arrivals = broadcast_actions.reap(tx, broadcasts_before, limit)
    event_arrivals = {arrival for _, arrival, _, _ in old_items}.union(broadcast_arrivals)
    if event_arrivals:
        event_rows.reap(tx, sorted(event_arrivals))
    counts = [
        reap_table(tx, before, limit)
        for reap_table in (
            item_rows.reap_claims,
            jobs.reap,
            plans.reap,
            gates.reap,
            idempotency.reap,
            channel_messages.reap,
        )
    ]
    return len(old_items) + len(broadcast_arrivals) + sum(counts)


def _find_ends(tx: Reader) -> tuple[Instant, Instant]:
    """
    Return the times before which records, and broadcasts, have ended that are removed now. Broadcasts of the last day
    stay, because they are counted (`limits.broadcasts`).
    """
    before = tx.now - tx.policy.remember
    return before, min(before, tx.now - DAY)
