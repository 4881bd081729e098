"""
Write pushed events to the spools of the recipient's live sessions on this machine, so that their next hook shows them
even if it cannot reach the store.

This happens after the commit, and nothing is lost without it: an event that is not written here is still pending in the
store. So a failure is counted and nothing else.
"""

from collections import Counter
from collections.abc import Sequence

from gatepost.core.signals import EVERY_INBOX, Signal, Topic
from gatepost.errors import GatepostError
from gatepost.guests import spool_line
from gatepost.guests.ports import ListGuests, Spool
from gatepost.guests.session import Guest
from gatepost.inbox.event import Event


class SpoolWriter:
    """
    A signal sink that writes to spools.

    A sender does not get its own events: with `own_session`, the session that pushes gets none; without it, no session
    of the sending agent does. A broadcast never goes to the sending agent.
    """

    def __init__(self, spool: Spool, list_guests: ListGuests, *, own_session: str | None = None) -> None:
        self._spool = spool
        self._list_guests = list_guests
        self._own_session = own_session
        #: `written` counts the lines in spools, `failed` those that could not be written
        self.counts: Counter[str] = Counter()

    def __call__(self, signals: Sequence[Signal]) -> None:
        if not any(signal.event for signal in signals):
            return
        for guest in self._list_guests():
            events = {
                signal.event.id: signal.event
                for signal in signals
                if signal.event and self._is_for_guest(signal, guest)
            }
            if events:
                self._write(guest.session, list(events.values()))

    def _is_for_guest(self, signal: Signal, guest: Guest) -> bool:
        is_broadcast = signal.topic == EVERY_INBOX
        if not (is_broadcast or signal.topic == Topic("inbox", guest.agent)) or guest.session == self._own_session:
            return False
        sender = signal.event.sender if signal.event else None
        return sender is None or sender.name != guest.agent or (self._own_session is not None and not is_broadcast)

    def _write(self, session: str, events: Sequence[Event]) -> None:
        try:
            self._spool.append(session, [spool_line.from_event(event) for event in events])
            self.counts["written"] += len(events)
        except GatepostError:
            self.counts["failed"] += len(events)
