"""
The janitor: makes up for what was lost on the way.

Waking is level-triggered. Whatever is committed and not acted on is found by query and rung again, so that a lost ring
costs a few seconds and nothing else. The rest is house-keeping: drains that took too long, items past their time, calls
that nobody answered, what has been kept long enough, and disk space that is not needed any more. Every step is small,
and between steps others get their turn.

One process tidies, and rings for everybody. But its rings too may be lost on the way to the others, all of them while
the transport is degraded; so every process also rings for itself.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from gatepost.actions import clock, maintenance, runs
from gatepost.core.signals import JANITOR, Signal
from gatepost.errors import Unavailable
from gatepost.ports import Store
from gatepost.runtime.signal_bus import SignalBus

log = structlog.get_logger("gatepost.janitor")

#: small steps a round may take of each kind before it leaves the rest to the next
_MAX_STEPS: Final = 20


async def tidy(store: Store, bus: SignalBus) -> None:
    """One round."""
    await follow_clock(store)
    for verb in (maintenance.lapse_claims, maintenance.expire_items, maintenance.reap, runs.expire_calls):
        for _ in range(_MAX_STEPS):
            if await store.run(verb, lane="janitor") < maintenance.BATCH_SIZE:
                break
    await resend_signals(store, bus.send)
    with suppress(Unavailable):  # somebody else is at it, or the next commit will say what is wrong
        await asyncio.to_thread(store.shrink)


async def follow_clock(store: Store) -> None:
    """Repair what was noted in the future if the clock was set back; note the time now and then."""
    if await store.read(clock.was_set_back):
        log.warning("the clock was set back; what was noted in the future is repaired")
        after: int | None = 0
        while after is not None:
            after = await store.run(clock.reschedule_plans, after, lane="plans")
        await store.run(clock.make_retries_due, lane="janitor")
    elif await store.read(clock.is_note_due):
        await store.run(clock.note_time, lane="janitor")


async def resend_signals(store: Store, send: Callable[[Sequence[Signal]], None]) -> None:
    """Ring for everybody who should wake and nobody is at work for, a page at a time."""
    for query in (maintenance.find_inboxes_to_wake, maintenance.find_agents_behind, runs.find_abandoned):
        after: int | None = 0
        while after is not None:
            names, after = await store.read(query, after=after)
            send([Signal(name, JANITOR) for name in names])
