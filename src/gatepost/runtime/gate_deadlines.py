"""
The keeper: ends gates and decisions that have run out of time, or for which what they wait for has come.

It looks when the next deadline is and says so, at most a few seconds ahead. Any number keep side by side on one store,
without a leader (`actions/deadlines.py`), so that no deadline depends on one process: if one is stopped, another ends
what is due. It writes only when something is due. What came before its last look it does not go through again.
"""

from typing import Final

import structlog

from gatepost.actions import deadlines
from gatepost.actions.deadlines import EventScan
from gatepost.core.event import EventType
from gatepost.core.frame import TransportMessage
from gatepost.core.signals import Signal
from gatepost.core.times import SECOND
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import Reader, Store

log = structlog.get_logger("gatepost.keeper")

#: seconds to sleep at most
MAX_WAIT: Final = 5.0
#: seconds to leave to another keeper that has in hand what is due
_MIN_WAIT: Final = 0.1
#: what a ring says for a push; another cause may be anything
_EVENT_TYPES: Final = frozenset(EventType)


class GateDeadlines:
    def __init__(self, store: Store) -> None:
        self._store = store
        #: in whose inbox an event of which type is waited for, as of the last look
        self._watched_events: frozenset[tuple[str, str]] = frozenset()
        #: how far it has looked for events
        self._last_check: EventScan | None = None

    async def check(self) -> float:
        """End what is over; return in how many seconds to look again."""
        while True:
            wait, watched, self._last_check = await self._store.read(_read_state, self._last_check)
            if not watched <= self._watched_events:
                # What came to one of these since that look rang in vain: look once more, now that it would not.
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
        End what is over: together, as nearly always can be done; else one by one, so that each stands for itself.
        Return how many have ended, and whether any could not be.
        """
        try:
            return await self._store.run(deadlines.end_due, last_scan=self._last_check, lane="gates"), False
        except Unavailable:
            raise
        except GatepostError:
            ended_count = 0
        for id in await self._store.run(deadlines.list_due, self._last_check, lane="gates"):
            try:
                ended_count += await self._store.run(
                    deadlines.end_due, gate_id=id, last_scan=self._last_check, lane="gates"
                )
            except Unavailable:
                raise
            except GatepostError as error:
                log.warning("gate cannot be ended", gate=id, reason=error.message)
        return ended_count, True

    def is_wake_signal(self, signal: TransportMessage) -> bool:
        """
        Whether a signal says that there may be something to end before the next look. Mail for a busy agent must not
        cause one where a tool's result is waited for.
        """
        if not isinstance(signal, Signal):
            return False
        return signal.recipient.startswith("gate:") or any(
            signal.recipient in (name, "*") and (signal.cause == event_type or signal.cause not in _EVENT_TYPES)
            for name, event_type in self._watched_events
        )


def _read_state(tx: Reader, last_check: EventScan | None) -> tuple[float, frozenset[tuple[str, str]], EventScan | None]:
    due = deadlines.find_next_due(tx)
    watched = deadlines.list_watches(tx)
    current_check = deadlines.scan_events(tx, last_check) if watched else None
    if current_check is not None and current_check.matches:
        return 0.0, watched, current_check
    return MAX_WAIT if due is None else min(MAX_WAIT, (due - tx.now) / SECOND), watched, current_check
