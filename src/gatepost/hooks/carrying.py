"""
A push on a machine where its recipient has live sessions goes to their spools too, so that their next hook shows it,
also when that cannot reach the store.

It is done after the commit and is never missed by anybody: what is not written here is still pending in the store. So
whatever goes wrong is counted and no more.
"""

from collections import Counter
from collections.abc import Sequence

from gatepost.core import entry
from gatepost.core.event import Event
from gatepost.core.guest import Guest
from gatepost.core.ring import Ring
from gatepost.errors import GatepostError
from gatepost.ports import ListGuests, Spool


class Carrier:
    """A bell that writes to spools. The pusher is not told by its own: not in the session `own`, if that is known."""

    def __init__(self, spool: Spool, guests: ListGuests, *, own: str | None = None) -> None:
        self._spool = spool
        self._guests = guests
        self._own = own
        #: lines that were `written`, and those that could not be (`failed`)
        self.count: Counter[str] = Counter()

    def __call__(self, rings: Sequence[Ring]) -> None:
        if not any(ring.event for ring in rings):
            return
        for guest in self._guests():
            events = {ring.event.id: ring.event for ring in rings if ring.event and self._concerns(ring, guest)}
            if events:
                self._write(guest.session, list(events.values()))

    def _concerns(self, ring: Ring, guest: Guest) -> bool:
        if ring.recipient not in (guest.agent, "*") or guest.session == self._own:
            return False
        sender = ring.event.sender if ring.event else None
        return sender is None or sender.name != guest.agent or (self._own is not None and ring.recipient != "*")

    def _write(self, session: str, events: Sequence[Event]) -> None:
        try:
            self._spool.append(session, [entry.of(event) for event in events])
            self.count["written"] += len(events)
        except GatepostError:
            self.count["failed"] += len(events)
