"""
A push on a machine where its recipient has live sessions goes to their spools too, so that their next hook shows it,
also when that cannot reach the store.

It is done after the commit and is never missed by anybody: what is not written here is still pending in the store. So
whatever goes wrong is counted and no more.
"""

from collections import Counter
from collections.abc import Sequence

from gatepost.core import spool_line
from gatepost.core.event import Event
from gatepost.core.guest import Guest
from gatepost.core.signals import Signal
from gatepost.errors import GatepostError
from gatepost.ports import ListGuests, Spool


class SpoolWriter:
    """A bell that writes to spools. The pusher is not told by its own: not in the session `own`, if that is known."""

    def __init__(self, spool: Spool, guests: ListGuests, *, own_session: str | None = None) -> None:
        self._spool = spool
        self._guests = guests
        self._own_session = own_session
        #: lines that were `written`, and those that could not be (`failed`)
        self.counts: Counter[str] = Counter()

    def __call__(self, signals: Sequence[Signal]) -> None:
        if not any(signal.event for signal in signals):
            return
        for guest in self._guests():
            events = {
                signal.event.id: signal.event
                for signal in signals
                if signal.event and self._is_for_guest(signal, guest)
            }
            if events:
                self._write(guest.session, list(events.values()))

    def _is_for_guest(self, signal: Signal, guest: Guest) -> bool:
        if signal.recipient not in (guest.agent, "*") or guest.session == self._own_session:
            return False
        sender = signal.event.sender if signal.event else None
        return (
            sender is None or sender.name != guest.agent or (self._own_session is not None and signal.recipient != "*")
        )

    def _write(self, session: str, events: Sequence[Event]) -> None:
        try:
            self._spool.append(session, [spool_line.from_event(event) for event in events])
            self.counts["written"] += len(events)
        except GatepostError:
            self.counts["failed"] += len(events)
