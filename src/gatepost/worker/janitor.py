"""
The janitor: clean up, follow the clock, and send lost signals again.

Waking is level-triggered. A query finds what was committed and not acted on, and it is signalled again, so a lost
signal costs a few seconds and no work. Every process does this for itself (`resend_signals`), because signals of
another one may be lost as well, and all are lost while the transport is degraded.

The rest is maintenance: claims that took too long, items past their expiry, calls that got no answer, records that were
kept long enough. One process does this, under a lease. A read says which tasks have something to do, so a process with
nothing to do writes nothing. Every step is small, and other verbs get their turn between steps.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import structlog

from gatepost.channels.triggers import cron_fire_actions as schedules
from gatepost.core.ports import Reader, Store, Transaction
from gatepost.core.signals import JANITOR, Signal, Topic
from gatepost.guests import wake_actions as guest_wakes
from gatepost.inbox import expiry_actions as expiry, triage_actions as triage, wake_actions as wakes
from gatepost.mail import mail_actions as mail, read_receipt_actions
from gatepost.residents.runs import deferred_call_actions as deferred_calls, resume_actions as run_resume
from gatepost.worker import clock_repair_actions as clock_repair, retention_actions as retention

log = structlog.get_logger("gatepost.duties")

#: the most steps of each task in one round; the next round does the rest
_MAX_STEPS: Final = 20
#: by the names that `worker/maintenance/list_due_tasks` has; each returns how many rows it found
_TASKS: Final[Mapping[str, Callable[[Transaction], int]]] = {
    "lapse claims": expiry.lapse_claims,
    "expire items": expiry.expire_items,
    "return snoozed items": triage.return_due,
    "remove old rows": retention.reap,
    "expire calls": deferred_calls.expire_calls,
    "report unread mail": read_receipt_actions.report_overdue,
    "deliver mail": mail.deliver_overdue,
    "report unseen items": guest_wakes.report_unseen,
}


def find_wait(tx: Reader) -> float | None:
    """Return 0 if a round has something to do, else None."""
    has_work = clock_repair.was_clock_set_back(tx) or clock_repair.is_time_note_due(tx) or retention.list_due_tasks(tx)
    return 0.0 if has_work else None


async def run_janitor_round(store: Store) -> None:
    """Follow the clock, and run the tasks that have something to do until they have not."""
    await follow_clock(store)
    for _ in range(_MAX_STEPS):
        names = await store.read(retention.list_due_tasks)
        if not sum([await store.run(_TASKS[name], lane="janitor") for name in names]):
            return


async def follow_clock(store: Store) -> None:
    """Repair times that lie in the future if the clock was set back; record the time now and then."""
    if await store.read(clock_repair.was_clock_set_back):
        log.warning("the clock was set back; what was noted in the future is repaired")
        after: int | None = 0
        while after is not None:
            after = await store.run(clock_repair.reschedule_plans, after, lane="plans")
        after = 0
        while after is not None:
            after = await store.run(schedules.reschedule, after, lane="triggers")
        await store.run(clock_repair.make_retries_due, lane="janitor")
    elif await store.read(clock_repair.is_time_note_due):
        await store.run(clock_repair.note_time, lane="janitor")


async def resend_signals(store: Store, send: Callable[[Sequence[Signal]], None]) -> None:
    """Send a signal for every agent that should be awake and that no process works for, a page at a time."""
    for query in (wakes.find_inboxes_to_wake, wakes.find_agents_behind, run_resume.find_abandoned):
        after: int | None = 0
        while after is not None:
            names, after = await store.read(query, after=after)
            if names:
                send([Signal(Topic("inbox", name), JANITOR) for name in names])
