"""
The janitor: sends lost signals again, and cleans up.

Waking is level-triggered. A query finds what was committed and not acted on, and the janitor signals it again, so a
lost signal costs a few seconds and nothing else. The rest is maintenance: claims that took too long, items past their
expiry, calls that got no answer, records that were kept long enough, and disk space that is free. Every step is small,
and other verbs get their turn between steps.

One process tidies, and signals for all of them. But its signals may also be lost on the way to the other processes, and
all are lost while the transport is degraded; so every process also signals for itself (`resend_signals`).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from gatepost.actions import maintenance, runs
from gatepost.core.signals import JANITOR, Signal
from gatepost.errors import Unavailable
from gatepost.ports import Store
from gatepost.runtime.signal_bus import SignalBus

log = structlog.get_logger("gatepost.janitor")

#: the most steps of each kind in one round; the next round does the rest
_MAX_STEPS: Final = 20


async def tidy(store: Store, bus: SignalBus) -> None:
    """Run one round of maintenance, and send lost signals again to all processes."""
    await follow_clock(store)
    for verb in (maintenance.lapse_claims, maintenance.expire_items, maintenance.reap, runs.expire_calls):
        for _ in range(_MAX_STEPS):
            if await store.run(verb, lane="janitor") < maintenance.BATCH_SIZE:
                break
    await resend_signals(store, bus.send)
    with suppress(Unavailable):  # another process shrinks it, or the next commit reports what is wrong
        await asyncio.to_thread(store.shrink)


async def follow_clock(store: Store) -> None:
    """Repair times that lie in the future if the clock was set back; record the time now and then."""
    if await store.read(maintenance.was_clock_set_back):
        log.warning("the clock was set back; what was noted in the future is repaired")
        after: int | None = 0
        while after is not None:
            after = await store.run(maintenance.reschedule_plans, after, lane="plans")
        await store.run(maintenance.make_retries_due, lane="janitor")
    elif await store.read(maintenance.is_time_note_due):
        await store.run(maintenance.note_time, lane="janitor")


async def resend_signals(store: Store, send: Callable[[Sequence[Signal]], None]) -> None:
    """Send a signal for every agent that should be awake and that no process works for, a page at a time."""
    for query in (maintenance.find_inboxes_to_wake, maintenance.find_agents_behind, runs.find_abandoned):
        after: int | None = 0
        while after is not None:
            names, after = await store.read(query, after=after)
            send([Signal(name, JANITOR) for name in names])
