"""
The janitor: clean up, follow the clock, and send lost signals again.

Waking is level-triggered. A query finds what was committed and not acted on, and the janitor signals it again, so a
lost signal costs a few seconds and no work. The rest is maintenance: claims that took too long, items past their
expiry, calls that got no answer, records that were kept long enough, and disk space that is free. Every step is small,
and other verbs get their turn between steps. One process does this, and signals for all of them. But its signals may
also be lost on the way to the other processes, and all are lost while the transport is degraded; so every process also
signals for itself (`resend_signals`).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from gatepost.channels.triggers import cron_fire_actions as schedules
from gatepost.core.ports import Store
from gatepost.core.signals import JANITOR, Signal, Topic
from gatepost.errors import Unavailable
from gatepost.inbox import expiry_and_death_actions as expiry, wake_actions
from gatepost.mail import mail_actions as mail, read_receipt_actions
from gatepost.residents.runs import deferred_call_actions as deferred_calls, resume_actions as run_resume
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker import clock_repair_actions as clock_repair, retention_actions

log = structlog.get_logger("gatepost.duties")

#: the most steps of each kind in one round; the next round does the rest
_MAX_STEPS: Final = 20


async def run_janitor_round(store: Store, bus: SignalBus) -> None:
    """Run one round of maintenance, and send lost signals again to all processes."""
    await follow_clock(store)
    for verb in (
        expiry.lapse_claims,
        expiry.expire_items,
        retention_actions.reap,
        deferred_calls.expire_calls,
        read_receipt_actions.report_overdue,
        mail.deliver_overdue,
    ):
        for _ in range(_MAX_STEPS):
            if await store.run(verb, lane="janitor") < expiry.BATCH_SIZE:
                break
    await resend_signals(store, bus.send)
    with suppress(Unavailable):  # another process shrinks it, or the next commit reports what is wrong
        await asyncio.to_thread(store.shrink)


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
    for query in (wake_actions.find_inboxes_to_wake, wake_actions.find_agents_behind, run_resume.find_abandoned):
        after: int | None = 0
        while after is not None:
            names, after = await store.read(query, after=after)
            if names:
                send([Signal(Topic("inbox", name), JANITOR) for name in names])
