"""
The duties of a worker that follow the clock: fire plans and cron triggers, end gates and decisions, send lost signals
again, clean up.

**Plans, triggers and deadlines.** A round reads when the next plan, trigger or deadline is due, and asks to run again
then, or after `MAX_WAIT` seconds at most, so that one whose signal was lost is seen soon anyway. Many processes can
do this on one store without a leader (`plans/actions.py`, `channels/triggers/schedule_actions.py`,
`gates/deadline_actions.py`), so nothing depends on one process: if one is stopped, another does what is due. A round
writes only if something is due.

**The janitor.** Waking is level-triggered. A query finds what was committed and not acted on, and the janitor signals
it again, so a lost signal costs a few seconds and no work. The rest is maintenance: claims that took too long, items
past their expiry, calls that got no answer, records that were kept long enough, and disk space that is free. Every step
is small, and other verbs get their turn between steps. One process does this, and signals for all of them. But its
signals may also be lost on the way to the other processes, and all are lost while the transport is degraded; so every
process also signals for itself (`resend_signals`).
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from gatepost.channels.triggers import schedule_actions as schedules
from gatepost.core.ports import Reader, Store
from gatepost.core.signals import JANITOR, Signal, TransportMessage
from gatepost.core.times import SECOND, Instant
from gatepost.errors import GatepostError, Unavailable
from gatepost.gates import deadline_actions as deadlines
from gatepost.gates.deadline_actions import EventScan
from gatepost.inbox import expiry_and_death_actions as expiry, wake_actions
from gatepost.inbox.event import EventType
from gatepost.mail import mail_actions as mail, read_receipt_actions
from gatepost.plans import actions as plans
from gatepost.residents.runs import actions as runs, resume_actions as run_resume
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker import maintenance_actions as maintenance

log = structlog.get_logger("gatepost.duties")

#: the most seconds between two rounds for plans, for triggers, or for deadlines
MAX_WAIT: Final = 5.0
#: seconds to wait for another process that does what is due
_MIN_WAIT: Final = 0.1
#: the most steps of each kind in one round of the janitor; the next round does the rest
_MAX_STEPS: Final = 20
#: the causes of signals of pushes; a signal with another cause may be about an event of any type
_EVENT_TYPES: Final = frozenset(EventType)


async def fire_due_plans(store: Store) -> float:
    """Fire the plans that are due; return the seconds until the next round."""
    while (wait := await store.read(_get_seconds_until_plan)) <= 0:
        if not await store.run(plans.fire, lane="plans"):
            return _MIN_WAIT
    return wait


def _get_seconds_until_plan(tx: Reader) -> float:
    return _get_seconds_until(tx, plans.find_next_due(tx))


async def fire_due_triggers(store: Store) -> float:
    """
    Fire the cron triggers that are due; return the seconds until the next round. Each has a transaction of its own, so
    one that fails does not stop the others: its slot is skipped, and its owner gets an alert.
    """
    while (wait := await store.read(_get_seconds_until_trigger)) <= 0:
        fired_count = 0
        for number in await store.read(schedules.list_due):
            try:
                fired_count += await store.run(schedules.fire, number, lane="triggers")
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 (whatever is wrong with one, the others fire)
                reason = error.message if isinstance(error, GatepostError) else type(error).__name__
                log.warning("trigger cannot fire", trigger=number, reason=reason)
                fired_count += await store.run(schedules.skip, number, reason, lane="triggers")
        if not fired_count:
            return _MIN_WAIT
    return wait


def _get_seconds_until_trigger(tx: Reader) -> float:
    return _get_seconds_until(tx, schedules.find_next_due(tx))


def _get_seconds_until(tx: Reader, due: Instant | None) -> float:
    return MAX_WAIT if due is None else min(MAX_WAIT, (due - tx.now) / SECOND)


class GateDeadlines:
    """
    Ends gates and decisions whose deadline has passed, or whose awaited event has come. It does not scan again the
    events that came before the last check.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        #: the (recipient, event type) pairs that gates wait for, as of the last check
        self._watched_events: frozenset[tuple[str, str]] = frozenset()
        #: how far events were scanned
        self._last_scan: EventScan | None = None

    async def check(self) -> float:
        """End the gates and decisions that are due; return the seconds until the next check."""
        while True:
            wait, watched, self._last_scan = await self._store.read(_read_state, self._last_scan)
            if not watched <= self._watched_events:
                # The signal of an event that came for a new pair since that read was ignored: read once more, now that
                # it would not be ignored.
                self._watched_events = watched
                continue
            self._watched_events = watched
            if wait > 0:
                return wait
            ended_count, has_stuck = await self._end_due()
            if not ended_count:
                return MAX_WAIT if has_stuck else _MIN_WAIT

    async def _end_due(self) -> tuple[int, bool]:
        """
        End what is due: together, which nearly always works; else one by one, so that one failure does not stop the
        others. Return how many have ended, and whether ending together failed.
        """
        try:
            return await self._store.run(deadlines.end_due, last_scan=self._last_scan, lane="gates"), False
        except Unavailable:
            raise
        except GatepostError:
            ended_count = 0
        for id in await self._store.run(deadlines.list_due, self._last_scan, lane="gates"):
            try:
                ended_count += await self._store.run(
                    deadlines.end_due, gate_id=id, last_scan=self._last_scan, lane="gates"
                )
            except Unavailable:
                raise
            except GatepostError as error:
                log.warning("gate cannot be ended", gate=id, reason=error.message)
        return ended_count, True

    def is_wake_signal(self, signal: TransportMessage) -> bool:
        """
        Return True if a signal says that there may be something to end before the next check. It is precise about
        event types: mail for a busy agent must not cause a check if a gate waits for the result of a tool.
        """
        if not isinstance(signal, Signal):
            return False
        return signal.recipient.startswith("gate:") or any(
            signal.recipient in (name, "*") and (signal.cause == event_type or signal.cause not in _EVENT_TYPES)
            for name, event_type in self._watched_events
        )


def _read_state(tx: Reader, last_scan: EventScan | None) -> tuple[float, frozenset[tuple[str, str]], EventScan | None]:
    """Return the seconds until something is due, the watched events, and the scan of events up to now."""
    due = deadlines.find_next_due(tx)
    watched = deadlines.list_watches(tx)
    scan = deadlines.scan_events(tx, last_scan) if watched else None
    if scan is not None and scan.matches:
        return 0.0, watched, scan
    return _get_seconds_until(tx, due), watched, scan


async def run_janitor_round(store: Store, bus: SignalBus) -> None:
    """Run one round of maintenance, and send lost signals again to all processes."""
    await follow_clock(store)
    for verb in (
        expiry.lapse_claims,
        expiry.expire_items,
        maintenance.reap,
        runs.expire_calls,
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
    if await store.read(maintenance.was_clock_set_back):
        log.warning("the clock was set back; what was noted in the future is repaired")
        after: int | None = 0
        while after is not None:
            after = await store.run(maintenance.reschedule_plans, after, lane="plans")
        after = 0
        while after is not None:
            after = await store.run(schedules.reschedule, after, lane="triggers")
        await store.run(maintenance.make_retries_due, lane="janitor")
    elif await store.read(maintenance.is_time_note_due):
        await store.run(maintenance.note_time, lane="janitor")


async def resend_signals(store: Store, send: Callable[[Sequence[Signal]], None]) -> None:
    """Send a signal for every agent that should be awake and that no process works for, a page at a time."""
    for query in (wake_actions.find_inboxes_to_wake, wake_actions.find_agents_behind, run_resume.find_abandoned):
        after: int | None = 0
        while after is not None:
            names, after = await store.read(query, after=after)
            if names:
                send([Signal(name, JANITOR) for name in names])
