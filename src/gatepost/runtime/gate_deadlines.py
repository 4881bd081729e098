"""
End gates and decisions whose deadline has passed, or whose awaited event has come.

`GateDeadlines.check` reads when the next deadline is, and asks to run again then, or after a few seconds at most. Any
number of processes do this on one store, without a leader (`actions/deadlines.py`), so no deadline depends on one
process: if one is stopped, another ends what is due. A check writes only if something is due. It does not scan again
the events that came before the last check.
"""

from typing import Final

import structlog

from gatepost.actions import deadlines
from gatepost.actions.deadlines import EventScan
from gatepost.core.event import EventType
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import SECOND
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import Reader, Store

log = structlog.get_logger("gatepost.keeper")

#: the most seconds between two checks
MAX_WAIT: Final = 5.0
#: seconds to wait for another process that is ending what is due
_MIN_WAIT: Final = 0.1
#: the causes of signals of pushes; a signal with another cause may be about an event of any type
_EVENT_TYPES: Final = frozenset(EventType)


class GateDeadlines:
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
    return MAX_WAIT if due is None else min(MAX_WAIT, (due - tx.now) / SECOND), watched, scan
